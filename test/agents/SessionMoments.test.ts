import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Hooks } from "../../src/hooks/Hooks.ts"
import { plainText } from "../../src/protocol/Content.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import { ended, hurried, only, open, transitions } from "./session.ts"

const book = {
  rules: [
    { when: { user: "once more" }, reply: "Twice done." },
    { when: { tool: "Echo" }, reply: "Echoed." },
    { when: { user: "echo" }, reply: [{ tool: "Echo", input: { text: "hi" } }] },
    { reply: "Done." },
  ],
}
const world = TestRuntime.layer(book)

const lastUser = Effect.map(ScriptedModel.requests, (requests) =>
  plainText(requests.at(-1)?.body.messages.at(-1)?.content ?? ""),
)

const said = Effect.fnUntraced(function* (prompt: string) {
  const agent = yield* open()
  return yield* hurried(Stream.runCollect(agent.prompt(prompt)))
})

describe("a prompt with hooks", () => {
  it.effect("is not put to the model when one objects, and the person hears why", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      yield* hooks.on("UserPromptSubmit", ({ prompt }) =>
        Effect.succeed(prompt.includes("secret") ? { decision: "block", reason: "No secrets here." } : {}),
      )
      const agent = yield* open()
      const refused = yield* hurried(Stream.runCollect(agent.prompt("a secret")))
      assert.deepInclude(ended(refused).terminal, { reason: "hook_stopped", detail: "No secrets here." })
      assert.lengthOf(yield* ScriptedModel.requests, 0)
      assert.strictEqual(ended(yield* hurried(Stream.runCollect(agent.prompt("Hello")))).result, "Done.")
      assert.notInclude(JSON.stringify((yield* ScriptedModel.requests)[0]?.body.messages), "secret")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("is put together with what they add", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      yield* hooks.on("UserPromptSubmit", () =>
        Effect.succeed({
          hookSpecificOutput: {
            hookEventName: "UserPromptSubmit",
            additionalContext: "It is Monday.",
            sessionTitle: "Mondays",
          },
        }),
      )
      const events = yield* said("Hello")
      assert.match(yield* lastUser, /Hello[^]*<system-reminder>[^]*It is Monday\./)
      assert.deepInclude(only(events, "SessionTitled")[0], { title: "Mondays" })
    }).pipe(Effect.scoped, Effect.provide(world)),
  )
})

describe("a session that a hook does not let begin", () => {
  it.effect("answers its first prompt with why, and goes on after it", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      yield* hooks.on("SessionStart", () => Effect.succeed({ continue: false, stopReason: "Not on a Sunday." }))
      const agent = yield* open()
      const refused = yield* hurried(Stream.runCollect(agent.prompt("Hello")))
      assert.deepInclude(ended(refused).terminal, { reason: "hook_stopped", detail: "Not on a Sunday." })
      assert.lengthOf(yield* ScriptedModel.requests, 0)
      assert.strictEqual(ended(yield* hurried(Stream.runCollect(agent.prompt("echo")))).result, "Echoed.")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )
})

describe("the end of a turn with hooks", () => {
  it.effect("is put off by one that is not satisfied, which is told that it did so", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      const active: Array<boolean> = []
      yield* hooks.on("Stop", ({ background_tasks, session_crons, stop_hook_active }) => {
        active.push(stop_hook_active)
        assert.deepStrictEqual([background_tasks, session_crons], [[], []])
        return Effect.succeed(stop_hook_active ? {} : { decision: "block", reason: "Do it once more." })
      })
      const events = yield* said("Hello")
      assert.strictEqual(ended(events).result, "Twice done.")
      assert.deepStrictEqual(active, [false, true])
      assert.deepStrictEqual(transitions(events), ["stop_hook_blocking"])
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("comes after eight times in a row, whatever hooks say", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      yield* hooks.on("Stop", () => Effect.succeed({ decision: "block", reason: "Never." }))
      const events = yield* said("Hello")
      assert.strictEqual(ended(events).terminal.reason, "completed")
      assert.lengthOf(transitions(events), 8)
      assert.match(only(events, "Diagnosed")[0]?.message ?? "", /kept this turn from ending 8 times/)
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("counts anew with every turn", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      let calls = 0
      yield* hooks.on("Stop", () => Effect.succeed(++calls % 6 === 0 ? {} : { decision: "block", reason: "More." }))
      const agent = yield* open()
      for (let turn = 0; turn < 3; turn++) {
        const events = yield* hurried(Stream.runCollect(agent.prompt("Hello")))
        assert.lengthOf(transitions(events), 5, `turn ${turn}`)
      }
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("by a hook is the end of that turn alone", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      yield* hooks.on("UserPromptSubmit", ({ prompt }) =>
        Effect.succeed(prompt.includes("secret") ? { continue: false, stopReason: "No secrets." } : {}),
      )
      let ends = true
      yield* hooks.on("Stop", () => Effect.succeed({ continue: !ends, stopReason: "Enough." }))
      const agent = yield* open()
      const say = (prompt: string) => hurried(Stream.runCollect(agent.prompt(prompt)))
      assert.strictEqual(ended(yield* say("a secret")).terminal.reason, "hook_stopped")
      assert.strictEqual(ended(yield* say("echo")).terminal.reason, "stop_hook_prevented")
      ends = false
      assert.strictEqual(ended(yield* say("echo")).result, "Echoed.")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("does not come to Stop hooks after a failure of the service, but to StopFailure", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      const fired: Array<string> = []
      yield* hooks.on("Stop", () => Effect.sync(() => void fired.push("Stop")))
      yield* hooks.on("StopFailure", ({ error }) => Effect.sync(() => void fired.push(error)))
      assert.strictEqual(ended(yield* said("Hello")).terminal.reason, "api_error")
      assert.deepStrictEqual(fired, ["authentication_failed"])
    }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer({ rules: [{ faults: [{ status: 401 }], reply: "" }] }))),
  )
})

describe("a round with hooks", () => {
  it.effect("is told to PostToolBatch with every call and its result, which may end the turn", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      const calls: Array<unknown> = []
      yield* hooks.on("PostToolBatch", ({ tool_calls }) => {
        calls.push(...tool_calls.map(({ tool_name, tool_response }) => [tool_name, tool_response]))
        return Effect.succeed({ decision: "block", reason: "Enough." })
      })
      const events = yield* said("echo")
      assert.deepStrictEqual(calls, [["Echo", "hi"]])
      assert.deepInclude(ended(events).terminal, { reason: "hook_stopped", detail: "Enough." })
    }).pipe(Effect.scoped, Effect.provide(world)),
  )
})
