/**
 * Owns the transcript beside the journal: the JSONL file under `projects/` that other programs read.
 *
 * It is a projection and never the truth: lines that a crash kept from it are added from the journal at the next
 * opening, none is written twice, and a disk that refuses it is reported once and stops nothing.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { type FileError, fromCause } from "../platform/FileError.ts"
import { type AppendFile, Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import * as FileLines from "./FileLines.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as RegularFile from "./RegularFile.ts"
import * as SessionPaths from "./SessionPaths.ts"
import type * as Snapshot from "./Snapshot.ts"
import * as TranscriptFile from "./TranscriptFile.ts"
import { type Line, LinesState, TranscriptLines } from "./TranscriptLines.ts"

export interface Transcript {
  readonly path: string
  readonly write: (record: JournalRecord) => Effect.Effect<void>
  /** Finds where it goes on from, when records were taken back: it is told those that still count. */
  readonly retrace: () => { readonly take: (record: JournalRecord) => void; readonly land: () => void }
}

/** Nothing is written anywhere. */
export const none: Transcript = {
  path: "",
  write: () => Effect.void,
  retrace: () => ({ take: () => {}, land: () => {} }),
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

/** A transcript on its way to be open: it makes lines of the records of a session as they are read. */
export interface Prepared extends Snapshot.Part {
  /** What was saved of it can be used: records need only come from there on. */
  readonly isRestored: boolean
  readonly restart: (landmarks: ReadonlyArray<JournalRecord>) => Effect.Effect<void>
  readonly take: (record: JournalRecord) => void
  /** Adds what is missing in the file. */
  readonly open: Effect.Effect<Transcript, never, Scope.Scope>
}

type Needs = Files | FileSystem.FileSystem | Host

export const open: (options: TranscriptOptions) => Effect.Effect<Transcript, never, Needs | Scope.Scope> =
  Effect.fnUntraced(function* (options) {
    const prepared = yield* prepare(options)
    const records = options.records ?? []
    yield* prepared.restart(records)
    for (const record of records) prepared.take(record)
    return yield* prepared.open
  })

const State = Schema.Struct({
  path: Schema.String,
  size: Schema.Finite,
  parent: Schema.String,
  notes: Schema.Array(Schema.Tuple([Schema.String, Schema.String])),
  lines: LinesState,
  cwd: Schema.String,
  version: Schema.String,
  fork: Schema.NullOr(Schema.Struct({ sessionId: Schema.String, sequence: Schema.Finite })),
})
const isState = Schema.is(State)

/** `saved` is what an earlier life of it left in the snapshot. */
export const prepare: (
  options: TranscriptOptions,
  saved?: ReadonlyArray<unknown>,
) => Effect.Effect<Prepared, never, Needs> = Effect.fnUntraced(function* (options, saved) {
  const files = yield* Files
  const context = yield* Effect.context<Needs>()
  const path = options.path ?? SessionPaths.transcriptPath(yield* Host, options.cwd, options.sessionId)
  const uuidOf = (seq: number) => uuidFrom(files.hash(`${options.sessionId} ${seq}`))
  let lines = new TranscriptLines(uuidOf)
  let envelope = new Envelope(options, [])
  let present: Present | undefined
  let handle: AppendFile | undefined
  let complained = false
  /** Lines that the file lacks, as they are to stand in it. */
  let late = ""
  /** The lines of the conversation as it stands, in their order, while records are read. */
  let trail: Array<{ readonly seq: number; readonly uuid: string }> = []
  let branched = false
  /** Notes by themselves, the newest of each type. They wait while nothing has been said. */
  const notes = new Map<string, Line>()

  const report = (error: FileError) =>
    Effect.suspend(() => {
      if (complained) return Effect.void
      complained = true
      return Effect.logWarning(`The transcript stays incomplete, the session does not: ${error.message}`)
    })

  const state = saved?.[0]
  const known = isState(state) && state.path === path ? state : undefined
  if (known !== undefined) {
    present = yield* Effect.orElseSucceed(examineFrom(known), () => undefined)
    lines.restore(known.lines)
    envelope.restore(known)
  }
  const isRestored = present !== undefined

  const restart = Effect.fnUntraced(function* (landmarks: ReadonlyArray<JournalRecord>) {
    lines = new TranscriptLines(uuidOf)
    envelope = new Envelope(options, landmarks)
    late = ""
    trail = []
    branched = false
    notes.clear()
    // Adding to what cannot be read could say everything twice.
    present = yield* examine(path).pipe(
      Effect.tapError(report),
      Effect.orElseSucceed(() => undefined),
    )
  }, Effect.provideContext(context))

  const linesOf = (record: JournalRecord) => {
    envelope.follow(record)
    const due = lines.of(record)
    if (due.every(isNote)) for (const line of due) notes.set(line.type, line)
    return due
  }
  /** As they are to stand in the file. */
  const textOf = (file: Present, fresh: ReadonlyArray<Line>): string => {
    let { parent } = file
    const text = fresh.map((line) => {
      const json = envelope.wrap(line, parent)
      parent = line.uuid ?? parent
      return `${json}\n`
    })
    const begin = file.openEnd ? "\n" : ""
    file.add(fresh)
    return `${begin}${text.join("")}`
  }
  const append = Effect.fnUntraced(function* (scope: Scope.Scope, text: () => string) {
    // Only now: a session in which nothing is said leaves no file.
    const to = handle ?? (yield* files.openAppend(path).pipe(Scope.provide(scope)))
    handle = to
    yield* Effect.try({ try: () => to.appendUnsafe(text()), catch: (cause) => fromCause("append to", path, cause) })
  })
  const put = (scope: Scope.Scope, file: Present, fresh: ReadonlyArray<Line>) =>
    fresh.length === 0
      ? Effect.void
      : Effect.catch(
          append(scope, () => textOf(file, fresh)),
          report,
        )

  return {
    name: "transcript",
    isRestored,
    restart,
    // Line by line, since the directory and version in a line are those of its time.
    take: (record) => {
      const { event } = record
      const due = linesOf(record)
      if (event._tag === "Rewound") {
        trail = trail.filter(({ seq }) => seq < event.to)
        present?.branch(trail.at(-1)?.uuid)
        branched = true
      }
      const missing = present?.missing(due) ?? []
      if (present !== undefined && missing.length > 0) late += textOf(present, missing)
      for (const { seq, uuid } of due) if (uuid !== undefined) trail.push({ seq, uuid })
      // Behind a branch the last line of the file is not the last one of the conversation.
      if (branched) present?.branch(trail.at(-1)?.uuid)
    },
    open: Effect.gen(function* () {
      const scope = yield* Effect.scope
      const file = present
      if (file === undefined) return { ...none, path }
      const flush = Effect.suspend(() => {
        const held = [...notes.values()].filter((line) => !file.ends(line, envelope.wrap(line, undefined)))
        notes.clear()
        return put(scope, file, held)
      })
      if (late !== "")
        yield* Effect.catch(
          append(scope, () => late),
          report,
        )
      late = ""
      trail = []
      if (!file.isEmpty()) yield* flush
      return {
        path,
        retrace: () => {
          const again = new TranscriptLines(uuidOf)
          let last: string | undefined
          return {
            take: (record) => {
              for (const { uuid } of again.of(record)) last = uuid ?? last
            },
            land: () => file.branch(last),
          }
        },
        write: (record: JournalRecord) =>
          Effect.suspend(() => {
            const due = linesOf(record)
            const isOnlyNotes = due.every(isNote)
            const now = isOnlyNotes ? Effect.void : put(scope, file, file.missing(due))
            if (notes.size === 0 || (isOnlyNotes && file.isEmpty())) return now
            return Effect.andThen(now, flush)
          }),
      }
    }),
    save: () => {
      const held = lines.state()
      if (complained || present?.parent === undefined || present.openEnd || held === undefined || notes.size > 0) {
        return undefined
      }
      const size = handle?.size() ?? present.size
      const { parent } = present
      return [
        {
          path,
          size,
          parent,
          notes: present.lastNotes(),
          lines: held,
          ...envelope.state(),
        } satisfies typeof State.Type,
      ]
    },
  }
})

const isNote = (line: Line): boolean => line.uuid === undefined

/** What the file already has. */
class Present {
  private readonly uuids = new Set<string>()
  /** The newest note of each type, as it stands there. */
  private readonly notes = new Map<string, string>()
  parent: string | undefined
  /** The last line was cut: the next one must begin on a line of its own. */
  openEnd: boolean
  /** In bytes, when it was looked at. */
  readonly size: number
  private isKnown = false

  constructor(parsed: TranscriptFile.ParsedTranscript, size: number, before?: typeof State.Type) {
    this.openEnd = parsed.openEnd
    this.size = size
    if (before !== undefined) {
      this.isKnown = true
      this.parent = before.parent
      for (const [type, json] of before.notes) this.notes.set(type, json)
    }
    for (const line of parsed.lines) {
      if (line.uuid === undefined) this.noted(line.type, JSON.stringify(line.value))
      else this.uuids.add(line.uuid)
      if (TranscriptFile.isChained(line)) this.parent = line.uuid
    }
  }

  isEmpty(): boolean {
    return this.uuids.size === 0 && !this.isKnown
  }

  /** The file says this already, and nothing of its type behind it. */
  ends(note: Line, json: string): boolean {
    if (this.notes.get(note.type) === json) return true
    this.noted(note.type, json)
    return false
  }

  private noted(type: string, json: string): void {
    if (repeated.has(type)) this.notes.set(type, json)
  }

  lastNotes(): ReadonlyArray<readonly [string, string]> {
    return [...this.notes]
  }

  /** A note cannot be told from an older one like it, so it goes with the lines it came with. */
  missing(due: ReadonlyArray<Line>): ReadonlyArray<Line> {
    const isNew = (line: Line) => line.uuid !== undefined && !this.uuids.has(line.uuid)
    return due.some(isNew) ? due.filter((line) => line.uuid === undefined || isNew(line)) : []
  }

  /** What comes next goes on from this line, which need not be the last one of the file. */
  branch(from: string | undefined): void {
    this.parent = from
  }

  add(lines: ReadonlyArray<Line>): void {
    this.openEnd = false
    this.isKnown ||= lines.some(({ uuid }) => uuid !== undefined)
    // They are not remembered: no record is written twice in one life.
    for (const { uuid } of lines) this.parent = uuid ?? this.parent
  }
}

/** Notes that count for themselves, and not for the turn they came with. */
const repeated = new Set(["custom-title", "tag"])

const examine = (path: string) =>
  Effect.map(RegularFile.readIfThere(path), (bytes) => new Present(TranscriptFile.parse(bytes), bytes.length))

/** Only what was added since; nothing where the file is not the one that was known. */
const examineFrom = Effect.fnUntraced(function* (known: typeof State.Type) {
  const files = yield* Files
  const [stamp] = yield* files.stamps([known.path])
  if (stamp === undefined || stamp.size < known.size) return undefined
  const added: Array<string> = []
  const text = new TextDecoder()
  const { rest } = yield* FileLines.read(known.path, known.size, (bytes, start, end) => {
    added.push(`${text.decode(bytes.subarray(start, end))}\n`)
  })
  return new Present(TranscriptFile.parse(added.join("") + text.decode(rest)), stamp.size, known)
})

/** The fields that every line has, as they were when it was recorded. */
class Envelope {
  private cwd: string
  private version: string
  private readonly gitBranch: string
  private readonly agentId: string | undefined
  private readonly sessionId: string
  private fork: { readonly sessionId: string; readonly sequence: number } | undefined

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

  state() {
    return { cwd: this.cwd, version: this.version, fork: this.fork ?? null }
  }

  restore({ cwd, fork, version }: Pick<typeof State.Type, "cwd" | "fork" | "version">): void {
    this.cwd = cwd
    this.version = version
    this.fork = fork ?? undefined
  }

  wrap(line: Line, parent: string | undefined): string {
    const { uuid, seq, time, type, fields } = line
    if (uuid === undefined) return JSON.stringify({ type, ...fields, sessionId: this.sessionId })
    const { fork } = this
    const copied = fork !== undefined && seq <= fork.sequence
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
      ...(copied && { forkedFrom: { sessionId: fork.sessionId, messageUuid: uuid } }),
    })
  }
}

/** Beside the session's own, in a folder of its name. */
export const ofAgent = (sessionPath: string, agentId: string): string =>
  `${sessionPath.replace(/\.jsonl$/, "")}/subagents/${agentId}.jsonl`

/** A version 4 layout from a hash: the same record always gets the same one. */
const uuidFrom = (hash: string): string =>
  `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`
