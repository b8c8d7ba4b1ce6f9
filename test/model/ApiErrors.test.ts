import { assert, describe, it } from "@effect/vitest"
import * as ApiErrors from "../../src/model/ApiErrors.ts"
import * as WireEvents from "../../src/model/WireEvents.ts"

const reason = (refusal: Partial<ApiErrors.Refusal>) =>
  ApiErrors.fromRefusal({ message: "no", firstParty: true, ...refusal }).reason

describe("ApiErrors", () => {
  it("tells the kinds of refusals apart", () => {
    assert.strictEqual(reason({ status: 401, type: "authentication_error" }), "unauthenticated")
    assert.strictEqual(reason({ status: 403, type: "permission_error" }), "forbidden")
    assert.strictEqual(reason({ status: 402 }), "billing")
    assert.strictEqual(reason({ status: 400, message: "Your credit balance is too low" }), "billing")
    assert.strictEqual(reason({ status: 404, type: "not_found_error", message: "model: foo" }), "model_not_found")
    assert.strictEqual(reason({ status: 404, message: "<html>" }), "not_found")
    assert.strictEqual(reason({ status: 413, type: "request_too_large" }), "request_too_large")
    assert.strictEqual(
      reason({ status: 400, type: "invalid_request_error", message: "prompt is too long: 9 tokens > 8 maximum" }),
      "prompt_too_long",
    )
    assert.strictEqual(
      reason({ status: 400, message: "messages.0.content.1.image.source: Could not process image" }),
      "media_rejected",
    )
    assert.strictEqual(reason({ status: 400, message: "max_tokens: too large" }), "invalid_request")
    assert.strictEqual(reason({ status: 529, type: "overloaded_error" }), "overloaded")
    assert.strictEqual(reason({ status: 500 }), "server_error")
    assert.strictEqual(reason({ status: 504, type: "timeout_error" }), "server_error")
    assert.strictEqual(reason({ status: 302 }), "misconfigured")
  })

  it("takes a 429 without retry-after for spent money only when the service itself says it", () => {
    const limit = { status: 429, type: "rate_limit_error" }
    assert.strictEqual(reason(limit), "spend_cap")
    assert.strictEqual(reason({ ...limit, retryAfterMs: 1_000 }), "rate_limited")
    assert.strictEqual(reason({ ...limit, firstParty: false }), "rate_limited")
    assert.strictEqual(
      reason({ ...limit, firstParty: false, message: "You have reached your usage limits" }),
      "spend_cap",
    )
  })

  it("repeats only what may succeed the next time, and names the fix for the rest", () => {
    assert.isTrue(ApiErrors.make("overloaded", "x").retryable)
    assert.isFalse(ApiErrors.make("spend_cap", "x").retryable)
    const key = ApiErrors.fromRefusal({ status: 401, message: "invalid x-api-key", firstParty: true })
    assert.include(key.message, "invalid x-api-key. The API key")
    assert.include(key.message, "ANTHROPIC_API_KEY")
  })
})

describe("WireEvents", () => {
  it("reads what it knows, passes over what it does not, and tells both from garbage", () => {
    const delta = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "x" } }
    assert.deepStrictEqual(WireEvents.parse(JSON.stringify(delta)), delta as unknown)
    assert.isUndefined(WireEvents.parse('{"type":"content_block_delta","index":0,"delta":{"type":"smell_delta"}}'))
    assert.isUndefined(WireEvents.parse('{"type":"message_hum"}'))
    for (const bad of [
      "{",
      "3",
      '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}',
      '{"type":"message_start"}',
      "{}",
    ]) {
      assert.strictEqual(WireEvents.parse(bad), "garbled", bad)
    }
  })

  it("keeps fields that it does not know", () => {
    const start = { type: "message_start", message: { id: "m", model: "x", role: "assistant", content: [] } }
    assert.deepStrictEqual(WireEvents.parse(JSON.stringify(start)), start as unknown)
  })
})
