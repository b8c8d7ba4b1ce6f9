/**
 * Owns the journal of a session: what happened, in order, on disk before its effect.
 *
 * One writer, guaranteed by a lock that dies with the process. `append` is one synchronous write and survives a killed
 * process; what survives a power cut is synced at most 100 ms later, or at once by `sync`. A damaged file is repaired
 * when it is opened, and what was damaged is kept beside it.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type FileError, fromPlatform } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { DurableEvent } from "../protocol/Event.ts"
import * as Blobs from "./Blobs.ts"
import { JournalError, journalError, SessionBusy } from "./JournalError.ts"
import * as JournalReading from "./JournalReading.ts"
import { type Position, type Reader, stream, type Streamed } from "./JournalReading.ts"
import type { JournalRecord, Placed, Scan } from "./JournalRecord.ts"
import * as Records from "./JournalRecord.ts"
import * as JournalWriting from "./JournalWriting.ts"
import type { Tail } from "./JournalWriting.ts"
import * as RegularFile from "./RegularFile.ts"
import * as SessionPaths from "./SessionPaths.ts"

export interface Journal {
  readonly sessionId: string
  readonly path: string
  /** There was nothing in it when it was opened. */
  readonly isEmpty: boolean
  /** What was wrong with the file, for people; empty when nothing was. */
  readonly problems: ReadonlyArray<string>
  /** Everything it says by now, read from the file. */
  readonly reread: Effect.Effect<JournalContent, JournalError>
  /** The same, a record at a time: nothing of it is held. */
  readonly replay: (reader: Reader) => Effect.Effect<void, JournalError>
  /** Where its last record stands, as far as that is known. */
  readonly position: () => Position | undefined
  /** The bytes are written when this returns. Only an event above 64 KB yields before, while its content goes to a file of its own. */
  readonly append: (agent: string, event: DurableEvent) => Effect.Effect<JournalRecord, JournalError>
  /** Everything appended so far is on the disk when this returns. */
  readonly sync: Effect.Effect<void, JournalError>
}

/** A journal with what it says. */
export interface Opened extends Journal {
  /** What was there before this opening, after repair; nothing of it where a reader took it. */
  readonly records: ReadonlyArray<JournalRecord>
}

/** A journal as it stands, without the right to write it. */
export interface JournalContent {
  readonly path: string
  readonly records: ReadonlyArray<JournalRecord>
  readonly problems: ReadonlyArray<string>
}

/** A record whose event may be of a kind that only a newer version knows. */
export type RawRecord = Omit<JournalRecord, "event"> & { readonly event: { readonly _tag: string } }

type Needs = Files | FileSystem.FileSystem | Host

/** A session that nobody else can take until the scope closes. */
export interface Held {
  /** Repairs its journal and opens it for appending; a new session gets a new file. What it says goes to the reader. */
  readonly open: (reader?: Reader) => Effect.Effect<Opened, JournalError, Needs | Scope.Scope>
}

export const hold = (sessionId: string): Effect.Effect<Held, JournalError | SessionBusy, Needs | Scope.Scope> =>
  Effect.map(lock(sessionId), (path) => ({ open: (reader) => openAt(sessionId, path, reader) }))

/** Takes the session and opens its journal. */
export const open = (
  sessionId: string,
  reader?: Reader,
): Effect.Effect<Opened, JournalError | SessionBusy, Needs | Scope.Scope> =>
  Effect.flatMap(hold(sessionId), (held) => held.open(reader))

const openAt = Effect.fnUntraced(function* (sessionId: string, path: string, reader?: Reader) {
  const files = yield* Files
  const records: Array<JournalRecord> = []
  const given: Reader = reader ?? {
    restart: () => Effect.sync(() => void (records.length = 0)),
    take: (record) => void records.push(record),
  }
  const { problems, tail, isEmpty } = yield* take(sessionId, path, given)
  const handle = yield* files.openAppend(path).pipe(Effect.mapError(journalError("open", path)))
  const writer = yield* JournalWriting.make(sessionId, handle, tail)
  const context = yield* Effect.context<Needs>()
  const opened: Opened = {
    sessionId,
    path,
    problems,
    isEmpty,
    records,
    ...writer,
    reread: Effect.provideContext(read(sessionId), context),
    replay: (to) => Effect.provideContext(replay(sessionId, path, to), context),
  }
  return opened
})

/** Gives the reader what it does not know; a journal with a flaw is repaired first. */
const take = Effect.fnUntraced(function* (sessionId: string, path: string, reader: Reader) {
  const asError = Effect.mapError(journalError("open", path))
  const known =
    reader.from === undefined ? undefined : yield* asError(stream(path, sessionId, reader.from, reader.take))
  const streamed = known ?? (yield* asError(anew(path, sessionId, reader)))
  if (streamed !== undefined) {
    const { last, open, problems, torn } = streamed
    if (torn !== undefined) yield* Effect.mapError(cut(path, torn), journalError("repair", path))
    const tail: Tail = { seq: last?.seq ?? 0, sum: last?.sum ?? Records.firstSum, open, last }
    return {
      tail,
      isEmpty: last === undefined,
      problems: torn === undefined ? problems : [tornSays(torn), ...problems],
    }
  }
  const bytes = yield* load(path, "open")
  const scan = Records.scan(bytes)
  const tail = yield* Effect.mapError(repair(path, bytes, scan), journalError("repair", path))
  const decoded = yield* JournalReading.decode(
    sessionId,
    scan.records.map(({ record }) => record),
  )
  yield* reader.restart(decoded.records)
  for (const record of decoded.records) reader.take(record)
  const isEmpty = decoded.records.length === 0
  return { tail, isEmpty, problems: [...scan.problems, ...decoded.problems] }
})

/** Twice, where a record has a say about those before it: that is rare. */
const anew = Effect.fnUntraced(function* (path: string, sessionId: string, reader: Reader) {
  yield* reader.restart([])
  const streamed = yield* stream(path, sessionId, undefined, reader.take)
  if (streamed === undefined || streamed.landmarks.length === 0) return streamed
  yield* reader.restart(streamed.landmarks)
  return yield* stream(path, sessionId, undefined, reader.take)
})

const replay = Effect.fnUntraced(function* (sessionId: string, path: string, reader: Reader) {
  yield* Effect.mapError(anew(path, sessionId, reader), journalError("read", path))
})

type Torn = NonNullable<Streamed["torn"]>

const tornSays = ({ bytes, line }: Torn): string =>
  `line ${line}: the last record was cut off after ${bytes.length} bytes and set aside`

const cut = Effect.fnUntraced(function* (path: string, { bytes, start }: Torn) {
  const fs = yield* FileSystem.FileSystem
  yield* setAside(path, bytes)
  yield* fs.truncate(path, start).pipe(Effect.mapError((error) => fromPlatform("truncate", path, error)))
})

/** Reads without lock and without changing anything: also while another process writes. */
export const read: (sessionId: string) => Effect.Effect<JournalContent, JournalError, Needs> = Effect.fnUntraced(
  function* (sessionId) {
    const path = yield* pathOf(sessionId, "read")
    const bytes = yield* load(path, "read")
    const scan = Records.scan(bytes)
    const { problems, records } = yield* JournalReading.decode(
      sessionId,
      scan.records.map(({ record }) => record),
    )
    return { path, records, problems: [...scan.problems, ...problems] }
  },
)

/** As `read`, with the records as they stand in the file, also those of kinds that this version does not know. */
export const readRaw: (
  sessionId: string,
) => Effect.Effect<
  { readonly records: ReadonlyArray<RawRecord>; readonly problems: ReadonlyArray<string> },
  JournalError,
  Needs
> = Effect.fnUntraced(function* (sessionId) {
  const path = yield* pathOf(sessionId, "read")
  return yield* raw(sessionId, Records.scan(yield* load(path, "read")))
})

/** Begins a session with records that are already known, all at once or not at all. One that exists is refused, unless nothing in it is readable. */
export const create: (
  sessionId: string,
  records: ReadonlyArray<JournalRecord | RawRecord>,
) => Effect.Effect<void, JournalError | SessionBusy, Needs> = Effect.fnUntraced(function* (sessionId, records) {
  const path = yield* lock(sessionId)
  const before = yield* load(path, "open")
  if (Records.scan(before).records.length > 0)
    return yield* new JournalError({ operation: "open", path, detail: "a session of this id exists already" })
  if (before.length > 0) yield* setAside(path, before).pipe(Effect.mapError(journalError("repair", path)))
  yield* writeWhole(sessionId, path, records)
}, Effect.scoped)

/**
 * Puts other records in the place of all of a session's, at once or not at all. What `records` are is decided while nobody can write
 * to it, with those that are there; without an answer it stays as it is.
 */
export const replace: <E, R>(
  sessionId: string,
  records: (present: ReadonlyArray<RawRecord>) => Effect.Effect<ReadonlyArray<RawRecord> | undefined, E, R>,
) => Effect.Effect<void, JournalError | SessionBusy | E, Needs | Exclude<R, Scope.Scope>> = Effect.fnUntraced(
  function* (sessionId, records) {
    const path = yield* lock(sessionId)
    const before = yield* load(path, "open")
    const scan = Records.scan(before)
    const next = yield* records((yield* raw(sessionId, scan)).records)
    if (next === undefined) return
    if (scan.problems.length > 0) yield* setAside(path, before).pipe(Effect.mapError(journalError("repair", path)))
    yield* writeWhole(sessionId, path, next)
  },
  Effect.scoped,
)

const writeWhole = Effect.fnUntraced(function* (
  sessionId: string,
  path: string,
  records: ReadonlyArray<JournalRecord | RawRecord>,
) {
  const files = yield* Files
  const parts: Array<Uint8Array> = []
  let sum = Records.firstSum
  for (const { seq, time, agent, event } of records) {
    const json = JSON.stringify(event)
    const payload =
      json.length <= Blobs.threshold
        ? `"event":${json}`
        : Blobs.payload(yield* Blobs.write(sessionId, json).pipe(Effect.mapError(journalError("append", path))), event)
    const line = Records.encode(sum, { seq, time, agent, kind: event._tag, payload })
    parts.push(line.bytes)
    sum = line.sum
  }
  // Opened first: that makes the directories, closed to others.
  const handle = yield* files.openAppend(path).pipe(Effect.mapError(journalError("open", path)))
  yield* files
    .writeAtomic(handle.path, concat(parts), { mode: 0o600 })
    .pipe(Effect.mapError(journalError("append", path)))
})

const lock = Effect.fnUntraced(function* (sessionId: string) {
  const files = yield* Files
  const path = yield* pathOf(sessionId, "open")
  yield* files.lock(`session ${path}`).pipe(
    Effect.catchTags({
      LockBusy: ({ holder }) =>
        Effect.fail(new SessionBusy(holder === undefined ? { sessionId } : { sessionId, holder })),
      FileError: (error) => Effect.fail(journalError("open", path)(error)),
    }),
  )
  return path
})

const pathOf = Effect.fnUntraced(function* (sessionId: string, operation: JournalError["operation"]) {
  if (SessionPaths.isSessionId(sessionId)) return SessionPaths.journalPath(yield* Host, sessionId)
  return yield* new JournalError({
    operation,
    path: `of "${sessionId.slice(0, 80)}"`,
    detail: "a session id is a UUID such as 5f0c6f0e-8b1d-4c39-9a53-0d7e6c1f2a44",
  })
})

/** A missing journal is an empty one. */
const load = (path: string, operation: JournalError["operation"]) =>
  Effect.mapError(RegularFile.readIfThere(path), journalError(operation, path))

const tailOf = (records: ReadonlyArray<Placed>, open: boolean): Tail => {
  const last = records.at(-1)?.record
  return { seq: last?.seq ?? 0, sum: last?.sum ?? Records.firstSum, open }
}

const repair = Effect.fnUntraced(function* (path: string, bytes: Uint8Array, scan: Scan) {
  if (scan.problems.length === 0) return tailOf(scan.records, bytes.length > 0 && bytes.at(-1) !== 10)
  const files = yield* Files
  const fs = yield* FileSystem.FileSystem
  const cut = scan.soundUntil
  yield* setAside(path, cut === undefined ? bytes : bytes.subarray(cut))
  if (cut !== undefined) {
    yield* fs.truncate(path, cut).pipe(Effect.mapError((error) => fromPlatform("truncate", path, error)))
    return tailOf(scan.records, false)
  }
  const parts: Array<Uint8Array> = []
  let sum = Records.firstSum
  for (const placed of scan.records) {
    const line = Records.relink(bytes, placed, sum)
    parts.push(line.bytes)
    sum = line.sum
  }
  yield* files.writeAtomic(path, concat(parts), { mode: 0o600 })
  return { seq: scan.records.at(-1)?.record.seq ?? 0, sum, open: false }
}) satisfies (...args: never) => Effect.Effect<Tail, FileError, Files | FileSystem.FileSystem>

/** Named by its content: a repair that is itself cut off finds the same file again. */
const setAside = (path: string, bytes: Uint8Array) =>
  Effect.flatMap(Files, (files) =>
    files.writeAtomic(`${path}.damaged-${files.hash(bytes).slice(0, 12)}`, bytes, { mode: 0o600 }),
  )

const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

const isTagged = Schema.is(Schema.Struct({ _tag: Schema.String }))

/** What is in the lines and the files they name. */
const raw = Effect.fnUntraced(function* (sessionId: string, scan: Scan) {
  const records: Array<RawRecord> = []
  const problems = [...scan.problems]
  for (const { record } of scan.records) {
    const { seq, time, agent, kind, blob } = record
    const event = blob === undefined ? record.event : yield* Blobs.read(sessionId, record, blob, problems)
    if (blob !== undefined && event === undefined) continue
    if (isTagged(event) && event._tag === kind) records.push({ seq, time, agent, event })
    else problems.push(`record ${seq}: its ${kind} is not readable; it stays in the file and is not used`)
  }
  return { records, problems }
})
