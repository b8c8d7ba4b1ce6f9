/** Owns the terminal while a session is shown: one writer at a time, and a status line that moves while a turn runs. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Semaphore from "effect/Semaphore"
import type { Event } from "../protocol/Event.ts"
import type { Sink } from "./Output.ts"
import type { Screen } from "./Screen.ts"
import type { Tone, ViewLine } from "./ToolView.ts"

export interface Display {
  readonly show: (event: Event) => Effect.Effect<void>
  readonly lines: (lines: ReadonlyArray<ViewLine>) => Effect.Effect<void>
  readonly say: (tone: Tone, text: string) => Effect.Effect<void>
  /** Lines above the prompt, in the place of so many lines that were there before. */
  readonly footer: (lines: ReadonlyArray<string>, over: number) => Effect.Effect<void>
  /** Clears the status, so that the next thing written starts a line. */
  readonly settle: Effect.Effect<void>
  /** Nothing else is written meanwhile; what is to be shown inside goes through `within`. */
  readonly alone: <A>(effect: Effect.Effect<A>) => Effect.Effect<A>
  readonly within: (lines: ReadonlyArray<ViewLine>) => Effect.Effect<void>
  /** Moves the status line as long as the effect runs. */
  readonly spinning: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

const frameEvery = "100 millis"

export const make = Effect.fnUntraced(function* (screen: Screen, out: Sink) {
  const lock = yield* Semaphore.make(1)
  // Made inside the lock's turn: a picture made before another write would be of a screen that is no more. A terminal
  // that is gone shows nothing; its hang-up signal ends the session.
  const put = (picture: () => string) =>
    Effect.suspend(() => {
      const text = picture()
      return text === "" ? Effect.void : Effect.ignore(out.write(text))
    })
  const alone = lock.withPermits(1)
  const display: Display = {
    show: (event) => alone(put(() => screen.show(event))),
    lines: (lines) => alone(put(() => screen.lines(lines))),
    say: (tone, text) => alone(put(() => screen.lines([{ tone, text }]))),
    footer: (lines, over) => alone(put(() => screen.footer(lines, over))),
    settle: alone(put(screen.settle)),
    alone,
    within: (lines) => put(() => screen.lines(lines)),
    spinning: (effect) =>
      Effect.gen(function* () {
        const ticking = Effect.repeat(alone(put(screen.tick)), Schedule.spaced(frameEvery))
        const spinner = yield* Effect.forkChild(ticking)
        return yield* Effect.ensuring(effect, Fiber.interrupt(spinner))
      }),
  }
  return display
})
