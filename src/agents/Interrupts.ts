/** Owns how a running turn is told to stop: at once, after the running tools, or for a message that cannot wait. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"

/** `abort` ends the turn; `submit` ends the running work because a person's message is to be answered first. */
export interface Interrupt {
  readonly _tag: "Interrupt"
  readonly kind: "abort" | "submit"
  readonly says: string
}

const abort: Interrupt = { _tag: "Interrupt", kind: "abort", says: "the user interrupted" }
const submit: Interrupt = { _tag: "Interrupt", kind: "submit", says: "the user sent a message that comes first" }

export const isInterrupt = (value: unknown): value is Interrupt => value === abort || value === submit

export interface Interrupts {
  readonly abort: Effect.Effect<void>
  readonly submit: Effect.Effect<void>
  /** Ends the turn as soon as the running tools have finished. */
  readonly stop: Effect.Effect<void>
  readonly stopRequested: () => boolean
  /**
   * The work, or the interrupt that ended it. `hasNews` tells whether a message really waits: a `submit` whose message the
   * model has already been shown is late, and changes nothing.
   */
  readonly race: <A, E, R>(work: Effect.Effect<A, E, R>, hasNews: () => boolean) => Effect.Effect<A | Interrupt, E, R>
}

export const make: Effect.Effect<Interrupts> = Effect.gen(function* () {
  const signals = yield* Queue.unbounded<Interrupt>()
  let stopping = false
  const next = (hasNews: () => boolean): Effect.Effect<Interrupt> =>
    Effect.filterOrElse(
      Queue.take(signals),
      (signal) => signal.kind === "abort" || hasNews(),
      () => next(hasNews),
    )
  return {
    abort: Effect.asVoid(Queue.offer(signals, abort)),
    submit: Effect.asVoid(Queue.offer(signals, submit)),
    stop: Effect.sync(() => {
      stopping = true
    }),
    stopRequested: () => stopping,
    race: (work, hasNews) => Effect.raceFirst(work, next(hasNews)),
  }
})
