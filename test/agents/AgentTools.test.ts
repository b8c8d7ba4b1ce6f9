import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { forSubagent, resolve } from "../../src/agents/AgentTools.ts"
import { type AgentDefinition, plain } from "../../src/agents/Definition.ts"
import { names } from "../../src/agents/ToolNames.ts"

const session = [
  "Agent",
  "Bash",
  "Edit",
  "Grep",
  "Read",
  "TaskStop",
  "Write",
  "mcp__github__issue",
  "mcp__github__search",
  "mcp__slack__post",
]

const agent = (given: Partial<AgentDefinition>): AgentDefinition =>
  plain({
    name: "a",
    description: "d",
    prompt: { _tag: "Text", text: "" },
    origin: { kind: "user", near: 0 },
    hash: "",
    ...given,
  })

const tools = (given: Partial<AgentDefinition>) => Result.getOrThrow(resolve(agent(given), session))

describe("AgentTools", () => {
  it("gives every tool of the session to an agent that names none", () => {
    assert.deepStrictEqual(tools({}).tools, session)
  })

  it("gives what is named, in the session's order, whatever the case or the age of the name", () => {
    assert.deepStrictEqual(tools({ tools: ["Read", "bash", "Task", "KillShell"] }).tools, [
      "Agent",
      "Bash",
      "Read",
      "TaskStop",
    ])
  })

  it("takes away first, so that a tool in both lists is gone", () => {
    assert.deepStrictEqual(tools({ tools: ["Read", "Write"], disallowedTools: ["Write"] }).tools, ["Read"])
    assert.deepStrictEqual(tools({ disallowedTools: ["mcp__*", "Agent", "Bash", "Edit", "Write", "TaskStop"] }).tools, [
      "Grep",
      "Read",
    ])
  })

  it("knows the tools of MCP servers by their server", () => {
    const github = ["mcp__github__issue", "mcp__github__search"]
    assert.deepStrictEqual(tools({ tools: ["mcp__github"] }).tools, github)
    assert.deepStrictEqual(tools({ tools: ["mcp__github__*"] }).tools, github)
    assert.deepStrictEqual(tools({ tools: ["mcp__github__issue"] }).tools, ["mcp__github__issue"])
    assert.notIncludeMembers([...tools({ disallowedTools: ["mcp__github"] }).tools], github)
    assert.deepStrictEqual(
      tools({ allowedMcpServers: ["slack"] }).tools.filter((tool) => tool.startsWith("mcp__")),
      ["mcp__slack__post"],
    )
    assert.deepStrictEqual(
      tools({ allowedMcpServers: [] }).tools.filter((tool) => tool.startsWith("mcp__")),
      [],
    )
  })

  it("makes a fence of a pattern, unless the whole tool is named too", () => {
    const fenced = tools({ tools: ["Bash(git diff *)", "Bash(git log *)", "Read"] })
    assert.deepStrictEqual(fenced.tools, ["Bash", "Read"])
    assert.deepStrictEqual(fenced.only, { Bash: ["Bash(git diff *)", "Bash(git log *)"] })
    assert.deepStrictEqual(tools({ tools: ["Bash(git *)", "Bash"] }).only, {})
    assert.deepStrictEqual(tools({ tools: ["Bash", "Bash(git *)"] }).only, {})
    assert.deepStrictEqual(tools({ tools: ["Bash(*)"] }).only, {})
    const forbidden = tools({ disallowedTools: ["Bash(rm *)"] })
    assert.deepStrictEqual([forbidden.tools, forbidden.deny], [session, ["Bash(rm *)"]])
  })

  it("limits which agents it may start", () => {
    assert.deepStrictEqual(tools({ tools: ["Agent(worker, researcher)"] }).agents, ["worker", "researcher"])
    assert.isUndefined(tools({ tools: ["Agent", "Agent(worker)"] }).agents)
    assert.deepStrictEqual(tools({ allowedAgents: ["x"] }).agents, ["x"])
    assert.deepStrictEqual(tools({ tools: ["Task(a, b)"], allowedAgents: ["b", "c"] }).agents, ["b"])
    assert.deepStrictEqual(tools({ tools: ["Agent(a)"] }).only, {})
  })

  it("adds what memory needs, and says that it is only for that", () => {
    const found = tools({ tools: ["Read", "Grep"], memory: "user" })
    assert.deepStrictEqual(
      [found.tools, found.forMemory],
      [
        ["Edit", "Grep", "Read", "Write"],
        ["Write", "Edit"],
      ],
    )
    assert.deepStrictEqual(tools({ tools: ["Read"], memory: "user", disallowedTools: ["Write"] }).forMemory, ["Edit"])
  })

  it("refuses an agent none of whose tools is there, and names them", () => {
    const refused = resolve(agent({ tools: ["Reed", "LSP"], memory: "user" }), session)
    assert.isTrue(Result.isFailure(refused))
    assert.match(Result.isFailure(refused) ? refused.failure.message : "", /"a".*Reed, LSP.*Correct/)
    assert.deepStrictEqual(tools({ tools: ["Read", "LSP"] }).unresolved, ["LSP"])
    // Somebody who writes an empty list means it.
    assert.deepStrictEqual(tools({ tools: [] }).tools, [])
  })

  it("keeps from subagents what only the main conversation can use", () => {
    const all = ["Agent", "AskUserQuestion", "CronCreate", "ExitPlanMode", "Read", "TaskOutput", "mcp__x__y"]
    const of = (background: boolean, mayStart: boolean, plans: boolean) =>
      forSubagent(all, { background, mayStart, plans })
    assert.deepStrictEqual(of(false, false, false), ["CronCreate", "Read", "mcp__x__y"])
    assert.deepStrictEqual(of(true, true, true), ["Agent", "ExitPlanMode", "Read", "mcp__x__y"])
  })

  const Name = Schema.Literals([...session, "Nope", "Bash(git *)", "mcp__github", "*", "read"])
  it.prop(
    "never gives more than the session has, nor anything that was taken away",
    [Schema.Array(Name), Schema.Array(Name), Schema.Boolean],
    ([named, taken, remembers]) => {
      const result = resolve(
        agent({ tools: named, disallowedTools: taken, memory: remembers ? "user" : undefined }),
        session,
      )
      if (Result.isFailure(result)) return
      for (const tool of result.success.tools) {
        assert.include(session, tool)
        assert.notInclude(taken, tool)
      }
    },
  )
})

describe("ToolNames", () => {
  it("reads a list in every form", () => {
    const wanted = ["Read", "Bash(git diff, git log *)", "Agent(a, b)"]
    for (const form of [
      wanted,
      "Read, Bash(git diff, git log *), Agent(a, b)",
      "Read,Bash(git diff, git log *),Agent(a, b),",
      "Read Bash(git diff, git log *) Agent(a, b)",
      "[Read, 'Bash(git diff, git log *)', \"Agent(a, b)\"]",
      "- Read\n- Bash(git diff, git log *)\n- Agent(a, b)",
      ["Read, Bash(git diff, git log *)", "Agent(a, b)"],
      ["Read", "Read", ...wanted.slice(1)],
    ]) {
      assert.deepStrictEqual(names(form), wanted, JSON.stringify(form))
    }
    for (const all of ["*", "All tools", "all", '"*"']) assert.deepStrictEqual(names(all), ["*"], all)
    for (const wrong of [7, true, { a: 1 }, ["Read", 7]]) assert.isUndefined(names(wrong))
    assert.deepStrictEqual([names(null), names(""), names([])], [[], [], []])
  })

  const Tool = Schema.Literals(["Read", "Bash(git *)", "Agent(a, b)", "mcp__x__y", "Bash(echo a, b c)"])
  it.prop("reads a list as the same, however it is written", [Schema.Array(Tool)], ([tools]) => {
    const wanted = [...new Set(tools)]
    for (const form of [tools, tools.join(", "), tools.join(","), tools.join("\n"), `[${tools.join(", ")}]`]) {
      assert.deepStrictEqual(names(form), wanted)
    }
  })
})
