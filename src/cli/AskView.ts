/**
 * Owns what a person is shown of a call that needs approval: all of it, nothing hidden in it, and in rows of our own making,
 * so that no text of the call can pass for something else on the screen.
 */
import { structuredPatch } from "diff"
import stringWidth from "string-width"
import type { Ask, Question as Asked } from "../permissions/Permissions.ts"
import { reveal, revealJson, unseen, type Piece } from "./Reveal.ts"
import { count, field, segments, type Mark, type Tone, type ViewLine } from "./ToolView.ts"

export interface Question {
  readonly lines: ReadonlyArray<ViewLine>
  /** Something is left out, because it is long. */
  readonly cut: boolean
}

/** One line of the call, before it is cut into rows that fit the terminal. */
interface Line {
  readonly tone: Tone
  readonly lead: string
  readonly pieces: ReadonlyArray<Piece>
}

/** Of a part with more than `all` rows, so many of its beginning and of its end are shown. */
interface Share {
  readonly all: number
  readonly head: number
  readonly tail: number
}

interface Part {
  readonly title: ReadonlyArray<Line>
  readonly lines: ReadonlyArray<Line>
  readonly share: Share
  /** The arguments that it shows. */
  readonly shows: ReadonlyArray<string>
}

const usual: Share = { all: 40, head: 30, tail: 10 }
/** A file is known by how it begins. */
const ofFile: Share = { all: 10, head: 10, tail: 0 }

const margin = "    "
const deeper = `${margin}  `
/** Leads a row that goes on with the line above, which was too long. */
const goesOn = `${margin}↳ `
const mostNamed = 8

/** What there is to judge; `whole` leaves nothing out, however long it is. */
export const question = (ask: Asked, columns: number, whole = false): Question => {
  const width = Math.max(20, columns)
  const head: Line = {
    tone: "warning",
    lead: "? ",
    pieces: reveal(ask.executes === undefined ? ask.summary : ask.tool, true),
  }
  const main = mainPart(ask)
  const parts = [main, { title: [], lines: others(ask, main.shows), share: usual, shows: [] }]
  const notes = [
    ...(ask.why === "" ? [] : [remark(`why: ${ask.why}`)]),
    ...touches(ask),
    ...ask.suggestions.map(({ covers, rule }) => remark(`to allow more: ${rule}, which covers ${covers}`)),
    ...ask.outside.map((path) => note(`outside the workspace: ${path}`)),
    ...ask.sensitive.map((path) => note(`changes how tools behave: ${path}`)),
  ]
  const escapes = unseen([head, ...parts.flatMap(({ lines }) => lines), ...notes].flatMap(({ pieces }) => pieces))
  const warning = escapes.length === 0 ? [] : [note(`contains invisible characters, shown as ${named(escapes)}`)]

  const rows = (lines: ReadonlyArray<Line>) => lines.flatMap((line) => wrap(line, width))
  let cut = false
  const shown = parts.flatMap(({ title, lines, share }) => {
    const all = rows(lines)
    if (whole || all.length <= share.all) return rows(title).concat(all)
    cut = true
    const left = count(all.length - share.head - share.tail, "line")
    const gap: ViewLine = { tone: "warning", text: `${margin}… ${left} not shown here; v shows all` }
    return rows(title).concat(all.slice(0, share.head), gap, all.slice(all.length - share.tail))
  })
  return { lines: [...rows([head]), ...shown, ...rows([...notes, ...warning])], cut }
}

const remark = (text: string): Line => ({ tone: "quiet", lead: margin, pieces: reveal(text, true) })

/** What a command would touch; of other tools the call itself says it. */
const touches = (ask: Ask): ReadonlyArray<Line> => {
  if (ask.executes === undefined) return []
  const line = (verb: string, things: ReadonlyArray<string>) => {
    const names = [...new Set(things)]
    if (names.length === 0) return []
    const more = names.length > mostNamed ? `, and ${names.length - mostNamed} more` : ""
    return [remark(`${verb}: ${names.slice(0, mostNamed).join(", ")}${more}`)]
  }
  const hosts = ask.call.touches.flatMap((touch) => (touch._tag === "Connects" ? [touch.host] : []))
  return [...line("writes", ask.writes), ...line("reads", ask.reads), ...line("talks to", hosts)]
}

const note = (text: string): Line => ({ tone: "warning", lead: margin, pieces: reveal(text, true) })

const named = (escapes: ReadonlyArray<string>): string =>
  [...escapes.slice(0, mostNamed), ...(escapes.length > mostNamed ? ["…"] : [])].join(" ")

/** The command, the change or the file; everything else a call says follows as arguments. */
const mainPart = (ask: Ask): Part => {
  const { executes, input } = ask
  if (executes !== undefined) {
    const lines = block(executes)
    return { title: [], lines, share: usual, shows: field(input, "command") === executes ? ["command"] : [] }
  }
  const before = field(input, "old_string")
  const after = field(input, "new_string")
  if (typeof before === "string" && typeof after === "string") {
    return { title: [], lines: change(before, after), share: usual, shows: ["old_string", "new_string"] }
  }
  const text = field(input, "content")
  if (typeof text === "string" && ask.writes.length > 0) return { ...file(text), share: ofFile, shows: ["content"] }
  return { title: [], lines: [], share: usual, shows: [] }
}

/** Text of several lines: all but the first stand deeper, so that none of them looks like the beginning of something. */
const block = (text: string, label: ReadonlyArray<Piece> = []): ReadonlyArray<Line> =>
  text.split("\n").map((line, i) => ({
    tone: "normal",
    lead: i === 0 ? margin : deeper,
    pieces: i === 0 ? label.concat(reveal(line)) : reveal(line),
  }))

const change = (before: string, after: string): ReadonlyArray<Line> => {
  // Passages seldom end with a line end; only if one of the two does is that a part of the change.
  const bare = !before.endsWith("\n") && !after.endsWith("\n")
  const whole = (text: string) => (bare && text !== "" ? `${text}\n` : text)
  const patch = structuredPatch("", "", whole(before), whole(after), undefined, undefined, { context: 2, timeout: 200 })
  const of = (tone: Tone, sign: string, text: string): Line => ({
    tone,
    lead: `${margin}${sign} `,
    pieces: reveal(text),
  })
  if (patch === undefined || patch.hunks.length === 0) {
    // Too different for a diff in a reasonable time.
    return [
      ...before.split("\n").map((text) => of("removed", "-", text)),
      ...after.split("\n").map((text) => of("added", "+", text)),
    ]
  }
  const lines = patch.hunks.map((hunk) =>
    hunk.lines.map((line) => {
      const text = line.slice(1)
      if (line.startsWith("-")) return of("removed", "-", text)
      if (line.startsWith("+")) return of("added", "+", text)
      return line.startsWith("\\") ? of("quiet", "\\", "no line end here") : of("quiet", " ", text)
    }),
  )
  return lines.flatMap((hunk, i) => (i === 0 ? hunk : [of("quiet", "⋮", "")].concat(hunk)))
}

const file = (content: string): Pick<Part, "title" | "lines"> => {
  const crlf = /\r\n/.test(content) && !/(?<!\r)\n/.test(content)
  const lines = (crlf ? content.replaceAll("\r\n", "\n") : content).replace(/\n$/, "").split("\n")
  const size =
    content === "" ? "an empty file" : `${count(lines.length, "line")}, ${bytes(content)}${crlf ? ", CRLF" : ""}:`
  const title: Line = { tone: "quiet", lead: margin, pieces: reveal(size) }
  if (content === "") return { title: [title], lines: [] }
  return { title: [title], lines: lines.map((text) => ({ tone: "added", lead: `${margin}+ `, pieces: reveal(text) })) }
}

const bytes = (text: string) => count(new TextEncoder().encode(text).length, "byte")

/** The arguments that nothing above shows. */
const others = (ask: Ask, shown: ReadonlyArray<string>): ReadonlyArray<Line> => {
  const { input, tool, summary, executes } = ask
  const entries: ReadonlyArray<[string, unknown]> =
    typeof input === "object" && input !== null ? Object.entries(input) : [["input", input]]
  return [
    ...(executes !== undefined || summary.startsWith(tool) ? [] : argument("tool", tool)),
    ...entries.flatMap(([name, value]) => {
      if (value === undefined || shown.includes(name)) return []
      if (executes === undefined && summary === `${tool} ${String(value)}`) return []
      return argument(name, value)
    }),
  ]
}

const argument = (name: string, value: unknown): ReadonlyArray<Line> => {
  const label: ReadonlyArray<Piece> = [...reveal(name, true), { text: ": ", escaped: false }]
  if (typeof value === "string" && value !== "") return block(value, label)
  return [{ tone: "normal", lead: margin, pieces: [...label, ...revealJson(JSON.stringify(value) ?? "null")] }]
}

/** Cuts a line into rows; the terminal would go on at its edge, where our own lines begin. */
const wrap = ({ tone, lead, pieces }: Line, width: number): ReadonlyArray<ViewLine> => {
  const rows: Array<ViewLine> = []
  let text = lead
  let taken = stringWidth(lead)
  let marks: Array<Mark> = []
  const add = (part: string, columns: number, escaped: boolean) => {
    if (taken + columns > width) {
      rows.push({ tone, text, marks })
      text = goesOn
      taken = stringWidth(goesOn)
      marks = []
    }
    if (escaped) marks.push({ from: text.length, to: text.length + part.length })
    text += part
    taken += columns
  }
  for (const piece of pieces) {
    if (piece.escaped) add(piece.text, piece.text.length, true)
    else if (ascii.test(piece.text)) for (const one of piece.text) add(one, 1, false)
    else for (const { segment } of segments.segment(piece.text)) add(segment, columnsOf(segment), false)
  }
  return [...rows, { tone, text, marks }]
}

const ascii = /^[ -~]*$/
const tab = 8

const columnsOf = (segment: string): number => (segment === "\t" ? tab : stringWidth(segment))
