import { assert, describe, it } from "@effect/vitest"
import { ProviderError } from "../../src/model/Provider.ts"
import { type Piece, ReplyBuilder } from "../../src/model/ReplyBuilder.ts"
import type { StreamEvent } from "../../src/protocol/StreamEvent.ts"
import * as Fake from "./ScriptedProvider.ts"

const { end, start, textBlock, toolBlock } = Fake

const build = (events: ReadonlyArray<StreamEvent>) => {
  const reply = new ReplyBuilder()
  const pieces: Array<Piece> = []
  for (const event of events) {
    const made = reply.accept(event)
    if (made instanceof ProviderError) return { reply, pieces, error: made }
    pieces.push(...made)
  }
  return { reply, pieces, error: undefined }
}

const tool = (index: number, input: object) => ({ type: "tool_use", id: `toolu_${index}`, name: "Read", input })

describe("ReplyBuilder", () => {
  it("joins the arguments of a tool call and parses them once", () => {
    const { pieces, reply } = build([start(), ...toolBlock(0, '{"pa', 'th":"ä', '/b"}'), ...end("tool_use")])
    assert.deepStrictEqual(pieces, [{ index: 0, block: tool(0, { path: "ä/b" }) }] as unknown)
    assert.strictEqual(reply.stopReason, "tool_use")
    assert.isTrue(reply.complete)
  })

  it("hands out a block with the event that ends it", () => {
    const events = [start(), ...toolBlock(0, "{}"), ...textBlock(1, "x"), ...end()]
    const reply = new ReplyBuilder()
    const made = events.map((event) => reply.accept(event))
    assert.deepStrictEqual(
      made.map((pieces) => (Array.isArray(pieces) ? pieces.length : -1)),
      [0, 0, 0, 1, 0, 0, 1, 0, 0],
    )
  })

  it.each([['{"path": "a'], ["not json"], ["[1]"], ['"text"'], ["null"]])("never guesses at arguments: %s", (raw) => {
    const { pieces } = build([start(), ...toolBlock(0, raw), ...end("tool_use")])
    assert.deepStrictEqual(pieces, [{ index: 0, block: tool(0, {}), malformedInput: raw }] as unknown)
  })

  it("takes a call without arguments as a call with none, unless the reply was cut there", () => {
    assert.deepStrictEqual(build([start(), ...toolBlock(0), ...end("tool_use")]).pieces, [
      { index: 0, block: tool(0, {}) },
    ] as unknown)
    assert.deepStrictEqual(build([start(), ...toolBlock(0), ...end("max_tokens")]).pieces, [
      { index: 0, block: tool(0, {}), malformedInput: "" },
    ] as unknown)
    const followed = build([start(), ...toolBlock(0), ...toolBlock(1, '{"a":1'), ...end("max_tokens")])
    assert.deepStrictEqual(followed.pieces, [
      { index: 0, block: tool(0, {}) },
      { index: 1, block: tool(1, {}), malformedInput: '{"a":1' },
    ] as unknown)
  })

  it("keeps a block whose end was never announced when the message ends", () => {
    const open = toolBlock(1, '{"a":1').slice(0, -1)
    const { pieces, reply } = build([start(), ...textBlock(0, "So").slice(0, -1), ...open, ...end("max_tokens")])
    assert.deepStrictEqual(pieces, [
      { index: 0, block: { type: "text", text: "So" } },
      { index: 1, block: tool(1, {}), malformedInput: '{"a":1' },
    ] as unknown)
    assert.isTrue(reply.complete)
  })

  it("collects thinking, its signature, citations, and blocks it has no use for", () => {
    const delta = (
      index: number,
      change: Extract<StreamEvent, { type: "content_block_delta" }>["delta"],
    ): StreamEvent => ({
      type: "content_block_delta",
      index,
      delta: change,
    })
    const { pieces } = build([
      start(),
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
      delta(0, { type: "thinking_delta", thinking: "hm" }),
      delta(0, { type: "signature_delta", signature: "sig" }),
      { type: "content_block_stop", index: 0 },
      {
        type: "content_block_start",
        index: 1,
        content_block: { type: "server_tool_use", id: "s", name: "web_search", input: {} },
      },
      delta(1, { type: "input_json_delta", partial_json: '{"query":"q"}' }),
      { type: "content_block_stop", index: 1 },
      { type: "content_block_start", index: 2, content_block: { type: "text", text: "" } },
      delta(2, { type: "text_delta", text: "so" }),
      delta(2, { type: "citations_delta", citation: { url: "u" } }),
      { type: "content_block_stop", index: 2 },
      ...end(),
    ])
    assert.deepStrictEqual(
      pieces.map((piece) => piece.block),
      [
        { type: "thinking", thinking: "hm", signature: "sig" },
        { type: "server_tool_use", id: "s", name: "web_search", input: { query: "q" } },
        { type: "text", text: "so", citations: [{ url: "u" }] },
      ] as unknown,
    )
  })

  it("adds the figures of the usage up from both ends of the stream", () => {
    const { reply } = build([
      {
        type: "message_start",
        message: {
          id: "m",
          model: "x",
          usage: {
            input_tokens: 5,
            cache_read_input_tokens: 70,
            cache_creation_input_tokens: 30,
            cache_creation: { ephemeral_1h_input_tokens: 10 },
            output_tokens: 1,
          },
        },
      },
      {
        type: "message_delta",
        delta: { stop_reason: "refusal", stop_details: { category: "cyber" } },
        usage: { output_tokens: 9 },
      },
      { type: "message_stop" },
    ])
    assert.deepStrictEqual(reply.usage, {
      input_tokens: 5,
      cache_read_input_tokens: 70,
      cache_creation_input_tokens: 30,
      cache_creation_1h_input_tokens: 10,
      output_tokens: 9,
    })
    assert.deepInclude(reply, { stopReason: "refusal", stopDetail: "cyber" })
  })

  it("judges a reason to stop that it does not know by what the reply contains", () => {
    assert.deepInclude(build([start(), ...textBlock(0, "x"), ...end("sunset")]).reply, {
      stopReason: "end_turn",
      stopDetail: "sunset",
    })
    assert.strictEqual(build([start(), ...toolBlock(0, "{}"), ...end("sunset")]).reply.stopReason, "tool_use")
  })

  it("refuses events that make no sense", () => {
    const stray = build([start(), { type: "content_block_delta", index: 3, delta: { type: "text_delta", text: "x" } }])
    assert.strictEqual(stray.error?.reason, "malformed_stream")
    assert.strictEqual(build([{ type: "content_block_stop", index: 0 }]).error?.reason, "malformed_stream")
    assert.strictEqual(build([{ type: "message_stop" }]).error?.reason, "malformed_stream")
  })

  it("does not trust the last call of a whole reply that was cut", () => {
    const content = [
      { type: "tool_use", id: "toolu_0", name: "Read", input: { a: 1 } },
      { type: "tool_use", id: "toolu_1", name: "Read", input: { b: 2 } },
    ] as const
    const whole = {
      id: "m",
      model: "x",
      content,
      stop_reason: "max_tokens",
      usage: { input_tokens: 1, output_tokens: 2 },
    }
    const pieces = new ReplyBuilder().acceptWhole(whole)
    assert.deepStrictEqual(pieces[0], { index: 0, block: content[0] })
    assert.deepStrictEqual(pieces[1], { index: 1, block: { ...content[1], input: {} }, malformedInput: '{"b":2}' })
  })
})
