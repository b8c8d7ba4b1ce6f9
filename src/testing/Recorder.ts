/** Owns the record of what a scripted model was asked and what came of it, for assertions and for waiting on. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { ApiRequest } from "./ApiRequest.ts"
import type { Note } from "./Player.ts"

/** `abandoned`: the client went away first. `broken`: a fault ended it. */
export type Outcome = "delivered" | "refused" | "broken" | "abandoned"

export interface Recording {
  /** 1 for the first. */
  readonly number: number
  /** Milliseconds by Clock, when it was answered. */
  readonly at: number
  readonly streamed: boolean
  readonly body: ApiRequest
  /** The rule that answered, the fault that struck, or why it was refused. */
  readonly note: Note
  /** The client's own id for the request. */
  readonly requestId?: string
  /** Over HTTP only, names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Waits for the end. */
  readonly ended: Effect.Effect<Outcome>
}

export interface Recorder {
  readonly requests: Effect.Effect<ReadonlyArray<Recording>>
  /** Waits until so many requests have come: a signal for tests, in place of a sleep. */
  readonly atLeast: (count: number) => Effect.Effect<ReadonlyArray<Recording>>
  /** Gives the recording, and what to call when it is over. */
  readonly add: (entry: Omit<Recording, "number" | "ended">) => {
    readonly recording: Recording
    readonly end: (outcome: Outcome) => void
  }
}

/** Without `keep` nothing is held on to: a long session would keep its history once per request. */
export const make = (keep: boolean): Recorder => {
  const kept: Array<Recording> = []
  const waiting = new Map<Deferred.Deferred<void>, number>()
  let count = 0
  return {
    requests: Effect.sync(() => [...kept]),
    atLeast: (wanted) =>
      Effect.suspend(() => {
        if (count >= wanted) return Effect.sync(() => [...kept])
        const signal = Deferred.makeUnsafe<void>()
        waiting.set(signal, wanted)
        return Deferred.await(signal).pipe(
          Effect.ensuring(Effect.sync(() => waiting.delete(signal))),
          Effect.map(() => [...kept]),
        )
      }),
    add: (entry) => {
      const ended = Deferred.makeUnsafe<Outcome>()
      const recording: Recording = { ...entry, number: ++count, ended: Deferred.await(ended) }
      if (keep) kept.push(recording)
      for (const [signal, wanted] of waiting) if (count >= wanted) Deferred.doneUnsafe(signal, Effect.void)
      return { recording, end: (outcome) => void Deferred.doneUnsafe(ended, Effect.succeed(outcome)) }
    },
  }
}
