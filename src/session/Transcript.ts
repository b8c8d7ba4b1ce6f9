/**
 * Owns the transcript beside the journal: the JSONL file under `projects/` that other programs read.
 *
 * It is a projection and never the truth: lines that a crash kept from it are added from the journal at the next
 * opening, none is written twice, and a disk that refuses it is reported once and stops nothing.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { type FileError, fromCause } from "../platform/FileError.ts"
import { type AppendFile, Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as RegularFile from "./RegularFile.ts"
import * as SessionPaths from "./SessionPaths.ts"
import * as TranscriptFile from "./TranscriptFile.ts"
import { type Line, TranscriptLines } from "./TranscriptLines.ts"

export interface Transcript {
  readonly path: string
  readonly write: (record: JournalRecord) => Effect.Effect<void>
}

export interface TranscriptOptions {
  readonly sessionId: string
  readonly cwd: string
  readonly version: string
  readonly gitBranch?: string
  /** Goes on in this file instead of the one that the directory names: a session resumed elsewhere. */
  readonly path?: string
  /** It is the transcript of an agent that the session sent out. */
  readonly agentId?: string
  /** The journal so far: whatever of it is missing in the file is added first. */
  readonly records?: ReadonlyArray<JournalRecord>
}

export const open: (
  options: TranscriptOptions,
) => Effect.Effect<Transcript, never, Files | FileSystem.FileSystem | Host | Scope.Scope> = Effect.fnUntraced(
  function* (options) {
    const files = yield* Files
    const scope = yield* Effect.scope
    const path = options.path ?? SessionPaths.transcriptPath(yield* Host, options.cwd, options.sessionId)
    const lines = new TranscriptLines((seq) => uuidFrom(files.hash(`${options.sessionId} ${seq}`)))
    const records = options.records ?? []
    const envelope = new Envelope(options, records)
    let complained = false

    const report = (error: FileError) =>
      Effect.suspend(() => {
        if (complained) return Effect.void
        complained = true
        return Effect.logWarning(`The transcript stays incomplete, the session does not: ${error.message}`)
      })

    const examined = yield* examine(path).pipe(Effect.tapError(report), Effect.option)
    // Adding to what cannot be read could say everything twice.
    if (Option.isNone(examined)) return { path, write: () => Effect.void }
    const present = examined.value
    let handle: AppendFile | undefined

    const append = (to: AppendFile, fresh: ReadonlyArray<Line>) => {
      let { parent } = present
      const text = fresh.map((line) => {
        const json = envelope.wrap(line, parent)
        parent = line.uuid ?? parent
        return `${json}\n`
      })
      to.appendUnsafe(`${present.openEnd ? "\n" : ""}${text.join("")}`)
      present.add(fresh)
    }

    /** Notes by themselves, the newest of each type. They wait while nothing has been said. */
    const notes = new Map<string, Line>()

    const add = Effect.fnUntraced(function* (due: ReadonlyArray<Line>) {
      if (due.length === 0) return
      // Only now: a session in which nothing is said leaves no file.
      const to = handle ?? (yield* files.openAppend(path).pipe(Scope.provide(scope)))
      handle = to
      yield* Effect.try({ try: () => append(to, due), catch: (cause) => fromCause("append to", path, cause) })
    })

    const linesOf = (record: JournalRecord) => {
      envelope.follow(record)
      return lines.of(record)
    }
    const isNote = (line: Line) => line.uuid === undefined
    const put = (lines: ReadonlyArray<Line>) => Effect.catch(add(lines), report)

    const catchUp = (record: JournalRecord): Effect.Effect<void> =>
      Effect.suspend(() => {
        const due = linesOf(record)
        if (due.every(isNote)) for (const line of due) notes.set(line.type, line)
        return put(present.missing(due))
      })
    const flush = Effect.suspend(() => {
      const held = [...notes.values()].filter((line) => !present.ends(line, envelope.wrap(line, undefined)))
      notes.clear()
      return put(held)
    })
    const write = (record: JournalRecord): Effect.Effect<void> =>
      Effect.suspend(() => {
        const due = linesOf(record)
        if (due.every(isNote)) for (const line of due) notes.set(line.type, line)
        else if (notes.size === 0) return put(present.missing(due))
        else return Effect.andThen(put(present.missing(due)), flush)
        return present.isEmpty() ? Effect.void : flush
      })

    // Line by line, since the directory and version in a line are those of its time.
    yield* Effect.forEach(records, catchUp, { discard: true })
    if (!present.isEmpty()) yield* flush
    return { path, write }
  },
)

/** What the file already has. */
class Present {
  private readonly uuids = new Set<string>()
  /** The newest note of each type, as it stands there. */
  private readonly notes = new Map<string, string>()
  parent: string | undefined
  /** The last line was cut: the next one must begin on a line of its own. */
  openEnd: boolean

  constructor(parsed: TranscriptFile.ParsedTranscript) {
    this.openEnd = parsed.openEnd
    for (const line of parsed.lines) {
      if (line.uuid === undefined) this.notes.set(line.type, JSON.stringify(line.value))
      else this.uuids.add(line.uuid)
      if (TranscriptFile.isChained(line)) this.parent = line.uuid
    }
  }

  isEmpty(): boolean {
    return this.uuids.size === 0
  }

  /** The file says this already, and nothing of its type behind it. */
  ends(note: Line, json: string): boolean {
    if (this.notes.get(note.type) === json) return true
    this.notes.set(note.type, json)
    return false
  }

  /** A note cannot be told from an older one like it, so it goes with the lines it came with. */
  missing(due: ReadonlyArray<Line>): ReadonlyArray<Line> {
    const isNew = (line: Line) => line.uuid !== undefined && !this.uuids.has(line.uuid)
    return due.some(isNew) ? due.filter((line) => line.uuid === undefined || isNew(line)) : []
  }

  add(lines: ReadonlyArray<Line>): void {
    this.openEnd = false
    for (const line of lines) {
      if (line.uuid === undefined) continue
      this.uuids.add(line.uuid)
      this.parent = line.uuid
    }
  }
}

const examine = (path: string) =>
  Effect.map(RegularFile.readIfThere(path), (bytes) => new Present(TranscriptFile.parse(bytes)))

/** The fields that every line has, as they were when it was recorded. */
class Envelope {
  private cwd: string
  private version: string
  private readonly gitBranch: string
  private readonly agentId: string | undefined
  private readonly sessionId: string
  private readonly fork: { readonly sessionId: string; readonly sequence: number } | undefined

  constructor(options: TranscriptOptions, records: ReadonlyArray<JournalRecord>) {
    this.sessionId = options.sessionId
    this.cwd = options.cwd
    this.version = options.version
    this.gitBranch = options.gitBranch ?? ""
    this.agentId = options.agentId
    this.fork = records
      .map(({ event }) => (event._tag === "SessionStarted" ? event.forkedFrom : undefined))
      .findLast((from) => from !== undefined)
  }

  follow({ event }: JournalRecord): void {
    if (event._tag !== "SessionStarted") return
    this.cwd = event.cwd
    this.version = event.version
  }

  wrap(line: Line, parent: string | undefined): string {
    const { uuid, seq, time, type, fields } = line
    if (uuid === undefined) return JSON.stringify({ type, ...fields, sessionId: this.sessionId })
    const copied = this.fork !== undefined && seq <= this.fork.sequence
    return JSON.stringify({
      parentUuid: line.begins === true ? null : (parent ?? null),
      ...(line.begins === true && { logicalParentUuid: parent ?? null }),
      isSidechain: this.agentId !== undefined,
      ...(this.agentId !== undefined && { agentId: this.agentId }),
      userType: "external",
      cwd: this.cwd,
      sessionId: this.sessionId,
      version: this.version,
      gitBranch: this.gitBranch,
      type,
      ...fields,
      uuid,
      timestamp: DateTime.formatIso(DateTime.makeUnsafe(time)),
      ...(copied && { forkedFrom: { sessionId: this.fork.sessionId, messageUuid: uuid } }),
    })
  }
}

/** Beside the session's own, in a folder of its name. */
export const ofAgent = (sessionPath: string, agentId: string): string =>
  `${sessionPath.replace(/\.jsonl$/, "")}/subagents/${agentId}.jsonl`

/** A version 4 layout from a hash: the same record always gets the same one. */
const uuidFrom = (hash: string): string =>
  `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`
