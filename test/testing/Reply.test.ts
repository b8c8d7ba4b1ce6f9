import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { StreamEvent } from "../../src/protocol/StreamEvent.ts"
import * as Reply from "../../src/testing/Reply.ts"
import { spoken } from "./conversation.ts"

const plan = (steps: ReadonlyArray<Reply.Step>, more: Partial<Reply.Plan> = {}): Reply.Plan => {
  let calls = 0
  return {
    id: "msg_1",
    model: "m",
    steps,
    ending: {},
    pace: {},
    prompt: { input: 10, cacheRead: 3, cacheWrite: 4, cacheWriteHour: 0, total: 17 },
    maxTokens: undefined,
    toolId: () => `call_${++calls}`,
    ...more,
  }
}
const eventsOf = (reply: Reply.Reply) => reply.events.map(({ event }) => event)
const typesOf = (reply: Reply.Reply) => eventsOf(reply).map((event) => event.type)
const long = "The quick brown fox jumps over the lazy dog. ".repeat(40)

describe("Reply", () => {
  it.prop("chunks lose nothing, keep their size and cut no character", [Schema.String, Schema.Int], ([text, n]) => {
    const size = 1 + (Math.abs(n) % 9)
    const mixed = `${text}é🙂漢${text}`
    const pieces = Reply.chunks(mixed, size)
    assert.strictEqual(pieces.join(""), mixed)
    for (const [index, piece] of pieces.entries()) {
      const length = [...piece].length
      assert.isTrue(index === pieces.length - 1 ? length >= 1 && length <= size : length === size)
    }
  })

  it.prop("a stream says the same as the whole reply, whatever the limit", [Schema.String, Schema.Int], ([text, n]) => {
    const maxTokens = Math.abs(n) % 60
    const reply = Reply.make(plan([{ text: `${text} 🙂🙂🙂🙂 ${long}` }], { maxTokens, pace: { chunk: 3 } }))
    const [block] = reply.whole.content
    const whole = block?.type === "text" ? block.text : ""
    assert.strictEqual(spoken(eventsOf(reply)), whole)
    assert.isTrue(`${text} 🙂🙂🙂🙂 ${long}`.startsWith(whole))
    assert.isFalse(/[\ud800-\udbff]$/.test(whole.replace(text, "")), "a character is cut in two")
  })

  it("streams text, thinking and calls as events that the protocol knows", () => {
    const reply = Reply.make(
      plan([{ thinking: "Hmm." }, { text: "Hi." }, { tool: "Read", input: { file_path: "/a" } }]),
    )
    for (const event of eventsOf(reply)) assert.isTrue(Schema.is(StreamEvent)(event), JSON.stringify(event))
    assert.deepStrictEqual(typesOf(reply), [
      "message_start",
      "content_block_start",
      "ping",
      "content_block_delta",
      "content_block_delta",
      "content_block_stop",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "content_block_start",
      "content_block_delta",
      "content_block_stop",
      "message_delta",
      "message_stop",
    ])
    assert.strictEqual(reply.whole.stop_reason, "tool_use")
    assert.deepStrictEqual(reply.whole.content.at(-1), {
      type: "tool_use",
      id: "call_1",
      name: "Read",
      input: { file_path: "/a" },
    })
  })

  it("is cut where the limit of the request falls, and says so", () => {
    const reply = Reply.make(plan([{ text: long }, { text: "never said" }], { maxTokens: 20 }))
    assert.strictEqual(reply.whole.stop_reason, "max_tokens")
    assert.strictEqual(reply.whole.content.length, 1)
    const said = spoken(eventsOf(reply))
    assert.isTrue(said.length > 0 && said.length < long.length && long.startsWith(said))
    assert.deepInclude(reply.whole.usage, { output_tokens: 20 })
  })

  it("cuts the arguments of a call inside their JSON", () => {
    const reply = Reply.make(plan([{ tool: "Write", input: { content: long } }], { maxTokens: 60 }))
    const json = spoken(eventsOf(reply))
    assert.isTrue(json.length > 0 && JSON.stringify({ content: long }).startsWith(json))
    assert.throws(() => JSON.parse(json) as unknown)
    assert.strictEqual(reply.whole.stop_reason, "max_tokens")
  })

  it("does not begin a call for which there is no room at all", () => {
    const reply = Reply.make(plan([{ tool: "Write", input: { content: long } }], { maxTokens: 5 }))
    assert.deepStrictEqual(reply.whole.content, [])
    assert.strictEqual(reply.whole.stop_reason, "max_tokens")
  })

  it("ends as the rule says, with the usage the rule says", () => {
    const ending = {
      stop_reason: "refusal",
      stop_details: { category: "x" },
      usage: { input_tokens: 999, output_tokens: 7 },
    } as const
    const { whole, events } = Reply.make(plan([{ text: "No." }], { ending }))
    assert.strictEqual(whole.stop_reason, "refusal")
    assert.deepInclude(whole.usage, { input_tokens: 999, output_tokens: 7, cache_read_input_tokens: 3 })
    const delta = events.at(-2)?.event
    assert.isTrue(delta?.type === "message_delta" && delta.delta.stop_details?.["category"] === "x")
  })

  it("sends raw arguments as they are", () => {
    assert.strictEqual(spoken(eventsOf(Reply.make(plan([{ tool: "Read", raw: '{"file_path": ' }])))), '{"file_path": ')
  })

  it("waits before the first event of a reply, before a block, and between deltas", () => {
    const reply = Reply.make(
      plan([{ text: "abcd", before: "1s" }], { pace: { before: 5, chunk: 2, delay: { min: 1, max: 2 } } }),
    )
    const delays = reply.events.map(({ event, delay }) => [event.type, delay])
    assert.deepStrictEqual(delays.slice(0, 5), [
      ["message_start", 5],
      ["content_block_start", "1s"],
      ["ping", undefined],
      ["content_block_delta", undefined],
      ["content_block_delta", { min: 1, max: 2 }],
    ])
  })
})
