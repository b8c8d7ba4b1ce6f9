import { assert, describe, it } from "@effect/vitest"
import * as ModelTable from "../../src/cost/ModelTable.ts"
import * as Prices from "../../src/cost/Prices.ts"
import { none } from "../../src/protocol/Usage.ts"

const table = ModelTable.make()
const spec = (name: string) => table.resolve(name).spec
const at = (day: string) => Date.parse(`${day}T00:00:00Z`)
const M = 1_000_000

const close = (actual: number | null, expected: number) => assert.closeTo(actual ?? Number.NaN, expected, 1e-9)

describe("Prices", () => {
  it("prices input, output and the caches each at their own rate", () => {
    const opus = spec("claude-opus-5-5")
    const now = at("2026-11-01")
    close(Prices.costOf(opus, { ...none, input_tokens: M }, now), 4)
    close(Prices.costOf(opus, { ...none, output_tokens: M }, now), 20)
    close(Prices.costOf(opus, { ...none, cache_read_input_tokens: M }, now), 0.2)
    close(Prices.costOf(opus, { ...none, cache_creation_input_tokens: M }, now), 5)
    const hour = { ...none, cache_creation_input_tokens: M, cache_creation_1h_input_tokens: M }
    close(Prices.costOf(opus, hour, now), 8)
    close(Prices.costOf(opus, { ...none, web_search_requests: 3 }, now), 0.03)
  })

  it("follows the calendar", () => {
    const read = { ...none, cache_read_input_tokens: M }
    close(Prices.costOf(spec("claude-sonnet-5-5"), read, at("2026-10-07") - 1), 0.2)
    close(Prices.costOf(spec("claude-sonnet-5-5"), read, at("2026-10-07")), 0.1)
  })

  it("prices the whole request by the band that its prompt falls into, the cached part included", () => {
    const haiku = spec("claude-haiku-5-5")
    const now = at("2026-11-01")
    close(Prices.costOf(haiku, { ...none, input_tokens: 100_000 }, now), 0.01)
    close(Prices.costOf(haiku, { ...none, input_tokens: 100_001 }, now), 0.050_000_5)
    const cached = { ...none, cache_read_input_tokens: 100_000, input_tokens: 1, output_tokens: M }
    close(Prices.costOf(haiku, cached, now), (0.1 * 100_000 * 0.5 + 0.5) / M + 2.5)
  })

  it("knows the fast tier", () => {
    close(Prices.costOf(spec("claude-opus-5"), { ...none, output_tokens: M, speed: "fast" }, 0), 50)
    close(Prices.costOf(spec("claude-opus-5"), { ...none, output_tokens: M, speed: "standard" }, 0), 25)
  })

  it("never invents a price", () => {
    const unknown = spec("my-own-model")
    assert.strictEqual(Prices.costOf(unknown, { ...none, output_tokens: M }, 0), null)
    assert.strictEqual(Prices.dearest(unknown, 1_000, 0), null)
    assert.strictEqual(Prices.upperBound(unknown, { inputTokens: 1, maxTokens: 1 }, 0), null)
  })

  it("bounds every reply within its limits, whatever the cache does", () => {
    const now = at("2026-11-01")
    for (const model of table.models) {
      for (const tokens of [1_000, 100_000, 100_001, 500_000]) {
        const bound = Prices.upperBound(model, { inputTokens: tokens, maxTokens: 8_000 }, now) ?? Number.NaN
        for (const prompt of [
          { input_tokens: tokens },
          { cache_read_input_tokens: tokens },
          { cache_creation_input_tokens: tokens },
          { cache_creation_input_tokens: tokens, cache_creation_1h_input_tokens: tokens },
        ]) {
          const cost = Prices.costOf(model, { ...none, ...prompt, output_tokens: 8_000 }, now)
          assert.isAtMost(cost ?? Number.NaN, bound + 1e-12, `${model.id}, ${tokens}`)
        }
      }
    }
  })

  it("leaves the hour's cache out of the bound where it cannot be used", () => {
    close(Prices.dearest(spec("opus"), 1_000, at("2026-11-01"), { hourCache: false })?.input ?? null, 5 / M)
    close(Prices.dearest(spec("opus"), 1_000, at("2026-11-01"))?.input ?? null, 8 / M)
  })
})
