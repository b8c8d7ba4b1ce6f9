/**
 * Owns the front matter of Markdown files: split by us, read as YAML, forgiving of what people really write, exact about
 * the line it complains of. Nothing in it can execute.
 */
import * as Effect from "effect/Effect"
import type * as YamlModule from "yaml"

/** Counted in the whole file, from 1. */
export interface Problem {
  readonly line: number
  readonly column: number
  readonly message: string
}

export interface Frontmatter {
  readonly data: Readonly<Record<string, unknown>>
  /** Everything after the closing line, line endings as LF. */
  readonly body: string
  /** The line the body starts on. */
  readonly bodyLine: number
  readonly problems: ReadonlyArray<Problem>
  /** The line a top-level key is on. */
  readonly lineOf: (key: string) => number | undefined
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

/** Cuts the text at its fences; a text without them is all body. */
export const split = (raw: string): Split => {
  const text = (raw.startsWith("\uFEFF") ? raw.slice(1) : raw).replaceAll("\r\n", "\n")
  const lines = text.split("\n")
  if (!/^---[ \t]*$/.test(lines[0] ?? "")) return none(text)
  const end = lines.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)[ \t]*$/.test(line))
  if (end === -1) {
    return none(text, [
      { line: 1, column: 1, message: "the front matter is not closed with a line ---; it is ignored" },
    ])
  }
  return { yaml: lines.slice(1, end), body: lines.slice(end + 1).join("\n"), bodyLine: end + 2, problems: [] }
}

type Yaml = typeof YamlModule
type Reading = { readonly data: Readonly<Record<string, unknown>>; readonly problems: ReadonlyArray<Problem> }

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** `first` is the file's line of the first of these lines. */
const read = (yaml: Yaml, lines: ReadonlyArray<string>, first: number): Reading => {
  const counter = new yaml.LineCounter()
  const document = yaml.parseDocument(lines.join("\n"), { lineCounter: counter, prettyErrors: false, schema: "core" })
  const problems = document.errors.map((error): Problem => {
    const at = counter.linePos(error.pos[0])
    return { line: at.line + first - 1, column: at.col, message: error.message }
  })
  if (problems.length > 0) return { data: {}, problems }
  try {
    const value: unknown = document.toJS({ maxAliasCount: 50 })
    if (value === null || value === undefined) return { data: {}, problems }
    if (isRecord(value)) return { data: value, problems }
    return { data: {}, problems: [{ line: first, column: 1, message: "the front matter must be keys and values" }] }
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    return { data: {}, problems: [{ line: first, column: 1, message }] }
  }
}

const plainLine = /^([A-Za-z_][\w-]*):[ \t]+(?!["'|>[{&*!#])(.+?)[ \t]*$/

/** `description: Use when: x` is not YAML, but everybody writes it and everybody means the text. */
const quoted = (line: string): string => {
  const [, key, value] = plainLine.exec(line) ?? []
  if (key === undefined || value === undefined) return line
  return /: |:$| #|^[@`%]/.test(value) ? `${key}: ${JSON.stringify(value)}` : line
}

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

const lenient = (yaml: Yaml, lines: ReadonlyArray<string>, strict: ReadonlyArray<Problem>): Reading => {
  const repaired = lines.map(quoted)
  const again = read(yaml, repaired, 2)
  if (again.problems.length === 0) {
    return {
      data: again.data,
      problems: strict.map((problem) => noted(problem, "read as plain text; put it in quotes")),
    }
  }
  const parts = blocks(repaired).map((block) => read(yaml, block.lines, block.at + 2))
  const ignored = parts.flatMap((part) => part.problems.map((problem) => noted(problem, "this key is ignored")))
  return {
    data: Object.assign({}, ...parts.map((part) => part.data)),
    // Each key can be fine by itself and still not beside the others: written twice, for instance.
    problems: ignored.length > 0 ? ignored : strict.map((problem) => noted(problem, "each key was read by itself")),
  }
}

const noted = (problem: Problem, note: string): Problem => ({ ...problem, message: `${problem.message}; ${note}` })

/** Never fails: what cannot be read is left out and named. The YAML reader loads at the first file that needs it. */
export const parse = Effect.fnUntraced(function* (raw: string) {
  const { body, bodyLine, problems, yaml: lines } = split(raw)
  const lineOf = (key: string): number | undefined => {
    const index = lines.findIndex((line) => line.startsWith(`${key}:`) || line.startsWith(`"${key}":`))
    return index === -1 ? undefined : index + 2
  }
  const empty: Frontmatter = { data: {}, body, bodyLine, problems, lineOf }
  if (lines.every((line) => line.trim() === "")) return empty
  const yaml = yield* Effect.promise(() => import("yaml"))
  const strict = read(yaml, lines, 2)
  const reading = strict.problems.length === 0 ? strict : lenient(yaml, lines, strict.problems)
  const result: Frontmatter = { ...empty, data: reading.data, problems: reading.problems }
  return result
})
