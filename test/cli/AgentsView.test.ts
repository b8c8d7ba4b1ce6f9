import { assert, describe, it } from "@effect/vitest"
import { plain, type AgentDefinition } from "../../src/agents/Definition.ts"
import type { Snapshot } from "../../src/agents/Definitions.ts"
import { listed, shown, unknown, validated } from "../../src/cli/AgentsView.ts"

const agent = (name: string, given: Partial<AgentDefinition> = {}): AgentDefinition =>
  plain({
    name,
    description: `does ${name}`,
    prompt: { _tag: "Text", text: "" },
    origin: { kind: "project", near: 0, file: `/repo/.claude/agents/${name}.md` },
    hash: "h",
    ...given,
  })

const strong = agent("a", { tools: ["Read"], whenToUse: "x".repeat(300) })
const weak = agent("a", { origin: { kind: "user", near: 0, file: "/home/me/.claude/agents/a.md" } })
const own = agent("b", { origin: { kind: "built-in", near: 0 } })
const snapshot: Snapshot = {
  active: [strong, own],
  all: [{ definition: strong }, { definition: weak, overriddenBy: strong }, { definition: own }],
  failed: [
    {
      name: "c",
      file: "/repo/c.md",
      kind: "project",
      diagnostics: [{ severity: "error", file: "/repo/c.md", line: 4, about: "tools", message: "it is \u202ebroken" }],
    },
  ],
  skipped: [{ file: "/repo/README.md", why: "it has no name" }],
  diagnostics: [{ severity: "warning", file: "/repo/a.md", line: 2, column: 3, message: "odd" }],
  reviews: [],
  directories: [],
}
const look = { columns: 80, cwd: "/repo", home: "/home/me" }

describe("AgentsView", () => {
  it("lists agents with source and file in the width of the terminal, then what is wrong", () => {
    const text = listed(snapshot, false, look)
    const lines = text.split("\n")
    assert.match(lines[1] ?? "", /^ {2}a {2}project {3}inherit {2}\.claude\/agents\/a\.md {2}x+…$/)
    for (const line of lines.slice(0, 3)) assert.isAtMost(line.length, 80)
    assert.include(text, "a  /home/me/.claude/agents/a.md  (/repo/.claude/agents/a.md counts)")
    assert.include(text, "error  /repo/c.md:4:1: tools: it is \\u202ebroken")
    assert.include(text, "warning  /repo/a.md:2:3: odd")
    assert.include(text, "/repo/README.md: it has no name")
  })

  it("gives programs {active, all, failed}, every row with source and file", () => {
    const { active, all, failed } = JSON.parse(listed(snapshot, true, look))
    assert.deepStrictEqual(
      active.map((one: Record<string, unknown>) => [one["name"], one["source"], one["file"]]),
      [
        ["a", "project", "/repo/.claude/agents/a.md"],
        ["b", "built-in", null],
      ],
    )
    assert.deepStrictEqual(
      all.map((one: Record<string, unknown>) => [one["source"], one["active"], one["overriddenBy"]]),
      [
        ["project", true, null],
        ["user", false, "/repo/.claude/agents/a.md"],
        ["built-in", true, null],
      ],
    )
    assert.deepStrictEqual([failed[0].name, failed[0].source, failed[0].file], ["c", "project", "/repo/c.md"])
  })

  it("shows one with its words, and what a review says of a folder", () => {
    const text = shown({ ...strong, whenToUse: "now", withheld: ["hooks"] }, "You are a.", false)
    assert.match(
      text,
      /^- a: now \(Tools: Read\)\n {2}source {4}project {2}\/repo\/.*\n[\s\S]*withheld {2}hooks\n\nYou are a\.\n$/,
    )
    assert.strictEqual(JSON.parse(shown(strong, "You are a.", true)).prompt, "You are a.")
  })

  it("counts what can be used and what cannot", () => {
    assert.match(validated(snapshot, false), /2 agents can be used, 1 cannot, 1 warning\.\n$/)
    assert.include(unknown("Plann", "Plan"), "Did you mean Plan?")
  })
})
