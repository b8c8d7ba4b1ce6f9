import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as Progress from "../../src/cli/Progress.ts"
import * as Screen from "../../src/cli/Screen.ts"
import * as Stage from "./stage.ts"

const wipe = "\r\u001b[2K"

const make = Effect.fnUntraced(function* (isTTY: boolean) {
  const edges = yield* Stage.stdio()
  const shown: Array<string> = []
  const lamp = { isTTY, write: (text: string) => shown.push(text) }
  const screen = Screen.make({ color: false, live: true, columns: () => 40, cwd: "/", mute: true })
  return { ...edges, shown, progress: Progress.make(edges.stdio, lamp, screen) }
})

describe("the sign of life", () => {
  it.effect("appears after a second, and is gone when the wait is over", () =>
    Effect.gen(function* () {
      const { shown, progress } = yield* make(true)
      const waiting = progress.during("opening the session")(Effect.sleep("2 seconds"))
      const fiber = yield* Effect.forkChild(waiting, { startImmediately: true })
      yield* TestClock.adjust("900 millis")
      assert.deepStrictEqual(shown, [])
      yield* TestClock.adjust("300 millis")
      assert.match(shown[0] ?? "", /^\r\S*\[2K⠙ opening the session$/)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      assert.strictEqual(shown.at(-1), wipe)
    }),
  )

  it.effect("is wiped before anything else is written", () =>
    Effect.gen(function* () {
      const { shown, progress, out } = yield* make(true)
      const fiber = yield* Effect.forkChild(progress.during("waiting")(Effect.never), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      yield* progress.stdio.out.write("the answer\n")
      assert.strictEqual(shown.at(-1), wipe)
      assert.strictEqual(out(), "the answer\n")
      yield* Fiber.interrupt(fiber)
    }),
  )

  it.effect("says what a session is about while it works", () =>
    Effect.gen(function* () {
      const { shown, progress } = yield* make(true)
      const { agents } = yield* Stage.make(Stage.endless)
      const agent = yield* progress.sessions(agents, true).open({ cwd: "/", tools: [] })
      yield* Effect.forkChild(agent.steer("go"), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      assert.include(shown.at(-1) ?? "", "Bash sleep 99")
    }),
  )

  it.effect("is nothing at all where no terminal is", () =>
    Effect.gen(function* () {
      const { shown, progress, stdio } = yield* make(false)
      const fiber = yield* Effect.forkChild(progress.during("x")(Effect.sleep("9 seconds")), { startImmediately: true })
      yield* TestClock.adjust("9 seconds")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(shown, [])
      assert.strictEqual(progress.stdio, stdio)
    }),
  )
})
