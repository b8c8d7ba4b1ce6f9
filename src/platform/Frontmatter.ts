/**
 * Owns the front matter of Markdown files: split by us, read as YAML, forgiving of what people really write, exact about
 * the line it complains of. Nothing in it can execute, and nothing in it can take more time or memory than its size.
 */
import * as Effect from "effect/Effect"
import type * as YamlModule from "yaml"
import { type Problem, read, type Reading } from "./BoundedYaml.ts"
import * as PlainYaml from "./PlainYaml.ts"

export type { Problem }

export interface Frontmatter {
  readonly data: Readonly<Record<string, unknown>>
  /** Everything after the closing line, line endings as LF. */
  readonly body: string
  /** The line the body starts on. */
  readonly bodyLine: number
  readonly problems: ReadonlyArray<Problem>
  /** The line a top-level key is on. */
  readonly lineOf: (key: string) => number | undefined
  /** The same for all of them. */
  readonly lines: Readonly<Record<string, number>>
}

interface Split {
  readonly yaml: ReadonlyArray<string>
  readonly body: string
  readonly bodyLine: number
  readonly problems: ReadonlyArray<Problem>
}

const none = (text: string, problems: ReadonlyArray<Problem> = []): Split => ({
  yaml: [],
  body: text,
  bodyLine: 1,
  problems,
})

const fence = /^(?:---|\.\.\.)[ \t]*$/

/** Cuts the text at its fences; a text without them is all body. */
export const split = (raw: string): Split => {
  const text = (raw.startsWith("\uFEFF") ? raw.slice(1) : raw).replaceAll("\r\n", "\n")
  if (!/^---[ \t]*(?:\n|$)/.test(text)) return none(text)
  const yaml: Array<string> = []
  for (let from = text.indexOf("\n") + 1; from > 0;) {
    const end = text.indexOf("\n", from)
    const line = end === -1 ? text.slice(from) : text.slice(from, end)
    if (fence.test(line)) {
      return { yaml, body: end === -1 ? "" : text.slice(end + 1), bodyLine: yaml.length + 3, problems: [] }
    }
    yaml.push(line)
    from = end + 1
  }
  return none(text, [{ line: 1, column: 1, message: "the front matter is not closed with a line ---; it is ignored" }])
}

type Yaml = typeof YamlModule

const single = /^([A-Za-z_][\w-]*):[ \t]+(.+?)[ \t]*$/

/** What somebody meant who did not know that YAML reads `: `, ` #`, a star, a bracket or a quote as more than text. */
const meant = (text: string): string | undefined => {
  if (/^[[{]/.test(text)) return /^\[[^\]]*\][ \t]*[^\s,#]/.test(text) ? text : undefined
  if (/^(["']).*\1$/.test(text)) return text.slice(1, -1)
  // Of a block scalar the text is still to come.
  return /^[|>][-+0-9]*$/.test(text) ? undefined : text
}

const spaced = (line: string): string =>
  line.replace(/^[ \t]+/, (indent) => (indent.includes("\t") ? indent.replaceAll("\t", "  ") : indent))

/** A top-level key with the indented lines that belong to it. */
const blocks = (
  lines: ReadonlyArray<string>,
): ReadonlyArray<{ readonly at: number; readonly lines: Array<string> }> => {
  const found: Array<{ readonly at: number; readonly lines: Array<string> }> = []
  for (const [at, line] of lines.entries()) {
    const last = found.at(-1)
    if (last !== undefined && (/^[\s-]/.test(line) || line === "")) last.lines.push(line)
    else found.push({ at, lines: [line] })
  }
  return found
}

/** One key by itself: as it is, with spaces for tabs, as the text it was meant to be, or not at all. */
const lenientBlock = (yaml: Yaml, lines: ReadonlyArray<string>, first: number): Reading => {
  const plain = PlainYaml.read(lines)
  if (plain !== undefined) return { data: plain, problems: [] }
  const strict = read(yaml, lines.join("\n"), first)
  if (strict.problems.length === 0 || strict.hostile === true) return strict
  const again = read(yaml, lines.map(spaced).join("\n"), first)
  if (again.problems.length === 0) {
    return { data: again.data, problems: strict.problems.map((one) => noted(one, "tabs were read as spaces")) }
  }
  const [, key, text] = single.exec(lines[0] ?? "") ?? []
  const said = text === undefined || lines.slice(1).some((line) => line.trim() !== "") ? undefined : meant(text)
  if (key !== undefined && said !== undefined) {
    return {
      data: Object.fromEntries([[key, said]]),
      problems: strict.problems.map((one) => noted(one, "read as plain text; put it in quotes")),
    }
  }
  const ignored = keyOf(lines[0] ?? "")
  return {
    data: {},
    problems: strict.problems.map((one) => ({
      ...noted(one, ignored === undefined ? "this line is ignored" : "this key is ignored"),
      ...(ignored !== undefined && { ignored }),
    })),
  }
}

/** More keys than anybody writes are not worth reading one by one. */
const maxBlocks = 200

const lenient = (yaml: Yaml, lines: ReadonlyArray<string>, strict: Reading): Reading => {
  const found = blocks(lines)
  if (found.length > maxBlocks) return strict
  const parts = found.map((block) => lenientBlock(yaml, block.lines, block.at + 2))
  return {
    data: Object.fromEntries(parts.flatMap((part) => Object.entries(part.data))),
    problems: parts.flatMap((part) => part.problems),
  }
}

const noted = (problem: Problem, note: string): Problem => ({ ...problem, message: `${problem.message}; ${note}` })

const keyOf = (line: string): string | undefined =>
  /^(?:([\w$-][^\s:"']*)|"([^"]+)"|'([^']+)')[ \t]*:(?:\s|$)/
    .exec(line)
    ?.slice(1)
    .find((part) => part !== undefined)

interface Places {
  /** The first line of each key, as it is the one a reader looks at. */
  readonly lines: Readonly<Record<string, number>>
  readonly twice: ReadonlyArray<Problem>
}

const placesOf = (lines: ReadonlyArray<string>): Places => {
  const found = new Map<string, number>()
  const twice: Array<Problem> = []
  for (const [index, line] of lines.entries()) {
    const key = keyOf(line)
    if (key === undefined) continue
    if (!found.has(key)) found.set(key, index + 2)
    else if (twice.length < 20) {
      twice.push({ line: index + 2, column: 1, message: `"${key}" is there twice; the last one counts` })
    }
  }
  return { lines: Object.fromEntries(found), twice }
}

/** Where `lines` says that a key is. */
export const lookup =
  (lines: Readonly<Record<string, number>>) =>
  (key: string): number | undefined =>
    Object.hasOwn(lines, key) ? lines[key] : undefined

/** Never fails: what cannot be read is left out and named. The YAML reader loads at the first file that needs it. */
export const parse = Effect.fnUntraced(function* (raw: string) {
  const { body, bodyLine, problems, yaml: lines } = split(raw)
  const places = placesOf(lines)
  const made = (reading: Reading): Frontmatter => ({
    data: reading.data,
    body,
    bodyLine,
    problems: [...problems, ...reading.problems, ...(reading.hostile === true ? [] : places.twice)],
    lineOf: lookup(places.lines),
    lines: places.lines,
  })
  if (lines.every((line) => line.trim() === "")) return made({ data: {}, problems: [] })
  const plain = PlainYaml.read(lines)
  if (plain !== undefined) return made({ data: plain, problems: [] })
  const yaml = yield* Effect.promise(() => import("yaml"))
  const strict = read(yaml, lines.join("\n"), 2)
  return made(strict.problems.length === 0 || strict.hostile === true ? strict : lenient(yaml, lines, strict))
})
