import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { CostGovernor, type Entry, entryOf } from "../../src/cost/CostGovernor.ts"
import { none } from "../../src/protocol/Usage.ts"

const entry = (more: Partial<Entry>): Entry => ({
  agent: "main",
  model: "a",
  usage: { ...none, input_tokens: 10, output_tokens: 5 },
  costUsd: 0.5,
  ...more,
})

describe("CostGovernor", () => {
  it.effect("adds up by model and by agent, and counts what has no price apart", () =>
    Effect.gen(function* () {
      const governor = yield* CostGovernor
      yield* governor.tell.Record(entry({}))
      yield* governor.tell.Record(entry({ agent: "child" }))
      yield* governor.tell.Record(entry({ agent: "child", model: "b", costUsd: null }))
      const report = yield* governor.ask.Report()
      assert.deepInclude(report.total, { requests: 3, unpricedRequests: 1, costUsd: 1 })
      assert.strictEqual(report.total.usage.input_tokens, 30)
      assert.deepInclude(report.byModel["b"], { requests: 1, costUsd: 0 })
      assert.deepInclude(report.byAgent["child"], { requests: 2, costUsd: 0.5 })
    }).pipe(Effect.provide(CostGovernor.layer())),
  )

  it.effect("starts from what was spent before", () =>
    Effect.gen(function* () {
      const report = yield* (yield* CostGovernor).ask.Report()
      assert.strictEqual(report.total.costUsd, 1)
    }).pipe(Effect.provide(CostGovernor.layer(Effect.succeed([entry({}), entry({})])))),
  )

  it("counts a journaled reply for its agent, and no other event", () => {
    const reply = {
      _tag: "ReplyEnded",
      messageId: "m",
      requestId: "r",
      model: "a",
      stopReason: "end_turn",
      usage: none,
      costUsd: 1,
      durationMs: 1,
    } as const
    assert.deepStrictEqual(entryOf("x", reply), { agent: "x", model: "a", usage: none, costUsd: 1 })
    assert.isUndefined(entryOf("x", { _tag: "ReplyAbandoned", requestId: "r", reason: "lost" }))
  })
})
