import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as Events from "../../src/kernel/Events.ts"

describe("Events", () => {
  it.effect("gives every observer every event, in order, until the end", () =>
    Effect.gen(function* () {
      const bus = yield* Events.make<number>()
      const [one, two] = [yield* bus.subscribe, yield* bus.subscribe]
      for (let i = 1; i <= 3; i++) yield* bus.publish(i)
      yield* bus.end
      assert.deepStrictEqual(yield* Stream.runCollect(one.events), [1, 2, 3])
      assert.deepStrictEqual(yield* Stream.runCollect(two.events), [1, 2, 3])
      assert.strictEqual(yield* one.dropped, 0)
    }),
  )

  it.effect("never makes the publisher wait: a slow observer loses the oldest and can tell how many", () =>
    Effect.gen(function* () {
      const bus = yield* Events.make<number>({ capacity: 4 })
      const slow = yield* bus.subscribe
      for (let i = 1; i <= 10; i++) yield* bus.publish(i)
      const seen = yield* Stream.runCollect(Stream.take(slow.events, 4))
      assert.deepStrictEqual(seen, [7, 8, 9, 10])
      assert.strictEqual(yield* slow.dropped, 6)
    }),
  )

  it.effect("does not let a slow observer cost a fast one anything", () =>
    Effect.gen(function* () {
      const bus = yield* Events.make<number>({ capacity: 2 })
      const slow = yield* bus.subscribe
      const fast = yield* bus.subscribe
      const collecting = yield* Effect.forkChild(Stream.runCollect(Stream.take(fast.events, 20)), {
        startImmediately: true,
      })
      for (let i = 1; i <= 20; i++) {
        yield* bus.publish(i)
        yield* Effect.repeat(Effect.yieldNow, { times: 10 })
      }
      assert.strictEqual((yield* Fiber.join(collecting)).length, 20)
      assert.strictEqual(yield* fast.dropped, 0)
      yield* Stream.runDrain(Stream.take(slow.events, 2))
      assert.strictEqual(yield* slow.dropped, 18)
    }),
  )

  it.effect("publishes into the void when nobody observes, and starts a stream from now", () =>
    Effect.gen(function* () {
      const bus = yield* Events.make<string>({ capacity: 1 })
      yield* bus.publish("unseen")
      yield* bus.publish("unseen too")
      const collecting = yield* Effect.forkChild(Stream.runCollect(bus.stream), { startImmediately: true })
      yield* bus.publish("seen")
      yield* Effect.repeat(Effect.yieldNow, { times: 10 })
      yield* bus.end
      assert.deepStrictEqual(yield* Fiber.join(collecting), ["seen"])
    }),
  )
})
