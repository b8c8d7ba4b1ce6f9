/** A session and the files people keep for it: agents, skills, commands, instructions, and how the model comes to know them. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { Agents } from "../../src/agents/Agents.ts"
import { modeOf } from "../../src/agents/AgentTool.ts"
import * as Toolset from "../../src/agents/Toolset.ts"
import { Hooks } from "../../src/hooks/Hooks.ts"
import { plainText } from "../../src/protocol/Content.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import { ended, hurried, only } from "./session.ts"

const files = {
  "/work/CLAUDE.md": "Always say please.",
  "/work/src/CLAUDE.md": "Mind the src.",
  "/work/src/a.txt": "hello\n",
  "/work/.claude/agents/looker.md": `---
name: looker
description: Looks at one file and reports
tools: Read
---
You are the looker.`,
  "/work/.claude/agents/bold.md": `---
name: bold
description: Wants more than it may
permissionMode: bypassPermissions
skills: [secret]
---
You are the bold one.`,
  "/work/.claude/skills/secret/SKILL.md": `---
name: secret
description: Only people start it
disable-model-invocation: true
---
The secret steps.`,
  "/work/.claude/agents/broken.md": "---\nname: broken\ndescription: x\ntools: {a: 1}\n---\nNo.",
  "/work/.claude/skills/greet/SKILL.md": `---
name: greet
description: Greets people in a certain way
allowed-tools: Write
---
Greet $ARGUMENTS with a bow.`,
  "/work/.claude/skills/dig/SKILL.md": `---
name: dig
description: Digs deep
context: fork
agent: looker
---
Dig for $ARGUMENTS.`,
  "/work/.claude/commands/deploy.md": "Deploy to $0 now.",
}

const read = { tool: "Read", input: { file_path: "/work/src/a.txt" } }
const book = {
  rules: [
    { when: { system: "You are the looker", tool: "Read" }, reply: "The file says hello." },
    { when: { system: "You are the looker", user: "Dig for gold" }, reply: "There is gold." },
    { when: { system: "You are the looker" }, reply: [read] },
    { when: { tool: "Agent" }, reply: "Reported: ${lastToolResult}" },
    { when: { tool: "Skill", user: "Greet Bob with a bow" }, reply: "Greeted." },
    { when: { tool: "Skill" }, reply: "Came to: ${lastToolResult}" },
    { when: { tool: "Read" }, reply: "Read it." },
    { when: { user: { matches: "^send (\\S+)$" } }, reply: [agentCall("${1}")] },
    { when: { user: "greet" }, reply: [{ tool: "Skill", input: { skill: "greet", args: "Bob" } }] },
    { when: { user: "dig" }, reply: [{ tool: "Skill", input: { skill: "dig", args: "gold" } }] },
    { when: { user: "Deploy to prod now" }, reply: "Deployed." },
    { when: { user: "read" }, reply: [read] },
    { reply: "Hm." },
  ],
}

function agentCall(subagent_type: string) {
  return { tool: "Agent", input: { description: "look", prompt: "look at it", subagent_type } }
}

const world = TestRuntime.layer(book, { files, settings: "project" })
const opening = Effect.flatMap(Agents, (agents) => agents.open({ tools: Toolset.all }))

const saying = Effect.fnUntraced(function* (prompt: string) {
  const agent = yield* opening
  const events = yield* hurried(Stream.runCollect(agent.prompt(prompt)))
  return { agent, events, requests: yield* ScriptedModel.requests }
})

const systemOf = (request: { readonly body: { readonly system?: unknown } } | undefined) =>
  JSON.stringify(request?.body.system)

describe("agents that people define", () => {
  it.effect("are offered with their reason, and run with their own text and tools only", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* saying("send looker")
      assert.strictEqual(ended(events).result, "Reported: The file says hello.")
      const description = requests[0]?.body.tools?.find(({ name }) => name === "Agent")?.description ?? ""
      assert.include(description, "- looker: Looks at one file and reports (Tools: Read)")
      const errand = requests[1]
      assert.deepStrictEqual(
        errand?.body.tools?.map(({ name }) => name),
        ["Read"],
      )
      assert.include(systemOf(errand), "You are the looker.")
      assert.include(systemOf(errand), "Always say please.", "what people ask for is asked of it too")
      assert.deepInclude(only(events, "SubagentStarted")[0], { agentType: "looker", description: "look" })
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("that do not exist are refused with those that do", () =>
    Effect.gen(function* () {
      const { events } = yield* saying("send nobody")
      assert.match(String(only(events, "ToolEnded")[0]?.content), /There is no agent "nobody"\. There are .*looker/)
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("and are broken are named with file and line, and take nothing down", () =>
    Effect.gen(function* () {
      const agent = yield* opening
      assert.match(agent.problems.join("\n"), /\.claude\/agents\/broken\.md:4:1: /)
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("can be what the whole session is", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const agent = yield* agents.open({ tools: Toolset.all, agent: "looker" })
      assert.deepStrictEqual(agent.tools(), ["Read"])
      yield* hurried(Stream.runDrain(agent.prompt("look")))
      assert.include(systemOf((yield* ScriptedModel.requests)[0]), "You are the looker.")
      const missing = yield* Effect.result(agents.open({ agent: "nobody" }))
      assert.isTrue(Result.isFailure(missing) && missing.failure._tag === "AgentUnavailable")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("that a session is end it with their Stop hooks, not those they send out", () =>
    Effect.gen(function* () {
      const own = { hooks: [{ type: "command", command: "check" }] }
      const agents = JSON.stringify({ boss: { description: "x", prompt: "You are the boss.", hooks: { Stop: [own] } } })
      const open = (agent?: string) =>
        Effect.flatMap(Agents, (all) => all.open({ tools: Toolset.all, agents, ...(agent !== undefined && { agent }) }))
      const events = (yield* open("boss")).hooks().map(({ event }) => event)
      assert.deepStrictEqual(events, ["Stop"])
      assert.deepStrictEqual((yield* open()).hooks(), [])
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it("cannot be stricter than whoever sends them out, and never looser", () => {
    assert.strictEqual(modeOf("bypassPermissions", "plan"), "bypassPermissions")
    assert.strictEqual(modeOf("acceptEdits", "default"), "acceptEdits")
    assert.strictEqual(modeOf("plan", "acceptEdits"), "plan")
    assert.strictEqual(modeOf("dontAsk", "default"), "dontAsk")
    assert.strictEqual(modeOf("default", "plan"), "plan")
    assert.strictEqual(modeOf("default", undefined), "default")
  })
})

describe("what a folder's agent may not do by itself", () => {
  it.effect("is said, and it cannot start a skill that only people may", () =>
    Effect.gen(function* () {
      const { agent, requests } = yield* saying("send bold")
      assert.match(agent.problems.join("\n"), /bold\.md: permissionMode not in force until you agree to it/)
      assert.isTrue(requests.some((one) => systemOf(one)?.includes("You are the bold one")))
      assert.notInclude(JSON.stringify(requests.map(({ body }) => body.messages)), "The secret steps")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )
})

describe("skills and commands", () => {
  it.effect("are listed in the system text and used with the Skill tool", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* saying("greet")
      assert.strictEqual(ended(events).result, "Greeted.")
      assert.include(systemOf(requests[0]), "- greet: Greets people in a certain way")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("with a context of their own run in the agent they name", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* saying("dig")
      assert.strictEqual(ended(events).result, "Came to: There is gold.")
      assert.include(systemOf(requests[1]), "Always say please.", "what people ask for is asked of it too")
      assert.strictEqual(only(events, "SubagentStarted")[0]?.agentType, "looker")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("are what a typed name stands for", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* saying("/deploy prod")
      assert.strictEqual(ended(events).result, "Deployed.")
      const said = plainText(requests[0]?.body.messages[0]?.content ?? "")
      assert.include(said, "<command-name>/deploy</command-name>")
      assert.notInclude(said, "/deploy prod")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("that are typed are not suggested besides", () =>
    Effect.gen(function* () {
      const { requests } = yield* saying("/greet")
      const said = plainText(requests[0]?.body.messages[0]?.content ?? "")
      assert.include(said, "with a bow")
      assert.notInclude(said, "By its words")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("with a context of their own run there too when they are typed", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* saying("/dig gold")
      assert.strictEqual(only(events, "SubagentStarted")[0]?.agentType, "looker")
      assert.include(plainText(requests.at(-1)?.body.messages[0]?.content ?? ""), "came to this:\n\nThere is gold.")
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("that a hook refuses open nothing and say nothing", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      yield* hooks.on("UserPromptExpansion", ({ command_name }) =>
        Effect.succeed(command_name === "brace" ? { decision: "block", reason: "Not today." } : {}),
      )
      const agents = yield* Agents
      const agent = yield* agents.open({ tools: Toolset.all })
      const events = yield* hurried(Stream.runCollect(agent.prompt("/brace")))
      assert.deepInclude(ended(events).terminal, { reason: "hook_stopped", detail: "Not today." })
      assert.strictEqual((yield* agent.controls).model, "sonnet", "nothing of the skill is in force")
      assert.lengthOf(yield* ScriptedModel.requests, 0)
    }).pipe(
      Effect.scoped,
      Effect.provide(
        TestRuntime.layer(book, {
          files: {
            "/work/.claude/skills/brace/SKILL.md": "---\nname: brace\ndescription: x\nmodel: opus\n---\nBrace.",
          },
          settings: "project",
        }),
      ),
    ),
  )

  it.effect("that do not exist are said, and nothing is asked of the model", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* saying("/deplyo prod")
      assert.strictEqual(ended(events).terminal.reason, "turn_setup_failed")
      assert.match(ended(events).terminal.detail ?? "", /deploy/)
      assert.lengthOf(requests, 0)
    }).pipe(Effect.scoped, Effect.provide(world)),
  )
})

describe("instructions", () => {
  it.effect("stand in the system text, and those of a directory come when work does", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* saying("read")
      assert.include(systemOf(requests[0]), "Always say please.")
      assert.notInclude(systemOf(requests[0]), "Mind the src.")
      assert.include(plainText(requests[1]?.body.messages.at(-1)?.content ?? ""), "Mind the src.")
      assert.strictEqual(only(events, "ContextAdded").length, 1)
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("are not repeated when the session is resumed, which sends the same bytes first", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const sessionId = yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* opening
          yield* hurried(Stream.runDrain(agent.prompt("read")))
          return agent.sessionId
        }),
      )
      const before = (yield* ScriptedModel.requests)[0]
      const again = yield* agents.resume(sessionId, { tools: Toolset.all })
      const events = yield* hurried(Stream.runCollect(again.prompt("read")))
      assert.strictEqual(only(events, "ContextAdded").length, 0)
      const after = (yield* ScriptedModel.requests).at(-1)
      assert.deepStrictEqual(after?.body.system, before?.body.system)
      assert.deepStrictEqual(after?.body.tools, before?.body.tools)
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("that change while the session is open are told with the next prompt, and the beginning stays", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const agent = yield* opening
      yield* hurried(Stream.runDrain(agent.prompt("Hello")))
      yield* fs.writeFileString("/work/CLAUDE.md", "Always say thank you.")
      const events = yield* hurried(Stream.runCollect(agent.prompt("Hello again")))
      assert.match(JSON.stringify(only(events, "ContextAdded")), /has changed[^]*Always say thank you\./)
      const [before, after] = yield* ScriptedModel.requests
      assert.deepStrictEqual(after?.body.system, before?.body.system)
      const quiet = yield* hurried(Stream.runCollect(agent.prompt("Hello once more")))
      assert.lengthOf(only(quiet, "ContextAdded"), 0)
    }).pipe(Effect.scoped, Effect.provide(world)),
  )

  it.effect("of nobody count where nobody's files do", () =>
    Effect.gen(function* () {
      const { agent, requests } = yield* saying("Hello")
      assert.notInclude(systemOf(requests[0]), "please")
      assert.notInclude((yield* agent.agentTypes).map(({ name }) => name).join(), "looker")
    }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book, { files }))),
  )
})
