import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { Agents, type OpenOptions } from "../../src/agents/Agents.ts"
import * as Budget from "../../src/kernel/Budget.ts"
import type { Event, EventOf } from "../../src/protocol/Event.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import * as Tool from "../../src/tools/Tool.ts"
import { coding } from "../../src/tools/builtin/Coding.ts"

const ended = (events: ReadonlyArray<Event>) => {
  const last = events.at(-1)
  assert(last?._tag === "TurnEnded")
  return last
}
const only = <Tag extends Event["_tag"]>(events: ReadonlyArray<Event>, tag: Tag) =>
  events.filter((event): event is EventOf<Tag> => event._tag === tag)
const transitions = (events: ReadonlyArray<Event>) => only(events, "TransitionTaken").map((event) => event.transition)

/** Virtual time passes as fast as somebody waits for it. */
const hurried = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 second")
    return yield* Fiber.join(fiber)
  })

const play = (book: Playbook, prompt: string, options: OpenOptions = {}, world: TestRuntime.TestRuntimeOptions = {}) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const agent = yield* agents.open({ permissionMode: "bypassPermissions", tools: [echo, note], ...options })
    const events = yield* hurried(Stream.runCollect(agent.prompt(prompt)))
    return { agent, events, requests: yield* ScriptedModel.requests }
  }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book, world)))

const echo = Tool.make({
  name: "Echo",
  description: "Says it again.",
  input: Schema.Struct({ text: Schema.String }),
  readOnly: true,
  concurrencySafe: true,
  run: ({ text }) => Effect.succeed({ content: text }),
})

const note = Tool.make({
  name: "Note",
  description: "Takes a note.",
  input: Schema.Struct({ text: Schema.String }),
  run: ({ text }) => Effect.succeed({ content: `noted ${text}` }),
})

describe("Turn", () => {
  it.effect("ends when the model has answered", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* play({ rules: [{ reply: "Hello." }] }, "Hi")
      assert.deepStrictEqual(ended(events).terminal, { reason: "completed" })
      assert.strictEqual(ended(events).result, "Hello.")
      assert.strictEqual(requests.length, 1)
      assert.strictEqual(ended(events).turns, 1)
    }),
  )

  it.effect("runs the tools of a reply and tells the model what came of them, in the order of the calls", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* play(
        {
          turns: [
            {
              reply: [
                { tool: "Note", input: { text: "one" } },
                { tool: "Echo", input: { text: "two" } },
                { tool: "Nothing", input: {} },
              ],
            },
            { reply: "Done." },
          ],
        },
        "Go",
      )
      assert.deepStrictEqual(ended(events).terminal, { reason: "completed" })
      assert.deepStrictEqual(transitions(events), ["next_turn"])
      const content = requests[1]?.body.messages.at(-1)?.content
      assert(Array.isArray(content))
      const texts = content.map((block: { content?: unknown }) => block.content)
      assert.strictEqual(texts[0], "noted one")
      assert.strictEqual(texts[1], "two")
      assert.match(String(texts[2]), /no tool named Nothing.*Echo, Note/)
    }),
  )
})

void coding
void Budget
