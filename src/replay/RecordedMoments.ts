/**
 * Owns what others say at the moments of a turn in a replay. Their words stand in the records and are told from there; what they wanted of
 * the turn shows in how it went on.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { GoOn, MomentsShape, Stop } from "../agents/Moments.ts"
import type { StructuredOutput } from "../agents/StructuredOutput.ts"
import { plainText } from "../protocol/Content.ts"
import type { DurableEvent, EventOf } from "../protocol/Event.ts"
import type { TerminalReason } from "../protocol/Terminal.ts"
import type { CompactionShape } from "../context/compaction/Compaction.ts"
import type { JournalError } from "../session/JournalError.ts"
import * as Score from "./Score.ts"
import type { Entry } from "./Tape.ts"

/** Where the loop of an agent stands in the recording. */
export interface LoopRecords {
  /** Everything that was said before the loop goes on has been told. */
  readonly arrive: Effect.Effect<void, JournalError>
  /** What the loop does next, up to the end of its turn. */
  readonly turn: () => ReadonlyArray<Entry>
}

export const make = ({ arrive, turn }: LoopRecords): MomentsShape => {
  const next = () => turn()[0]?.event
  const stopped = (stops: ReadonlySet<TerminalReason>) =>
    Effect.suspend(() => {
      const event = next()
      if (event?._tag !== "TurnEnded") return Effect.undefined
      const { detail = "", reason } = event.terminal
      if (stops.has(reason)) return Effect.succeed(stop(detail, reason))
      const bug = reason === "session_failed" ? /^A defect: ([\s\S]*)$/.exec(detail)?.[1] : undefined
      if (bug !== undefined) return Effect.die(new Error(bug))
      // Whoever interrupts does so now, and so does a budget.
      return isCut(event) ? Effect.never : Effect.undefined
    })
  return {
    beforeAsking: Effect.andThen(arrive, stopped(beforeAsking)),
    afterRound: () =>
      Effect.andThen(
        arrive,
        Effect.suspend(() => (isSubmit(next()) ? Effect.never : stopped(afterRound))),
      ),
    beforeEnd: () =>
      Effect.andThen(
        arrive,
        Effect.suspend((): Effect.Effect<Stop | GoOn | undefined> => {
          const event = next()
          if (isSubmit(event)) return Effect.never
          if (event?._tag === "TurnEnded") {
            const { detail = "", reason } = event.terminal
            if (isCut(event)) return Effect.never
            return reason === "stop_hook_prevented" ? Effect.succeed(stop(detail, reason)) : Effect.undefined
          }
          const words = wordsOf(turn().map((entry) => entry.event))
          return words.length === 0 ? Effect.undefined : Effect.succeed({ _tag: "GoOn", words })
        }),
      ),
    failed: () => Effect.void,
  }
}

const stop = (reason: string, ending: TerminalReason): Stop => ({
  _tag: "Stop",
  reason,
  ...(ending !== "hook_stopped" && { ends: ending }),
})

/** Ends of a turn that say that there was no room to be had. */
const full: ReadonlySet<TerminalReason> = new Set(["blocking_limit", "rapid_refill_breaker"])

/** What was put shorter stands in the records; whether that was enough shows in how the turn went on. */
export const compaction = ({ arrive, turn }: LoopRecords): Partial<CompactionShape> => ({
  makeRoom: Effect.andThen(
    arrive,
    Effect.sync(() => {
      const event = turn()[0]?.event
      return event?._tag === "TurnEnded" && full.has(event.terminal.reason) ? event.terminal : undefined
    }),
  ),
  refused: () =>
    Effect.andThen(
      arrive,
      Effect.sync(() => {
        const event = turn().find(({ event: { _tag } }) => _tag !== "ReplyAbandoned" && _tag !== "ReplyEnded")?.event
        const way = event?._tag === "TransitionTaken" ? event.transition : undefined
        return way === "collapse_drain_retry" || way === "reactive_compact_retry" ? way : undefined
      }),
    ),
  answered: Effect.void,
})

/** Ends of a turn that somebody wanted: before the model was asked at all, and after its calls. */
const beforeAsking: ReadonlySet<TerminalReason> = new Set(["hook_stopped", "turn_setup_failed", "completed"])
const afterRound: ReadonlySet<TerminalReason> = new Set(["hook_stopped", "repetition_stopped"])

const isCut = (event: EventOf<"TurnEnded">): boolean =>
  Score.budgetOf(event) !== undefined ||
  (event.terminal.reason.startsWith("aborted_") && event.terminal.detail?.startsWith("Stopped after") !== true)

const isSubmit = (event: DurableEvent | undefined): boolean =>
  event?._tag === "TransitionTaken" && event.transition === "submit_interrupt"

/** What kept the turn from ending. */
const wordsOf = (events: ReadonlyArray<DurableEvent>): ReadonlyArray<string> => {
  const words: Array<string> = []
  for (const event of events) {
    if (event._tag === "TransitionTaken" && event.transition === "stop_hook_blocking") return words
    if (event._tag !== "PromptReceived") return []
    words.push(plainText(event.content))
  }
  return []
}

const complaint = /^Your answer does not fit the required output schema: ([\s\S]*)\nAnswer again with JSON that does\.$/

/** The schema is not recorded; what it made of the answers is. `undefined` where there was none. */
export const output = ({ arrive, turn }: LoopRecords): StructuredOutput | undefined => {
  const events = turn().map(({ event }) => event)
  const shows = events.some(
    (event) =>
      (event._tag === "TurnEnded" &&
        (event.structuredOutput !== undefined || event.terminal.reason === "structured_output_retry_exhausted")) ||
      (event._tag === "PromptReceived" && complaint.test(plainText(event.content))),
  )
  if (!shows) return undefined
  return {
    config: {},
    check: () =>
      Effect.andThen(
        Effect.ignore(arrive),
        Effect.sync(() => {
          const left = turn().map(({ event }) => event)
          const event = left[0]
          if (event?._tag === "PromptReceived") {
            const failure = complaint.exec(plainText(event.content))?.[1]
            if (failure !== undefined) return Result.fail(failure)
          }
          if (event?._tag === "TurnEnded" && event.terminal.reason === "structured_output_retry_exhausted") {
            return Result.fail(event.terminal.detail ?? "")
          }
          const end = left.at(-1)
          return Result.succeed(end?._tag === "TurnEnded" ? end.structuredOutput : undefined)
        }),
      ),
  }
}
