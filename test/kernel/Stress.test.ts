import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/kernel/Actor.ts"
import * as Budget from "../../src/kernel/Budget.ts"
import * as Protocol from "../../src/kernel/Protocol.ts"
import * as Supervisor from "../../src/kernel/Supervisor.ts"

const below = (n: number) => Random.nextIntBetween(0, n, { halfOpen: true })
const yields = (times: number) => (times === 0 ? Effect.void : Effect.repeat(Effect.yieldNow, { times: times - 1 }))

/** Lets everything run until these fibers ended, and fails by name if one never does. */
const allEnd = Effect.fnUntraced(function* (what: string, fibers: ReadonlyArray<Fiber.Fiber<unknown, unknown>>) {
  for (let spins = 0; spins < 5000; spins++) {
    if (fibers.every((fiber) => fiber.pollUnsafe() !== undefined)) return
    yield* Effect.yieldNow
    if (spins % 100 === 99) yield* TestClock.adjust("10 seconds")
  }
  assert.fail(`${what}: ${fibers.filter((fiber) => fiber.pollUnsafe() === undefined).length} fibers hang`)
})

/** Each seed is a run of its own; a failure names its seed. */
const seeds = <A, E, R>(count: number, run: (seed: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(
    Array.from({ length: count }, (_, seed) => seed),
    (seed) => run(seed).pipe(Effect.scoped, Random.withSeed(`seed ${seed}`)),
    { discard: true },
  ).pipe(Effect.provideService(References.MinimumLogLevel, "None"))

const Target = Protocol.make({
  Work: { payload: Schema.Finite, success: Schema.Finite },
  Slow: { payload: Schema.Finite, success: Schema.Finite },
  Echo: { payload: Schema.Finite, success: Schema.Finite },
  Boom: { payload: Schema.Finite, success: Schema.Finite },
  Halt: { payload: Schema.Finite, success: Schema.Finite, control: true },
})
const gentle = ["Work", "Slow", "Echo", "Halt"] as const

const target = (capacity: number, handled: Array<number>) => {
  const handle = (n: number, id: number) => Effect.sync(() => (handled.push(id), [n + 1, id] as const))
  return Actor.make(Target, {
    capacity,
    start: Effect.as(Effect.yieldNow, 0),
    handlers: {
      Work: handle,
      Halt: handle,
      Slow: (n, id) => Effect.andThen(yields(3), handle(n, id)),
      // Writes to itself, past a mailbox that is full more often than not.
      Echo: (n, id, self) => Effect.andThen(Effect.ignore(self.tell.Work(-id)), handle(n, id)),
      Boom: (n, id) => Effect.andThen(handle(n, id), Effect.die(new Error("boom"))),
    },
  })
}

describe("Stress", () => {
  it.effect("no sender ever hangs, whatever kills the actor, in 3,000 runs with mailboxes of 1 to 4", () =>
    seeds(3000, (seed) =>
      Effect.gen(function* () {
        const handled: Array<number> = []
        const behavior = target(1 + (seed % 4), handled)
        const scope = yield* Scope.make()
        const supervised = seed % 3 !== 0
        const supervisor = yield* Supervisor.make("s", { intensity: { max: 2, period: "1 minute" } }).pipe(
          Scope.provide(scope),
        )
        const ref = yield* Scope.provide(
          supervised ? supervisor.start("a", behavior) : Actor.spawn("a", behavior),
          scope,
        )
        const senders = 4 + (yield* below(16))
        const booms = 1 + (yield* below(4))
        const fibers: Array<Fiber.Fiber<number, unknown>> = []
        for (let id = 1; id <= senders; id++) {
          const tag = seed % 2 === 0 && id <= booms ? "Boom" : gentle[yield* below(gentle.length)]!
          const patience = yield* below(8)
          const send = (yield* below(4)) === 0 ? Effect.as(ref.tell[tag](id), 0) : ref.ask[tag](id)
          const wait = yield* below(4)
          const encoded = seed % 5 === 0
          fibers.push(
            yield* Effect.andThen(yields(wait), send).pipe(
              Effect.provideService(Protocol.Encoded, encoded),
              Effect.forkChild({ startImmediately: true }),
            ),
          )
          if (patience === 0) fibers.at(-1)?.interruptUnsafe()
        }
        yield* yields(yield* below(12))
        const killer = [
          Actor.stop(ref),
          Scope.close(scope, Exit.void),
          Scope.close(scope, Exit.interrupt()),
          Effect.forEach([1, 2, 3], (n) => Effect.ignore(ref.ask.Boom(1000 + n)), { discard: true }),
        ][yield* below(4)]!
        fibers.push(yield* Effect.forkChild(Effect.as(killer, 0), { startImmediately: true }))
        yield* allEnd(`seed ${seed}`, fibers)
        yield* Scope.close(scope, Exit.void)
        const late = yield* Effect.exit(ref.ask.Work(9999))
        assert.isTrue(Exit.isFailure(late), `seed ${seed}: a dead actor answered`)
        const ids = handled.filter((id) => id > 0)
        assert.strictEqual(new Set(ids).size, ids.length, `seed ${seed}: a letter was handled twice`)
        for (let i = 0; i < senders; i++) {
          const exit = fibers[i]?.pollUnsafe()
          if (exit && Exit.isSuccess(exit) && exit.value > 0) {
            assert.strictEqual(exit.value, i + 1, `seed ${seed}: somebody else's reply`)
            assert.include(ids, exit.value, `seed ${seed}: a reply without work`)
          } else if (exit && Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause)) {
            assert.strictEqual(Cause.squash(exit.cause) instanceof Actor.ActorDown, true, `seed ${seed}`)
          }
        }
      }),
    ),
  )

  it.effect("a stop drains everything that was accepted before it, in 500 runs", () =>
    seeds(500, (seed) =>
      Effect.gen(function* () {
        const handled: Array<number> = []
        const ref = yield* Actor.spawn("a", target(1 + (seed % 4), handled))
        const accepted: Array<number> = []
        const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
        for (let id = 1; id <= 20; id++) {
          const tell = Effect.andThen(
            ref.tell[(yield* below(2)) ? "Work" : "Slow"](id),
            Effect.sync(() => accepted.push(id)),
          )
          fibers.push(yield* Effect.forkChild(Effect.ignore(tell), { startImmediately: true }))
          yield* yields(yield* below(3))
        }
        fibers.push(yield* Effect.forkChild(Actor.stop(ref), { startImmediately: true }))
        yield* allEnd(`seed ${seed}`, fibers)
        const sorted = (ids: Array<number>) => ids.toSorted((a, b) => a - b)
        assert.deepStrictEqual(sorted(handled), sorted(accepted), `seed ${seed}`)
      }),
    ),
  )

  it.effect("a restart storm ends in escalation with everybody told, under every strategy", () =>
    seeds(300, (seed) =>
      Effect.gen(function* () {
        const strategy = (["one-for-one", "rest-for-one", "one-for-all"] as const)[seed % 3]!
        const max = yield* below(12)
        const supervisor = yield* Supervisor.make("s", { strategy, intensity: { max, period: "1 minute" } })
        const refs = yield* Effect.forEach(["a", "b", "c", "d"], (name) => supervisor.start(name, target(2, [])))
        const storm = Effect.gen(function* () {
          const ref = refs[yield* below(4)]!
          yield* yields(yield* below(3))
          yield* (yield* below(2)) ? Effect.ignore(ref.ask.Boom(1)) : Effect.ignore(ref.ask.Slow(1))
        })
        const failure = yield* Effect.forkChild(Effect.flip(supervisor.failure), { startImmediately: true })
        const crowd = yield* Effect.forEach([1, 2, 3, 4, 5], () =>
          Effect.forkChild(Effect.repeat(storm, { times: 80 }), { startImmediately: true }),
        )
        yield* allEnd(`seed ${seed} ${strategy}`, [...crowd, failure])
        assert.strictEqual((yield* Fiber.join(failure)).max, max)
        for (const ref of refs) assert.instanceOf(yield* Effect.flip(ref.ask.Work(1)), Actor.ActorDown)
        assert.deepStrictEqual((yield* supervisor.tree).children, [])
      }),
    ),
  )

  it.effect("a restart storm that is put up with never deepens the stack nor slows down", () =>
    Effect.gen(function* () {
      let starts = 0
      const crashing = Supervisor.task(Effect.suspend(() => (++starts < 20_000 ? Effect.die("again") : Effect.never)))
      const supervisor = yield* Supervisor.make("s", { intensity: { max: 1_000_000, period: "1 minute" } })
      yield* supervisor.start("crashing", crashing)
      while (starts < 20_000) yield* Effect.yieldNow
      assert.strictEqual((yield* supervisor.tree).children[0]?.restarts, 19_999)
    }),
  )

  it.effect("starts in order and stops in reverse under every strategy, whatever crashed in between", () =>
    seeds(150, (seed) =>
      Effect.gen(function* () {
        const strategy = (["one-for-one", "rest-for-one", "one-for-all"] as const)[seed % 3]!
        const scope = yield* Scope.make()
        const alive: Array<string> = []
        const disorder: Array<string> = []
        const names = ["a", "b", "c", "d"]
        const member = (name: string) =>
          Actor.make(Target, {
            start: Effect.acquireRelease(
              Effect.sync(() => {
                alive.push(name)
                // With a shared fate nobody lives again before those that were started before it.
                if (strategy !== "one-for-one" && String(alive) !== String(alive.toSorted()))
                  disorder.push(String(alive))
                return 0
              }),
              () =>
                Effect.sync(() => {
                  alive.splice(alive.indexOf(name), 1)
                }),
            ),
            handlers: {
              Work: (n, id) => Effect.succeed([n, id]),
              Halt: (n, id) => Effect.succeed([n, id]),
              Slow: (n, id) => Effect.as(yields(5), [n, id]),
              Echo: (n, id) => Effect.succeed([n, id]),
              Boom: () => Effect.die("boom"),
            },
          })
        const supervisor = yield* Scope.provide(
          Supervisor.make("s", { strategy, intensity: { max: 100, period: "1 minute" } }),
          scope,
        )
        const refs = yield* Effect.forEach(names, (name) => supervisor.start(name, member(name)))
        for (let i = 0; i < 5; i++) {
          yield* Effect.ignore(refs[yield* below(4)]!.ask.Boom(1))
          yield* yields(yield* below(30))
        }
        yield* yields(100)
        for (const ref of refs) yield* ref.ask.Work(1)
        assert.deepStrictEqual(disorder, [], `seed ${seed} ${strategy}`)
        const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
        while (closing.pollUnsafe() === undefined) {
          assert.deepStrictEqual(alive.toSorted(), names.slice(0, alive.length), `seed ${seed} ${strategy}`)
          yield* Effect.yieldNow
        }
        assert.deepStrictEqual(alive, [])
      }),
    ),
  )

  it.effect("one actor's crash leaves those who hold its ref alive and able to go on with it", () =>
    Effect.gen(function* () {
      const supervisor = yield* Supervisor.make("s", { intensity: { max: 1000, period: "1 minute" } })
      const hub = yield* supervisor.start("hub", target(2, []))
      const Spoke = Protocol.make({ Use: { success: Schema.String } })
      const spoke = Actor.make(Spoke, {
        start: Effect.succeed(0),
        handlers: {
          Use: (n) =>
            Effect.match(n % 3 === 2 ? hub.ask.Boom(n) : hub.ask.Work(n), {
              onSuccess: () => [n + 1, "ok"] as const,
              onFailure: (down) => [n + 1, down.reason] as const,
            }),
        },
      })
      const spokes = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, i) => `spoke-${i}`),
        (name) => supervisor.start(name, spoke),
      )
      const answers = yield* Effect.forEach(spokes, (ref) => Effect.replicateEffect(ref.ask.Use(), 6), {
        concurrency: "unbounded",
      })
      for (const own of answers) assert.deepStrictEqual(own, ["ok", "ok", "crashed", "ok", "ok", "crashed"])
      yield* hub.ask.Work(1)
      const tree = yield* supervisor.tree
      assert.deepStrictEqual([tree.children[0]?.restarts, tree.children[1]?.restarts], [40, 0])
    }),
  )

  it.effect("the ladder ends a whole tree of stuck handlers, step by step, on the clock", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const Stuck = Protocol.make({ Never: {}, Refuse: {} })
      const stuck = Actor.make(Stuck, {
        start: Effect.void,
        handlers: {
          Never: () => Effect.never,
          Refuse: () => Effect.as(Effect.uninterruptible(Deferred.await(gate)), [undefined, undefined]),
        },
      })
      const scope = yield* Scope.make()
      const supervisor = yield* Scope.provide(Supervisor.make("s"), scope)
      const ladder = { drain: "2 seconds", interrupt: "1 second" } as const
      const refs = yield* Effect.forEach(["a", "b", "c"], (name) => supervisor.start(name, stuck, { ladder }))
      const asks = yield* Effect.forEach(refs, (ref, i) =>
        Effect.forkChild(Effect.flip(i === 1 ? ref.ask.Refuse() : ref.ask.Never()), { startImmediately: true }),
      )
      yield* yields(20)
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      // c drains 2 s; b drains 2 s and refuses 1 s; a drains 2 s.
      for (const expected of [2, 2, 1, 2]) {
        assert.isUndefined(closing.pollUnsafe())
        yield* TestClock.adjust(`${expected} seconds`)
        yield* yields(20)
      }
      assert.isDefined(closing.pollUnsafe())
      const reasons = (yield* Effect.forEach(asks, (ask) => Fiber.join(ask))).map((down) => down.reason)
      assert.deepStrictEqual(reasons, ["stopped", "killed", "stopped"])
      yield* Deferred.succeed(gate, undefined)
    }),
  )

  it.effect("hammered by concurrent reservations a budget is never exceeded and nothing leaks, in 400 runs", () =>
    seeds(400, (seed) =>
      Effect.gen(function* () {
        const outer = 1 + (yield* below(20))
        const watch = Effect.gen(function* () {
          for (const level of yield* Budget.snapshot) {
            for (const resource of ["usd", "outputTokens"] as const) {
              const used = level.spent[resource] + level.reserved[resource]
              assert.isAtMost(
                used,
                (level.limits[resource] ?? Infinity) + 1e-6,
                `seed ${seed}: ${level.name} ${resource}`,
              )
              assert.isAtLeast(level.reserved[resource], -1e-9, `seed ${seed}: given back twice`)
            }
          }
        })
        const call = Effect.gen(function* () {
          const fixed = (yield* below(30)) / 10
          const least = yield* below(20)
          const want = least + (yield* below(100))
          const reservation = yield* Budget.reserve({
            fixed: { usd: fixed },
            elastic: { unit: { usd: 0.013, outputTokens: 1 }, want, least },
          })
          assert.isTrue(reservation.granted >= least && reservation.granted <= want)
          yield* watch
          yield* yields(yield* below(4))
          const share = yield* Random.next
          const { usd = 0, outputTokens = 0 } = reservation.amounts
          if ((yield* below(5)) > 0) yield* reservation.settle({ usd: usd * share, outputTokens: outputTokens * share })
          yield* watch
        }).pipe(Effect.scoped, Effect.exit)
        const team = Effect.gen(function* () {
          const fibers = yield* Effect.forEach(Array.from({ length: 6 }), () =>
            Effect.forkChild(Effect.repeat(call, { times: 4 }), { startImmediately: true }),
          )
          yield* yields(yield* below(6))
          fibers[yield* below(6)]?.interruptUnsafe()
          yield* allEnd(`seed ${seed}`, fibers)
          for (const fiber of fibers) {
            const exit = fiber.pollUnsafe()
            if (exit && Exit.isSuccess(exit) && Exit.isFailure(exit.value)) {
              assert.instanceOf(Cause.squash(exit.value.cause), Budget.BudgetExceeded, `seed ${seed}`)
            }
          }
          yield* watch
        })
        yield* Effect.gen(function* () {
          const tokens = [yield* below(400), yield* below(400)]
          yield* Effect.forEach(tokens, (outputTokens, i) => Budget.within({ name: `team ${i}`, outputTokens })(team), {
            concurrency: 2,
          })
          for (const level of yield* Budget.snapshot) {
            assert.deepStrictEqual([level.reserved.usd, level.reserved.outputTokens], [0, 0], `seed ${seed}: a leak`)
            assert.isUndefined(level.closed)
          }
        }).pipe(Budget.within({ name: "outer", usd: outer, outputTokens: 500 }))
      }),
    ),
  )
})
