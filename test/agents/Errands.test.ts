import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Agent } from "../../src/agents/Agent.ts"
import { Agents } from "../../src/agents/Agents.ts"
import { type Errand, MaxDepth, Subagents } from "../../src/agents/Subagents.ts"
import * as Budget from "../../src/kernel/Budget.ts"
import { text } from "../../src/protocol/Content.ts"
import * as Journal from "../../src/session/Journal.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import * as Tool from "../../src/tools/Tool.ts"
import { begin, echo, ended, hurried, note, only } from "./session.ts"

/** Sends out an agent; `more` is what a test adds to its errand. */
const sending = (more: Partial<Errand> = {}) =>
  Tool.make({
    name: "Send",
    description: "Sends out an agent.",
    input: Schema.Struct({ prompt: Schema.String }),
    concurrencySafe: true,
    run: Effect.fnUntraced(function* ({ prompt }, { toolUseId }) {
      const { send } = yield* Subagents
      const report = yield* send({
        agentType: "helper",
        description: "a small errand",
        prompt,
        toolUseId,
        system: [text("You help.")],
        model: "sonnet",
        permissionMode: "bypassPermissions",
        tools: ["Echo", "Note", "Send"],
        ...more,
      })
      return { content: `${report.terminal.reason}: ${report.text}`, structured: report }
    }),
  })

const opening = (more: Partial<Errand> = {}) =>
  Effect.flatMap(Agents, (agents) =>
    agents.open({ permissionMode: "bypassPermissions", tools: [echo, note, sending(more)] }),
  )

const book = {
  rules: [
    { when: { system: "You help", tool: "Echo" }, reply: "The errand is done." },
    { when: { system: "You help", user: "look" }, reply: [{ tool: "Echo", input: { text: "seen" } }] },
    { when: { system: "You help", user: "again" }, reply: [{ tool: "Send", input: { prompt: "look" } }] },
    { when: { system: "You help", user: "write" }, reply: [{ tool: "Note", input: { text: "x", ms: 60_000 } }] },
    { when: { tool: "Send" }, reply: "All done." },
    { when: { user: { matches: "^go (\\w+)$" } }, reply: [{ tool: "Send", input: { prompt: "${1}" } }] },
  ],
}
const world = TestRuntime.layer(book)

describe("an agent that is sent out", () => {
  it.effect("works in a conversation of its own and reports", () =>
    Effect.gen(function* () {
      const agent = yield* opening()
      const events = yield* hurried(Stream.runCollect(agent.prompt("go look")))
      assert.strictEqual(ended(events).result, "All done.")
      const [result] = only(events, "ToolEnded")
      assert.strictEqual(result?.content, "completed: The errand is done.")
      const requests = yield* ScriptedModel.requests
      assert.deepStrictEqual(
        requests.map(({ body }) => body.messages.length),
        [1, 1, 3, 3],
        "the errand starts with nothing but its prompt, and leaves nothing but its result",
      )
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("is shown where it was sent from, and what it spent is part of the turn", () =>
    Effect.gen(function* () {
      const agent = yield* opening()
      const events = yield* hurried(Stream.runCollect(agent.prompt("go look")))
      const [started] = only(events, "SubagentStarted")
      const [end] = only(events, "SubagentEnded")
      assert.strictEqual(end?.agentId, started?.agentId)
      assert.deepInclude(end, { turns: 2, toolUses: 1 })
      const shown = only(events, "SubagentShown").map(({ event }) => event._tag)
      for (const tag of ["PromptReceived", "ToolStarted", "ToolEnded", "TurnEnded"]) assert.include(shown, tag)
      const own = only(events, "ReplyEnded").reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0)
      assert.approximately(ended(events).costUsd, own + (end?.costUsd ?? 0), 1e-12)
      assert.isAbove(end?.costUsd ?? 0, 0)
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("records under its own id, beside the session's history", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const agents = yield* Agents
      const { sessionId, transcriptPath } = yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* opening()
          yield* hurried(Stream.runDrain(agent.prompt("go look")))
          return agent
        }),
      )
      const { records } = yield* Journal.read(sessionId)
      const [id] = [...new Set(records.map(({ agent }) => agent))].filter((agent) => agent !== "main")
      assert.match(id ?? "", /^agent-[0-9a-f]+$/)
      const lines = yield* fs.readFileString(transcriptPath.replace(/\.jsonl$/, `/subagents/${id}.jsonl`))
      const chained = lines
        .trim()
        .split("\n")
        .filter((line) => line.includes('"uuid"'))
      for (const line of chained) assert.include(JSON.parse(line), { isSidechain: true, agentId: id })
      // What it said is no part of the session's own conversation.
      const again = yield* agents.resume(sessionId, { permissionMode: "bypassPermissions", tools: [echo, sending()] })
      yield* hurried(Stream.runDrain(again.prompt("go look")))
      const request = (yield* ScriptedModel.requests).at(-1)
      assert.notInclude(JSON.stringify(request?.body.messages), '"name":"Echo"')
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("cannot send out others unless that is allowed", () =>
    Effect.gen(function* () {
      const agent = yield* opening()
      const nestedIn = Effect.fnUntraced(function* (agent: Agent) {
        const events = yield* hurried(Stream.runCollect(agent.prompt("go again")))
        return only(events, "SubagentShown").filter(({ event }) => event._tag === "SubagentStarted").length
      })
      assert.strictEqual(yield* nestedIn(agent), 0)
      assert.strictEqual(yield* nestedIn(yield* Effect.provideService(opening(), MaxDepth, 2)), 1)
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("is held to the patterns that its tools name", () =>
    Effect.gen(function* () {
      const agent = yield* opening({ within: ["Note"] })
      const events = yield* hurried(Stream.runCollect(agent.prompt("go look")))
      const denied = only(events, "SubagentShown").flatMap(({ event }) =>
        event._tag === "PermissionDecided" ? [event] : [],
      )
      assert.deepInclude(denied[0], { behavior: "deny", step: "agent-tools" })
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("ends with the turn that sent it out, and says so", () =>
    Effect.gen(function* () {
      const agent = yield* opening()
      const running = yield* begin(agent, "go write")
      yield* running.until("SubagentShown")
      yield* agent.interrupt()
      const events = yield* hurried(running.end)
      assert.strictEqual(ended(events).terminal.reason, "aborted_tools")
      assert.strictEqual(only(events, "SubagentEnded")[0]?.terminal.reason, "aborted_tools")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("spends from the budget of whoever asked for it", () =>
    Effect.gen(function* () {
      const agent = yield* opening()
      const work = Stream.runCollect(agent.prompt("go look")).pipe(Budget.within({ spawns: 0 }))
      const events = yield* hurried(work)
      assert.strictEqual(only(events, "SubagentStarted").length, 0)
      assert.match(String(only(events, "ToolEnded")[0]?.content), /not enough spawns/)
      const fiber = yield* Effect.forkChild(
        hurried(Stream.runCollect(agent.prompt("go look")).pipe(Budget.within({ turns: 2 }))),
      )
      assert.strictEqual(ended(yield* Fiber.join(fiber)).terminal.reason, "max_turns")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )
})
