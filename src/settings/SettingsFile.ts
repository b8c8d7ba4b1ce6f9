/** Owns the text of one settings file: tolerant of comments and trailing commas, exact about where it is broken. */
import * as Result from "effect/Result"
import { findNodeAtLocation, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser"
import type { Json, JsonObject } from "./Merge.ts"

/** Larger than any settings a person writes; a mistake (a log, a data file) is refused before it is parsed. */
export const maxBytes = 4 * 1024 * 1024

/** Both count from 1, as editors do. */
export interface Position {
  readonly line: number
  readonly column: number
}

export interface Problem extends Position {
  readonly message: string
}

export interface Parsed {
  readonly value: JsonObject
  /** Where a key (or a list's element) is written; `undefined` when this file does not set it. */
  readonly locate: (path: ReadonlyArray<string>) => Position | undefined
  /** Readable, but surely not meant: a key written twice. */
  readonly doubts: ReadonlyArray<Problem>
}

const says: Readonly<Record<string, string>> = {
  InvalidSymbol: "a name in quotes, a number, true, false or null is expected here",
  InvalidNumberFormat: "not a number",
  PropertyNameExpected: "a key in double quotes is expected here",
  ValueExpected: "a value is expected here",
  ColonExpected: "a colon is expected here",
  CommaExpected: "a comma is expected here",
  CloseBraceExpected: "a closing brace } is missing",
  CloseBracketExpected: "a closing bracket ] is missing",
  EndOfFileExpected: "there is text after the end of the settings",
  InvalidCommentToken: "the comment is not closed",
  UnexpectedEndOfComment: "the comment is not closed",
  UnexpectedEndOfString: "the text is not closed with a quote",
  UnexpectedEndOfNumber: "the number is not complete",
  InvalidUnicode: "a \\u escape is not complete",
  InvalidEscapeCharacter: "an unknown \\ escape (write \\\\ for a backslash)",
  InvalidCharacter: "a character that may not stand here",
}

export const positionAt = (text: string, offset: number): Position => {
  const before = text.slice(0, offset)
  const start = before.lastIndexOf("\n") + 1
  return { line: before.split("\n").length, column: offset - start + 1 }
}

const problem = (text: string, offset: number, message: string): Problem => ({
  ...positionAt(text, Math.min(offset, text.length)),
  message,
})

export const parse = (text: string): Result.Result<Parsed, Problem> => {
  // An empty file is what a person means by "no settings".
  if (text.trim() === "") return Result.succeed({ value: {}, locate: () => undefined, doubts: [] })
  const errors: Array<ParseError> = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const [first] = errors
  if (first !== undefined) {
    const code = printParseErrorCode(first.error)
    return Result.fail(problem(text, first.offset, says[code] ?? code))
  }
  if (root?.type !== "object")
    return Result.fail(problem(text, root?.offset ?? 0, "the settings must be one object: { … }"))
  const doubts: Array<Problem> = []
  const value = objectOf(root, (node, key) =>
    doubts.push(problem(text, node.offset, `"${key}" is written twice; the last one counts`)),
  )
  return Result.succeed({
    value,
    doubts,
    locate: (path) => {
      const found = lookup(root, path)
      if (found === undefined) return undefined
      const named = found.parent?.type === "property" ? (found.parent.children?.[0] ?? found) : found
      return positionAt(text, named.offset)
    },
  })
}

type Twice = (key: Node, name: string) => void

const objectOf = (node: Node, twice: Twice): JsonObject => {
  const seen = new Set<string>()
  const entries = (node.children ?? []).flatMap((property): Array<[string, Json]> => {
    const [key, value] = property.children ?? []
    if (key === undefined || value === undefined) return []
    const name = String(key.value)
    if (seen.has(name)) twice(key, name)
    seen.add(name)
    return [[name, valueOf(value, twice)]]
  })
  return Object.fromEntries(entries)
}

const valueOf = (node: Node, twice: Twice): Json => {
  if (node.type === "object") return objectOf(node, twice)
  if (node.type === "array") return (node.children ?? []).map((item) => valueOf(item, twice))
  const value: unknown = node.value
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null
}

const lookup = (root: Node, path: ReadonlyArray<string>): Node | undefined => {
  let node: Node | undefined = root
  for (const key of path) {
    if (node === undefined) return undefined
    node = findNodeAtLocation(node, [node.type === "array" ? Number(key) : key])
  }
  return node
}
