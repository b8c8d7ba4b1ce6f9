/**
 * Owns changing settings in their text: one key becomes another, everything else stays as a person wrote it: comments, order,
 * indentation, trailing commas, keys nobody knows. Pure.
 *
 * The parser's own `modify` is not used: it drops comments beside what it removes, formats whole lines anew, and turns `{ "a": 1, }`
 * without its key into `{ , }`.
 */
import * as Result from "effect/Result"
import { type Node, parseTree } from "jsonc-parser"
import { canonical, get, type Json, isObject } from "./Merge.ts"
import { parse, positionAt, type Problem } from "./SettingsFile.ts"

export type Edit =
  | { readonly _tag: "Set"; readonly path: ReadonlyArray<string>; readonly value: Json }
  | { readonly _tag: "Remove"; readonly path: ReadonlyArray<string> }
  | { readonly _tag: "Append"; readonly path: ReadonlyArray<string>; readonly value: Json }

/** The key has this value; objects on the way to it are made. */
export const set = (path: ReadonlyArray<string>, value: Json): Edit => ({ _tag: "Set", path, value })
/** The key is gone; comments about it stay. */
export const remove = (path: ReadonlyArray<string>): Edit => ({ _tag: "Remove", path })
/** The list has this element, at its end unless it had it already. */
export const append = (path: ReadonlyArray<string>, value: Json): Edit => ({ _tag: "Append", path, value })

/** `broken`: the text is no settings. `conflict`: what stands on the way cannot hold the change. */
export interface Refusal extends Problem {
  readonly reason: "broken" | "conflict"
}

/** The text after the edits; the same text when nothing had to change. */
export const edit = (text: string, edits: ReadonlyArray<Edit>): Result.Result<string, Refusal> => {
  let now = text
  for (const one of edits) {
    const next = apply(now, one)
    if (Result.isFailure(next)) return next
    now = next.success
  }
  return Result.succeed(now)
}

const apply = (text: string, one: Edit): Result.Result<string, Refusal> => {
  const parsed = parse(text)
  if (Result.isFailure(parsed)) return Result.fail({ reason: "broken", ...parsed.failure })
  const blank = text.trim() === ""
  const source = blank ? "{}\n" : text
  const root = parseTree(source, [], { allowTrailingComma: true })
  if (root === undefined) return Result.succeed(text)
  const before = get(parsed.success.value, one.path)
  switch (one._tag) {
    case "Set":
      if (before !== undefined && canonical(before) === canonical(one.value)) return Result.succeed(text)
      return put(source, root, one.path, one.value)
    case "Append":
      if (before === undefined) return put(source, root, one.path, [one.value])
      if (!Array.isArray(before)) return refuse(source, find(root, one.path) ?? root, one.path, "a list")
      if (before.some((item: Json) => canonical(item) === canonical(one.value))) return Result.succeed(text)
      return Result.succeed(
        insert(source, find(root, one.path) ?? root, (style) => render(one.value, style), unitOf(source, root)),
      )
    case "Remove":
      return Result.succeed(before === undefined ? text : take(source, one.path))
  }
}

const refuse = (text: string, node: Node, path: ReadonlyArray<string>, wanted: string) =>
  Result.fail<Refusal>({
    reason: "conflict",
    ...positionAt(text, node.offset),
    message: `"${path.join(".")}" needs ${wanted} here, and this is ${kinds[node.type] ?? node.type}`,
  })

const kinds: Readonly<Partial<Record<Node["type"], string>>> = {
  array: "a list",
  boolean: "true or false",
  null: "null",
  number: "a number",
  object: "an object",
  string: "text",
}

const put = (text: string, root: Node, path: ReadonlyArray<string>, value: Json): Result.Result<string, Refusal> => {
  let node = root
  for (const [index, key] of path.entries()) {
    const next = child(node, key)
    if (next !== undefined) {
      node = next
      continue
    }
    if (node.type !== "object") return refuse(text, node, path, "an object")
    const inner = path.slice(index + 1).reduceRight<Json>((held, name) => Object.fromEntries([[name, held]]), value)
    const property = (style: Style) => `${JSON.stringify(key)}:${style.gap}${render(inner, style)}`
    return Result.succeed(insert(text, node, property, unitOf(text, root)))
  }
  if (node === root) return refuse(text, root, path, "a key")
  const style: Style = {
    indent: indentAt(text, node.offset),
    unit: unitOf(text, root),
    lines: text.slice(root.offset, node.offset).includes("\n"),
    gap: " ",
  }
  return Result.succeed(text.slice(0, node.offset) + render(value, style) + text.slice(endOf(node)))
}

/** Where a key is written twice, the last one counts. */
const child = (node: Node, key: string): Node | undefined => {
  if (node.type === "array") return /^\d+$/.test(key) ? node.children?.[Number(key)] : undefined
  if (node.type !== "object") return undefined
  return node.children?.findLast((property) => property.children?.[0]?.value === key)?.children?.[1]
}

const find = (root: Node, path: ReadonlyArray<string>): Node | undefined =>
  path.reduce<Node | undefined>((node, key) => node && child(node, key), root)

interface Style {
  /** Of the line that the item begins on. */
  readonly indent: string
  readonly unit: string
  /** An item per line, or all on one. */
  readonly lines: boolean
  /** Behind colons and commas. */
  readonly gap: string
}

const insert = (text: string, container: Node, item: (style: Style) => string, unit: string): string => {
  const open = container.offset + 1
  const close = endOf(container) - 1
  const inner = text.slice(open, close)
  const last = container.children?.at(-1)
  const outer = indentAt(text, container.offset)
  const lines =
    last === undefined
      ? container.parent === undefined || text.includes("\n")
      : text.slice(open, last.offset).includes("\n") || text.slice(endOf(last), close).includes("\n")
  const compact = last !== undefined && (container.type === "object" ? /":\S/ : /",\S/).test(inner)
  const beginsLine = last !== undefined && text.slice(lineStart(text, last.offset), last.offset).trim() === ""
  const indent = beginsLine ? indentAt(text, last.offset) : outer + unit
  const style: Style = { indent, unit, lines, gap: compact && !lines ? "" : " " }
  const lead = lines ? `\n${indent}` : last === undefined ? "" : style.gap
  if (inner.trim() === "") {
    return text.slice(0, open) + lead + item(style) + (lines ? `\n${outer}` : "") + text.slice(close)
  }
  // Behind whatever stands there last: a comment about the last item stays beside it.
  const end = open + inner.trimEnd().length
  if (last === undefined) return text.slice(0, end) + lead + item(style) + text.slice(end)
  const trailing = commaBehind(text, endOf(last)) !== undefined
  return (
    text.slice(0, endOf(last)) +
    (trailing ? "" : ",") +
    text.slice(endOf(last), end) +
    lead +
    item(style) +
    (trailing ? "," : "") +
    text.slice(end)
  )
}

/** Every occurrence of the key. */
const take = (text: string, path: ReadonlyArray<string>): string => {
  const root = parseTree(text, [], { allowTrailingComma: true })
  const node = root && find(root, path)
  const item = node?.parent?.type === "property" ? node.parent : node
  const container = item?.parent
  if (item === undefined || container === undefined) return text
  const next = cut(text, container, item)
  return container.type === "object" ? take(next, path) : next
}

const cut = (text: string, container: Node, item: Node): string => {
  const items = container.children ?? []
  const before = items[items.indexOf(item) - 1]
  const comma = commaBehind(text, endOf(item))
  // One comma goes with it: the one behind or, for the last item, the one in front.
  const front = comma === undefined && before !== undefined ? commaBehind(text, endOf(before)) : undefined
  const head =
    front === undefined ? text.slice(0, item.offset) : text.slice(0, front) + text.slice(front + 1, item.offset)
  const between = comma === undefined ? "" : text.slice(endOf(item), comma)
  const behind = (between.trim() === "" ? "" : between) + text.slice(comma === undefined ? endOf(item) : comma + 1)
  const close = text.length - endOf(container) + 1
  if (items.length === 1 && (head.slice(container.offset + 1) + behind.slice(0, behind.length - close)).trim() === "") {
    return head.slice(0, container.offset + 1) + behind.slice(behind.length - close)
  }
  const line = head.slice(lineStart(head, head.length))
  const rest = /^[ \t]*(?:\r?\n|$)/.exec(behind)?.[0]
  if (line.trim() === "" && line !== head && rest !== undefined) {
    return head.slice(0, head.length - line.length) + behind.slice(rest.length)
  }
  return front === undefined ? head + behind.replace(/^[ \t]+/, "") : head.replace(/[ \t]+$/, "") + behind
}

/** The comma that follows an item, if comments and space are all that stands between. */
const commaBehind = (text: string, from: number): number | undefined => {
  const skipped = /^(?:\s|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/)*/.exec(text.slice(from))?.[0].length ?? 0
  return text[from + skipped] === "," ? from + skipped : undefined
}

const endOf = (node: Node): number => node.offset + node.length

const lineStart = (text: string, offset: number): number => text.lastIndexOf("\n", offset - 1) + 1

const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? ""

/** One step of indentation, as the first key of the file has it. */
const unitOf = (text: string, root: Node): string => {
  const [first] = root.children ?? []
  if (first === undefined || !text.slice(root.offset, first.offset).includes("\n")) return "  "
  return indentAt(text, first.offset) || "  "
}

const render = (value: Json, { gap, indent, lines, unit }: Style): string =>
  lines ? JSON.stringify(value, undefined, unit).replaceAll("\n", `\n${indent}`) : inline(value, gap)

const inline = (value: Json, gap: string): string => {
  if (isObject(value)) {
    const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${gap}${inline(item, gap)}`)
    return `{${entries.join(`,${gap}`)}}`
  }
  if (typeof value === "object" && value !== null) return `[${value.map((item) => inline(item, gap)).join(`,${gap}`)}]`
  return JSON.stringify(value)
}
