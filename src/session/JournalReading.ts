/**
 * Owns reading a sound journal a piece at a time, from the beginning or from a record that is known: each record is checked, given away
 * and forgotten. A journal with a flaw is not read here; it is repaired first.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type { FileError } from "../platform/FileError.ts"
import type { Files } from "../platform/Files.ts"
import type { Host } from "../platform/Host.ts"
import * as Blobs from "./Blobs.ts"
import * as FileLines from "./FileLines.ts"
import * as JournalEvents from "./JournalEvents.ts"
import * as Records from "./JournalRecord.ts"
import type { JournalRecord, StoredRecord } from "./JournalRecord.ts"
import * as RegularFile from "./RegularFile.ts"

/** A record at its place in the file: what is before it can be taken as known if it is still there. */
export interface Position {
  readonly seq: number
  readonly sum: string
  /** Its line, without the line end. */
  readonly start: number
  readonly end: number
  /** Counted from 1. */
  readonly line: number
}

/** Whoever makes something of the records as they are read. */
export interface Reader {
  /** What it knows already ends here. */
  readonly from?: Position | undefined
  /** Everything comes from the beginning; `landmarks` are the records of it that have a say about others. */
  readonly restart: (landmarks: ReadonlyArray<JournalRecord>) => Effect.Effect<void>
  readonly take: (record: JournalRecord) => void
}

export interface Streamed {
  readonly last: Position | undefined
  /** The last line has no line end. */
  readonly open: boolean
  /** A last line that was cut, and where it begins. */
  readonly torn: { readonly start: number; readonly bytes: Uint8Array; readonly line: number } | undefined
  readonly problems: ReadonlyArray<string>
  readonly landmarks: ReadonlyArray<JournalRecord>
}

type Needs = Files | FileSystem.FileSystem | Host

/** It has a say about records before it: they were taken back, or come from another session. */
const isLandmark = ({ event }: JournalRecord): boolean =>
  event._tag === "Rewound" || (event._tag === "SessionStarted" && event.forkedFrom !== undefined)

const eventOf = Effect.fnUntraced(function* (sessionId: string, stored: StoredRecord, problems: Array<string>) {
  const { agent, blob, kind, seq, time } = stored
  const raw = blob === undefined ? stored.event : yield* Blobs.read(sessionId, stored, blob, problems)
  if (blob !== undefined && raw === undefined) return undefined
  const event = JournalEvents.decode(kind, raw)
  if (typeof event !== "string") return { seq, time, agent, event } satisfies JournalRecord
  problems.push(`record ${seq}: ${event}; it stays in the file and is not used`)
  return undefined
})

/** The records of some that can be used. */
export const decode = Effect.fnUntraced(function* (sessionId: string, all: ReadonlyArray<StoredRecord>) {
  const problems: Array<string> = []
  const records: Array<JournalRecord> = []
  for (const stored of all) {
    const record = yield* eventOf(sessionId, stored, problems)
    if (record !== undefined) records.push(record)
  }
  return { records, problems }
})

/** Gives the records to `take`; `undefined` when there is a flaw, or a landmark behind a known beginning. */
export const stream: (
  path: string,
  sessionId: string,
  from: Position | undefined,
  take: Reader["take"],
) => Effect.Effect<Streamed | undefined, FileError, Needs> = Effect.fnUntraced(function* (path, sessionId, from, take) {
  const nothing: Streamed = { last: undefined, open: false, torn: undefined, problems: [], landmarks: [] }
  if (!(yield* isThere(path))) return from === undefined ? nothing : undefined
  const problems: Array<string> = []
  const landmarks: Array<JournalRecord> = []
  const batch: Array<StoredRecord> = []
  let isSound = true
  let last: Position | undefined
  let line = (from?.line ?? 1) - 1

  const accept = (bytes: Uint8Array, start: number, end: number, at: number): void => {
    if (!isSound) return
    line++
    const record = Records.verify(bytes, start, end)?.record
    const isKnown = from !== undefined && last === undefined
    isSound =
      record !== undefined &&
      (isKnown
        ? record.seq === from.seq && record.sum === from.sum && at + end - start === from.end
        : Records.isBehind(last?.sum ?? Records.firstSum, record) && record.seq > (last?.seq ?? 0))
    if (!isSound || record === undefined) return
    last = { seq: record.seq, sum: record.sum, start: at, end: at + end - start, line }
    if (isKnown) return
    if (from !== undefined && record.kind === "Rewound") isSound = false
    else batch.push(record)
  }
  const deliver = Effect.suspend(() => Effect.forEach(batch.splice(0), one, { discard: true }))
  const one = (stored: StoredRecord) =>
    Effect.map(eventOf(sessionId, stored, problems), (record) => {
      if (record === undefined || !isSound) return
      if (isLandmark(record)) landmarks.push(record)
      take(record)
    })
  const each: FileLines.EachLine = (bytes, start, end, at) => accept(bytes, start, end, at)
  const { rest, to } = yield* FileLines.read(path, from?.start ?? 0, each, deliver)
  if (!isSound) return undefined
  const whole = rest.length > 0 ? Records.verify(rest, 0, rest.length) : undefined
  if (whole !== undefined) {
    accept(rest, 0, rest.length, to)
    yield* deliver
  } else if (rest.length > 0 && !Records.isLost(rest)) return undefined
  if (!isSound || (from !== undefined && last === undefined)) return undefined
  const torn = rest.length > 0 && whole === undefined ? { start: to, bytes: rest, line: line + 1 } : undefined
  return { last, open: whole !== undefined, torn, problems, landmarks }
})

const isThere = (path: string) =>
  RegularFile.stat(path).pipe(
    Effect.as(true),
    Effect.catchIf(
      (error) => error.reason === "NotFound",
      () => Effect.succeed(false),
    ),
  )
