import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as Budget from "../../src/kernel/Budget.ts"

const turn = Budget.charge({ turns: 1 })
const names = Effect.map(Budget.snapshot, (levels) => levels.map((level) => level.name))
const innermost = Effect.map(Budget.snapshot, (levels) => levels[0]!)
const settle = Effect.repeat(Effect.yieldNow, { times: 20 })

describe("Budget", () => {
  it.effect("has no limit outside of any scope", () =>
    Effect.gen(function* () {
      yield* Effect.repeat(turn, { times: 1000 })
      assert.deepStrictEqual(yield* Budget.snapshot, [])
    }),
  )

  it.effect("lets charges pass up to the limit and then says which scope and resource", () =>
    Effect.gen(function* () {
      yield* turn
      yield* turn
      const error = yield* Effect.flip(turn)
      assert.deepStrictEqual(
        [error.scope, error.resource, error.limit, error.spent, error.requested, error.closed],
        ["s", "turns", 2, 2, 1, false],
      )
      assert.include(error.message, '"s" has not enough turns')
      assert.strictEqual((yield* innermost).spent.turns, 2)
    }).pipe(Budget.within({ name: "s", turns: 2 })),
  )

  it.effect("charges all parents or none", () =>
    Effect.gen(function* () {
      yield* Effect.flip(Budget.charge({ turns: 1, toolCalls: 1 })).pipe(
        Effect.tap((error) => Effect.sync(() => assert.strictEqual(error.scope, "outer"))),
        Budget.within({ name: "inner", turns: 5 }),
      )
      assert.strictEqual((yield* innermost).spent.turns, 0)
      yield* Budget.within({ name: "inner", turns: 5 })(turn)
      assert.strictEqual((yield* innermost).spent.turns, 1)
    }).pipe(Budget.within({ name: "outer", turns: 5, toolCalls: 0 })),
  )

  it.effect("is inherited by forks", () =>
    Effect.gen(function* () {
      const exits = yield* Effect.forEach([1, 2, 3, 4, 5], () => Effect.exit(turn), { concurrency: "unbounded" })
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 3)
      const fiber = yield* Effect.forkDetach(Effect.exit(turn))
      assert.isTrue(Exit.isFailure(yield* Fiber.join(fiber)))
    }).pipe(Budget.within({ turns: 3 })),
  )

  it.effect("refuses nonsense instead of treating it as no limit", () =>
    Effect.gen(function* () {
      for (const bad of [Number.NaN, -1]) {
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Budget.within({ usd: bad })(Effect.void))))
        assert.isTrue(Exit.isFailure(yield* Effect.exit(Budget.within({ usd: 5 })(Budget.charge({ usd: bad })))))
      }
    }),
  )

  it.effect("interrupts the work at its deadline, inner and outer alike", () =>
    Effect.gen(function* () {
      const released: Array<string> = []
      const work = Effect.onInterrupt(Effect.never, () => Effect.sync(() => released.push("work")))
      const fiber = yield* work.pipe(
        Budget.within({ name: "inner", wall: "1 hour" }),
        Budget.within({ name: "outer", wall: "10 seconds" }),
        Effect.flip,
        Effect.forkChild({ startImmediately: true }),
      )
      yield* TestClock.adjust("10 seconds")
      const error = yield* Fiber.join(fiber)
      assert.deepStrictEqual([error.scope, error.resource, error.closed], ["outer", "wall", true])
      assert.deepStrictEqual(released, ["work"])
    }),
  )

  it.effect("fails charges and reservations in an uninterruptible region of a closed scope, without hanging", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const seen: Array<string> = []
      const stubborn = Effect.gen(function* () {
        yield* Deferred.await(gate)
        seen.push((yield* Effect.flip(turn)).resource)
        seen.push((yield* Effect.flip(Effect.scoped(Budget.reserve({ fixed: { usd: 1 } })))).resource)
      }).pipe(Effect.uninterruptible)
      const fiber = yield* stubborn.pipe(
        Budget.within({ wall: "1 second" }),
        Effect.exit,
        Effect.forkChild({ startImmediately: true }),
      )
      yield* TestClock.adjust("1 second")
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, ["wall", "wall"])
    }),
  )

  it.effect("limits spawns and how deep they nest", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* names.pipe(Budget.spawn("b"), Budget.spawn("a")), ["b", "a", "root"])
      const tooDeep = yield* Effect.void.pipe(Budget.spawn("c"), Budget.spawn("b"), Budget.spawn("a"), Effect.flip)
      assert.deepStrictEqual([tooDeep.scope, tooDeep.resource], ["root", "depth"])
      const tooMany = yield* Effect.flip(Effect.repeat(Budget.spawn("x")(Effect.void), { times: 10 }))
      assert.deepStrictEqual([tooMany.scope, tooMany.resource, tooMany.limit], ["root", "spawns", 6])
    }).pipe(Budget.within({ name: "root", depth: 2, spawns: 6 })),
  )

  describe("reserve", () => {
    it.effect("puts aside the largest elastic part that fits at every level, and gives back what was not spent", () =>
      Effect.gen(function* () {
        const reservation = yield* Budget.reserve({
          fixed: { usd: 1 },
          elastic: { unit: { usd: 0.01, outputTokens: 1 }, want: 1000, least: 100 },
        }).pipe(Budget.within({ name: "inner", outputTokens: 500 }))
        assert.strictEqual(reservation.granted, 400)
        assert.strictEqual((yield* innermost).reserved.usd, 5)
        yield* reservation.settle({ usd: 2, outputTokens: 100 })
        yield* reservation.settle({ usd: 2, outputTokens: 100 })
        const level = yield* innermost
        assert.deepStrictEqual([level.spent.usd, level.reserved.usd, level.closed], [2, 0, undefined])
      }).pipe(Budget.within({ name: "outer", usd: 5 }), Effect.scoped),
    )

    it.effect("waits while somebody else holds the money, and goes on when it comes back", () =>
      Effect.gen(function* () {
        const first = yield* Budget.reserve({ fixed: { usd: 8 } })
        const second = yield* Effect.forkChild(Budget.reserve({ fixed: { usd: 5 } }), { startImmediately: true })
        yield* settle
        assert.isUndefined(second.pollUnsafe())
        yield* first.settle({ usd: 3 })
        yield* Fiber.join(second)
        assert.strictEqual((yield* innermost).reserved.usd, 5)
      }).pipe(Budget.within({ usd: 10 }), Effect.scoped),
    )

    it.effect("fails at once when no settlement could make room, naming the scope", () =>
      Effect.gen(function* () {
        yield* Budget.charge({ usd: 6 })
        yield* Budget.reserve({ fixed: { usd: 1 } })
        const error = yield* Effect.flip(
          Budget.reserve({ elastic: { unit: { usd: 0.01 }, want: 1000, least: 500 } }).pipe(
            Budget.within({ usd: 100 }),
          ),
        )
        assert.deepStrictEqual([error.scope, error.resource, error.requested], ["outer", "usd", 5])
      }).pipe(Budget.within({ name: "outer", usd: 10 }), Effect.scoped),
    )

    it.effect("fails a waiting reservation when what is held turns out to be spent", () =>
      Effect.gen(function* () {
        const first = yield* Budget.reserve({ fixed: { usd: 8 } })
        const second = yield* Effect.forkChild(Effect.flip(Budget.reserve({ fixed: { usd: 5 } })), {
          startImmediately: true,
        })
        yield* first.settle({ usd: 8 })
        assert.strictEqual((yield* Fiber.join(second)).resource, "usd")
      }).pipe(Budget.within({ usd: 10 }), Effect.scoped),
    )

    it.effect("is released when its holder is interrupted, and leaves no trace when interrupted while waiting", () =>
      Effect.gen(function* () {
        const hold = Effect.scoped(Effect.andThen(Budget.reserve({ fixed: { usd: 8 } }), Effect.never))
        const holder = yield* Effect.forkChild(hold, { startImmediately: true })
        const waiter = yield* Effect.forkChild(hold, { startImmediately: true })
        yield* Fiber.interrupt(waiter)
        assert.strictEqual((yield* innermost).reserved.usd, 8)
        yield* Fiber.interrupt(holder)
        assert.strictEqual((yield* innermost).reserved.usd, 0)
      }).pipe(Budget.within({ usd: 10 })),
    )

    it.effect("records an overrun and closes the nearest scope that limits the resource", () =>
      Effect.gen(function* () {
        const overrunning = Effect.gen(function* () {
          const reservation = yield* Budget.reserve({ fixed: { usd: 1, inputTokens: 10 } })
          yield* reservation.settle({ usd: 1.5, inputTokens: 20 })
          return yield* Effect.never
        }).pipe(Budget.within({ name: "tokens only", toolCalls: 1 }))
        const error = yield* overrunning.pipe(Budget.within({ name: "limited", usd: 3 }), Effect.scoped, Effect.flip)
        assert.deepStrictEqual([error.scope, error.resource, error.closed], ["limited", "usd", true])
        const outer = yield* innermost
        assert.deepStrictEqual([outer.overrun.usd, outer.overrun.inputTokens, outer.closed], [0.5, 10, undefined])
        yield* Budget.charge({ usd: 1 })
      }).pipe(Budget.within({ name: "outer", usd: 10 })),
    )

    it.effect("does nothing to unlimited budgets", () =>
      Effect.gen(function* () {
        const reservation = yield* Budget.reserve({ elastic: { unit: { usd: 1 }, want: 9, least: 1 } })
        assert.strictEqual(reservation.granted, 9)
        yield* reservation.settle({ usd: 100 })
      }).pipe(Effect.scoped),
    )
  })

  describe("grant", () => {
    it.effect("hands out plain data that another process can live within, and takes the rest back", () =>
      Effect.gen(function* () {
        yield* TestClock.adjust("4 seconds")
        const scope = yield* Scope.make()
        const grant = yield* Budget.grant("child", { usd: 2 }).pipe(Scope.provide(scope))
        const data: unknown = JSON.parse(JSON.stringify(grant.data))
        assert.deepStrictEqual(data, { name: "child", usd: 2, toolCalls: 7, wall: 6000, depth: 3 })
        assert.strictEqual((yield* innermost).reserved.usd, 2)
        yield* grant.settle({ usd: 0.5, toolCalls: 1 })
        yield* Scope.close(scope, Exit.void)
        const level = yield* innermost
        assert.deepStrictEqual([level.spent.usd, level.spent.toolCalls, level.reserved.usd], [0.5, 1, 0])
        const inChild = yield* Effect.flip(Budget.within(grant.data)(Budget.charge({ toolCalls: 8 })))
        assert.strictEqual(inChild.scope, "child")
      }).pipe(Budget.within({ usd: 5, toolCalls: 7, wall: "10 seconds", depth: 3 })),
    )

    it.effect("counts as spent when nobody reports", () =>
      Effect.gen(function* () {
        yield* Effect.scoped(Budget.grant("child", { usd: 2 }))
        assert.strictEqual((yield* innermost).spent.usd, 2)
        yield* Effect.scoped(Effect.flatMap(Budget.grant("child", { usd: 2 }), (grant) => grant.release))
        assert.strictEqual((yield* innermost).spent.usd, 2)
      }).pipe(Budget.within({ usd: 5 })),
    )
  })
})
