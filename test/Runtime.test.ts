import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agents } from "../src/agents/Agents.ts"
import { CostGovernor } from "../src/cost/CostGovernor.ts"
import type { Playbook } from "../src/testing/Playbook.ts"
import * as TestRuntime from "../src/testing/TestRuntime.ts"

const says = (text: string): Playbook => ({ rules: [{ reply: text }] })

const opened = Effect.fnUntraced(function* (text: string) {
  const context = yield* Layer.build(TestRuntime.layer(says(text), { seed: text }))
  const agent = yield* Context.get(context, Agents).open()
  const cost = Context.get(context, CostGovernor)
  const ask = Effect.gen(function* () {
    const events = yield* Stream.runCollect(agent.prompt("Who are you?"))
    const last = events.at(-1)
    return last?._tag === "TurnEnded" ? last.result : undefined
  })
  return { ask, sessionId: agent.sessionId, agents: Context.get(context, Agents), spent: cost.ask.Report() }
})

describe("Runtime", () => {
  it.effect("lives beside others in one process and shares nothing with them", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([opened("a"), opened("b")], { concurrency: 2 })
      assert.deepStrictEqual(yield* Effect.all([a.ask, b.ask, a.ask], { concurrency: 2 }), ["a", "b", "a"])
      assert.strictEqual((yield* a.spent).total.requests, 2)
      assert.strictEqual((yield* b.spent).total.requests, 1)
      const stranger = yield* Effect.flip(b.agents.resume(a.sessionId))
      assert.strictEqual(stranger._tag, "SessionNotFound")
    }),
  )
})
