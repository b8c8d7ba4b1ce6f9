/**
 * Owns the journey of a session: into a file, and out of it into another place. Leaving changes nothing. Arriving judges the whole file
 * first and then happens at once or not at all. Where the session has gone on here meanwhile, the life that was written last goes on under
 * its id, and the other one is kept as a copy.
 */
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Ids from "../kernel/Ids.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { EventOf } from "../protocol/Event.ts"
import * as About from "./About.ts"
import * as Divergence from "./Divergence.ts"
import * as History from "./History.ts"
import * as Journal from "./Journal.ts"
import { JournalError, type SessionBusy } from "./JournalError.ts"
import * as JournalEvents from "./JournalEvents.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as Luggage from "./Luggage.ts"
import * as Redaction from "./Redaction.ts"
import * as TeleportFile from "./TeleportFile.ts"
import type { Section } from "./TeleportSection.ts"

type Needs = Files | FileSystem.FileSystem | Host

export interface LeaveOptions {
  readonly sessionId: string
  /** What is told beside the records. */
  readonly sections: ReadonlyArray<Section>
  /** More sections that are ready: a work tree. They are not looked through for secrets. */
  readonly packed?: ReadonlyMap<string, unknown>
  readonly git?: TeleportFile.Manifest["git"]
  readonly version: string
  /** Strikes out what the machine knows to be secret. `undefined`: it stays on this machine, and nothing is struck out. */
  readonly secrets: Redaction.KnownSecrets | undefined
}

export interface Left {
  readonly text: string
  readonly manifest: TeleportFile.Manifest
  readonly problems: ReadonlyArray<string>
}

/** The session as a file, as it stands now. It may be in use. */
export const leave = Effect.fn("Teleport.leave")(function* (options: LeaveOptions) {
  const { packed = new Map<string, unknown>(), sections, secrets, sessionId } = options
  const { hash } = yield* Files
  const host = yield* Host
  const { problems, records: raw } = yield* Journal.readRaw(sessionId)
  if (raw.length === 0) {
    const path = `of ${sessionId}`
    return yield* new JournalError({ operation: "read", path, detail: problems.join("; ") || "there is none" })
  }
  const records = known(raw)
  const history = History.fold(records.filter(({ agent }) => agent === "main"))
  const leaving = { sessionId, records, history, hash }
  const own = new Map([
    ...(yield* Luggage.read(sessionId)),
    ...sections.map(({ name, pack }) => [name, pack(leaving)] as const),
  ])
  const redaction = secrets === undefined ? undefined : Redaction.make(secrets)
  const value = (given: unknown) => (redaction === undefined ? given : redaction.value(given))
  const struck = redaction === undefined ? raw : raw.map(redaction.record)
  // Before the sections, which repeat what the records say: it counts once.
  const counted = redaction?.counts() ?? {}
  const told = new Map([...own].map(([name, one]) => [name, value(one)]))
  const title = history.title ?? history.firstPrompt?.split("\n")[0]?.slice(0, 200)
  const about = {
    sessionId,
    traceId: history.traceId ?? About.traceOf(sessionId),
    ...(title !== undefined && { title: String(value(title)) }),
    exportedAt: yield* Clock.currentTimeMillis,
    exportedBy: { user: userOf(host), troupe: options.version },
    cwd: history.cwd ?? host.cwd,
    ...(options.git !== undefined && { git: options.git }),
    redacted: counted,
  }
  const file = TeleportFile.encode(about, struck, new Map([...told, ...packed]), hash)
  const left: Left = { ...file, problems }
  return left
})

const known = (records: ReadonlyArray<Journal.RawRecord>): ReadonlyArray<JournalRecord> =>
  records.flatMap(({ agent, event, seq, time }) => {
    const read = JournalEvents.decode(event._tag, event)
    return typeof read === "string" ? [] : [{ seq, time, agent, event: read }]
  })

const userOf = ({ env }: Host["Service"]): string => env("USER") ?? env("LOGNAME") ?? env("USERNAME") ?? "somebody"

/** What a session of the same id does where another one has gone on here. */
export type OnConflict = "latest" | "here" | "there" | "refuse"

export interface ArriveOptions {
  readonly file: TeleportFile.TeleportFile
  /** Where it goes on. */
  readonly cwd: string
  /** Its own id, or a new one. */
  readonly sessionId: "keep" | "new"
  readonly onConflict: OnConflict
  readonly version: string
  readonly sections: ReadonlyArray<Section>
}

export interface Arrived {
  readonly sessionId: string
  readonly traceId: string
  /**
   * `created`: it was not here. `continued`: it goes on where the file left it. `moved`: all of it was here already. `behind`: here it has
   * gone on and there it has not. `merged`: it has gone on in both places.
   */
  readonly outcome: "created" | "continued" | "moved" | "behind" | "merged"
  /** The other life, where there were two. */
  readonly fork?: string
  /** For people. */
  readonly notes: ReadonlyArray<string>
}

/** Puts the session where it goes on. Nothing has been changed when it fails. */
export const arrive: (
  options: ArriveOptions,
) => Effect.Effect<Arrived, TeleportFile.TeleportError | JournalError | SessionBusy, Needs> = Effect.fn(
  "Teleport.arrive",
)(function* (options) {
  const { file } = options
  const { manifest } = file
  const what = `Session ${manifest.sessionId} cannot arrive here`
  const notes: Array<string> = [...file.notes]
  const names = new Map(options.sections.map((section) => [section.name, section]))
  const luggage = new Map<string, unknown>()
  for (const [name, value] of file.sections) {
    const section = names.get(name)
    if (section === undefined) {
      if (!foreseen.has(name)) luggage.set(name, value)
      continue
    }
    const read = section.unpack(value)
    if (read._tag === "Failure") {
      return yield* new TeleportFile.TeleportError({
        what,
        why: `its section "${name}" is not readable: ${read.failure}`,
      })
    }
    notes.push(...read.success)
  }
  const sessionId = options.sessionId === "keep" ? manifest.sessionId.toLowerCase() : yield* Ids.uuid
  let done: Pick<Arrived, "outcome" | "fork"> = { outcome: "created" }
  yield* Journal.replace(
    sessionId,
    Effect.fnUntraced(function* (present) {
      if (present.length === 0) return yield* moved(file.records, sessionId, options)
      const met = yield* meet(present, sessionId, options)
      notes.push(...met.notes)
      done = met.done
      return met.records
    }),
  )
  yield* Luggage.write(sessionId, luggage)
  return { sessionId, traceId: manifest.traceId, ...done, notes }
})

/** Sections that somebody else unpacks. */
const foreseen: ReadonlySet<string> = new Set(["worktree"])

/** The records, and behind them that they go on here. */
const moved = Effect.fnUntraced(function* (
  records: ReadonlyArray<Journal.RawRecord>,
  sessionId: string,
  { cwd, file: { manifest }, version }: ArriveOptions,
) {
  const { exportedAt, exportedBy, sequence, traceId } = manifest
  const isCopy = sessionId !== manifest.sessionId.toLowerCase()
  return yield* behind(records, {
    _tag: "SessionStarted",
    sessionId,
    cwd,
    version,
    source: "import",
    traceId,
    arrived: { cwd: manifest.cwd, by: exportedBy.user, exportedAt },
    ...(isCopy && { forkedFrom: { sessionId: manifest.sessionId, sequence } }),
  })
})

const behind = Effect.fnUntraced(function* (
  records: ReadonlyArray<Journal.RawRecord>,
  ...events: ReadonlyArray<JournalRecord["event"]>
) {
  const time = yield* Clock.currentTimeMillis
  const last = records.at(-1)?.seq ?? 0
  return [...records, ...events.map((event, at) => ({ seq: last + 1 + at, time, agent: "main", event }))]
})

interface Met {
  /** `undefined`: it stays as it is. */
  readonly records: ReadonlyArray<Journal.RawRecord> | undefined
  readonly done: Pick<Arrived, "outcome" | "fork">
  readonly notes: ReadonlyArray<string>
}

/** Two lives of one session. What both have in common is taken from here: no secret was struck out of it. */
const meet = Effect.fnUntraced(function* (
  present: ReadonlyArray<Journal.RawRecord>,
  sessionId: string,
  options: ArriveOptions,
) {
  const { file, onConflict } = options
  const { here, shared, there } = Divergence.compare(present, file.records)
  if (shared.length === 0) {
    const why = "another session of this id is here already. Import it under another id: --session-id new"
    return yield* new TeleportFile.TeleportError({ what: `Session ${sessionId} cannot arrive here`, why })
  }
  if (!there.isSaid) {
    const isFurther = here.isSaid
    const met: Met = {
      records: isFurther ? undefined : yield* moved(present, sessionId, options),
      done: { outcome: isFurther ? "behind" : "moved" },
      notes: isFurther ? ["Here it has gone on since, and in the file it has not: it stays as it is here."] : [],
    }
    return met
  }
  const continued = [...shared, ...there.records]
  if (!here.isSaid) {
    const met: Met = { records: yield* moved(continued, sessionId, options), done: { outcome: "continued" }, notes: [] }
    return met
  }
  const theirs = onConflict === "there" || (onConflict === "latest" && there.last >= here.last)
  const notice = describe(here, there, file.manifest, userOf(yield* Host))
  if (onConflict === "refuse") {
    return yield* new TeleportFile.TeleportError({ what: `Session ${sessionId} cannot arrive here`, why: notice })
  }
  const fork = yield* Ids.uuid
  const loser = theirs ? present : continued
  const { cwd: loserCwd } = theirs ? startOf(present) : file.manifest
  const why = onConflict === "latest" ? "What was written last counts" : "As it was asked for"
  const said = `${notice} ${why}: ${theirs ? "what was said there" : "what was said here"} goes on as ${sessionId}; the other one is kept as ${fork}.`
  const copied: EventOf<"SessionStarted"> = {
    _tag: "SessionStarted",
    sessionId: fork,
    cwd: loserCwd,
    version: options.version,
    source: "fork",
    forkedFrom: { sessionId, sequence: shared.at(-1)?.seq ?? 0 },
  }
  const warning = { _tag: "Diagnosed", level: "warning", message: said } as const
  // First: a copy too many is no loss.
  yield* Journal.create(fork, yield* behind(loser, copied, warning))
  const winner = theirs ? yield* moved(continued, sessionId, options) : present
  const met: Met = {
    records: yield* behind(winner, warning),
    done: { outcome: "merged", fork },
    notes: [said],
  }
  return met
})

const startOf = (records: ReadonlyArray<Journal.RawRecord>): { readonly cwd: string } =>
  known(records)
    .flatMap(({ event }) => (event._tag === "SessionStarted" ? [event] : []))
    .at(-1) ?? { cwd: "" }

/** Both sides: who, when, and how much. */
const describe = (
  here: Divergence.Branch,
  there: Divergence.Branch,
  { cwd, exportedBy }: TeleportFile.Manifest,
  user: string,
): string =>
  `This session went on in two places: here (${user}, ${startOf(here.records).cwd || "the same directory"}) with ${here.records.length} records, the last of ` +
  `${at(here.last)}, and there (${exportedBy.user}, ${cwd}) with ${there.records.length}, the last of ${at(there.last)}.`

const at = (time: number): string => DateTime.formatIso(DateTime.makeUnsafe(time))
