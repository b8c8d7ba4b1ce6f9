import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import type { Event } from "../../../src/protocol/Event.ts"
import { plainText } from "../../../src/protocol/Content.ts"
import type { Playbook } from "../../../src/testing/Playbook.ts"
import { ScriptedModel } from "../../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../../src/testing/TestRuntime.ts"
import { Agents } from "../../../src/agents/Agents.ts"
import { Hooks } from "../../../src/hooks/Hooks.ts"
import { echo, hurried, note, only, open, transitions } from "../../agents/session.ts"

/** So much that ten of them fill the window that the tests have. */
const long = (name: string) =>
  Array.from({ length: 120 }, (_, at) => `${name} says something of no consequence, ${at}`).join("\n")
const error = "src/shop/Cart.ts:41:7 - error TS2339: Property 'total' does not exist on type 'Cart'."

const summary = `<summary>
The user wants the cart to add up. Cart.ts was read.
</summary>
<acceptance_criteria>
- the sum is shown with two decimals
</acceptance_criteria>
<decisions>
- money is counted in cents
</decisions>
<failed_approaches>
- floats do not add up
</failed_approaches>
<identifiers>
- cart_4711: the customer's cart
</identifiers>`

/** Echoes as often as it is told (`echo 7`), and sums up when it is asked to. */
const book = (more: Playbook["rules"] = []): Playbook => ({
  rules: [
    ...more,
    { when: { user: "goes on from a summary that you write now" }, reply: summary },
    {
      when: ({ prompt, turn }) => turn <= Number(/echo (\d+)/.exec(prompt)?.[1] ?? 0),
      reply: ({ turn }) => [{ tool: "Echo", input: { text: turn === 1 ? error : long(`round ${turn}`) } }],
    },
    { reply: "Done." },
  ],
})

/** A window in which about 19,000 tokens fit before room is made. */
const small = { host: { env: { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "2" } } }

const session = (
  prompts: ReadonlyArray<string>,
  rules: Playbook["rules"] = [],
  world: TestRuntime.TestRuntimeOptions = small,
  model = "opus",
) =>
  Effect.gen(function* () {
    const agent = yield* open({ model })
    const events: Array<Event> = []
    for (const prompt of prompts) events.push(...(yield* hurried(Stream.runCollect(agent.prompt(prompt)))))
    return { events, requests: yield* ScriptedModel.requests }
  }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book(rules), world)))

const layersOf = (events: ReadonlyArray<Event>) => only(events, "Compacted").map(({ layer }) => layer)

describe("making room", () => {
  it.effect("is left alone while there is enough", () =>
    Effect.gen(function* () {
      const { events } = yield* session(["echo 2"])
      assert.deepStrictEqual(layersOf(events), [])
    }),
  )

  it.effect("takes what needs no model first, and keeps the lines that matter", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* session(["echo 14"])
      assert.isNotEmpty(layersOf(events))
      assert.notInclude(layersOf(events), "summary")
      const last = requests.at(-1)?.body.messages ?? []
      assert.include(JSON.stringify(last), "error TS2339")
      assert.strictEqual(events.at(-1)?._tag, "TurnEnded")
    }),
  )

  it.effect("sums up when a person asks for it, with their wish, and goes on from there", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* session(["echo 3 please, cart_4711", "/compact keep the numbers", "and now?"])
      const [compacted] = only(events, "Compacted")
      assert.strictEqual(compacted?.trigger, "manual")
      assert.isBelow(compacted?.postTokens ?? 0, compacted?.preTokens ?? 0)
      assert.include(plainText(requests.at(-2)?.body.messages.at(-1)?.content ?? ""), "keep the numbers")
      const messages = requests.at(-1)?.body.messages ?? []
      const said = messages.map(({ content }) => plainText(content)).join("\n")
      for (const kept of [
        error,
        "money is counted in cents",
        "floats do not add up",
        "two decimals",
        "echo 3 please",
      ]) {
        assert.include(said, kept)
      }
      assert.strictEqual(plainText(messages.at(-1)?.content ?? "").trim(), "and now?")
      assert.deepStrictEqual(
        only(events, "TurnEnded").map(({ terminal }) => terminal.reason),
        ["completed", "completed", "completed"],
      )
    }),
  )

  it.effect("asks again with less when the service finds a request too long", () =>
    Effect.gen(function* () {
      const { events } = yield* session(
        ["echo 4"],
        [{ when: ({ turn }) => turn === 4, once: true, faults: [{ prompt_too_long: true }] }],
        {},
      )
      assert.include(transitions(events), "collapse_drain_retry")
      assert.strictEqual(only(events, "TurnEnded")[0]?.terminal.reason, "completed")
    }),
  )

  it.effect("gives up where nothing helps, and the session can still be talked to", () =>
    Effect.gen(function* () {
      const tooLong = { when: { prompt: "too much" }, faults: [{ prompt_too_long: true as const }] }
      const { events } = yield* session(["echo 3", "too much", "and now?"], [tooLong], {})
      assert.deepStrictEqual(
        only(events, "TurnEnded").map(({ terminal }) => terminal.reason),
        ["completed", "prompt_too_long", "completed"],
      )
    }),
  )

  it.effect("goes on after a reply that filled the window", () =>
    Effect.gen(function* () {
      const full = {
        when: { prompt: "echo 4" },
        once: true,
        reply: "This is half of",
        stop_reason: "model_context_window_exceeded" as const,
      }
      const { events } = yield* session(["echo 3", "echo 4"], [full], {})
      assert.isTrue(
        transitions(events).some((one) => one === "collapse_drain_retry" || one === "reactive_compact_retry"),
      )
      assert.strictEqual(only(events, "TurnEnded").at(-1)?.terminal.reason, "completed")
    }),
  )

  it.effect("does without a summary that fails three times, and does not ask a fourth time", () =>
    Effect.gen(function* () {
      const fails = { when: { user: "goes on from a summary that you write now" }, faults: [{ status: 400 }] }
      const many = Array.from({ length: 17 }, (_, at) => `fill ${at} ${long("a prompt")}`)
      const { events, requests } = yield* session(many, [fails])
      const asked = requests.filter(({ body }) =>
        JSON.stringify(body.messages.at(-1)).includes("goes on from a summary"),
      )
      assert.lengthOf(asked, 3)
      assert.isTrue(only(events, "TurnEnded").every(({ terminal }) => terminal.reason === "completed"))
      const said = only(events, "Diagnosed").map(({ message }) => message)
      assert.isTrue(said.some((message) => message.includes("failed 3 times in a row")))
      assert.include(JSON.stringify(requests.at(-1)?.body.messages), "fill 0")
    }),
  )

  it.effect("blocks what cannot fit, and says what can be done", () =>
    Effect.gen(function* () {
      const off = { host: { env: { DISABLE_AUTO_COMPACT: "1" } } }
      const { events, requests } = yield* session([long("a prompt ").repeat(300)], [], off, "claude-haiku-4-5")
      const { terminal } = only(events, "TurnEnded")[0] ?? {}
      assert.strictEqual(terminal?.reason, "blocking_limit")
      assert.include(terminal?.detail, "/compact")
      assert.lengthOf(requests, 0)
    }),
  )

  it.effect("is undone by nothing: a session that is opened again sends the same", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const first = yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* open({ model: "opus" })
          for (const prompt of ["echo 3", "/compact", "and now?"]) {
            yield* hurried(Stream.runCollect(agent.prompt(prompt)))
          }
          return agent.sessionId
        }),
      )
      const before = (yield* ScriptedModel.requests).at(-1)?.body.messages ?? []
      yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* agents.resume(first, { permissionMode: "bypassPermissions", tools: [echo, note] })
          yield* hurried(Stream.runCollect(agent.prompt("go on")))
        }),
      )
      const after = (yield* ScriptedModel.requests).at(-1)?.body.messages ?? []
      assert.deepStrictEqual(after.slice(0, before.length), before)
    }).pipe(Effect.provide(TestRuntime.layer(book(), small))),
  )

  it.effect("takes for people's wishes what people said, and nothing that was told beside it", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      const additionalContext = "It must be Monday, in HARNESS-4711."
      yield* hooks.on("UserPromptSubmit", () =>
        Effect.succeed({ hookSpecificOutput: { hookEventName: "UserPromptSubmit", additionalContext } }),
      )
      const agent = yield* open({ model: "opus" })
      const events: Array<Event> = []
      for (const prompt of ["echo 3, it must be TASK-17", "and now?", "/compact"]) {
        events.push(...(yield* hurried(Stream.runCollect(agent.prompt(prompt)))))
      }
      const noted = JSON.stringify(only(events, "Compacted")[0]?.facts)
      assert.include(noted, "TASK-17")
      assert.notInclude(noted, "HARNESS-4711")
    }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book(), small))),
  )

  it.effect("leaves the facts in the project's file, and learns from it what a journal has lost", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const disk = yield* FileSystem.FileSystem
      const file = "/work/.claude/session-state.json"
      const id = yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* open({ model: "opus" })
          for (const prompt of ["echo 3", "/compact"]) yield* hurried(Stream.runCollect(agent.prompt(prompt)))
          return agent.sessionId
        }),
      )
      const text = yield* disk.readFileString(file)
      assert.include(text, "echo 3")
      yield* disk.writeFileString(file, text.replace(/"decisions": \[[^\]]*\]/, '"decisions": ["tea, not coffee"]'))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* agents.resume(id, { permissionMode: "bypassPermissions", tools: [echo, note] })
          yield* hurried(Stream.runCollect(agent.prompt("go on")))
        }),
      )
      assert.include(JSON.stringify((yield* ScriptedModel.requests).at(-1)?.body.messages), "tea, not coffee")
      const again = yield* agents.resume(id, { permissionMode: "bypassPermissions", tools: [echo, note] })
      yield* hurried(Stream.runCollect(again.prompt("and on")))
      const said = JSON.stringify((yield* ScriptedModel.requests).at(-1)?.body.messages)
      assert.lengthOf(said.split("tea, not coffee"), 2, "it is said once, however often the session is opened")
    }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book(), small))),
  )

  it.effect("is nothing that is remembered after the session has gone back to before what was said", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const disk = yield* FileSystem.FileSystem
      const id = yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* open({ model: "opus" })
          for (const prompt of ["Hello", "echo 3, it must be TASK-17", "/compact", "echo 4", "/compact"]) {
            yield* hurried(Stream.runCollect(agent.prompt(prompt)))
          }
          assert.include(yield* disk.readFileString("/work/.claude/session-state.json"), "TASK-17")
          yield* agent.rewind("2", { what: "conversation" })
          return agent.sessionId
        }),
      )
      assert.notInclude(yield* disk.readFileString("/work/.claude/session-state.json"), "TASK-17")
      const again = yield* agents.resume(id, { permissionMode: "bypassPermissions", tools: [echo, note] })
      yield* hurried(Stream.runCollect(again.prompt("and now?")))
      assert.notInclude(JSON.stringify((yield* ScriptedModel.requests).at(-1)?.body.messages), "TASK-17")
    }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book(), small))),
  )

  it.effect("is refused where it is switched off, and says so", () =>
    Effect.gen(function* () {
      const off = { host: { env: { DISABLE_COMPACT: "1" } } }
      const { events } = yield* session(["echo 3", "/compact"], [], off)
      assert.include(only(events, "TurnEnded").at(-1)?.result, "DISABLE_COMPACT")
      assert.deepStrictEqual(layersOf(events), [])
    }),
  )
})
