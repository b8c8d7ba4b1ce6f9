import { assert, describe, it } from "@effect/vitest"
import * as ModelTable from "../../src/cost/ModelTable.ts"
import * as CachePlan from "../../src/model/CachePlan.ts"
import type { Message } from "../../src/protocol/Message.ts"

const text = (value: string) => ({ type: "text", text: value }) as const
const tool = (name: string) => ({ name, description: name, input_schema: {} })
const user = (content: Message["content"]): Message => ({ role: "user", content })
const assistant = (content: Message["content"]): Message => ({ role: "assistant", content })
const system = [text("Everyone"), text("Coding"), text(`${CachePlan.boundary}\nHere`), text("Rules")]
const tools = [tool("Read"), tool("Write")]
const talk = [user("a"), assistant("b"), user("c"), assistant("d"), user("e")]

/** `t1 s1 s3 m2 m4`, with `!` for an hour. */
const shown = (prompt: Partial<CachePlan.Prompt>, terms: Partial<typeof CachePlan.usual> = {}) => {
  const plan = CachePlan.make({ tools, system, messages: talk, ...prompt }, { ...CachePlan.usual, ...terms })
  const of = (name: string, marks: ReadonlyMap<number, "5m" | "1h">) =>
    [...marks].toSorted(([a], [b]) => a - b).map(([index, ttl]) => `${name}${index}${ttl === "1h" ? "!" : ""}`)
  return [...of("t", plan.tools), ...of("s", plan.system), ...of("m", plan.messages)].join(" ")
}

describe("CachePlan", () => {
  it("marks what everyone shares, what the session shares, where the last request ended, and the end", () => {
    assert.strictEqual(shown({}), "s1 s3 m2 m4")
    assert.strictEqual(shown({ messages: [user("a")] }), "t1 s1 s3 m0")
    assert.strictEqual(shown({ system: [] }), "t1 m2 m4")
    assert.strictEqual(shown({ system: [text("Everyone")] }), "t1 s0 m2 m4")
    assert.strictEqual(shown({ tools: [...tools, { ...tool("Late"), defer_loading: true }], system: [] }), "t1 m2 m4")
  })

  it("keeps tools and system for an hour, and never something shorter before something longer", () => {
    assert.strictEqual(shown({}, { head: "1h" }), "s1! s3! m2 m4")
    assert.strictEqual(shown({}, { messages: "1h" }), "s1! s3! m2! m4!")
  })

  it("goes by what the system prompt says about itself", () => {
    const said = (value: string, ttl?: "1h") =>
      ({ ...text(value), cache_control: { type: "ephemeral", ...(ttl !== undefined && { ttl }) } }) as const
    assert.strictEqual(shown({ system: [said("A"), text("B"), said("C")] }), "s0 s2 m2 m4")
    assert.strictEqual(shown({ system: [said("A"), said("B"), said("C", "1h")] }), "s1! s2! m2 m4")
  })

  it("marks nothing that is surely too small for the model", () => {
    assert.strictEqual(shown({}, { minimum: 4_096 }), "")
    const large = [text("x".repeat(30_000)), text(`${CachePlan.boundary}\nHere`)]
    assert.strictEqual(shown({ system: large }, { minimum: 4_096 }), "s0 s1 m2 m4")
    assert.strictEqual(shown({ system: large.toReversed() }, { minimum: 4_096 }), "s1 m2 m4")
  })

  it("gives a long round a breakpoint on the other side of it, so that what is before it stays in reach", () => {
    const calls = Array.from(
      { length: 12 },
      (_, i) => ({ type: "tool_use", id: `t${i}`, name: "Read", input: {} }) as const,
    )
    const results = calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "ok" }) as const)
    const messages = [user("a"), assistant(calls), user(results), assistant("d"), user("e")]
    assert.strictEqual(shown({ messages }), "s1 m0 m2 m4")
  })

  it("takes two messages of a person in a row for one end, and none behind thinking alone", () => {
    assert.deepStrictEqual(CachePlan.endsOf([user("a"), assistant("b"), user("c"), user("d")]), [3, 0])
    const thinking = { type: "thinking", thinking: "hm", signature: "s" } as const
    assert.deepStrictEqual(CachePlan.endsOf([user("a"), assistant([thinking])]), [0])
  })

  it("keeps for an hour where a person rests and the service does it, or where the environment says so", () => {
    const { spec } = ModelTable.make().resolve("sonnet")
    const terms = (env: Record<string, string>, rests = false, hour = true) => {
      const { head, messages } = CachePlan.terms(spec, (name) => env[name], { rests, hour })
      return `${head} ${messages}`
    }
    assert.strictEqual(terms({}), "5m 5m")
    assert.strictEqual(terms({}, true), "1h 5m")
    assert.strictEqual(terms({}, true, false), "5m 5m")
    assert.strictEqual(terms({ ENABLE_PROMPT_CACHING_1H: "1" }), "1h 1h")
    assert.strictEqual(terms({ CLAUDE_CODE_PROMPT_CACHE_TTL: "1h" }), "1h 1h")
    assert.strictEqual(terms({ ENABLE_PROMPT_CACHING_1H: "1", FORCE_PROMPT_CACHING_5M: "1" }, true), "5m 5m")
  })
})
