/**
 * Owns how what is recorded of a session is opened, and where: the journal with its lock, the history it folds into, the transcript beside
 * it, what its tools know of before. A long session is opened from what its last life saved, and saves it for the next.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Files } from "../platform/Files.ts"
import { Git } from "../platform/Git.ts"
import { Host } from "../platform/Host.ts"
import * as CacheRecent from "../session/CacheRecent.ts"
import * as Elsewhere from "../session/Elsewhere.ts"
import * as History from "../session/History.ts"
import * as HistoryState from "../session/HistoryState.ts"
import * as Journal from "../session/Journal.ts"
import { JournalError } from "../session/JournalError.ts"
import type { Reader } from "../session/JournalReading.ts"
import type { JournalRecord } from "../session/JournalRecord.ts"
import * as Recorder from "../session/Recorder.ts"
import * as Snapshot from "../session/Snapshot.ts"
import * as Transcript from "../session/Transcript.ts"
import * as Undone from "../session/Undone.ts"
import * as PastWork from "../tools/PastWork.ts"

/** A session id that is taken, or is no UUID. */
export class BadSessionId extends Schema.TaggedError<BadSessionId>()("BadSessionId", {
  sessionId: Schema.String,
  why: Schema.String,
}) {
  override get message(): string {
    return `${this.sessionId} cannot be the id of a new session: ${this.why}`
  }
}

/** How a session comes to be opened. */
export type Source = "startup" | "resume" | "fork"

export interface RecordOptions {
  readonly sessionId: string
  /** Whose records count. */
  readonly agent: string
  readonly cwd: string
  readonly version: string
  readonly source: Source
}

/** Shorter journals are read as a whole. In bytes. */
export const WorthSaving = Context.Reference<number>("troupe/agents/SessionRecord/WorthSaving", {
  defaultValue: () => 256 * 1024,
})

/** So much may be recorded before what was made of it is saved: a killed session has that much to read again. */
const mostUnsaved = 1024 * 1024

export const open = Effect.fnUntraced(function* (options: RecordOptions) {
  const { agent, cwd, sessionId, version } = options
  const context = yield* Effect.context<Files | Host>()
  const worthSaving = yield* WorthSaving
  const gitBranch = yield* (yield* Git).branch(cwd)
  // First of all: what is looked at from here on, nobody else changes.
  const held = yield* Journal.hold(sessionId)
  const saved = yield* Snapshot.read(sessionId, version)
  const about = { sessionId, cwd, version, ...(gitBranch !== undefined && { gitBranch }) }
  const transcript = yield* Transcript.prepare(about, saved?.parts.get("transcript"))
  const history = History.folding(agent, HistoryState.restore(saved?.parts.get("history") ?? []))
  const work = PastWork.restore(saved?.parts.get("work") ?? [])
  const recent = saved === undefined ? undefined : CacheRecent.restore(agent, saved.parts.get("requests") ?? [])
  const isRestored = transcript.isRestored && history.isRestored && work !== undefined && recent !== undefined
  const from = isRestored ? saved?.at : undefined
  let requests = recent ?? new CacheRecent.CacheRecent(agent)
  let past = work ?? PastWork.make()
  let isUndone = Undone.of([])

  const reader: Reader = {
    from,
    restart: Effect.fnUntraced(function* (landmarks: ReadonlyArray<JournalRecord>) {
      const own = landmarks.filter((record) => record.agent === agent)
      yield* history.restart(own)
      past = PastWork.make()
      isUndone = Undone.of(own)
      requests = new CacheRecent.CacheRecent(agent)
      yield* transcript.restart(own)
    }),
    take: (record) => {
      requests.take(record)
      if (record.agent !== agent) return
      history.take(record)
      past.apply(record.event, isUndone(record.seq))
      transcript.take(record)
    },
  }
  // Its records are not held by it: nobody needs them any more when they have been read.
  const { records: _, ...journal } = yield* held.open(reader)
  yield* admit(options, journal, history.current())
  const opened = { history: history.current(), transcript: yield* transcript.open }
  let unsavedFrom = from?.end ?? 0
  const save = (least: number) =>
    Effect.suspend(() => {
      const at = journal.position()
      if (at === undefined || at.end < worthSaving || at.end - unsavedFrom < least) return Effect.void
      const parts: ReadonlyArray<Snapshot.Part> = [
        { name: "history", save: () => HistoryState.save(opened.history) },
        { name: "work", save: past.save },
        { name: "requests", save: () => requests.save() },
        transcript,
      ]
      const writing = Snapshot.take(sessionId, version, at, parts)
      if (writing === undefined) return Effect.void
      unsavedFrom = at.end
      // Saving takes as long as there is to save, so the more that is the less often it happens.
      return Effect.map(writing, (size) => void (often = Math.max(mostUnsaved, size / 4)))
    }).pipe(Effect.provideContext(context), Effect.asVoid)
  let often = mostUnsaved
  /** Records were taken back: what tools know is made anew of those that still count. */
  const again = Effect.suspend(() => {
    past = PastWork.make()
    return journal.replay({
      restart: (landmarks) =>
        Effect.sync(() => void (isUndone = Undone.of(landmarks.filter((record) => record.agent === agent)))),
      take: (record) => {
        if (record.agent === agent) past.apply(record.event, isUndone(record.seq))
      },
    })
  }).pipe(Effect.catch((error) => Effect.logWarning(error.message)))
  yield* Effect.addFinalizer(() => save(1))
  const recorder = yield* Recorder.make({
    agent,
    journal,
    ...opened,
    requests,
    recorded: (record) => {
      if (record.event._tag === "Rewound") return again
      past.apply(record.event)
      requests.take(record)
      return record.event._tag === "TurnEnded" ? save(often) : Effect.void
    },
  })
  return { past, recorder }
})

/** A session that goes on must be here and readable, and a new one must be new. Nothing else of it is opened before. */
const admit = Effect.fnUntraced(function* (
  { sessionId, source }: RecordOptions,
  journal: Journal.Journal,
  { goneTo }: History.History,
) {
  const { configDir } = yield* Host
  if (goneTo !== undefined && goneTo !== configDir) {
    return yield* new Elsewhere.SessionElsewhere({ sessionId, to: goneTo })
  }
  if (source === "startup" && !journal.isEmpty) {
    return yield* new BadSessionId({
      sessionId,
      why: "it exists already. Resume it with --resume, or choose another id.",
    })
  }
  // Nothing of it can be read: going on would pretend that nothing had been said.
  if (source !== "startup" && journal.isEmpty) {
    return yield* new JournalError({ operation: "read", path: journal.path, detail: journal.problems.join("; ") })
  }
})
