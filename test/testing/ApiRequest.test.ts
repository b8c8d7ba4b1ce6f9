import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  ImageBlock,
  RedactedThinkingBlock,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
} from "../../src/protocol/Content.ts"
import * as ApiRequest from "../../src/testing/ApiRequest.ts"
import { assistant, body, call, request, result, user } from "./conversation.ts"

const why = (value: unknown): string =>
  Result.match(ApiRequest.read(value), { onFailure: (reason) => reason, onSuccess: () => "fine" })

describe("ApiRequest", () => {
  const good = body([user("x"), assistant([call("a", "Read")]), user([result("a", "text")])])

  it("takes what looks right as it is, without a copy", () => {
    const read = ApiRequest.read(good)
    assert.isTrue(Result.isSuccess(read) && read.success === good)
  })

  const Modelled = Schema.Struct({
    ...ApiRequest.ApiRequest.fields,
    messages: Schema.Array(
      Schema.Struct({
        role: Schema.Literals(["user", "assistant", "system"]),
        content: Schema.Union([
          Schema.String,
          Schema.Array(Schema.Union([TextBlock, ThinkingBlock, RedactedThinkingBlock, ToolUseBlock, ImageBlock])),
        ]),
      }),
    ),
  })
  it.prop("takes whatever the schema allows after the cheap look alone", [Modelled], ([value]) => {
    const read = ApiRequest.read(value)
    assert.isTrue(Result.isSuccess(read) && read.success === value)
  })

  const broken: ReadonlyArray<readonly [string, unknown, RegExp]> = [
    ["no object", 3, /^body: expected object/],
    ["no model", { ...good, model: undefined }, /^model: /],
    ["a limit that is text", { ...good, max_tokens: "9" }, /^max_tokens: /],
    ["a negative limit", { ...good, max_tokens: -1 }, /^max_tokens: /],
    ["messages that are no list", { ...good, messages: {} }, /^messages: /],
    ["an unknown role", { ...good, messages: [{ role: "tool", content: "x" }] }, /^messages\.0\.role: /],
    ["a text without text", { ...good, messages: [user([{ type: "text" } as never])] }, /^messages\.0\.content/],
    [
      "a call without a name",
      { ...good, messages: [user([{ type: "tool_use", id: "a", input: {} } as never])] },
      /^messages\.0\.content/,
    ],
    [
      "a result inside a result",
      { ...good, messages: [user([{ type: "tool_result", tool_use_id: "a", content: [result("b", "")] } as never])] },
      /^messages\.0\.content/,
    ],
    ["a system prompt of numbers", { ...good, system: 3 }, /^system/],
    ["tools that are names", { ...good, tools: ["Read"] }, /^tools\.0: /],
    ["stream as text", { ...good, stream: "yes" }, /^stream: /],
  ]
  it.each(broken)("says what is wrong with %s, as the schema does", (_, value, expected) => {
    assert.match(why(value), expected)
    assert.isFalse(Schema.is(ApiRequest.ApiRequest)(value))
  })

  it("is what a provider would send", () => {
    const sent = ApiRequest.fromProvider(
      request([user("x")], { system: [{ type: "text", text: "s" }], toolChoice: "none", stopSequences: ["END"] }),
      true,
    )
    assert.deepStrictEqual(sent, {
      model: "claude-test-1",
      max_tokens: 1024,
      system: [{ type: "text", text: "s" }],
      messages: [user("x")],
      tool_choice: { type: "none" },
      stop_sequences: ["END"],
      stream: true,
    })
  })
})
