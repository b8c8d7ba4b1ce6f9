import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { plan, search, shareOf } from "../../src/tools/Deferral.ts"
import * as Tool from "../../src/tools/Tool.ts"

const tool = (name: string, description: string, deferred = true) =>
  Tool.make({ name, description, deferred, input: Schema.Struct({}), run: () => Effect.succeed({ content: "" }) })

const tools = [
  tool("mcp__github__create_issue", "Opens an issue in a repository."),
  tool("mcp__github__list_pulls", "Lists pull requests; see also issue."),
  tool("mcp__slack__send", "Sends a message to a channel."),
]

describe("Deferral", () => {
  it.each([
    ["select:mcp__slack__send, mcp__github__list_pulls", ["mcp__github__list_pulls", "mcp__slack__send"]],
    ["issue", ["mcp__github__create_issue", "mcp__github__list_pulls"]],
    ["github +pull", ["mcp__github__list_pulls"]],
    ["nothing like that", []],
    ["select:unknown", []],
  ])("finds %s", (query, expected) => {
    assert.deepStrictEqual(
      search(query, tools, 5).map(({ name }) => name),
      expected,
    )
  })

  it("finds no more than it is asked for", () => {
    assert.lengthOf(search("github slack", tools, 1), 1)
  })

  it.each([
    ["true", 0],
    ["false", 1],
    ["auto:25", 0.25],
    ["auto", undefined],
    [undefined, undefined],
  ])("reads %s", (text, share) => {
    assert.strictEqual(shareOf(text), share)
  })

  it("defers above the share of the window, by whoever can", () => {
    const window = { contextWindow: 1_000, toolSearch: true }
    assert.strictEqual(plan(tools, window, 0.01).deferral, "api")
    assert.strictEqual(plan(tools, { ...window, toolSearch: false }, 0.01).deferral, "client")
    assert.strictEqual(plan(tools, { ...window, contextWindow: 1_000_000 }, 0.1).deferral, "none")
    assert.strictEqual(plan(tools, window, 1).deferral, "none")
    assert.strictEqual(plan([tool("Read", "Reads.", false)], window, 0).deferral, "none")
    assert.isAbove(plan(tools, window, 0).tokens, 20)
  })
})
