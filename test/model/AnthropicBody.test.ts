import { assert, describe, it } from "@effect/vitest"
import * as Body from "../../src/model/AnthropicBody.ts"
import type { ProviderRequest } from "../../src/model/Provider.ts"
import type { Message } from "../../src/protocol/Message.ts"

const tool = (name: string) => ({ name, description: name, input_schema: { type: "object" } })
const base: ProviderRequest = {
  requestId: "r",
  model: "claude-opus-5-5",
  maxTokens: 100,
  system: [
    { type: "text", text: "A" },
    { type: "text", text: "B" },
  ],
  tools: [tool("Read"), tool("Write")],
  messages: [{ role: "user", content: "Hello" }],
}

interface Sent {
  readonly model: string
  readonly max_tokens: number
  readonly stream: boolean
  readonly system: ReadonlyArray<{ readonly cache_control?: object }>
  readonly tools: ReadonlyArray<{ readonly cache_control?: object }>
  readonly messages: ReadonlyArray<{ readonly content: ReadonlyArray<{ readonly cache_control?: object }> }>
}
const text = (request: ProviderRequest) => new TextDecoder().decode(Body.encode(request, true))
const sent = (request: ProviderRequest): Sent => JSON.parse(text(request)) as Sent
const marks = (blocks: ReadonlyArray<{ readonly cache_control?: object }>) =>
  blocks.map((block) => (block.cache_control === undefined ? "." : "x")).join("")

describe("AnthropicBody", () => {
  it("sends no half of a character, which the service refuses, and leaves what only looks like one", () => {
    const half = "🎉".slice(0, 1)
    const literal = String.raw`\ud83c \\ud83c`
    const body = text({
      ...base,
      system: [{ type: "text", text: `A${half}` }],
      tools: [{ ...tool("Read"), description: `${half}🎉` }],
      messages: [
        { role: "user", content: `cut ${half}` },
        { role: "assistant", content: literal },
        { role: "user", content: `${half}${half} 🎉 ${half}` },
      ],
    })
    assert.notMatch(body, /(?<!\\)\\ud/i)
    const { messages, system, tools } = JSON.parse(body)
    const texts = messages.map((message: Message) => message.content).flat()
    assert.deepStrictEqual(
      texts.map((block: { readonly text: string }) => block.text),
      ["cut \ufffd", literal, "\ufffd\ufffd 🎉 \ufffd"],
    )
    assert.strictEqual(system[0].text, "A\ufffd")
    assert.strictEqual(tools[0].description, "\ufffd🎉")
  })

  it("puts the tools that the service runs behind our own", () => {
    const search = { type: "web_search_20250305", name: "web_search", max_uses: 8 }
    const names = (request: ProviderRequest) => sent(request).tools.map((one) => ("name" in one ? one.name : ""))
    assert.deepStrictEqual(names({ ...base, serverTools: [search] }), ["Read", "Write", "web_search"])
    assert.deepStrictEqual<unknown>(sent({ ...base, tools: [], serverTools: [search] }).tools, [search])
    assert.isUndefined(sent({ ...base, tools: [] }).tools)
  })

  it("puts breakpoints at the ends of tools, system and messages", () => {
    const body = sent(base)
    assert.deepInclude(body, { model: "claude-opus-5-5", max_tokens: 100, stream: true })
    assert.deepStrictEqual([marks(body.tools), marks(body.system)], [".x", ".x"])
    assert.deepStrictEqual(body.messages, [
      { role: "user", content: [{ type: "text", text: "Hello", cache_control: { type: "ephemeral" } }] },
    ] as unknown)
  })

  it("marks where the request before it ended too, and never more than four places", () => {
    const messages: ReadonlyArray<Message> = [
      { role: "user", content: [{ type: "text", text: "Hello", cache_control: { type: "ephemeral" } }] },
      { role: "assistant", content: [{ type: "tool_use", id: "t", name: "Read", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "ok" }] },
      { role: "assistant", content: "Fine" },
      {
        role: "user",
        content: [
          { type: "text", text: "x" },
          { type: "text", text: "" },
        ],
      },
    ]
    const body = sent({ ...base, messages })
    assert.deepStrictEqual(
      body.messages.map((message) => marks(message.content)),
      [".", ".", "x", ".", "x."],
    )
    const system = ["A", "B", "C"].map(
      (text) => ({ type: "text", text, cache_control: { type: "ephemeral", ttl: "1h" } }) as const,
    )
    const own = sent({ ...base, system, messages })
    assert.deepStrictEqual([marks(own.tools), marks(own.system)], ["..", ".xx"])
    assert.deepStrictEqual(
      own.messages.map((message) => marks(message.content)),
      [".", ".", "x", ".", "x."],
    )
  })

  it("does not change history, and spells an old message the same each time", () => {
    const first: Message = { role: "user", content: "Hello" }
    const before = JSON.stringify(first)
    sent({ ...base, messages: [first] })
    assert.strictEqual(JSON.stringify(first), before)
    const later = (n: number): Array<Message> =>
      Array.from({ length: n }, (_, i) => ({ role: i % 2 ? "user" : "assistant", content: `${i}` }))
    const head = (n: number) => text({ ...base, messages: [first, ...later(n)] }).split('"0"')[0]
    assert.strictEqual(head(4), head(8))
  })
  it("marks nothing for a service that takes no breakpoints", () => {
    const marked: ProviderRequest = {
      ...base,
      system: [{ type: "text", text: "A", cache_control: { type: "ephemeral" } }],
    }
    assert.include(text(marked), "cache_control")
    assert.notInclude(text({ ...marked, caching: false }), "cache_control")
  })

  it("is the same as text, with further fields in front", () => {
    assert.strictEqual(Body.text(base, true), text(base))
    assert.deepStrictEqual(JSON.parse(Body.text(base, true, { v: "1" })), { ...sent(base), v: "1" })
  })
})
