/** Owns writing to stdout and stderr: back-pressure, a reader that goes away, and the three formats of print mode. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { textFor } from "./Plain.ts"
import type { Line, ResultLine } from "./SdkLine.ts"

/** `closed`: whoever read the output went away, as in `troupe -p … | head -1`. That is no fault of anybody. */
export class OutputError extends Schema.TaggedError<OutputError>()("OutputError", {
  reason: Schema.Literals(["closed", "failed"]),
  detail: Schema.String,
}) {
  override get message(): string {
    return this.reason === "closed"
      ? "The reader of the output went away."
      : `The output cannot be written: ${this.detail}. Check the disk or the pipe it goes to.`
  }
}

/** Somewhere to write. Returns when the text was handed over, so a slow reader slows the writer. */
export interface Sink {
  readonly write: (text: string) => Effect.Effect<void, OutputError>
}

/** As much of Node's `Writable` as is needed. */
export interface Writable {
  readonly isTTY?: boolean
  readonly write: (text: string, done: (error?: Error | null) => void) => boolean
  readonly on: (event: "error", listener: (error: Error) => void) => unknown
}

const gone = new Set(["EPIPE", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END", "EOF"])

const toError = (error: Error): OutputError => {
  const code = "code" in error && typeof error.code === "string" ? error.code : ""
  return new OutputError({ reason: gone.has(code) ? "closed" : "failed", detail: error.message })
}

/**
 * A sink on a Node stream. Once it failed it keeps failing, and no error of the stream escapes as an uncaught one. What is
 * written may come from anybody, so a terminal gets it without control codes.
 */
export const sink = (stream: Writable): Sink => {
  const { write } = canvas(stream)
  return { write: (text) => write(textFor(stream, text)) }
}

/** The same for those who draw on a terminal: control codes pass, and what others wrote they clean themselves. */
export const canvas = (stream: Writable): Sink => {
  let failure: OutputError | undefined
  stream.on("error", (error) => {
    failure ??= toError(error)
  })
  return {
    write: (text) =>
      Effect.callback<void, OutputError>((resume) => {
        if (failure !== undefined) return resume(Effect.fail(failure))
        stream.write(text, (error) => {
          if (error) failure ??= toError(error)
          resume(failure === undefined ? Effect.void : Effect.fail(failure))
        })
      }),
  }
}

/** Prints the lines of a session in one of the formats. */
export interface Printer {
  readonly print: (line: Line) => Effect.Effect<void, OutputError>
  readonly end: Effect.Effect<void, OutputError>
}

export const printer = (
  format: "text" | "json" | "stream-json",
  options: { readonly verbose: boolean },
  out: Sink,
  err: Sink,
): Printer => {
  switch (format) {
    case "stream-json":
      return { print: (line) => out.write(encode(line)), end: Effect.void }
    case "json":
      return jsonPrinter(options.verbose, out)
    case "text":
      return { print: (line) => (line.type === "result" ? printText(line, out, err) : Effect.void), end: Effect.void }
  }
}

const jsonPrinter = (all: boolean, out: Sink): Printer => {
  const kept: Array<Line> = []
  let last: ResultLine | undefined
  return {
    print: (line) =>
      Effect.sync(() => {
        if (all) kept.push(line)
        if (line.type === "result") last = line
      }),
    end: Effect.suspend(() => {
      if (all) return out.write(encode(kept))
      return last === undefined ? Effect.void : out.write(encode(last))
    }),
  }
}

const printText = Effect.fnUntraced(function* (line: ResultLine, out: Sink, err: Sink) {
  const text = line.structured_output === undefined ? line.result : JSON.stringify(line.structured_output)
  if (text !== "") yield* out.write(text.endsWith("\n") ? text : `${text}\n`)
  for (const error of line.errors ?? []) yield* Effect.ignore(err.write(`troupe: ${error}\n`))
})

const harmful = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/**
 * One JSON value on one line, also for readers that take the two Unicode line separators for line ends. What a terminal
 * would obey is escaped as well, so that nothing of the value has to be dropped there.
 */
export const encode = (value: unknown): string =>
  `${JSON.stringify(value).replace(harmful, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`
