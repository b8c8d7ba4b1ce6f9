import { assert, describe, it } from "@effect/vitest"
import { estimate, imageTokens } from "../../src/platform/Tokens.ts"

describe("Tokens", () => {
  it("counts nothing for nothing", () => {
    assert.strictEqual(estimate(""), 0)
  })

  it("is on the high side for prose and code, yet not absurd", () => {
    const prose = "The quick brown fox jumps over the lazy dog. ".repeat(100)
    // Ten tokens a sentence.
    assert.isAtLeast(estimate(prose), 1_000)
    assert.isBelow(estimate(prose), 2_000)
  })

  it("does not take Chinese for English", () => {
    assert.isAtLeast(estimate("今天天气很好我们去公园散步吧".repeat(50)), 600)
  })

  it("does not take base64 for words", () => {
    assert.isAtLeast(estimate("aGVsbG8gd29ybGQgdGhpcyBpcyBh".repeat(100)), 900)
  })

  it("judges a huge text by samples, close to the whole", () => {
    const line = "const value = compute(index, { deep: true }) // why\n"
    const small = line.repeat(3_000)
    const large = line.repeat(30_000)
    const ratio = estimate(large) / estimate(small)
    assert.isAtLeast(ratio, 9)
    assert.isAtMost(ratio, 11)
  })

  it("bills images by area", () => {
    assert.strictEqual(imageTokens(750, 100), 100)
    assert.strictEqual(imageTokens(), 1_600)
  })
})
