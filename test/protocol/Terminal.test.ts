import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { endings, exitCode, isError, reasons, subtype, Terminal } from "../../src/protocol/Terminal.ts"

/** The ecosystem's own reasons: tools that read `terminal_reason` know exactly these. */
const shared = [
  "completed",
  "max_turns",
  "tool_deferred",
  "aborted_streaming",
  "aborted_tools",
  "hook_stopped",
  "stop_hook_prevented",
  "background_requested",
  "blocking_limit",
  "rapid_refill_breaker",
  "prompt_too_long",
  "image_error",
  "model_error",
  "api_error",
  "malformed_tool_use_exhausted",
  "budget_exhausted",
  "structured_output_retry_exhausted",
  "tool_deferred_unavailable",
  "turn_setup_failed",
]

const subtypes = [
  "success",
  "error_max_turns",
  "error_during_execution",
  "error_max_budget_usd",
  "error_max_structured_output_retries",
]

describe("Terminal", () => {
  it("knows all nineteen reasons of the ecosystem", () => {
    assert.lengthOf(shared, 19)
    assert.deepStrictEqual(
      shared.filter((name) => !reasons.some((reason) => reason === name)),
      [],
    )
  })

  it.each([...reasons])("%s has a subtype of the protocol, an exit code and words", (reason) => {
    const { exitCode, says, subtype } = endings[reason]
    assert.include(subtypes, subtype)
    assert.include([0, 1, 3, 4, 130], exitCode)
    assert.match(says, /^\S.*\S$/)
    // A script may test the exit code alone.
    assert.strictEqual(exitCode === 0, subtype === "success")
  })

  it("uses every subtype of the protocol", () => {
    assert.deepStrictEqual([...new Set(reasons.map((reason) => endings[reason].subtype))].sort(), [...subtypes].sort())
  })

  it("tells limits, refusals and interrupts apart by exit code", () => {
    const code = (reason: (typeof reasons)[number]) => exitCode({ reason })
    assert.strictEqual(code("completed"), 0)
    assert.strictEqual(code("api_error"), 1)
    assert.strictEqual(code("max_turns"), 3)
    assert.strictEqual(code("budget_exhausted"), 3)
    assert.strictEqual(code("refusal"), 4)
    assert.strictEqual(code("aborted_streaming"), 130)
    assert.strictEqual(code("aborted_tools"), 130)
  })

  it("gives the result line its subtype and error flag", () => {
    assert.strictEqual(subtype({ reason: "budget_exhausted" }), "error_max_budget_usd")
    assert.isTrue(isError({ reason: "budget_exhausted" }))
    assert.isFalse(isError({ reason: "hook_stopped" }))
  })

  it("reads its own reasons and no others", () => {
    const decode = Schema.decodeUnknownSync(Terminal)
    for (const reason of reasons) assert.deepStrictEqual(decode({ reason }), { reason })
    assert.throws(() => decode({ reason: "toString" }))
  })
})
