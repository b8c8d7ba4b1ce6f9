import { assert, describe, it } from "@effect/vitest"
import * as RuleMatch from "../../src/policy/RuleMatch.ts"
import * as Rules from "../../src/policy/Rules.ts"
import { line, listing, since, text } from "../../src/agents/AgentListing.ts"
import { builtins } from "../../src/agents/BuiltinAgents.ts"
import { type AgentDefinition, plain } from "../../src/agents/Definition.ts"

const agent = (name: string, given: Partial<AgentDefinition> = {}): AgentDefinition =>
  plain({
    name,
    description: `does ${name}`,
    prompt: { _tag: "Text", text: "" },
    origin: { kind: "user", near: 0 },
    hash: "",
    ...given,
  })

describe("AgentListing", () => {
  it("says of each agent when to use it and what it has", () => {
    assert.strictEqual(line(agent("a")), "- a: does a (Tools: All tools)")
    assert.strictEqual(
      line(agent("a", { disallowedTools: ["Edit", "Write"] })),
      "- a: does a (Tools: All tools except Edit, Write)",
    )
    assert.strictEqual(line(agent("a", { tools: ["Read"], memory: "user" })), "- a: does a (Tools: Read, Write, Edit)")
    assert.strictEqual(line(agent("a", { tools: ["Read"], disallowedTools: ["Read"] })), "- a: does a (Tools: None)")
    assert.strictEqual(line(agent("a", { forkContext: true, whenToUse: "now" })), "- a: now (Tools: All tools)")
  })

  it("has one order, whatever the order they were found in", () => {
    const some = [agent("b"), agent("a"), agent("C")]
    assert.deepStrictEqual(listing(some), listing(some.toReversed()))
    assert.deepStrictEqual(
      listing(some).map(({ name }) => name),
      ["C", "a", "b"],
    )
  })

  it("leaves out what rules forbid, by any of its names", () => {
    const some = [agent("Explore"), agent("my-a"), agent("guide", { aliases: ["claude-code-guide"] })]
    const left = (...rules: ReadonlyArray<string>) => {
      const texts = rules.map((text) => ({ behavior: "deny", text, source: { kind: "user" } }) as const)
      const { deny } = Rules.compile(texts, { cwd: "/work", home: "/home" })
      return listing(some, (name) => RuleMatch.removesAgent(deny, name)).map(({ name }) => name)
    }
    assert.deepStrictEqual(left("Agent(Explore)"), ["guide", "my-a"])
    assert.deepStrictEqual(left("Task(my-a)", "Agent(claude-code-guide)"), ["Explore"])
    assert.deepStrictEqual(left("Bash(rm *)"), ["Explore", "guide", "my-a"])
  })

  it("tells what changed since, and nothing when nothing did", () => {
    const before = listing([agent("a"), agent("b"), agent("c")])
    assert.isUndefined(since(before, before))
    const after = listing([agent("a"), agent("b", { tools: ["Read"] }), agent("d")])
    assert.strictEqual(
      since(before, after),
      [
        "These agents are available from now on:\n- d: does d (Tools: All tools)",
        "These agents have changed:\n- b: does b (Tools: Read)",
        "These agents are no longer available: c",
      ].join("\n\n"),
    )
  })

  it("clips a reason of pages", () => {
    assert.isBelow(line(agent("a", { whenToUse: "x".repeat(100_000) })).length, 2_000)
  })

  it("keeps the built-in agents short enough to be told in every session", () => {
    const all = builtins({ env: () => undefined, isInteractive: true })
    assert.isBelow(text(listing(all)).length, 4_500)
    for (const { name, prompt } of all) {
      assert.isTrue(prompt._tag === "Text" && prompt.text.length > 200 && prompt.text.length < 2_600, name)
    }
  })
})
