/**
 * Owns what was typed at the prompt in earlier sessions: `<config>/history.jsonl`, a line each, shared with other clients.
 *
 * Lines are only ever appended, each with one write, so that two processes do not harm each other. What is read is judged line by
 * line: others write here too.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync, writeSync } from "node:fs"
import { dirname } from "node:path"
import { adopt, type Pastes } from "./Pastes.ts"
import { plain } from "./Plain.ts"

export interface PromptHistory {
  /** The newest first; those of this project. */
  readonly recall: Effect.Effect<ReadonlyArray<string>>
  /** Remembers a line as it was typed, with words for what was pasted. Never fails: nobody stops working for it. */
  readonly add: (typed: string, sessionId: string) => Effect.Effect<void>
}

const Entry = Schema.Struct({
  display: Schema.String,
  project: Schema.String,
  pastedContents: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
})
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Entry))
const Pasted = Schema.Struct({ content: Schema.String })
const isPasted = Schema.is(Pasted)

const most = 200
/** How much of the end of the file is looked at. */
const tail = 1_000_000
/** A longer paste is not remembered: its word stays in the line and stands for nothing. */
const longest = 64_000

export const make = (file: string, project: string, pastes: Pastes): PromptHistory => {
  let size = -1
  let known: ReadonlyArray<string> = []
  return {
    recall: Effect.sync(() => {
      const text = attempt(() => newer(file, size))
      if (text === undefined) return known
      size = text.size
      known = entries(text.text, project, pastes)
      return known
    }),
    add: Effect.fnUntraced(function* (typed: string, sessionId: string) {
      const timestamp = yield* Clock.currentTimeMillis
      const pastedContents = Object.fromEntries(
        [...pastes.within(typed)]
          .filter(([, content]) => content.length <= longest)
          .map(([id, content]) => [id, { id, type: "text", content }]),
      )
      const line = JSON.stringify({ display: typed, pastedContents, timestamp, project, sessionId })
      if (attempt(() => append(file, line)) === undefined) yield* Effect.logDebug(`${file} cannot be written.`)
    }),
  }
}

/** Nothing is remembered. */
export const none: PromptHistory = { recall: Effect.succeed([]), add: () => Effect.void }

const attempt = <A>(work: () => A): A | undefined => {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** The end of the file, unless it is as long as before. */
const newer = (file: string, size: number): { readonly text: string; readonly size: number } | undefined => {
  // Whatever else has the name, a pipe for instance, is not waited for.
  const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = fstatSync(descriptor)
    if (!found.isFile() || found.size === size) return undefined
    const from = Math.max(0, found.size - tail)
    const bytes = Buffer.alloc(found.size - from)
    const text = bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, bytes.length, from))
    return { text: from === 0 ? text : text.slice(text.indexOf("\n") + 1), size: found.size }
  } finally {
    closeSync(descriptor)
  }
}

const entries = (text: string, project: string, pastes: Pastes): ReadonlyArray<string> => {
  const found = new Set<string>()
  const lines = text.split("\n")
  for (let at = lines.length - 1; at >= 0 && found.size < most; at--) {
    const entry = Option.getOrUndefined(decode(lines[at]))
    if (entry === undefined || entry.project !== project || entry.display.trim() === "") continue
    const pasted = (number: string) => {
      const one = entry.pastedContents?.[number]
      return isPasted(one) ? plain(one.content) : undefined
    }
    found.add(adopt(pastes, plain(entry.display), pasted))
  }
  return [...found]
}

const append = (file: string, line: string): true => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const descriptor = openSync(
    file,
    constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK,
    0o600,
  )
  try {
    const { size } = fstatSync(descriptor)
    const last = Buffer.alloc(1)
    // A line that somebody's crash cut off must not take this one with it.
    const torn = size > 0 && readSync(descriptor, last, 0, 1, size - 1) === 1 && last.toString() !== "\n"
    writeSync(descriptor, `${torn ? "\n" : ""}${line}\n`)
    return true
  } finally {
    closeSync(descriptor)
  }
}
