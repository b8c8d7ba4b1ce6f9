import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { add, none, promptTokens, type Usage } from "../../src/protocol/Usage.ts"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const Usages = Schema.Struct({
  input_tokens: Count,
  output_tokens: Count,
  cache_creation_input_tokens: Count,
  cache_read_input_tokens: Count,
  cache_creation_1h_input_tokens: Count,
})

describe("Usage", () => {
  it.prop("adds in any order and grouping", [Usages, Usages, Usages], ([a, b, c]) => {
    assert.deepStrictEqual(add(a, add(b, c)), add(add(a, b), c))
    assert.deepStrictEqual(add(a, b), add(b, a))
  })

  it.prop("counts what the model read", [Usages, Usages], ([a, b]) => {
    assert.strictEqual(promptTokens(add(a, b)), promptTokens(a) + promptTokens(b))
  })

  it("starts from nothing", () => {
    const usage: Usage = { ...none, input_tokens: 3 }
    assert.deepStrictEqual(add(none, usage), usage)
  })
})
