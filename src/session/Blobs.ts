/**
 * Owns the large payloads of a journal: each in a file of its own, named by its hash, with a sketch in the line.
 *
 * The sketch is the event with its long parts cut. It is read only when the file is gone or damaged: the session then
 * still knows that a tool ran and how it ended, and says what is missing instead of forgetting that it happened.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { type FileError, fromPlatform } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { StoredRecord } from "./JournalRecord.ts"
import * as RegularFile from "./RegularFile.ts"
import * as SessionPaths from "./SessionPaths.ts"

/** Above this many characters an event leaves the line. */
export const threshold = 64 * 1024
const longText = 1024
const largestSketch = 16 * 1024

const unsendable = new Set<unknown>(["image", "document", "thinking", "redacted_thinking"])

const cut = (value: unknown): unknown => {
  if (typeof value === "string") {
    if (value.length <= longText) return value
    return `${value.slice(0, longText)}… [${value.length - longText} more characters were lost with their file]`
  }
  if (Array.isArray(value)) return value.map(cut)
  if (typeof value !== "object" || value === null) return value
  // A cut image or signature is worth nothing and would be refused: say what it was instead.
  if ("type" in value && unsendable.has(value.type) && JSON.stringify(value).length > longText)
    return { type: "text", text: `[${String(value.type)} lost with its file]` }
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, cut(part)]))
}

/** What the line says of a large event, beside the name of its file. */
export const payload = (hash: string, event: unknown): string => {
  const sketch = JSON.stringify(cut(event))
  return sketch.length <= largestSketch ? `"blob":"${hash}","event":${sketch}` : `"blob":"${hash}"`
}

const isHash = (name: string): boolean => /^[0-9a-f]{64}$/.test(name)

/** Complete and on the disk when this returns; the same content is stored once. */
export const write = Effect.fnUntraced(function* (sessionId: string, json: string) {
  const files = yield* Files
  const fs = yield* FileSystem.FileSystem
  const host = yield* Host
  const hash = files.hash(json)
  const path = SessionPaths.blobPath(host, sessionId, hash)
  const present = yield* fs.exists(path).pipe(Effect.orElseSucceed(() => false))
  const sound =
    present &&
    (yield* RegularFile.read(path).pipe(
      Effect.map((bytes) => files.hash(bytes) === hash),
      Effect.orElseSucceed(() => false),
    ))
  if (sound) return hash
  const directory = path.slice(0, -hash.length - 1)
  yield* fs
    .makeDirectory(directory, { recursive: true, mode: 0o700 })
    .pipe(Effect.mapError((error) => fromPlatform("create", directory, error)))
  yield* files.writeAtomic(path, json, { mode: 0o600 })
  return hash
}) satisfies (sessionId: string, json: string) => Effect.Effect<string, FileError, Files | FileSystem.FileSystem | Host>

/** The event of a record whose payload is elsewhere; the sketch, or nothing, when that is damaged, which is then one of `problems`. */
export const read = Effect.fnUntraced(function* (
  sessionId: string,
  record: StoredRecord,
  hash: string,
  problems: Array<string>,
) {
  const files = yield* Files
  const host = yield* Host
  const lost = (why: string): unknown => {
    const rest = record.event === undefined ? "the record was skipped" : "its beginning is kept"
    problems.push(`record ${record.seq}: its content ${hash.slice(0, 12)} ${why}; ${rest}`)
    return record.event
  }
  if (!isHash(hash)) return lost("has no valid name")
  const bytes = yield* RegularFile.read(SessionPaths.blobPath(host, sessionId, hash)).pipe(
    Effect.orElseSucceed(() => undefined),
  )
  if (bytes === undefined) return lost("is missing")
  if (files.hash(bytes) !== hash) return lost("is damaged")
  return yield* Effect.try({
    try: (): unknown => JSON.parse(new TextDecoder().decode(bytes)),
    catch: () => "not JSON",
  }).pipe(Effect.orElseSucceed(() => lost("is not JSON")))
})
