import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { CostGovernor } from "../../src/cost/CostGovernor.ts"
import * as Budget from "../../src/kernel/Budget.ts"
import { Model } from "../../src/model/Model.ts"
import * as Fake from "./ScriptedProvider.ts"

const { collect, only, request, says, script } = Fake

const innermost = Effect.map(Budget.snapshot, (levels) => levels[0])
const soon = Effect.repeat(Effect.yieldNow, { times: 100 })

/** Opus 5.5 asks 20 USD for a million tokens of reply: 1,024 of them are about two cents. */
const forReply = (tokens: number) => (tokens * 20) / 1e6

describe("The metered model", () => {
  it.effect("asks for a shorter reply when the budget has no room for the wanted one", () => {
    const fake = script(says("Hi"))
    return Effect.gen(function* () {
      const events = yield* collect(request({ maxTokens: 64_000 }))
      const [attempt] = only(events, "Attempt")
      assert.isBelow(attempt?.maxTokens ?? 0, 5_001)
      assert.isAtLeast(attempt?.maxTokens ?? 0, 1_024)
      assert.strictEqual(fake.asked[0]?.maxTokens, attempt?.maxTokens)
      const level = yield* innermost
      assert.closeTo(level?.spent.usd ?? 0, (100 * 4 + 20 * 20) / 1e6, 1e-9)
      assert.deepInclude(level?.spent, { inputTokens: 100, outputTokens: 20 })
      assert.strictEqual(level?.reserved.usd, 0)
    }).pipe(Budget.within({ usd: forReply(5_000) }), Effect.provide(Fake.layer(fake)))
  })

  it.effect("never asks for more than the model can say", () => {
    const fake = script(says("Hi"))
    return Effect.gen(function* () {
      yield* collect(request({ model: "claude-haiku-4-5", maxTokens: 1_000_000 }))
      assert.strictEqual(fake.asked[0]?.maxTokens, 64_000)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("sends nothing when not even a short reply fits, and names the scope", () => {
    const fake = script(says("Hi"))
    return Effect.gen(function* () {
      const error = yield* Effect.flip(collect(request()))
      assert.deepInclude(error, { _tag: "BudgetExceeded", scope: "tiny", resource: "usd" })
      assert.strictEqual(fake.asked.length, 0)
    }).pipe(Budget.within({ name: "tiny", usd: forReply(1_000) }), Effect.provide(Fake.layer(fake)))
  })

  it.effect("waits while others hold what it needs", () => {
    const begun = Deferred.makeUnsafe<void>()
    const gate = Deferred.makeUnsafe<void>()
    const rest = Stream.fromIterable([...Fake.textBlock(0, "Hi"), ...Fake.end()])
    const held = {
      stream: Stream.unwrap(
        Effect.gen(function* () {
          yield* Deferred.succeed(begun, undefined)
          yield* Deferred.await(gate)
          return Stream.concat(Stream.make(Fake.start()), rest)
        }),
      ),
    }
    const fake = script(held, says("Hi"))
    return Effect.gen(function* () {
      const first = yield* Effect.forkChild(collect(request({ maxTokens: 1_500 })), { startImmediately: true })
      yield* Deferred.await(begun)
      const second = yield* Effect.forkChild(collect(request({ maxTokens: 1_500 })), { startImmediately: true })
      yield* soon
      assert.strictEqual(fake.asked.length, 1)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(first)
      yield* Fiber.join(second)
      assert.strictEqual(fake.asked.length, 2)
    }).pipe(Budget.within({ outputTokens: 2_000 }), Effect.provide(Fake.layer(fake)))
  })

  it.effect("sends nothing to a model without a known price while money is limited, and names the ways out", () => {
    const fake = script(says("Hi"))
    return Effect.gen(function* () {
      const error = yield* Effect.flip(Budget.within({ turns: 9 })(collect(request({ model: "my-own-model" }))))
      assert.deepInclude(error, { _tag: "ModelError", reason: "misconfigured", model: "my-own-model" })
      for (const word of ["pocket money", "my-own-model", "troupe.models.my-own-model.prices", "--max-turns"])
        assert.include(error.message, word)
      assert.strictEqual(fake.asked.length, 0)
      assert.strictEqual((yield* innermost)?.reserved.outputTokens, 0)
    }).pipe(Budget.within({ name: "pocket money", usd: 5 }), Effect.provide(Fake.layer(fake)))
  })

  it.effect("asks an unpriced model under a limit of money once settings give it a price", () => {
    const fake = script(says("Hi"))
    const models = { "my-own-model": { prices: [{ input: 1, output: 2 }] } }
    return Effect.gen(function* () {
      const events = yield* collect(request({ model: "my-own-model" }))
      assert.closeTo(only(events, "Reply")[0]?.costUsd ?? 0, (100 + 20 * 2) / 1e6, 1e-12)
    }).pipe(Budget.within({ usd: 5 }), Effect.provide(Fake.layer(fake, { models })))
  })

  it.effect("tells of a reply that used more than was put aside before its scope closes", () => {
    const usage = { input_tokens: 100, output_tokens: 1 }
    const fake = script({
      stream: Stream.fromIterable([Fake.start(usage), ...Fake.textBlock(0, "Hi"), ...Fake.end("end_turn", 100_000)]),
    })
    return Effect.gen(function* () {
      const model = yield* Model
      const heard: Array<string> = []
      const listening = Stream.runForEach(model.stream(request()), (event) =>
        Effect.andThen(
          soon,
          Effect.sync(() => heard.push(event._tag)),
        ),
      )
      const error = yield* Effect.flip(Budget.within({ name: "small", outputTokens: 9_000 })(listening))
      assert.deepInclude(error, { _tag: "BudgetExceeded", scope: "small", closed: true })
      assert.strictEqual(heard.at(-1), "Reply")
      assert.strictEqual((yield* innermost)?.spent.outputTokens, 100_000)
      const report = yield* (yield* CostGovernor).ask.Report()
      assert.strictEqual(report.total.usage.output_tokens, 100_000)
    }).pipe(Budget.within({ name: "outer" }), Effect.provide(Fake.layer(fake)))
  })

  it.effect("limits a model without a known price by tokens only, and says that the cost is unknown", () => {
    const fake = script(says("Hi"))
    return Effect.gen(function* () {
      const events = yield* collect(request({ model: "my-own-model" }))
      assert.strictEqual(only(events, "Reply")[0]?.costUsd, null)
      assert.strictEqual((yield* innermost)?.spent.usd, 0)
      assert.strictEqual((yield* (yield* CostGovernor).ask.Report()).total.unpricedRequests, 1)
      const error = yield* Effect.flip(
        Budget.within({ outputTokens: 500 })(collect(request({ model: "my-own-model" }))),
      )
      assert.deepInclude(error, { _tag: "BudgetExceeded", resource: "outputTokens" })
    }).pipe(Budget.within({ turns: 5 }), Effect.provide(Fake.layer(fake)))
  })

  it.effect("gives back what an attempt did not use that never got an answer", () => {
    const fake = script(Fake.fails("unauthenticated"))
    return Effect.gen(function* () {
      yield* Effect.flip(collect(request()))
      const level = yield* innermost
      assert.deepInclude(level?.spent, { usd: 0, inputTokens: 0, outputTokens: 0 })
      assert.strictEqual(level?.reserved.usd, 0)
    }).pipe(Budget.within({ usd: 1 }), Effect.provide(Fake.layer(fake)))
  })

  it.effect("reckons with more input than there is, and with what the service reported once it did", () => {
    const long = { role: "user", content: "A sentence of some words, again and again. ".repeat(2_000) } as const
    const reported = { input_tokens: 20_000, output_tokens: 1 }
    const fake = script({
      stream: Stream.fromIterable([Fake.start(reported), ...Fake.textBlock(0, "Hi"), ...Fake.end()]),
    })
    return Effect.gen(function* () {
      yield* collect(request({ messages: [long] }))
      const level = yield* innermost
      assert.strictEqual(level?.spent.inputTokens, 20_000)
      assert.strictEqual(level?.overrun.inputTokens, 0)
      // It fits in the 21,000 that are left only because what the service counted is not guessed again.
      yield* collect(
        request({ messages: [long, { role: "assistant", content: "Hi" }, { role: "user", content: "Go on" }] }),
      )
    }).pipe(Budget.within({ inputTokens: 41_000 }), Effect.provide(Fake.layer(fake)))
  })
})
