import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/kernel/Actor.ts"
import * as Budget from "../../src/kernel/Budget.ts"
import * as Protocol from "../../src/kernel/Protocol.ts"

class Refused extends Schema.TaggedError<Refused>()("Refused", { by: Schema.Finite }) {}

const Counter = Protocol.make({
  Add: { payload: Schema.Finite, success: Schema.Finite, error: Refused },
  Get: { success: Schema.Finite },
  Boom: {},
})

const counter = Actor.make(Counter, {
  start: Effect.succeed(0),
  handlers: {
    Add: (n, by) => (by < 0 ? Effect.fail(new Refused({ by })) : Effect.succeed([n + by, n + by])),
    Get: (n) => Effect.succeed([n, n]),
    Boom: () => Effect.die(new Error("boom")),
  },
})

/** An actor that writes down what it handles, and waits at a gate for `Wait`. */
const Desk = Protocol.make({
  Wait: {},
  Note: { payload: Schema.String },
  Halt: { payload: Schema.String, control: true },
  Read: { success: Schema.Array(Schema.String) },
})
const desk = (gate: Deferred.Deferred<void>, capacity = 64) =>
  Actor.make(Desk, {
    capacity,
    start: Effect.succeed<ReadonlyArray<string>>([]),
    handlers: {
      Wait: (log) => Effect.as(Deferred.await(gate), [log, undefined]),
      Note: (log, word) => Effect.succeed([[...log, word], undefined]),
      Halt: (log, word) => Effect.succeed([[...log, word], undefined]),
      Read: (log) => Effect.succeed([log, log]),
    },
  })

const settle = Effect.repeat(Effect.yieldNow, { times: 20 })

describe("Actor", () => {
  it.effect("answers each ask from its own state, in order", () =>
    Effect.gen(function* () {
      const ref = yield* Actor.spawn("counter", counter)
      assert.strictEqual(yield* ref.ask.Add(2), 2)
      yield* ref.tell.Add(3)
      assert.strictEqual(yield* ref.ask.Get(), 5)
      assert.strictEqual(ref.address, "counter")
    }),
  )

  it.effect("answers with a typed failure and keeps its state", () =>
    Effect.gen(function* () {
      const ref = yield* Actor.spawn("counter", counter)
      yield* ref.ask.Add(1)
      assert.instanceOf(yield* Effect.flip(ref.ask.Add(-1)), Refused)
      assert.strictEqual(yield* ref.ask.Get(), 1)
    }),
  )

  it.effect("tells the asker of a crash, and everybody after it at once", () =>
    Effect.gen(function* () {
      const ref = yield* Actor.spawn("counter", counter)
      const crash = yield* Effect.flip(ref.ask.Boom())
      assert.strictEqual(crash.reason, "crashed")
      assert.include(crash.message, "boom")
      assert.instanceOf(yield* Effect.flip(ref.ask.Add(1)), Actor.ActorDown)
      assert.strictEqual((yield* Effect.flip(ref.tell.Add(1))).reason, "crashed")
      assert.strictEqual((yield* Actor.awaitDown(ref)).reason, "crashed")
    }),
  )

  it.effect("treats a throw, a self-interruption and a malformed reply as crashes", () =>
    Effect.gen(function* () {
      const Odd = Protocol.make({ Throw: {}, Interrupt: {}, Malformed: {} })
      const odd = Actor.make(Odd, {
        start: Effect.void,
        handlers: {
          Throw: () => {
            throw new Error("thrown")
          },
          Interrupt: () => Effect.interrupt,
          Malformed: () => Effect.succeed(JSON.parse("null")),
        },
      })
      for (const tag of ["Throw", "Interrupt", "Malformed"] as const) {
        const ref = yield* Actor.spawn(tag, odd)
        assert.strictEqual((yield* Effect.flip(ref.ask[tag]())).reason, "crashed", tag)
        yield* Actor.awaitDown(ref)
        assert.strictEqual((yield* Actor.status(ref)).state, "dead")
      }
    }),
  )

  it.effect("holds senders back when its mailbox is full, and loses none of them", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const ref = yield* Actor.spawn("desk", desk(gate, 1))
      yield* ref.tell.Wait()
      yield* settle
      yield* ref.tell.Note("a")
      const blocked = yield* Effect.forkChild(ref.tell.Note("b"), { startImmediately: true })
      const asking = yield* Effect.forkChild(ref.ask.Read(), { startImmediately: true })
      yield* settle
      assert.isUndefined(blocked.pollUnsafe())
      assert.strictEqual((yield* Actor.status(ref)).depth, 3)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(blocked)
      assert.deepStrictEqual(yield* Fiber.join(asking), ["a", "b"])
    }),
  )

  it.effect("handles control before work, and takes it in when full", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const ref = yield* Actor.spawn("desk", desk(gate, 1))
      yield* ref.tell.Wait()
      yield* settle
      yield* ref.tell.Note("work")
      yield* ref.tell.Halt("control")
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* ref.ask.Read(), ["control", "work"])
    }),
  )

  it.effect("does not begin what nobody waits for any more", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const ref = yield* Actor.spawn("desk", desk(gate, 1))
      yield* ref.tell.Wait()
      yield* settle
      const queued = yield* Effect.forkChild(ref.ask.Note("queued"), { startImmediately: true })
      const parked = yield* Effect.forkChild(ref.ask.Note("parked"), { startImmediately: true })
      const told = yield* Effect.forkChild(ref.tell.Note("told"), { startImmediately: true })
      for (const fiber of [told, parked, queued]) yield* Fiber.interrupt(fiber)
      assert.strictEqual((yield* Actor.status(ref)).depth, 0)
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* ref.ask.Read(), [])
    }),
  )

  it.effect("spends on the budget of whoever asked, not on its own", () =>
    Effect.gen(function* () {
      const Shop = Protocol.make({ Buy: { error: Budget.BudgetExceeded } })
      const shop = Actor.make(Shop, {
        start: Effect.void,
        handlers: { Buy: () => Effect.as(Budget.charge({ toolCalls: 1 }), [undefined, undefined]) },
      })
      const ref = yield* Actor.spawn("shop", shop).pipe(Budget.within({ name: "shop", toolCalls: 0 }))
      yield* ref.ask.Buy()
      const error = yield* Effect.andThen(ref.ask.Buy(), ref.ask.Buy()).pipe(
        Budget.within({ name: "customer", toolCalls: 1 }),
        Effect.flip,
      )
      assert.strictEqual(error instanceof Budget.BudgetExceeded && error.scope, "customer")
    }).pipe(Effect.scoped),
  )

  it.effect("works under the span of whoever asked", () =>
    Effect.gen(function* () {
      const Where = Protocol.make({ Am: { success: Schema.String } })
      const where = Actor.make(Where, {
        start: Effect.void,
        handlers: {
          Am: () => Effect.orDie(Effect.map(Effect.currentParentSpan, (span) => [undefined, span.spanId] as const)),
        },
      })
      const ref = yield* Actor.spawn("where", where).pipe(Effect.withSpan("starter"))
      const [expected, actual] = yield* Effect.all([
        Effect.map(Effect.currentSpan, (span) => span.spanId),
        ref.ask.Am(),
      ]).pipe(Effect.withSpan("asker"))
      assert.strictEqual(actual, expected)
    }),
  )

  it.effect("hears of the end of its own fibers by private messages that outsiders cannot send", () =>
    Effect.gen(function* () {
      const Public = Protocol.make({ Begin: {}, Result: { success: Schema.String } })
      const Internal = Protocol.extend(Public, { Ended: { payload: Schema.String } })
      const ended = yield* Deferred.make<void>()
      const worker = Actor.make(Internal, {
        start: Effect.succeed("none"),
        handlers: {
          Begin: (state, _, self) =>
            Effect.as(Effect.forkScoped(Effect.andThen(self.tell.Ended("done"), Deferred.succeed(ended, undefined))), [
              state,
              undefined,
            ]),
          Result: (state) => Effect.succeed([state, state]),
          Ended: (_, outcome) => Effect.succeed([outcome, undefined]),
        },
      })
      const ref: Actor.Ref<typeof Public> = yield* Actor.spawn("worker", worker)
      yield* ref.ask.Begin()
      yield* Deferred.await(ended)
      assert.strictEqual(yield* ref.ask.Result(), "done")
      assert.notProperty(ref.tell, "Ended")
      // @ts-expect-error private messages are not in the public type
      assert.isUndefined(ref.tell.Ended)
    }),
  )

  it.effect("can write to itself although its mailbox is full, even from inside a nested fiber", () =>
    Effect.gen(function* () {
      const Loop = Protocol.make({ Kick: { payload: Schema.Finite }, Step: {}, Count: { success: Schema.Finite } })
      const loop = Actor.make(Loop, {
        capacity: 1,
        start: Effect.succeed(0),
        handlers: {
          Kick: (n, times, self) =>
            Effect.as(Effect.orDie(Effect.timeout(Effect.replicateEffect(self.tell.Step(), times), "1 second")), [
              n,
              undefined,
            ]),
          Step: (n) => Effect.succeed([n + 1, undefined]),
          Count: (n) => Effect.succeed([n, n]),
        },
      })
      const ref = yield* Actor.spawn("loop", loop)
      yield* ref.ask.Kick(10)
      assert.strictEqual(yield* ref.ask.Count(), 10)
    }),
  )

  it.effect("crashes rather than wait for ever when it asks itself", () =>
    Effect.gen(function* () {
      const Echo = Protocol.make({ Ask: {}, Pong: {} })
      const echo = Actor.make(Echo, {
        start: Effect.void,
        handlers: {
          Ask: (_, __, self) => Effect.as(Effect.orDie(self.ask.Pong()), [undefined, undefined]),
          Pong: () => Effect.succeed([undefined, undefined]),
        },
      })
      const ref = yield* Actor.spawn("echo", echo)
      const down = yield* Effect.flip(ref.ask.Ask())
      assert.include(down.detail, "asks itself Pong")
    }),
  )

  it.effect(
    "builds its state in a scope that ends with the life, and takes its services from where it was started",
    () =>
      Effect.gen(function* () {
        class Name extends Context.Service<Name, { readonly value: string }>()("test/Name") {}
        const released: Array<string> = []
        const Who = Protocol.make({ Am: { success: Schema.String } })
        const who = Actor.make(Who, {
          start: Effect.acquireRelease(
            Effect.map(Name, (name) => name.value),
            (name) => Effect.sync(() => released.push(name)),
          ),
          handlers: { Am: (name) => Effect.map(Name, (service) => [name, `${name}/${service.value}`]) },
        })
        const scope = yield* Scope.make()
        const ref = yield* Actor.spawn("who", who).pipe(
          Effect.provideService(Name, { value: "x" }),
          Scope.provide(scope),
        )
        assert.strictEqual(yield* ref.ask.Am(), "x/x")
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(released, ["x"])
        assert.strictEqual((yield* Effect.flip(ref.ask.Am())).reason, "stopped")
      }),
  )

  it.effect("fails to start with the typed failure of `start`", () =>
    Effect.gen(function* () {
      const broken = Actor.make(Counter, {
        start: Effect.as(Effect.fail(new Refused({ by: 7 })), 0),
        handlers: {
          Add: (n) => Effect.succeed([n, n]),
          Get: (n) => Effect.succeed([n, n]),
          Boom: (n) => Effect.succeed([n, undefined]),
        },
      })
      const error = yield* Effect.flip(Actor.spawn("broken", broken))
      assert.strictEqual(error.by, 7)
    }),
  )

  describe("stop", () => {
    it.effect("drains: what was sent before is handled, what comes later is refused", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const ref = yield* Actor.spawn("desk", desk(gate, 1))
        yield* ref.tell.Wait()
        yield* settle
        const asks = yield* Effect.forEach(["a", "b"], (word) =>
          Effect.forkChild(ref.ask.Note(word), { startImmediately: true }),
        )
        const stopping = yield* Effect.forkChild(Actor.stop(ref), { startImmediately: true })
        assert.strictEqual((yield* Effect.flip(ref.tell.Note("late"))).reason, "stopped")
        assert.strictEqual((yield* Actor.status(ref)).state, "stopping")
        yield* Deferred.succeed(gate, undefined)
        assert.strictEqual(yield* Fiber.join(stopping), "drained")
        yield* Fiber.joinAll(asks)
      }),
    )

    it.effect("interrupts a stuck handler after the first deadline, and tells everybody", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const ref = yield* Actor.spawn("desk", desk(gate, 1), {
          ladder: { drain: "3 seconds", interrupt: "2 seconds" },
        })
        const stuck = yield* Effect.forkChild(Effect.flip(ref.ask.Wait()), { startImmediately: true })
        yield* settle
        const queued = yield* Effect.forkChild(Effect.flip(ref.ask.Read()), { startImmediately: true })
        const parked = yield* Effect.forkChild(Effect.flip(ref.tell.Note("x")), { startImmediately: true })
        const stopping = yield* Effect.forkChild(Actor.stop(ref), { startImmediately: true })
        yield* TestClock.adjust("2999 millis")
        assert.isUndefined(stopping.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(yield* Fiber.join(stopping), "interrupted")
        const downs = [yield* Fiber.join(stuck), yield* Fiber.join(queued), yield* Fiber.join(parked)]
        assert.deepStrictEqual(
          downs.map((down) => down.reason),
          ["stopped", "stopped", "stopped"],
        )
      }),
    )

    it.effect("gives up on a handler that cannot be interrupted, after the second deadline", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const handled: Array<string> = []
        const Mule = Protocol.make({ Balk: {}, Work: {} })
        const mule = Actor.make(Mule, {
          start: Effect.void,
          handlers: {
            Balk: () => Effect.as(Effect.uninterruptible(Deferred.await(gate)), [undefined, undefined]),
            Work: () => Effect.sync(() => (handled.push("work"), [undefined, undefined])),
          },
        })
        const ref = yield* Actor.spawn("mule", mule, { ladder: { drain: "3 seconds", interrupt: "2 seconds" } })
        const balking = yield* Effect.forkChild(Effect.flip(ref.ask.Balk()), { startImmediately: true })
        const queued = yield* Effect.forkChild(Effect.flip(ref.ask.Work()), { startImmediately: true })
        yield* settle
        const stopping = yield* Effect.forkChild(Actor.stop(ref), { startImmediately: true })
        yield* TestClock.adjust("3 seconds")
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual(yield* Fiber.join(stopping), "killed")
        assert.strictEqual((yield* Fiber.join(balking)).reason, "killed")
        assert.strictEqual((yield* Fiber.join(queued)).reason, "killed")
        yield* Deferred.succeed(gate, undefined)
        yield* settle
        assert.deepStrictEqual(handled, [])
      }),
    )

    it.effect("can be called by a handler, which finishes first", () =>
      Effect.gen(function* () {
        const Last = Protocol.make({ Bye: { success: Schema.String }, More: { success: Schema.String } })
        const last = Actor.make(Last, {
          start: (self) => Effect.succeed(self),
          handlers: {
            Bye: (self) => Effect.as(Actor.stop(self), [self, "bye"]),
            More: (self) => Effect.succeed([self, "more"]),
          },
        })
        const ref = yield* Actor.spawn("last", last)
        const answers = yield* Effect.all([ref.ask.Bye(), ref.ask.More()], { concurrency: 2 })
        assert.deepStrictEqual(answers, ["bye", "more"])
        assert.strictEqual((yield* Actor.awaitDown(ref)).reason, "stopped")
      }),
    )
  })
})
