/**
 * Owns reading lines from a person at a terminal.
 *
 * The terminal is taken over only while a line is wanted, so that at all other times Ctrl-C is the ordinary signal.
 */
import * as Effect from "effect/Effect"
import * as readline from "node:readline"

export type Read =
  | { readonly _tag: "Line"; readonly text: string }
  /** Ctrl-C; `typed` is whether there was something on the line. */
  | { readonly _tag: "Interrupt"; readonly typed: boolean }
  /** Ctrl-D, or the terminal is gone. */
  | { readonly _tag: "End" }

export interface LineReader {
  /** `fresh`: what was typed before the prompt was there is no answer to it. */
  readonly read: (prompt: string, options?: { readonly fresh?: boolean }) => Effect.Effect<Read>
}

const remembered = 200

export const make = (input: NodeJS.ReadableStream, output: NodeJS.WritableStream): LineReader => {
  let history: Array<string> = []
  return {
    read: (prompt, options) =>
      Effect.callback<Read>((resume) => {
        const lines: Array<string> = []
        if (options?.fresh === true) while (input.read() !== null);
        const face = readline.createInterface({
          input,
          output,
          terminal: true,
          history: [...history],
          historySize: remembered,
          removeHistoryDuplicates: true,
        })
        let answer: Read | undefined
        const settle = (read: Read) => {
          answer ??= read
          face.close()
        }
        face.on("history", (kept) => {
          history = kept
        })
        face.on("line", (line) => {
          lines.push(line)
          // Pasted lines arrive together and are one answer: close only when all of them are here.
          if (lines.length === 1) queueMicrotask(() => settle({ _tag: "Line", text: lines.join("\n") }))
        })
        face.on("SIGINT", () => {
          output.write("\n")
          settle({ _tag: "Interrupt", typed: face.line !== "" })
        })
        face.on("close", () => resume(Effect.succeed(answer ?? { _tag: "End" })))
        face.setPrompt(prompt)
        face.prompt()
        return Effect.sync(() => face.close())
      }),
  }
}

/** Reads a prompt: a line that ends in a backslash goes on in the next one. */
export const readPrompt = Effect.fnUntraced(function* (reader: LineReader, first: string, more: string) {
  const lines: Array<string> = []
  while (true) {
    const read = yield* reader.read(lines.length === 0 ? first : more)
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
