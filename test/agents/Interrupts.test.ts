import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Interrupts from "../../src/agents/Interrupts.ts"

const yes = () => true

describe("an interrupt", () => {
  for (const first of ["the interrupt", "the work"]) {
    it.effect(`that comes with the end of the work is not lost: ${first} first`, () =>
      Effect.gen(function* () {
        const interrupts = yield* Interrupts.make
        const work = yield* Deferred.make<string>()
        const race = yield* Effect.forkChild(interrupts.race(Deferred.await(work), yes), { startImmediately: true })
        const done = Deferred.succeed(work, "done")
        yield* first === "the work" ? Effect.andThen(done, interrupts.abort) : Effect.andThen(interrupts.abort, done)
        const raced = yield* Fiber.join(race)
        const ended = Interrupts.isInterrupt(raced) ? raced : yield* interrupts.race(Effect.succeed("more"), yes)
        const later = Interrupts.isInterrupt(ended) ? ended : yield* interrupts.race(Effect.never, yes)
        assert.isTrue(Interrupts.isInterrupt(later))
      }),
    )
  }

  it.effect("for a message that was shown already changes nothing, and one is for once", () =>
    Effect.gen(function* () {
      const interrupts = yield* Interrupts.make
      yield* interrupts.submit
      assert.strictEqual(yield* interrupts.race(Effect.yieldNow.pipe(Effect.as("done")), () => false), "done")
      yield* interrupts.submit
      assert.deepInclude(yield* interrupts.race(Effect.never, yes), { kind: "submit" })
      assert.strictEqual(yield* interrupts.race(Effect.as(Effect.yieldNow, "done"), yes), "done")
    }),
  )
})
