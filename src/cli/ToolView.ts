/** Owns how a tool call looks to a person: one line for the call, a few for what came of it. */
import * as Schema from "effect/Schema"
import { structuredPatch } from "diff"
import stringWidth from "string-width"
import { plainText } from "../protocol/Content.ts"
import type { EventOf } from "../protocol/Event.ts"
import { oneLine, plain } from "./Plain.ts"
import { visible } from "./Reveal.ts"

/** What a line means; the screen gives it a colour. */
export type Tone = "normal" | "quiet" | "added" | "removed" | "bad" | "warning"

export interface ViewLine {
  readonly tone: Tone
  readonly text: string
  /** Where in the text something stands for what cannot be seen. */
  readonly marks?: ReadonlyArray<Mark>
}

export interface Mark {
  readonly from: number
  readonly to: number
}

const most = { output: 6, patch: 40 }

export const segments = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** Cuts to so many columns of a terminal. */
export const truncate = (text: string, columns: number): string => {
  if (stringWidth(text) <= columns) return text
  let width = 0
  let kept = ""
  for (const { segment } of segments.segment(text)) {
    width += stringWidth(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept}…`
}

/** The argument that tells most about a call, by the names tools use. */
const telling = ["command", "file_path", "notebook_path", "pattern", "path", "url", "query", "description", "prompt"]

export const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined

/** `src/index.ts` for `<cwd>/src/index.ts`. */
const shorten = (path: string, cwd: string): string => (path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path)

/** What was done is not to look like something else afterwards, so nothing is dropped but white space. */
const label = (text: string): string => visible(text.replace(/[ \t\r\n]+/g, " ").trim(), true)

/** A call in a few words: `Bash npm test`. */
export const describe = (tool: string, input: unknown, cwd: string): string => {
  const found = telling.map((name) => field(input, name)).find((value) => typeof value === "string")
  return found === undefined ? label(tool) : `${label(tool)} ${label(shorten(String(found), cwd))}`
}

const Hunk = Schema.Struct({ oldStart: Schema.Finite, newStart: Schema.Finite, lines: Schema.Array(Schema.String) })
type Hunk = typeof Hunk.Type
const Patched = Schema.Struct({ structuredPatch: Schema.Array(Hunk) })
const isPatched = Schema.is(Patched)

/** The change a call made: from its own typed output, else from the arguments of an edit. */
const patchOf = (input: unknown, structured: unknown): ReadonlyArray<Hunk> => {
  if (isPatched(structured)) return structured.structuredPatch
  const before = field(input, "old_string")
  const after = field(input, "new_string")
  if (typeof before !== "string" || typeof after !== "string") return []
  return structuredPatch("", "", before, after, undefined, undefined, { context: 2, timeout: 200 })?.hunks ?? []
}

/** A change, line by line, with line numbers. */
export const patchLines = (hunks: ReadonlyArray<Hunk>): ReadonlyArray<ViewLine> =>
  hunks.flatMap((hunk) => {
    let before = hunk.oldStart
    let after = hunk.newStart
    return hunk.lines.flatMap((line): ReadonlyArray<ViewLine> => {
      const sign = line[0]
      const rest = plain(line.slice(1))
      if (sign === "\\") return []
      if (sign === "-") return [{ tone: "removed", text: `${number(before++)} - ${rest}` }]
      if (sign === "+") return [{ tone: "added", text: `${number(after++)} + ${rest}` }]
      before++
      return [{ tone: "quiet", text: `${number(after++)}   ${rest}` }]
    })
  })

const number = (n: number) => String(n).padStart(4)

/** The colours of `git diff`, for a whole diff as text. */
export const diffLines = (diff: string): ReadonlyArray<ViewLine> =>
  plain(diff)
    .trimEnd()
    .split("\n")
    .map((text) => ({
      text,
      tone: /^(\+\+\+|---|diff|index|@@)/.test(text)
        ? "quiet"
        : text.startsWith("+")
          ? "added"
          : text.startsWith("-")
            ? "removed"
            : "normal",
    }))

/** What came of a call. */
export const outcome = (event: EventOf<"ToolEnded">, input: unknown): ReadonlyArray<ViewLine> => {
  const content = plain(typeof event.content === "string" ? event.content : plainText(event.content)).trimEnd()
  const all = content === "" ? [] : content.split("\n")
  switch (event.outcome) {
    case "denied":
      return [{ tone: "warning", text: `not allowed: ${oneLine(content)}` }]
    case "cancelled":
      return [{ tone: "warning", text: "interrupted" }]
    case "unknown":
      return [{ tone: "warning", text: "unknown: a crash hid what came of it; it is not repeated" }]
    case "failed":
      return event.tool === "Bash"
        ? [...firstLines(all.slice(0, 1), "bad"), ...lastLines(all.slice(1))]
        : firstLines(all, "bad")
    case "completed": {
      const patch = patchOf(input, event.structured)
      if (patch.length > 0) return capped(patchLines(patch), most.patch)
      if (event.tool === "Read") return [{ tone: "quiet", text: count(all.length, "line") }]
      if (all.length === 0) return [{ tone: "quiet", text: "(no output)" }]
      return event.tool === "Bash" ? lastLines(all) : firstLines(all, "quiet")
    }
  }
}

export const count = (n: number, what: string) => `${n} ${what}${n === 1 ? "" : "s"}`

const capped = (lines: ReadonlyArray<ViewLine>, max: number): ReadonlyArray<ViewLine> =>
  lines.length <= max
    ? lines
    : [...lines.slice(0, max), { tone: "quiet", text: `… ${count(lines.length - max, "more line")}` }]

const firstLines = (all: ReadonlyArray<string>, tone: Tone): ReadonlyArray<ViewLine> =>
  capped(
    all.map((text) => ({ tone, text })),
    most.output,
  )

/** A command says what matters at its end. */
const lastLines = (all: ReadonlyArray<string>): ReadonlyArray<ViewLine> => {
  const hidden = all.length - most.output
  const shown = all.slice(-most.output).map((text): ViewLine => ({ tone: "quiet", text }))
  return hidden <= 0 ? shown : [{ tone: "quiet", text: `… ${count(hidden, "line")} before` }, ...shown]
}
