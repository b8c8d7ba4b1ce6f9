import { assert, describe, it } from "@effect/vitest"
import { ProviderError } from "../../src/model/Provider.ts"
import { type Piece, ReplyBuilder } from "../../src/model/ReplyBuilder.ts"
import type { ContentBlock } from "../../src/protocol/Content.ts"
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
    assert(!("_tag" in pieces))
    assert.deepStrictEqual(pieces[0], { index: 0, block: content[0] })
    assert.deepStrictEqual(pieces[1], { index: 1, block: { ...content[1], input: {} }, malformedInput: '{"b":2}' })
  })

  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`

  it("never runs a call whose arguments are nested deeper than anybody means them, streamed or whole", () => {
    for (const raw of [nested(201), nested(10_000), `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`]) {
      const streamed = build([start(), ...toolBlock(0, raw), ...end("tool_use")])
      assert.deepStrictEqual(streamed.pieces[0]?.block, tool(0, {}) as unknown)
      assert.match(streamed.pieces[0]?.malformedInput ?? "", /200 levels.*\{"a":/)
      const input: unknown = JSON.parse(raw)
      const content = [{ type: "tool_use", id: "toolu_0", name: "Read", input }] as const
      const whole = new ReplyBuilder().acceptWhole({
        id: "m",
        model: "x",
        content,
        stop_reason: "tool_use",
        usage: null,
      })
      assert(!("_tag" in whole))
      assert.deepStrictEqual(whole[0]?.block, tool(0, {}) as unknown)
      assert.match(whole[0]?.malformedInput ?? "", /200 levels/)
    }
    const fine = build([start(), ...toolBlock(0, nested(200)), ...end("tool_use")])
    assert.isUndefined(fine.pieces[0]?.malformedInput)
    const text = JSON.stringify({ text: `"${"[{".repeat(500)}\\` })
    assert.isUndefined(build([start(), ...toolBlock(0, text), ...end("tool_use")]).pieces[0]?.malformedInput)
  })

  it("refuses a whole reply with an unknown block that is nested too deep to be sent back", () => {
    const block: ContentBlock = JSON.parse(`{"type":"compaction","x":${nested(10_000)}}`)
    const made = new ReplyBuilder().acceptWhole({
      id: "m",
      model: "x",
      content: [block],
      stop_reason: "end_turn",
      usage: null,
    })
    assert.deepInclude(made, { _tag: "ProviderError", reason: "malformed_stream" })
  })

  it.each([-5, 1e300, 2.5e9])("does not believe a usage of %s, and guesses instead", (absurd) => {
    const usage = { input_tokens: absurd, output_tokens: absurd, cache_read_input_tokens: absurd }
    const { reply } = build([start(usage), ...textBlock(0, "x".repeat(300)), ...end("end_turn", absurd)])
    assert.deepInclude(reply.usedSoFar, { input_tokens: 0, output_tokens: 100, cache_read_input_tokens: 0 })
    const whole = new ReplyBuilder()
    whole.acceptWhole({
      id: "m",
      model: "x",
      content: [{ type: "text", text: "x".repeat(300) }],
      stop_reason: null,
      usage,
    })
    assert.deepInclude(whole.usedSoFar, { input_tokens: 0, output_tokens: 100 })
  })

  it("gives up a reply that never stops growing, and does not want it again", () => {
    const mega = "x".repeat(1024 * 1024)
    const grows = (delta: Extract<StreamEvent, { type: "content_block_delta" }>["delta"]) => {
      const events = [start(), ...textBlock(0, "").slice(0, 1)]
      for (let n = 0; n < 70; n++) events.push({ type: "content_block_delta", index: 0, delta })
      return build(events).error
    }
    for (const delta of [
      { type: "text_delta", text: mega },
      { type: "signature_delta", signature: mega },
      { type: "citations_delta", citation: { mega } },
    ] as const) {
      const error = grows(delta)
      assert.deepInclude(error, { reason: "malformed_stream", retryable: false })
      assert.include(error?.message ?? "", "64 MB")
    }
  })

  it("carries thinking and blocks of tomorrow along, whatever the reason to stop", () => {
    const blocks = [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "redacted_thinking", data: "d" },
      { type: "hologram", pixels: [1, 2] },
    ]
    const { pieces, reply } = build([
      start(),
      ...blocks.flatMap((content_block, index): ReadonlyArray<StreamEvent> => [
        { type: "content_block_start", index, content_block },
        { type: "content_block_stop", index },
      ]),
      ...end("quota_of_photons"),
    ])
    assert.deepStrictEqual(
      pieces.map((piece) => piece.block),
      blocks as unknown,
    )
    assert.deepInclude(reply, { stopReason: "end_turn", stopDetail: "quota_of_photons", complete: true })
  })
})
