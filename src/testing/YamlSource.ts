/** Owns YAML with its places: what a text says, and where in it a path is, for error messages. */
import { LineCounter, isMap, isNode, isScalar, parseDocument } from "yaml"
import type { Document } from "yaml"

export interface Place {
  readonly line: number
  readonly column: number
}

type Path = ReadonlyArray<PropertyKey>

export interface YamlSource {
  readonly value: unknown
  /** For a path that is not there, the place of its nearest parent. With `key`, the key itself and not its value. */
  readonly place: (path: Path, key: boolean) => Place | undefined
}

export interface YamlProblem extends Partial<Place> {
  readonly reason: string
}

export const parse = (text: string): YamlSource | ReadonlyArray<YamlProblem> => {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const place = (offset: number): Place => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  if (document.errors.length > 0) {
    return document.errors.map(({ message, pos }) => Object.assign(place(pos[0]), { reason: message }))
  }
  try {
    const value: unknown = document.toJS()
    return {
      value,
      place: (path, key) => {
        const offset = (key ? keyOffset(document, path) : undefined) ?? offsetOf(document, path)
        return offset === undefined ? undefined : place(offset)
      },
    }
  } catch (cause) {
    // Aliases that multiply beyond reason.
    return [{ reason: cause instanceof Error ? cause.message : String(cause) }]
  }
}

const keyOffset = (document: Document, path: Path): number | undefined => {
  const parent: unknown = document.getIn(path.slice(0, -1), true)
  if (!isMap(parent)) return undefined
  const key = parent.items.map((item) => item.key).find((item) => isScalar(item) && item.value === path.at(-1))
  return isScalar(key) ? key.range?.[0] : undefined
}

const offsetOf = (document: Document, path: Path): number | undefined => {
  for (let length = path.length; length >= 0; length--) {
    const node: unknown = length === 0 ? document.contents : document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return node.range[0]
  }
  return undefined
}
