/**
 * Owns reading lines from a person at a terminal.
 *
 * The terminal is taken over only while a line is wanted, so that at all other times Ctrl-C is the ordinary signal.
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import * as readline from "node:readline"
import { PassThrough } from "node:stream"
import { StringDecoder } from "node:string_decoder"
import * as Pastes from "./Pastes.ts"
import { plain } from "./Plain.ts"
import * as ReverseSearch from "./ReverseSearch.ts"
import { truncate } from "./ToolView.ts"

export type Read =
  | { readonly _tag: "Line"; readonly text: string }
  /** Ctrl-C; `typed` is whether there was something on the line. */
  | { readonly _tag: "Interrupt"; readonly typed: boolean }
  /** Ctrl-D, or the terminal is gone. */
  | { readonly _tag: "End" }

export interface ReadOptions {
  /** What was typed before the prompt was there is no answer to it. */
  readonly fresh?: boolean
  /** Earlier lines for Up, Down and Ctrl-R, the newest first. Without them nothing is recalled. */
  readonly recall?: ReadonlyArray<string>
}

export interface LineReader {
  /** A line as it was typed; several pasted lines stand in it as one word. */
  readonly read: (prompt: string, options?: ReadOptions) => Effect.Effect<Read>
}

/** As much of a terminal as is needed. */
export interface Keyboard extends NodeJS.ReadableStream {
  readonly setRawMode?: (raw: boolean) => unknown
}
export interface Paper extends NodeJS.WritableStream {
  readonly isTTY?: boolean
  readonly columns?: number
}

const pasteBegins = "\u001b[200~"
const pasteEnds = "\u001b[201~"
/** The terminal is to tell pasted text from typed text. */
const marked = { on: "\u001b[?2004h", off: "\u001b[?2004l" }
const wipe = "\r\u001b[2K"

export const make = (input: Keyboard, output: Paper, pastes: Pastes.Pastes = Pastes.make()): LineReader => {
  // One line is read at a time: a key must not be heard twice.
  const one = Semaphore.makeUnsafe(1)
  /** What was on the line when somebody else needed the terminal. */
  let unfinished = ""
  const read: LineReader["read"] = (prompt, options = {}) =>
    Effect.callback<Read>((resume) => {
      const lines: Array<string> = []
      const { recall = [] } = options
      if (options.fresh === true) while (input.read() !== null);
      const keys = new PassThrough()
      const face = readline.createInterface({
        input: keys,
        output,
        terminal: true,
        history: [...recall],
        historySize: recall.length + 1,
        removeHistoryDuplicates: true,
      })
      let answer: Read | undefined
      const settle = (read: Read) => {
        answer ??= read
        face.close()
      }

      let search: ReverseSearch.Search | undefined
      const typed = (text: string) => {
        const at = search === undefined && recall.length > 0 ? text.indexOf("\u0012") : -1
        if (at !== -1) {
          if (at > 0) keys.write(text.slice(0, at))
          search = ReverseSearch.start
          return searching(text.slice(at + 1))
        }
        if (search !== undefined) return searching(text)
        if (text !== "") keys.write(text)
      }
      const searching = (text: string) => {
        const outcome = ReverseSearch.press(search ?? ReverseSearch.start, text, recall)
        if (outcome._tag === "Searching") {
          search = outcome.search
          const found = ReverseSearch.matching(search, recall)?.replaceAll("\n", "⏎") ?? ""
          output.write(wipe + truncate(`(search) ${search.query}: ${found}`, (output.columns ?? 80) - 1))
          return
        }
        search = undefined
        output.write(wipe)
        face.prompt(true)
        if (outcome._tag !== "Taken") return
        // To the end of the line, and away with what stands before: the match takes its place.
        const whole = outcome.line.includes("\n") ? pastes.hold(outcome.line) : outcome.line
        keys.write(`\u0005\u0015${whole}${outcome.rest}`)
      }
      const pasted = (text: string) => {
        const clean = plain(text).replace(/\n+$/, "")
        typed(clean.includes("\n") ? pastes.hold(clean) : clean)
      }
      const split = splitter(typed, pasted)
      const hear = (chunk: Buffer | string) => split(typeof chunk === "string" ? chunk : decoder.write(chunk))
      const decoder = new StringDecoder("utf8")
      const end = () => keys.end()

      face.on("line", (line) => {
        lines.push(line)
        // Lines that arrive together were pasted, and are one answer: close only when all of them are here.
        if (lines.length === 1) queueMicrotask(() => settle({ _tag: "Line", text: lines.join("\n") }))
      })
      face.on("SIGINT", () => {
        output.write("\n")
        settle({ _tag: "Interrupt", typed: face.line !== "" })
      })
      face.on("close", () => {
        input.off("data", hear)
        input.off("end", end)
        input.off("error", end)
        input.pause()
        input.setRawMode?.(false)
        if (marks) output.write(marked.off)
        resume(Effect.succeed(answer ?? { _tag: "End" }))
      })
      const marks = output.isTTY === true && process.env["TERM"] !== "dumb"
      input.setRawMode?.(true)
      if (marks) output.write(marked.on)
      input.on("data", hear)
      input.on("end", end)
      // A terminal that went away.
      input.on("error", end)
      input.resume()
      face.setPrompt(prompt)
      face.prompt()
      if (options.fresh !== true && unfinished !== "") {
        keys.write(unfinished)
        unfinished = ""
      }
      return Effect.sync(() => {
        if (options.fresh !== true) unfinished = face.line
        if (output.isTTY === true) output.write(wipe)
        face.close()
      })
    })
  return { read: (prompt, options) => one.withPermits(1)(read(prompt, options)) }
}

/** Tells typed from pasted text; the marks between them may be cut anywhere. */
const splitter = (typed: (text: string) => void, pasted: (text: string) => void) => {
  let paste: string | undefined
  let held = ""
  return (chunk: string): void => {
    let text = held + chunk
    held = ""
    while (text !== "") {
      const mark = paste === undefined ? pasteBegins : pasteEnds
      const at = text.indexOf(mark)
      const cut = at === -1 ? text.length - partial(text, mark) : at
      const piece = text.slice(0, cut)
      if (paste !== undefined) paste += piece
      else if (piece !== "") typed(piece)
      if (at === -1) {
        held = text.slice(cut)
        return
      }
      if (paste !== undefined) pasted(paste)
      paste = paste === undefined ? "" : undefined
      text = text.slice(at + mark.length)
    }
  }
}

/** How much of the end of a text may be the beginning of a mark. A single Escape is a key of its own. */
const partial = (text: string, mark: string): number => {
  for (let length = mark.length - 1; length > 1; length--) if (text.endsWith(mark.slice(0, length))) return length
  return 0
}

/** Reads a prompt: a line that ends in a backslash goes on in the next one. */
export const readPrompt = Effect.fnUntraced(function* (
  reader: LineReader,
  first: string,
  more: string,
  recall: ReadonlyArray<string> = [],
) {
  const lines: Array<string> = []
  while (true) {
    const read = yield* reader.read(lines.length === 0 ? first : more, { recall })
    if (read._tag !== "Line") {
      return lines.length > 0 && read._tag === "Interrupt" ? { ...read, typed: true } : read
    }
    if (!read.text.endsWith("\\")) {
      const done: Read = { _tag: "Line", text: [...lines, read.text].join("\n") }
      return done
    }
    lines.push(read.text.slice(0, -1))
  }
})
