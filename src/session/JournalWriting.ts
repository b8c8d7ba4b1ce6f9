/**
 * Owns the end of a journal's file: each record is one synchronous append, numbered and chained to the one before, and the disk follows soon
 * after.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Latch from "effect/Latch"
import * as Semaphore from "effect/Semaphore"
import { fromCause } from "../platform/FileError.ts"
import type { AppendFile, Files } from "../platform/Files.ts"
import type { Host } from "../platform/Host.ts"
import type { DurableEvent } from "../protocol/Event.ts"
import * as Blobs from "./Blobs.ts"
import type { Journal } from "./Journal.ts"
import { journalError } from "./JournalError.ts"
import type { Position } from "./JournalReading.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as Records from "./JournalRecord.ts"

/** How long an appended record may wait for the disk. */
const syncWithin = "100 millis"

/** What the next record must know of the file's end. */
export interface Tail {
  readonly seq: number
  readonly sum: string
  /** The last line has no line end. */
  readonly open: boolean
  /** Where its last record stands, as far as that is known. */
  readonly last?: Position | undefined
}

/** Whoever makes it is the only one who writes there. */
export const make = Effect.fnUntraced(function* (sessionId: string, handle: AppendFile, tail: Tail) {
  const context = yield* Effect.context<Files | FileSystem.FileSystem | Host>()
  const clock = yield* Clock.Clock
  const syncer = yield* makeSyncer(handle)
  const { path } = handle
  let { seq, sum, open, last } = tail

  /** Throws `FileError`. */
  const writeLine = (agent: string, event: DurableEvent, payload: string): JournalRecord => {
    const time = clock.currentTimeMillisUnsafe()
    // The number is spent even when the write fails: nobody knows how much of the line is in the file.
    const line = Records.encode(sum, { seq: ++seq, time, agent, kind: event._tag, payload })
    const record = { seq, time, agent, event }
    if (open) handle.appendUnsafe("\n")
    open = true
    const start = handle.size()
    handle.appendUnsafe(line.bytes)
    open = false
    sum = line.sum
    // Without a known one before it nobody knows how many lines there are; the next opening counts them.
    const isFirst = start === 0
    if (last !== undefined || isFirst) {
      last = { seq, sum, start, end: start + line.bytes.length - 1, line: (last?.line ?? 0) + 1 }
    }
    syncer.touch()
    return record
  }
  const attempt = (agent: string, event: DurableEvent, payload: string) =>
    Effect.try({
      try: () => writeLine(agent, event, payload),
      catch: (cause) => journalError("append", path)(fromCause("append to", path, cause)),
    })

  const append: Journal["append"] = (agent, event) =>
    Effect.suspend(() => {
      const json = JSON.stringify(event)
      if (json.length <= Blobs.threshold) return attempt(agent, event, `"event":${json}`)
      return Blobs.write(sessionId, json).pipe(
        Effect.mapError(journalError("append", path)),
        Effect.flatMap((hash) => attempt(agent, event, Blobs.payload(hash, event))),
        Effect.provideContext(context),
        // Half of it would leave a file that no line names.
        Effect.uninterruptible,
      )
    })
  return { append, sync: syncer.sync, position: () => last }
})

/** Brings appended bytes to the disk: within the time after the first of them, when asked, and at the end. */
const makeSyncer = Effect.fnUntraced(function* (handle: AppendFile) {
  const one = yield* Semaphore.make(1)
  const dirty = yield* Latch.make(false)
  let synced = handle.size()
  const sync = one
    .withPermit(
      Effect.suspend(() => {
        const upTo = handle.size()
        if (upTo === synced) return Effect.void
        // Cut off in the middle, it could meet a closed file.
        return Effect.uninterruptible(
          Effect.andThen(
            handle.sync,
            Effect.sync(() => void (synced = upTo)),
          ),
        )
      }),
    )
    .pipe(Effect.mapError(journalError("sync", handle.path)))
  const reported = sync.pipe(Effect.catch((error) => Effect.logWarning(error.message)))
  yield* Effect.addFinalizer(() => reported)
  yield* dirty.await.pipe(
    Effect.andThen(Effect.sleep(syncWithin)),
    Effect.andThen(dirty.close),
    Effect.andThen(reported),
    Effect.forever,
    Effect.forkScoped,
  )
  return { sync, touch: () => void dirty.openUnsafe() }
})
