/**
 * Owns running a recorded session again, offline: the real agent, loop, model seam and gate, told what was recorded from outside, in the
 * order in which it was consumed, and compared in what they make of it.
 *
 * | What stands in the journal | What a replay does with it |
 * |---|---|
 * | letters of people, notices of tasks (`PromptReceived`) | sent to the agent again, which records them itself |
 * | interrupts, and a turn's limits | not recorded: read from what came of them (`Score`) |
 * | the model's blocks, ends and failures | the service answers with them; what is made of them is compared |
 * | a tool's answer, a decision about a call, a hook's verdict | given to the gate; the records of the call are compared |
 * | hooks' and files' words, settings, controls, questions to people, compactions, going back | told where they stand (`Roles`: world) |
 * | requests, retries, transitions, attempts at calls, ends of turns and of agents | worked out again and compared (`Roles`: decision) |
 * | ids, times, prices, what tools and controls of a request were | taken over (`Compare.adopt`) |
 *
 * Nothing is written and nothing is run: the journal of a replay is a list in memory.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { Files, type FilesShape } from "../platform/Files.ts"
import type { DurableEvent } from "../protocol/Event.ts"
import type * as History from "../session/History.ts"
import type { JournalRecord } from "../session/JournalRecord.ts"
import { Conductor, type Difference } from "./Conductor.ts"
import * as MemoryJournal from "./MemoryJournal.ts"
import * as RecordedModel from "./RecordedModel.ts"
import * as Score from "./Score.ts"
import * as Stage from "./Stage.ts"
import { type Entry, main, Tape } from "./Tape.ts"
import * as VirtualTime from "./VirtualTime.ts"
import * as World from "./World.ts"

export type { Difference } from "./Conductor.ts"

export interface ReplayOptions {
  /** Stops behind the record of this sequence. */
  readonly until?: number
  /** Other observations in the place of recorded ones, by sequence. */
  readonly edits?: ReadonlyMap<number, DurableEvent>
}

/** How much of what was worked out again. */
export interface Counts {
  readonly requests: number
  readonly transitions: number
  /** Attempts at calls. */
  readonly attempts: number
  readonly turns: number
}

export interface ReplayReport {
  readonly sessionId: string
  readonly records: number
  /** The last one that was reached. */
  readonly reached: number
  /** How many were worked out again and compared. */
  readonly compared: number
  readonly counts: Counts
  readonly edited: ReadonlyArray<number>
  /** In the order of the journal. Empty: the same. */
  readonly differences: ReadonlyArray<Difference>
  /** Records that could not be compared, because what came before them went another way. */
  readonly skipped: number
  /** What the replay recorded. */
  readonly journal: ReadonlyArray<JournalRecord>
  /** The conversation as it stands at the end. */
  readonly history: History.History
}

/** Nothing can be replayed of it. */
export class NotReplayable extends Schema.TaggedError<NotReplayable>()("NotReplayable", { why: Schema.String }) {
  override get message(): string {
    return `The session cannot be replayed: ${this.why}.`
  }
}

type Hash = FilesShape["hash"]

/** Runs a recording again. */
export const run = Effect.fnUntraced(function* (
  records: ReadonlyArray<JournalRecord>,
  options: ReplayOptions = {},
): Effect.fn.Return<ReplayReport, NotReplayable> {
  const started = records.find(({ event }) => event._tag === "SessionStarted")
  if (started?.event._tag !== "SessionStarted") {
    return yield* new NotReplayable({ why: "it has no beginning: no SessionStarted record can be read" })
  }
  const time = VirtualTime.make(started.time)
  const files = yield* Effect.serviceOption(Files)
  const hash = Option.isSome(files) ? files.value.hash : undefined
  const playing = play(records, started.event, { ...options, hash }, time)
  // A fiber of its own, and all its children: the one that asks keeps its clock and its scheduler, and nothing of its world gets in.
  const fiber = yield* Effect.updateContext(
    Effect.forkChild(Effect.scoped(playing)),
    (_callers: Context.Context<never>) => time.context,
  )
  return yield* Effect.catchTag(Fiber.join(fiber), "JournalError", ({ detail }) => new NotReplayable({ why: detail }))
})

const play = Effect.fnUntraced(function* (
  records: ReadonlyArray<JournalRecord>,
  { cwd, sessionId }: Extract<DurableEvent, { readonly _tag: "SessionStarted" }>,
  { edits = new Map(), hash, until = Number.POSITIVE_INFINITY }: ReplayOptions & { readonly hash: Hash | undefined },
  time: VirtualTime.VirtualTime,
) {
  const tape = new Tape(records, edits)
  const counts = { requests: 0, transitions: 0, attempts: 0, turns: 0 }
  const conductor = new Conductor(tape, time, (_, event) => {
    if (event._tag === "RequestSent") counts.requests++
    if (event._tag === "TransitionTaken") counts.transitions++
    if (event._tag === "ToolStarted") counts.attempts++
    if (event._tag === "TurnEnded") counts.turns++
  })
  const written: Array<JournalRecord> = []
  const journal = MemoryJournal.make(sessionId, written, () => tape.entries[conductor.cursor])
  const provider = RecordedModel.make((requestId) => {
    const sent = conductor.requests.get(requestId)
    return sent === undefined ? undefined : RecordedModel.answerTo(tape, sent)
  })
  const env = { CLAUDE_CODE_MAX_RETRIES: retriesOf(tape) }
  const world = yield* Layer.build(World.layer(provider, sessionId, { cwd, env }, hash))
  const house: Stage.House = {
    conductor,
    journal,
    world,
    calls: Score.callsOf(tape),
    cascading: Score.cascading(tape),
  }

  let skipped = 0
  let stage: Stage.Stage | undefined
  let scope = yield* Scope.make()
  const close = Effect.suspend(() =>
    stage === undefined ? Effect.void : conductor.close(stage, Scope.close(scope, Exit.void)),
  )
  const open = Effect.fnUntraced(function* (life: number) {
    yield* close
    scope = yield* Scope.make()
    stage = yield* Scope.provide(Stage.open(house, life), scope)
    return stage
  })

  for (let entry = tape.entries[0]; entry !== undefined && entry.seq <= until; entry = tape.entries[conductor.cursor]) {
    const on: Stage.Stage = stage === undefined || stage.life !== entry.life ? yield* open(entry.life) : stage
    const played = yield* conductor.step(on, entry)
    if (played) continue
    const differing = conductor.cursor
    yield* close
    stage = undefined
    for (const left of upToTurnsEnd(tape, conductor.cursor)) {
      if (left.seq > until) break
      yield* journal.append(left.agent, left.event)
      conductor.pass(left)
    }
    skipped += conductor.cursor - differing
  }
  conductor.settle()
  const history = (stage ?? (yield* open(tape.entries.at(-1)?.life ?? 1))).history
  const report: ReplayReport = {
    // A copy begins with the records of what it was copied from.
    sessionId: records.reduce(idOf, sessionId),
    records: records.length,
    reached: tape.entries[conductor.cursor - 1]?.seq ?? 0,
    compared: conductor.compared,
    counts,
    edited: [...edits.keys()],
    differences: conductor.differences.toSorted((a, b) => a.seq - b.seq),
    skipped,
    journal: written,
    history,
  }
  yield* close
  return report
})

const idOf = (before: string, { agent, event }: JournalRecord): string =>
  agent === main && event._tag === "SessionStarted" ? event.sessionId : before

/** What cannot be followed any more: the rest of the turn of the session's own agent. */
const upToTurnsEnd = (tape: Tape, from: number): ReadonlyArray<Entry> => {
  const left = tape.entries.slice(from)
  const end = left.findIndex(({ agent, event }) => agent === main && event._tag === "TurnEnded")
  return end === -1 ? left : left.slice(0, end + 1)
}

const retriesOf = (tape: Tape): string | undefined => {
  const most = tape.entries.flatMap(({ event }) =>
    event._tag === "RetryWaiting" && event.reason !== "rate_limited" ? [event.maxAttempts] : [],
  )[0]
  return most === undefined ? undefined : String(most - 1)
}
