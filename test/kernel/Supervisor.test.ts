import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as Actor from "../../src/kernel/Actor.ts"
import * as Protocol from "../../src/kernel/Protocol.ts"
import * as Supervisor from "../../src/kernel/Supervisor.ts"

class NoStart extends Schema.TaggedError<NoStart>()("NoStart", { name: Schema.String }) {}

const Worker = Protocol.make({ Add: { payload: Schema.Finite, success: Schema.Finite }, Boom: {}, Hang: {} })

/** Writes its starts and ends into `log`. */
const worker = (name: string, log: Array<string>) =>
  Actor.make(Worker, {
    capacity: 2,
    start: Effect.acquireRelease(
      Effect.sync(() => (log.push(`+${name}`), 0)),
      () => Effect.sync(() => log.push(`-${name}`)),
    ),
    handlers: {
      Add: (n, by) => Effect.succeed([n + by, n + by]),
      Boom: () => Effect.die(new Error(`${name} crashed`)),
      Hang: () => Effect.never,
    },
  })

const settle = Effect.repeat(Effect.yieldNow, { times: 50 })

const trio = Effect.fnUntraced(function* (options: Supervisor.Options) {
  const log: Array<string> = []
  const supervisor = yield* Supervisor.make("trio", options)
  const a = yield* supervisor.start("a", worker("a", log))
  const b = yield* supervisor.start("b", worker("b", log))
  const c = yield* supervisor.start("c", worker("c", log))
  return { log, supervisor, a, b, c }
})

describe("Supervisor", () => {
  it.effect("starts in order and stops in reverse", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { log, a } = yield* Scope.provide(trio({}), scope)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(log, ["+a", "+b", "+c", "-c", "-b", "-a"])
      assert.strictEqual((yield* Effect.flip(a.ask.Add(1))).reason, "stopped")
    }),
  )

  it.effect("one-for-one: restarts only who crashed; its state is new, its ref and its queued letters live on", () =>
    Effect.gen(function* () {
      const { log, a, b, supervisor } = yield* trio({ strategy: "one-for-one" })
      yield* b.ask.Add(5)
      yield* a.ask.Add(7)
      const crash = yield* Effect.forkChild(Effect.flip(b.ask.Boom()), { startImmediately: true })
      const queued = yield* Effect.forkChild(b.ask.Add(1), { startImmediately: true })
      const parked = yield* Effect.forkChild(b.ask.Add(1), { startImmediately: true })
      assert.strictEqual((yield* Fiber.join(crash)).reason, "crashed")
      assert.deepStrictEqual([yield* Fiber.join(queued), yield* Fiber.join(parked)], [1, 2])
      assert.strictEqual(yield* a.ask.Add(0), 7)
      assert.deepStrictEqual(log, ["+a", "+b", "+c", "-b", "+b"])
      const tree = yield* supervisor.tree
      assert.deepStrictEqual(
        tree.children.map((node) => [node.address, node.state, node.restarts]),
        [
          ["trio/a", "running", 0],
          ["trio/b", "running", 1],
          ["trio/c", "running", 0],
        ],
      )
    }),
  )

  it.effect("rest-for-one: takes along those that were started after it", () =>
    Effect.gen(function* () {
      const { log, a, b, c } = yield* trio({ strategy: "rest-for-one" })
      yield* a.ask.Add(1)
      yield* c.ask.Add(1)
      yield* Effect.flip(b.ask.Boom())
      yield* settle
      assert.strictEqual(yield* c.ask.Add(0), 0)
      assert.strictEqual(yield* a.ask.Add(0), 1)
      assert.deepStrictEqual(log, ["+a", "+b", "+c", "-b", "-c", "+b", "+c"])
    }),
  )

  it.effect("one-for-all: restarts everybody, ends in reverse and starts in order", () =>
    Effect.gen(function* () {
      const { log, a, b, c } = yield* trio({
        strategy: "one-for-all",
        intensity: { max: 1, period: "1 minute" },
      })
      yield* a.ask.Add(1)
      const waiting = yield* Effect.forkChild(Effect.flip(c.ask.Hang()), { startImmediately: true })
      yield* settle
      yield* Effect.flip(b.ask.Boom())
      yield* settle
      assert.strictEqual(yield* a.ask.Add(0), 0)
      assert.strictEqual(yield* c.ask.Add(0), 0)
      assert.deepStrictEqual(log, ["+a", "+b", "+c", "-b", "-c", "-a", "+a", "+b", "+c"])
      assert.strictEqual((yield* Fiber.join(waiting)).reason, "stopped")
    }),
  )

  it.effect("two crashes at the same time make one group restart", () =>
    Effect.gen(function* () {
      const { log, a, b, supervisor } = yield* trio({ strategy: "one-for-all" })
      yield* Effect.all([a.tell.Boom(), b.tell.Boom()])
      yield* settle
      assert.deepStrictEqual(
        (yield* supervisor.tree).children.map((node) => node.restarts),
        [1, 1, 1],
      )
      assert.deepStrictEqual(log.slice(-3), ["+a", "+b", "+c"])
    }),
  )

  it.effect("a member that fails to start again holds those after it back", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      let starts = 0
      const flaky = Supervisor.task((ready) =>
        Effect.suspend(() => {
          if (++starts === 2) return new NoStart({ name: "flaky" })
          log.push("+flaky")
          return Effect.andThen(ready, starts === 1 ? Deferred.await(gate) : Effect.never)
        }),
      )
      const gate = yield* Deferred.make<void, NoStart>()
      const supervisor = yield* Supervisor.make("s", { strategy: "rest-for-one" })
      yield* supervisor.start("flaky", flaky)
      yield* supervisor.start("after", worker("after", log))
      yield* Deferred.fail(gate, new NoStart({ name: "gate" }))
      yield* settle
      assert.deepStrictEqual(log, ["+flaky", "+after", "-after", "+flaky", "+after"])
    }),
  )

  it.effect("closing ends a group restart that is still pausing", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { log, b } = yield* Scope.provide(
        trio({ strategy: "one-for-all", backoff: { first: "1 minute", most: "1 minute" } }),
        scope,
      )
      yield* Effect.flip(b.ask.Boom())
      yield* settle
      const queued = yield* Effect.forkChild(Effect.flip(b.ask.Add(1)), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("2 minutes")
      yield* settle
      assert.deepStrictEqual(log, ["+a", "+b", "+c", "-b", "-c", "-a"])
      assert.strictEqual((yield* Fiber.join(queued)).reason, "stopped")
    }),
  )

  it.effect("a group restart goes on when one of its members refuses to end", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const log: Array<string> = []
      const Mule = Protocol.make({ Balk: {}, Hi: { success: Schema.String } })
      const mule = Actor.make(Mule, {
        start: Effect.void,
        handlers: {
          Balk: () => Effect.as(Effect.uninterruptible(Deferred.await(gate)), [undefined, undefined]),
          Hi: () => Effect.succeed([undefined, "hi"]),
        },
      })
      const supervisor = yield* Supervisor.make("s", { strategy: "one-for-all" })
      const ladder = { drain: "1 second", interrupt: "1 second" } as const
      const stuck = yield* supervisor.start("mule", mule, { ladder })
      const other = yield* supervisor.start("other", worker("other", log))
      const balking = yield* Effect.forkChild(Effect.flip(stuck.ask.Balk()), { startImmediately: true })
      yield* settle
      yield* Effect.flip(other.ask.Boom())
      yield* settle
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* stuck.ask.Hi(), "hi")
      assert.strictEqual((yield* Fiber.join(balking)).reason, "killed")
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      assert.strictEqual(yield* stuck.ask.Hi(), "hi")
      assert.strictEqual(yield* other.ask.Add(1), 1)
      assert.strictEqual((yield* Actor.status(stuck)).restarts, 1)
    }),
  )

  it.effect("escalates past its intensity: everybody is stopped in reverse and the reason is typed", () =>
    Effect.gen(function* () {
      const { log, a, b, supervisor } = yield* trio({ intensity: { max: 2, period: "10 seconds" } })
      const failure = yield* Effect.forkChild(Effect.flip(supervisor.failure), { startImmediately: true })
      for (let i = 0; i < 3; i++) yield* Effect.flip(b.ask.Boom())
      const escalated = yield* Fiber.join(failure)
      assert.instanceOf(escalated, Supervisor.Escalated)
      assert.deepStrictEqual([escalated.supervisor, escalated.child, escalated.max], ["trio", "trio/b", 2])
      assert.include(escalated.detail, "b crashed")
      assert.strictEqual((yield* Effect.flip(b.ask.Add(1))).reason, "gave-up")
      assert.strictEqual((yield* Effect.flip(a.ask.Add(1))).reason, "stopped")
      assert.deepStrictEqual(log.slice(-3), ["-b", "-c", "-a"])
      assert.deepStrictEqual((yield* supervisor.tree).children, [])
      const late = yield* Effect.flip(supervisor.start("late", worker("late", log)))
      assert.instanceOf(late, Supervisor.Escalated)
    }),
  )

  it.effect("forgets crashes that are older than the period", () =>
    Effect.gen(function* () {
      const { b } = yield* trio({ intensity: { max: 1, period: "10 seconds" } })
      for (let i = 0; i < 5; i++) {
        yield* Effect.flip(b.ask.Boom())
        assert.strictEqual(yield* b.ask.Add(1), 1)
        yield* TestClock.adjust("10 seconds")
      }
    }),
  )

  it.effect("pauses longer after each crash, up to a bound, and forgets after a quiet period", () =>
    Effect.gen(function* () {
      const { b, supervisor } = yield* trio({
        intensity: { max: 100, period: "1 minute" },
        backoff: { first: "1 second", most: "3 seconds" },
      })
      const stateOfB = Effect.map(supervisor.tree, (tree) => tree.children[1]?.state)
      const restartsAfter = Effect.fnUntraced(function* (millis: number) {
        yield* Effect.flip(b.ask.Boom())
        yield* settle
        yield* TestClock.adjust(millis - 1)
        assert.strictEqual(yield* stateOfB, "restarting")
        yield* TestClock.adjust(1)
        yield* settle
        assert.strictEqual(yield* stateOfB, "running")
      })
      yield* restartsAfter(1000)
      yield* restartsAfter(2000)
      yield* restartsAfter(3000)
      yield* restartsAfter(3000)
      yield* TestClock.adjust("1 minute")
      yield* restartsAfter(1000)
    }),
  )

  it.effect("counts a failing restart as a crash, and leaves a failing first start to whoever started it", () =>
    Effect.gen(function* () {
      let starts = 0
      const flaky = Actor.make(Worker, {
        start: Effect.suspend(() => (++starts > 1 && starts < 4 ? new NoStart({ name: "flaky" }) : Effect.succeed(0))),
        handlers: {
          Add: (n, by) => Effect.succeed([n + by, n + by]),
          Boom: () => Effect.die("boom"),
          Hang: () => Effect.never,
        },
      })
      const supervisor = yield* Supervisor.make("s", { intensity: { max: 3, period: "1 minute" } })
      const ref = yield* supervisor.start("flaky", flaky)
      yield* Effect.flip(ref.ask.Boom())
      assert.strictEqual(yield* ref.ask.Add(1), 1)
      assert.strictEqual(starts, 4)
      starts = 1
      const other = yield* Supervisor.make("other", { intensity: { max: 100, period: "1 minute" } })
      const error = yield* Effect.flip(other.start("again", flaky))
      assert.instanceOf(error, NoStart)
      yield* settle
      assert.deepStrictEqual([(yield* other.tree).children.length, starts], [0, 2])
    }),
  )

  it.effect("does not restart a child that is meant to live once, and goes on without it", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const supervisor = yield* Supervisor.make("s", { intensity: { max: 0, period: "1 second" } })
      const ref = yield* supervisor.start("once", worker("once", log), { restart: "never" })
      yield* Effect.flip(ref.ask.Boom())
      assert.strictEqual((yield* Actor.awaitDown(ref)).reason, "crashed")
      yield* supervisor.start("once", worker("once", log), { restart: "never" })
      assert.deepStrictEqual(log, ["+once", "-once", "+once"])
    }),
  )

  it.effect("runs plain effects: restarted after a failure, done after a success, interrupted at the end", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const scope = yield* Scope.make()
      const supervisor = yield* Scope.provide(Supervisor.make("s"), scope)
      let runs = 0
      yield* supervisor.start(
        "flaky",
        Supervisor.task(Effect.suspend(() => (++runs < 3 ? new NoStart({ name: "flaky" }) : Effect.void))),
      )
      const connection = Supervisor.task((ready) =>
        Effect.gen(function* () {
          yield* Effect.addFinalizer(() => Effect.sync(() => log.push("closed")))
          yield* Effect.yieldNow
          log.push("connected")
          yield* ready
          return yield* Effect.never
        }),
      )
      yield* supervisor.start("connection", connection)
      assert.deepStrictEqual(log, ["connected"])
      yield* settle
      assert.strictEqual(runs, 3)
      assert.deepStrictEqual(
        (yield* supervisor.tree).children.map((node) => node.address),
        ["s/connection"],
      )
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(log, ["connected", "closed"])
    }),
  )

  it.effect("a nested group escalates to its parent, which rebuilds it, and finally gives up itself", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const made: Array<Actor.Ref<typeof Worker>> = []
      const parent = yield* Supervisor.make("parent", { intensity: { max: 1, period: "1 minute" } })
      const group = Supervisor.group({ intensity: { max: 0, period: "1 minute" } }, (supervisor) =>
        Effect.gen(function* () {
          made.push(yield* supervisor.start("inner", worker("inner", log)))
        }),
      )
      yield* parent.start("group", group)
      const tree = yield* parent.tree
      assert.strictEqual(tree.children[0]?.children[0]?.address, "parent/group/inner")
      yield* Effect.flip(made[0]!.ask.Boom())
      yield* settle
      assert.strictEqual((yield* Effect.flip(made[0]!.ask.Add(1))).reason, "gave-up")
      assert.strictEqual(yield* made[1]!.ask.Add(1), 1)
      yield* Effect.flip(made[1]!.ask.Boom())
      const escalated = yield* Effect.flip(parent.failure)
      assert.strictEqual(escalated.child, "parent/group")
      assert.include(escalated.detail, "parent/group/inner")
      assert.deepStrictEqual(log, ["+inner", "-inner", "+inner", "-inner"])
    }),
  )

  it.effect("shows who lives where, with mailbox depth and age", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 second")
      const Boss = Protocol.make({ Hi: {} })
      const boss = Actor.make(Boss, {
        start: Actor.spawn("clerk", worker("clerk", [])),
        handlers: { Hi: (clerk) => Effect.succeed([clerk, undefined]) },
      })
      const supervisor = yield* Supervisor.make("office")
      yield* supervisor.start("boss", boss)
      const busy = yield* supervisor.start("busy", worker("busy", []))
      yield* busy.tell.Hang()
      yield* settle
      yield* busy.tell.Add(1)
      const tree = yield* supervisor.tree
      assert.deepStrictEqual(tree, {
        address: "office",
        state: "running",
        depth: 0,
        restarts: 0,
        startedAt: 1000,
        children: [
          {
            address: "office/boss",
            state: "running",
            depth: 0,
            restarts: 0,
            startedAt: 1000,
            children: [
              { address: "office/boss/clerk", state: "running", depth: 0, restarts: 0, startedAt: 1000, children: [] },
            ],
          },
          { address: "office/busy", state: "running", depth: 1, restarts: 0, startedAt: 1000, children: [] },
        ],
      })
      const stopping = yield* Effect.forkChild(supervisor.stop("busy"), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(stopping), "interrupted")
      assert.isUndefined(yield* supervisor.stop("busy"))
      assert.strictEqual((yield* supervisor.tree).children.length, 1)
    }),
  )

  it.effect("stops a child whose starter was interrupted while it was not ready", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const supervisor = yield* Supervisor.make("s")
      const never = Supervisor.task(() => Effect.onInterrupt(Effect.never, () => Effect.sync(() => log.push("gone"))))
      const starting = yield* Effect.forkChild(supervisor.start("slow", never), { startImmediately: true })
      yield* settle
      yield* Fiber.interrupt(starting)
      assert.deepStrictEqual(log, ["gone"])
      assert.deepStrictEqual((yield* supervisor.tree).children, [])
    }),
  )
})
