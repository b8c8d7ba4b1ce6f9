import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as TestClock from "effect/testing/TestClock"
import type { Read } from "../../src/cli/LineReader.ts"
import { runInteractive } from "../../src/cli/RunInteractive.ts"
import * as Stage from "./stage.ts"

const ctrlC: Read = { _tag: "Interrupt", typed: false }
const line = (text: string): Read => ({ _tag: "Line", text })

const start = Effect.fnUntraced(function* (
  play: Stage.Play,
  reads: ReadonlyArray<Read>,
  argv: ReadonlyArray<string> = [],
) {
  const stage = yield* Stage.make(play)
  const edges = yield* Stage.stdio()
  const left = [...reads]
  const reader = { read: () => Effect.sync((): Read => left.shift() ?? { _tag: "End" }) }
  const door = { agents: stage.agents, stdio: edges.stdio, reader, cwd: "/", version: "1.0.0" }
  const fiber = yield* Effect.forkChild(runInteractive(door, Stage.args(...argv)), { startImmediately: true })
  return { ...stage, ...edges, code: Fiber.join(fiber), left }
})

const settle = Effect.repeat(Effect.yieldNow, { times: 50 })

describe("a session at the terminal", () => {
  it.effect("takes the first prompt from the command line and the next from the person", () =>
    Effect.gen(function* () {
      const { code, log, out } = yield* start(Stage.says("done"), [line("and now?")], ["fix it"])
      assert.strictEqual(yield* code, 0)
      assert.deepStrictEqual(log, ['prompt "fix it"', 'prompt "and now?"'])
      assert.include(out(), "done\n")
      assert.include(out(), "troupe --resume s1")
    }),
  )

  it.effect("goes back only after the person has seen what would happen, and agreed", () =>
    Effect.gen(function* () {
      const answers = ["/rewind", "1", "f", "n", "/rewind 1 both", "y", "/rewind 1 everything", "/rewind", ""]
      const { code, log, out } = yield* start(Stage.says("done"), answers.map(line))
      assert.strictEqual(yield* code, 0)
      assert.deepStrictEqual(log, ["rewind 1 code dry", "rewind 1 both dry", "rewind 1 both"])
      assert.match(out(), /1 {2}1970-01-01 00:00 UTC {2}fix it {2}1 file/)
      assert.match(
        out(),
        /restore a\.txt {2}\+2 -1[^]*Nothing was changed\.[^]*1 file put back:[^]*from before: fix it/,
      )
      assert.include(out(), '"everything" is none of both, files, conversation.')
    }),
  )

  it.effect("puts what waits to the person when they ask for it, and says what came of it", () =>
    Effect.gen(function* () {
      const stage = yield* Stage.make(Stage.says("done"))
      const edges = yield* Stage.stdio()
      const left = [line("/hooks trust"), line("/hooks trust")]
      const answers = ["agreed" as const, undefined]
      const reader = { read: () => Effect.sync((): Read => left.shift() ?? { _tag: "End" }) }
      const trust = Effect.sync(() => answers.shift())
      const door = { agents: stage.agents, stdio: edges.stdio, reader, cwd: "/", version: "1", trust }
      assert.strictEqual(yield* runInteractive(door, Stage.args()), 0)
      assert.match(edges.out(), /In force: hooks and rules at once[^]*Nothing waits for your agreement/)
      assert.deepStrictEqual(stage.log, [], "nothing of it goes to the model")
    }),
  )

  it.effect("tells whoever wants to know when nobody answers for a minute, once", () =>
    Effect.gen(function* () {
      const stage = yield* Stage.make(Stage.says("done"))
      const edges = yield* Stage.stdio()
      const answered = yield* Deferred.make<Read>()
      const reader = { read: () => Deferred.await(answered) }
      const door = { agents: stage.agents, stdio: edges.stdio, reader, cwd: "/", version: "1" }
      const fiber = yield* Effect.forkChild(runInteractive(door, Stage.args("fix it")), { startImmediately: true })
      yield* settle
      yield* TestClock.adjust("59 seconds")
      assert.notInclude(stage.log, "idle")
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(stage.log, ['prompt "fix it"', "idle"])
      yield* Deferred.succeed(answered, { _tag: "End" })
      assert.strictEqual(yield* Fiber.join(fiber), 0)
    }),
  )

  it.effect("leaves at Ctrl-C twice, not once", () =>
    Effect.gen(function* () {
      const { code, out, left } = yield* start(Stage.says("x"), [ctrlC, line("hi"), ctrlC, ctrlC, line("not read")])
      assert.strictEqual(yield* code, 0)
      assert.include(out(), "Ctrl-C again")
      assert.lengthOf(left, 1)
    }),
  )

  it.effect("ends the turn at Ctrl-C and goes on asking", () =>
    Effect.gen(function* () {
      const { code, signal, log, out } = yield* start(Stage.endless, [], ["work"])
      yield* settle
      yield* signal("SIGINT")
      assert.strictEqual(yield* code, 0)
      assert.include(log, "interrupt")
      assert.include(out(), "■ interrupted")
    }),
  )

  it.effect("ends with 143 at SIGTERM", () =>
    Effect.gen(function* () {
      const { code, signal } = yield* start(Stage.endless, [line("not read")], ["work"])
      yield* settle
      yield* signal("SIGTERM")
      assert.strictEqual(yield* code, 143)
    }),
  )

  it.effect("hears SIGTERM at the prompt too", () =>
    Effect.gen(function* () {
      const stage = yield* Stage.make(Stage.says("x"))
      const edges = yield* Stage.stdio()
      const door = {
        agents: stage.agents,
        stdio: edges.stdio,
        reader: { read: () => Effect.never },
        cwd: "/",
        version: "1",
      }
      const fiber = yield* Effect.forkChild(runInteractive(door, Stage.args()), { startImmediately: true })
      yield* settle
      yield* edges.signal("SIGTERM")
      assert.strictEqual(yield* Fiber.join(fiber), 143)
    }),
  )

  it.effect("shows and changes the model and the permission mode", () =>
    Effect.gen(function* () {
      const commands = ["/model opus", "/mode pln", "/mode plan", "/help", "/exit"].map(line)
      const { code, controls, out, log } = yield* start(Stage.says("x"), commands)
      yield* code
      assert.deepStrictEqual(controls, { model: "opus", permissionMode: "plan" })
      assert.include(out(), "Did you mean plan?")
      assert.deepStrictEqual(log, [])
    }),
  )

  it.effect("sends what only looks like a command to the model", () =>
    Effect.gen(function* () {
      const { code, log } = yield* start(Stage.says("x"), [line("/etc/hosts looks odd")])
      yield* code
      assert.deepStrictEqual(log, ['prompt "/etc/hosts looks odd"'])
    }),
  )

  it.effect("shows the status line above the prompt, and renews it in its place", () =>
    Effect.gen(function* () {
      const stage = yield* Stage.make(Stage.says("x"))
      const edges = yield* Stage.stdio()
      const changed = yield* Latch.make(false)
      let text = "[opus] 1%"
      const status = {
        lines: () => [text],
        hear: () => Effect.void,
        changed: Effect.andThen(changed.await, changed.close),
      }
      const done = yield* Deferred.make<Read>()
      const door = {
        agents: stage.agents,
        stdio: edges.stdio,
        reader: { read: () => Deferred.await(done) },
        cwd: "/",
        version: "1",
        statusLine: () => Effect.succeed(status),
      }
      const fiber = yield* Effect.forkChild(runInteractive(door, Stage.args()), { startImmediately: true })
      yield* settle
      assert.include(edges.out(), "[opus] 1%\n")
      text = "[opus] 2%"
      yield* changed.open
      yield* settle
      assert.include(edges.out(), "\u001b[1A\u001b[J[opus] 2%\n")
      yield* Deferred.succeed(done, { _tag: "End" })
      assert.strictEqual(yield* Fiber.join(fiber), 0)
    }),
  )
})
