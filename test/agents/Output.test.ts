import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Agents } from "../../src/agents/Agents.ts"
import * as Output from "../../src/agents/Output.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"

const Review = Output.make(
  Schema.Struct({
    score: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10 })),
    note: Schema.optionalKey(Schema.String),
  }),
)

const ask = (book: Playbook) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const agent = yield* agents.open({ jsonSchema: Review.jsonSchema })
    const review = yield* Effect.result(Review.ask(agent, "Review it"))
    return { review, requests: yield* ScriptedModel.requests }
  }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book)))

describe("Output", () => {
  it.effect("asks for what the schema says, in the service's subset, and decodes the answer", () =>
    Effect.gen(function* () {
      const { review, requests } = yield* ask({ rules: [{ reply: '{"score":7,"note":null}' }] })
      assert(review._tag === "Success")
      const score: number = review.success.score
      assert.strictEqual(score, 7)
      assert.deepStrictEqual(review.success, { score: 7 })
      const sent = JSON.stringify(requests[0]?.body["output_config"])
      assert.include(sent, '"additionalProperties":false')
      assert.notInclude(sent, '"maximum"')
    }),
  )

  it.effect("checks what the subset cannot say", () =>
    Effect.gen(function* () {
      const { review } = yield* ask({ rules: [{ reply: '{"score":11,"note":null}' }] })
      assert(review._tag === "Failure" && review.failure._tag === "NoOutput")
      assert.strictEqual(review.failure.terminal.reason, "completed")
      assert.match(review.failure.message, /10/)
    }),
  )

  it.effect("says how a turn ended that has no value", () =>
    Effect.gen(function* () {
      const { review } = yield* ask({ rules: [{ reply: "I would rather not.", stop_reason: "refusal" }] })
      assert(review._tag === "Failure" && review.failure._tag === "NoOutput")
      assert.strictEqual(review.failure.terminal.reason, "refusal")
      assert.include(review.failure.message, "declined")
    }),
  )
})
