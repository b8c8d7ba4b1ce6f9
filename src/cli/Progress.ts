/**
 * Owns the sign of life while somebody waits for more than a second: a line on stderr that moves, and is gone before anything else
 * is written. Only where stderr is a terminal; elsewhere nothing is written at all.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import type { Agent } from "../agents/Agent.ts"
import type { Opener } from "./OpenSession.ts"
import type { Sink } from "./Output.ts"
import type { Screen } from "./Screen.ts"
import type { Stdio } from "./Stdio.ts"

export interface Progress {
  /** Streams that take the sign away before they write. */
  readonly stdio: Stdio
  /** Shows what is being waited for. */
  readonly during: (text: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** The same for opening a session; `follow` also shows what its turns are about, as long as it is open. */
  readonly sessions: (agents: Opener, follow: boolean) => Opener
}

export interface Lamp {
  readonly isTTY?: boolean
  readonly write: (text: string) => unknown
}

const patience = "1 second"
const every = "100 millis"

export const make = (stdio: Stdio, lamp: Lamp, screen: Screen): Progress => {
  if (lamp.isTTY !== true) return { stdio, during: () => (effect) => effect, sessions: (agents) => agents }
  const show = (text: string) => {
    if (text !== "") lamp.write(text)
  }
  const hide = Effect.sync(() => show(screen.settle()))
  const quiet = ({ write }: Sink): Sink => ({ write: (text) => Effect.andThen(hide, write(text)) })

  const ticking = Effect.andThen(
    Effect.sleep(patience),
    Effect.repeat(
      Effect.sync(() => show(screen.tick())),
      Schedule.spaced(every),
    ),
  )
  const moving = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(ticking)
      return yield* Effect.ensuring(effect, Effect.andThen(Fiber.interrupt(fiber), hide))
    })

  const during =
    (text: string) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.suspend(() => {
        screen.wait(text)
        return Effect.ensuring(
          moving(effect),
          Effect.sync(() => screen.wait(undefined)),
        )
      })

  const follow = Effect.fnUntraced(function* (agent: Agent) {
    const events = yield* agent.watch
    const watching = Stream.runForEach(events, (event) =>
      Effect.sync(() => {
        show(screen.settle())
        // Only the status is wanted of it; what is to be printed is printed elsewhere.
        screen.show(event)
      }),
    )
    yield* Effect.forkScoped(moving(watching))
    return agent
  })
  const opening = during("opening the session")

  return {
    stdio: { ...stdio, out: quiet(stdio.out), err: quiet(stdio.err) },
    during,
    sessions: (agents, following) => {
      const then = following ? follow : Effect.succeed<Agent>
      return {
        ...agents,
        open: (options) => Effect.flatMap(opening(agents.open(options)), then),
        resume: (id, options) => Effect.flatMap(opening(agents.resume(id, options)), then),
        fork: (id, options) => Effect.flatMap(opening(agents.fork(id, options)), then),
      }
    },
  }
}
