/**
 * Owns `index.json` beside a journal: what its components made of the records up to one of them, so that opening a long session reads only
 * what came after.
 *
 * It is a cache and never the truth. The first line is the hash of all the others; whatever is missing, damaged, of another version or not
 * of this very journal is as if it were not there.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { Position } from "./JournalReading.ts"
import * as RegularFile from "./RegularFile.ts"
import * as SessionPaths from "./SessionPaths.ts"

/** Goes up whenever a component makes something else of the same records. */
const format = 1

/** A component whose state is a fold over the records of the session. */
export interface Part {
  readonly name: string
  /** What it has made of them so far, as JSON values; nothing while it is in the middle of something. */
  readonly save: () => Iterable<unknown> | undefined
}

export interface Saved {
  readonly at: Position
  readonly parts: ReadonlyMap<string, ReadonlyArray<unknown>>
}

const Head = Schema.Struct({
  format: Schema.Literal(format),
  version: Schema.String,
  at: Schema.Struct({
    seq: Schema.Finite,
    sum: Schema.String,
    start: Schema.Finite,
    end: Schema.Finite,
    line: Schema.Finite,
  }),
})
const isHead = Schema.is(Head)
/** There may be a great many of them. */
const isEntry = (value: unknown): value is readonly [string, unknown] =>
  Array.isArray(value) && value.length === 2 && typeof value[0] === "string"

const pathIn = (host: Host["Service"], sessionId: string): string =>
  `${SessionPaths.sessionDirectory(host, sessionId)}/index.json`

const text = new TextDecoder()

/** What was saved last, if it can be used by this version. */
export const read: (
  sessionId: string,
  version: string,
) => Effect.Effect<Saved | undefined, never, Files | FileSystem.FileSystem | Host> = Effect.fnUntraced(
  function* (sessionId, version) {
    const files = yield* Files
    const found = yield* Effect.option(RegularFile.readIfThere(pathIn(yield* Host, sessionId)))
    if (Option.isNone(found)) return undefined
    const bytes = found.value
    const first = bytes.indexOf(10)
    if (first === -1 || text.decode(bytes.subarray(0, first)) !== files.hash(bytes.subarray(first + 1)))
      return undefined
    let head: typeof Head.Type | undefined
    const parts = new Map<string, Array<unknown>>()
    for (let start = first + 1; start < bytes.length;) {
      const newline = bytes.indexOf(10, start)
      const end = newline === -1 ? bytes.length : newline
      const value: unknown = JSON.parse(text.decode(bytes.subarray(start, end)))
      start = end + 1
      if (head === undefined) {
        if (!isHead(value) || value.version !== version) return undefined
        head = value
      } else if (isEntry(value)) {
        const [name, entry] = value
        const entries = parts.get(name)
        if (entries === undefined) parts.set(name, [entry])
        else entries.push(entry)
      }
    }
    return head === undefined ? undefined : { at: head.at, parts }
  },
)

/** Takes the picture at once; the effect writes it. Nothing where a component is in the middle of something. */
export const take = (
  sessionId: string,
  version: string,
  at: Position,
  parts: ReadonlyArray<Part>,
): Effect.Effect<number, never, Files | Host> | undefined => {
  const lines = [JSON.stringify({ format, version, at } satisfies typeof Head.Type)]
  for (const { name, save } of parts) {
    const saved = save()
    if (saved === undefined) return undefined
    for (const value of saved) lines.push(JSON.stringify([name, value]))
  }
  const content = `${lines.join("\n")}\n`
  return Effect.gen(function* () {
    const files = yield* Files
    const path = pathIn(yield* Host, sessionId)
    yield* files.writeAtomic(path, `${files.hash(content)}\n${content}`, { mode: 0o600 }).pipe(
      // Without it the next opening takes longer, and that is all.
      Effect.catch((error) => Effect.logDebug(error.message)),
    )
    return content.length
  })
}
