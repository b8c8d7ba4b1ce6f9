import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Event } from "../../../src/protocol/Event.ts"
import { plainText } from "../../../src/protocol/Content.ts"
import type { Playbook } from "../../../src/testing/Playbook.ts"
import { ScriptedModel } from "../../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../../src/testing/TestRuntime.ts"
import { hurried, only, open, transitions } from "../../agents/session.ts"

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
      when: ({ results, user }) => results.length < Number(/echo (\d+)/.exec(user)?.[1] ?? 0),
      reply: ({ results }) => [
        { tool: "Echo", input: { text: results.length === 1 ? error : long(`round ${results.length}`) } },
      ],
    },
    { reply: "Done." },
  ],
})

/** A window in which about 9,600 tokens fit before room is made. */
const small = { host: { env: { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "1" } } }

const session = (
  prompts: ReadonlyArray<string>,
  rules: Playbook["rules"] = [],
  world: TestRuntime.TestRuntimeOptions = small,
) =>
  Effect.gen(function* () {
    const agent = yield* open({ model: "opus" })
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
      const { events, requests } = yield* session(["echo 8"])
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
        [{ when: ({ results }) => results.length === 4, times: 1, faults: [{ prompt_too_long: true }] }],
        {},
      )
      assert.include(transitions(events), "collapse_drain_retry")
      assert.strictEqual(only(events, "TurnEnded")[0]?.terminal.reason, "completed")
    }),
  )
})
