/** What tests of whole sessions share: two small tools, virtual time that hurries, and views of the events. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type { Agent } from "../../src/agents/Agent.ts"
import { Agents, type OpenOptions } from "../../src/agents/Agents.ts"
import { type BadMatcher, Hooks } from "../../src/hooks/Hooks.ts"
import type { Event, EventOf } from "../../src/protocol/Event.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import type { Recording } from "../../src/testing/Recorder.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import * as Tool from "../../src/tools/Tool.ts"
import type { Services } from "../../src/tools/builtin/Source.ts"

export const ended = (events: ReadonlyArray<Event>): EventOf<"TurnEnded"> => {
  const last = events.at(-1)
  assert(last?._tag === "TurnEnded", `the last event is ${last?._tag}`)
  return last
}

export const only = <Tag extends Event["_tag"]>(events: ReadonlyArray<Event>, tag: Tag): ReadonlyArray<EventOf<Tag>> =>
  events.filter((event): event is EventOf<Tag> => event._tag === tag)

export const transitions = (events: ReadonlyArray<Event>) =>
  only(events, "TransitionTaken").map((event) => event.transition)

/** The tool results at the end of a request, as text. */
export const resultsIn = (request: Recording | undefined): ReadonlyArray<string> => {
  const content = request?.body.messages.at(-1)?.content
  if (typeof content !== "object") return []
  return content.flatMap((block) => (block.type === "tool_result" ? [String(block.content)] : []))
}

/** Virtual time passes as fast as somebody waits for it. */
export const hurried = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    for (let second = 0; fiber.pollUnsafe() === undefined; second++) {
      assert.isBelow(second, 10_000, "nothing ended within hours of virtual time")
      yield* TestClock.adjust("1 second")
    }
    return yield* Fiber.join(fiber)
  })

/** Reads at once and harms nobody. */
export const echo = Tool.make({
  name: "Echo",
  description: "Says it again.",
  input: Schema.Struct({ text: Schema.String, ms: Schema.optionalKey(Schema.Finite) }),
  readOnly: true,
  concurrencySafe: true,
  run: ({ text, ms }) => Effect.as(ms === undefined ? Effect.void : Effect.sleep(ms), { content: text }),
})

/** May happen only once. */
export const note = Tool.make({
  name: "Note",
  description: "Takes a note.",
  input: Schema.Struct({ text: Schema.String, ms: Schema.optionalKey(Schema.Finite) }),
  run: ({ text, ms }) => Effect.as(ms === undefined ? Effect.void : Effect.sleep(ms), { content: `noted ${text}` }),
})

export const open = (options: OpenOptions<Services> = {}) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    return yield* agents.open({ permissionMode: "bypassPermissions", tools: [echo, note], ...options })
  })

/** One prompt to its end, with the hooks of whoever embeds the runtime. */
export const play = (
  book: Playbook,
  prompt: string,
  options: OpenOptions<Services> = {},
  world: TestRuntime.TestRuntimeOptions = {},
  embed: (hooks: Hooks["Service"]) => Effect.Effect<void, BadMatcher, Scope.Scope> = () => Effect.void,
) =>
  Effect.gen(function* () {
    yield* embed(yield* Hooks)
    const agent = yield* open(options)
    const events = yield* hurried(Stream.runCollect(agent.prompt(prompt)))
    return { agent, events, requests: yield* ScriptedModel.requests }
  }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book, world)))

/** A prompt that runs on its own, and the moment something happens in it. */
export const begin = Effect.fnUntraced(function* (agent: Agent, prompt: string) {
  const seen = yield* agent.watch
  const fiber = yield* Effect.forkChild(Stream.runCollect(agent.prompt(prompt)))
  const until = (tag: Event["_tag"]) => Stream.runHead(Stream.filter(seen, (event) => event._tag === tag))
  return { until, end: Fiber.join(fiber), fiber }
})
