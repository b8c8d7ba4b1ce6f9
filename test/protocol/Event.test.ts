import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Content from "../../src/protocol/Content.ts"
import { DurableEvent, EphemeralEvent, Event, isDurable } from "../../src/protocol/Event.ts"

/** Opaque blocks have no generator of their own: any block with an unmodelled type is one. */
const Opaque = Schema.Struct({
  type: Schema.Literals(["server_tool_use", "web_search_tool_result", "tool_reference", "compaction"]),
  id: Schema.String,
  nested: Schema.Unknown,
})
const Inner = Schema.Union([Content.TextBlock, Content.ImageBlock, Content.DocumentBlock, Opaque])
const ToolResult = Schema.Union([Schema.String, Schema.Array(Inner)])
const Block = Schema.Union([
  Content.TextBlock,
  Content.ThinkingBlock,
  Content.RedactedThinkingBlock,
  Content.ToolUseBlock,
  Schema.Struct({ ...Content.ToolResultBlock.fields, content: Schema.optionalKey(ToolResult) }),
  Content.ImageBlock,
  Content.DocumentBlock,
  Opaque,
])
const stands = new Map<Schema.Top, Schema.Top>([
  [Content.Content, Schema.Union([Schema.String, Schema.Array(Block)])],
  [Content.ContentBlock, Block],
  [Content.ToolResultContent, ToolResult],
])

const toJson = (value: unknown): string => JSON.stringify(value)
const fromJson = (text: string): unknown => JSON.parse(text)
const decode = Schema.decodeUnknownSync(Event)
const encode = Schema.encodeUnknownSync(Event)

const generator = (fields: Readonly<Record<string, Schema.Top>>) =>
  Schema.Struct(Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, stands.get(field) ?? field])))
const Blocks = Schema.Union([Schema.String, Schema.Array(Block)])
stands.set(Event.cases.Compacted.fields.results, Schema.Record(Schema.String, ToolResult))
stands.set(
  Event.cases.Compacted.fields.spans,
  Schema.Array(Schema.Struct({ from: Schema.Int, to: Schema.Int, content: Blocks })),
)
// What happens in a subagent is one of these events again.
stands.set(EphemeralEvent.cases.SubagentShown.fields.event, generator(Event.cases.ToolEnded.fields))

const generated = Object.entries(Event.cases).map(([tag, { fields }]) => ({ tag, schema: generator(fields) }))

describe("Event", () => {
  for (const { schema, tag } of generated) {
    it.prop(
      `${tag} survives a journal line unchanged`,
      [schema],
      ([value]) => {
        const line = toJson(encode(value))
        assert.isFalse(line.includes("\n"))
        const again = decode(fromJson(line))
        assert.deepStrictEqual(again, fromJson(line))
        assert.strictEqual(toJson(encode(again)), line)
      },
      { arbitrary: { runs: 40 } },
    )
  }

  it("is either durable or ephemeral, never both", () => {
    const durable = Object.keys(DurableEvent.cases)
    const ephemeral = Object.keys(EphemeralEvent.cases)
    assert.deepStrictEqual([...durable, ...ephemeral].sort(), Object.keys(Event.cases).sort())
    assert.strictEqual(new Set([...durable, ...ephemeral]).size, durable.length + ephemeral.length)
  })

  it("says which events are journaled", () => {
    const chunk = decode({ _tag: "StreamChunk", requestId: "r", event: { type: "ping" } })
    const abandoned = decode({ _tag: "ReplyAbandoned", requestId: "r", reason: "reset" })
    assert.deepStrictEqual([isDurable(chunk), isDurable(abandoned)], [false, true])
  })

  it("refuses an event with an unknown tag or a missing field", () => {
    assert.throws(() => decode({ _tag: "Nonsense" }))
    assert.throws(() => decode({ _tag: "ReplyAbandoned", requestId: "r" }))
  })

  it("carries a block of a type that does not exist yet", () => {
    const block = { type: "hologram_2031", depth: { a: [1, 2] } }
    const event = {
      _tag: "BlockReceived",
      uuid: "u",
      messageId: "m",
      requestId: "r",
      model: "x",
      index: 0,
      block,
    }
    assert.deepStrictEqual<unknown>(encode(decode(event)), event)
  })

  it("does not take a malformed known block for an unknown one", () => {
    assert.throws(() => Schema.decodeUnknownSync(Content.ContentBlock)({ type: "text" }))
    assert.throws(() => Schema.decodeUnknownSync(Content.ContentBlock)({ text: "no type" }))
  })
})
