import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { CostGovernor } from "../../src/cost/CostGovernor.ts"
import { Model } from "../../src/model/Model.ts"
import type { ModelEvent } from "../../src/model/ModelEvent.ts"
import type { StreamEvent } from "../../src/protocol/StreamEvent.ts"
import * as Fake from "./ScriptedProvider.ts"

const { breaks, collect, fails, only, request, says, script, stalls, tags, textBlock, toolBlock, wholly } = Fake

/** Lets virtual time run until the fiber is done; gives how long that took. */
const hurry = Effect.fnUntraced(function* <A, E>(fiber: Fiber.Fiber<A, E>, step = 1_000) {
  const from = yield* Clock.currentTimeMillis
  while (fiber.pollUnsafe() === undefined) {
    yield* TestClock.adjust(step)
    yield* Effect.repeat(Effect.yieldNow, { times: 20 })
  }
  return (yield* Clock.currentTimeMillis) - from
})

/** All events of a request under virtual time, and how long it took. */
const play = Effect.fnUntraced(function* (asked = request()) {
  const fiber = yield* Effect.forkChild(collect(asked), { startImmediately: true })
  const tookMs = yield* hurry(fiber)
  return { events: yield* Fiber.join(fiber), tookMs }
})

const failing = Effect.fnUntraced(function* (asked = request()) {
  const fiber = yield* Effect.forkChild(Effect.flip(collect(asked)), { startImmediately: true })
  const tookMs = yield* hurry(fiber)
  return { error: yield* Fiber.join(fiber), tookMs }
})

describe("Model", () => {
  it.effect("gives the attempt, the blocks as they are complete, and the reply with its cost", () => {
    const fake = script(says("Hi there"))
    return Effect.gen(function* () {
      const events = yield* collect(request())
      assert.deepStrictEqual(tags(events), ["Attempt", "Block", "Reply"])
      const [attempt] = only(events, "Attempt")
      assert.deepInclude(attempt, {
        attempt: 1,
        model: "claude-opus-5-5",
        maxTokens: 8_000,
        streaming: true,
        messages: 1,
      })
      assert.strictEqual(attempt?.ledger.length, 3)
      assert.deepInclude(only(events, "Block")[0], {
        messageId: "msg_1",
        index: 0,
        block: { type: "text", text: "Hi there" },
      })
      const [reply] = only(events, "Reply")
      assert.strictEqual(reply?.stopReason, "end_turn")
      assert.strictEqual(reply?.usage.output_tokens, 20)
      assert.closeTo(reply?.costUsd ?? 0, (100 * 4 + 20 * 20) / 1e6, 1e-12)
      assert.strictEqual(fake.asked[0]?.requestId, attempt?.requestId)
      const spent = yield* (yield* CostGovernor).ask.Report()
      assert.strictEqual(spent.byAgent["main"]?.requests, 1)
      assert.strictEqual(fake.open, 0)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("does not touch the network before the consumer has dealt with the attempt", () => {
    const fake = script(says("Hi"))
    return Effect.gen(function* () {
      const model = yield* Model
      const seen: Array<string> = []
      yield* Stream.runForEach(model.stream(request()), (event) =>
        Effect.gen(function* () {
          if (event._tag !== "Attempt") return
          yield* Effect.repeat(Effect.yieldNow, { times: 50 })
          seen.push(`${event._tag} with ${fake.asked.length} asked`)
        }),
      )
      assert.deepStrictEqual(seen, ["Attempt with 0 asked"])
      assert.strictEqual(fake.asked.length, 1)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("asks again after overloads, each time with an id of its own", () => {
    const fake = script(
      fails("overloaded", { status: 529 }),
      fails("overloaded", { status: 529 }),
      fails("overloaded", { status: 529 }),
      says("Hi"),
    )
    return Effect.gen(function* () {
      const { events } = yield* play()
      const again = ["Attempt", "Abandoned", "Waiting"]
      assert.deepStrictEqual(tags(events), [...again, ...again, ...again, "Attempt", "Block", "Reply"])
      assert.deepStrictEqual(
        only(events, "Attempt").map((event) => event.attempt),
        [1, 2, 3, 4],
      )
      assert.strictEqual(new Set(fake.asked.map((asked) => asked.requestId)).size, 4)
      assert.deepInclude(only(events, "Waiting")[2], {
        attempt: 3,
        maxAttempts: 11,
        reason: "overloaded",
        detail: "It is overloaded.",
        status: 529,
      })
      const delays = only(events, "Waiting").map((event) => event.delayMs)
      for (const [i, delay] of delays.entries()) {
        assert.isAtLeast(delay, 500 * 2 ** i * 0.75)
        assert.isAtMost(delay, 500 * 2 ** i * 1.25)
      }
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("takes the fallback model after three overloads in a row", () => {
    const fake = script(
      fails("overloaded"),
      fails("server_error"),
      fails("overloaded"),
      fails("overloaded"),
      fails("overloaded"),
      says("Hi"),
    )
    return Effect.gen(function* () {
      const { events } = yield* play(request({ fallbackModel: "sonnet" }))
      assert.deepStrictEqual(
        fake.asked.map((asked) => asked.model),
        [...Array.from({ length: 5 }, () => "claude-opus-5-5"), "claude-sonnet-5-5"],
      )
      assert.strictEqual(only(events, "Abandoned").at(-1)?.transition, "model_fallback")
      assert.strictEqual(only(events, "Reply")[0]?.model, "claude-sonnet-5-5")
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("waits as long as it was told, and so does everybody else who asks this model", () => {
    const fake = script(fails("rate_limited", { status: 429, retryAfterMs: 20_000 }), says("Hi"))
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(collect(request()), { startImmediately: true })
      yield* TestClock.adjust(1_000)
      const second = yield* Effect.forkChild(collect(request({ agent: "other" })), { startImmediately: true })
      const other = yield* Effect.forkChild(collect(request({ model: "haiku" })), { startImmediately: true })
      yield* Fiber.join(other)
      yield* TestClock.adjust(18_000)
      assert.strictEqual(fake.asked.length, 2)
      yield* TestClock.adjust(1_000)
      const events = yield* Fiber.join(fiber)
      assert.deepInclude(only(events, "Waiting")[0], { delayMs: 20_000, reason: "rate_limited", status: 429 })
      assert.strictEqual(only(events, "Abandoned")[0]?.transition, "rate_limit_wait")
      assert.deepStrictEqual(tags(yield* Fiber.join(second)), ["Waiting", "Attempt", "Block", "Reply"])
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("does not wait for hours", () => {
    const fake = script(fails("rate_limited", { status: 429, retryAfterMs: 3 * 3_600_000 }))
    return Effect.gen(function* () {
      const { error } = yield* failing()
      assert.deepInclude(error, { reason: "rate_limited", attempts: 1, retryAfterMs: 3 * 3_600_000 })
      assert.include(error.message, "180 minutes")
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect.each(["spend_cap", "unauthenticated", "invalid_request", "prompt_too_long"] as const)(
    "does not repeat a request that cannot succeed: %s",
    (reason) => {
      const fake = script(fails(reason))
      return Effect.gen(function* () {
        const { error, tookMs } = yield* failing(request({ fallbackModel: "sonnet" }))
        assert.deepInclude(error, { _tag: "ModelError", reason, attempts: 1 })
        assert.strictEqual(fake.asked.length, 1)
        assert.strictEqual(tookMs, 0)
      }).pipe(Effect.provide(Fake.layer(fake)))
    },
  )

  it.effect("gives up after ten retries, or as many as the environment says", () => {
    const fake = script(fails("server_error", { status: 500 }))
    return Effect.gen(function* () {
      const { error } = yield* failing()
      assert.deepInclude(error, { reason: "server_error", attempts: 11, status: 500 })
      assert.include(error.message, "Gave up after 11 attempts")
      assert.strictEqual(fake.asked.length, 11)
      const few = script(fails("server_error"))
      yield* failing().pipe(Effect.provide(Fake.layer(few, { env: { CLAUDE_CODE_MAX_RETRIES: "2" } }), { local: true }))
      assert.strictEqual(few.asked.length, 3)
      const none = script(fails("server_error"))
      yield* failing().pipe(
        Effect.provide(Fake.layer(none, { env: { CLAUDE_CODE_MAX_RETRIES: "0" } }), { local: true }),
      )
      assert.strictEqual(none.asked.length, 1)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("names the model that was probably meant", () => {
    const fake = script(fails("model_not_found", { status: 404 }))
    return Effect.gen(function* () {
      const { error } = yield* failing(request({ model: "claude-opus-5-6" }))
      assert.include(error.message, 'Did you mean "claude-opus-5')
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("starts over when the stream dies before anything came of it, and books what it used", () => {
    const fake = script(breaks([Fake.start(), ...textBlock(0, "Hel")]), says("Hello"))
    return Effect.gen(function* () {
      const { events } = yield* play()
      assert.deepStrictEqual(tags(events), ["Attempt", "Block", "Abandoned", "Waiting", "Attempt", "Block", "Reply"])
      const [abandoned] = only(events, "Abandoned")
      assert.strictEqual(abandoned?.transition, "stream_retry")
      assert.strictEqual(abandoned?.requestId, fake.asked[0]?.requestId)
      assert.strictEqual(abandoned?.usage?.input_tokens, 100)
      const spent = yield* (yield* CostGovernor).ask.Report()
      assert.strictEqual(spent.total.requests, 2)
      assert.strictEqual(spent.total.usage.input_tokens, 200)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("breaks off when the stream dies after a tool has started", () => {
    const fake = script(breaks([Fake.start(), ...toolBlock(0, '{"path":"a"}')]), says("never"))
    return Effect.gen(function* () {
      let started = false
      const model = yield* Model
      const seen: Array<ModelEvent> = []
      const error = yield* Effect.flip(
        Stream.runForEach(model.stream(request({ restartable: () => !started })), (event) =>
          Effect.sync(() => {
            seen.push(event)
            if (event._tag === "Block") started = true
          }),
        ),
      )
      assert.deepStrictEqual(tags(seen), ["Attempt", "Block"])
      assert.deepInclude(error, { _tag: "ModelError", reason: "broken_off", messageId: "msg_1" })
      assert.isTrue(error._tag === "ModelError" && error.usage?.input_tokens === 100 && (error.costUsd ?? 0) > 0)
      assert.strictEqual(fake.asked.length, 1)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("warns about a stream that stalls, gives it up and asks again within 100 seconds", () => {
    const fake = script(stalls([Fake.start(), ...textBlock(0, "Hel")]), says("Hello"))
    return Effect.gen(function* () {
      const { events, tookMs } = yield* play()
      assert.deepStrictEqual(tags(events), [
        "Attempt",
        "Block",
        "Stalling",
        "Abandoned",
        "Waiting",
        "Attempt",
        "Block",
        "Reply",
      ])
      assert.deepInclude(only(events, "Stalling")[0], { quietMs: 45_000, abortAfterMs: 90_000 })
      assert.strictEqual(only(events, "Waiting")[0]?.reason, "stalled")
      assert.isAtLeast(tookMs, 90_000)
      assert.isBelow(tookMs, 100_000)
      assert.strictEqual(fake.open, 0)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("gives up a service that never answers at all", () => {
    const fake = script(stalls([]), says("Hello"))
    return Effect.gen(function* () {
      const { tookMs } = yield* play()
      assert.isBelow(tookMs, 100_000)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("is patient with pings, but not for ever", () => {
    const ping: StreamEvent = { type: "ping" }
    const pings = {
      stream: Stream.concat(
        Stream.make(Fake.start()),
        Stream.map(Stream.fromSchedule(Schedule.spaced("20 seconds")), () => ping),
      ),
    }
    const fake = script(pings, says("Hello"))
    return Effect.gen(function* () {
      const { events, tookMs } = yield* play()
      assert.strictEqual(only(events, "Stalling").length, 0)
      assert.include(only(events, "Abandoned")[0]?.reason, "Only pings")
      assert.isAtLeast(tookMs, 300_000)
      assert.isBelow(tookMs, 310_000)
      const longer = script(pings, says("Hello"))
      const second = yield* play().pipe(
        Effect.provide(Fake.layer(longer, { env: { CLAUDE_STREAM_IDLE_TIMEOUT_MS: "400000" } }), { local: true }),
      )
      assert.isAtLeast(second.tookMs, 400_000)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("asks for the reply in one piece where there is no event stream", () => {
    const fake = script(fails("not_an_event_stream", { status: 200 }), wholly("Hi"))
    return Effect.gen(function* () {
      const { events, tookMs } = yield* play()
      assert.deepStrictEqual(tags(events), ["Attempt", "Abandoned", "Attempt", "Block", "Reply"])
      assert.strictEqual(only(events, "Abandoned")[0]?.transition, "non_streaming_fallback")
      assert.deepStrictEqual(
        only(events, "Attempt").map((event) => event.streaming),
        [true, false],
      )
      assert.strictEqual(only(events, "Reply")[0]?.usage.output_tokens, 20)
      assert.strictEqual(tookMs, 0)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("asks for the reply in one piece when streams keep dying", () => {
    const fake = script(stalls([Fake.start()]), breaks([Fake.start()], "malformed_stream"), wholly("Hi"))
    return Effect.gen(function* () {
      const { events } = yield* play()
      assert.deepStrictEqual(
        only(events, "Abandoned").map((event) => event.transition),
        ["stream_retry", "non_streaming_fallback"],
      )
      assert.deepStrictEqual(
        fake.asked.map((asked) => asked.streaming),
        [true, true, false],
      )
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("gives up a reply in one piece that never comes", () => {
    const fake = script(fails("not_an_event_stream"), { whole: Effect.never }, wholly("Hi"))
    return Effect.gen(function* () {
      const { events, tookMs } = yield* play()
      assert.strictEqual(only(events, "Waiting")[0]?.reason, "stalled")
      assert.isAtLeast(tookMs, 600_000)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("treats a stream that ends too early as lost, but not for want of the very last event", () => {
    const whole = [Fake.start(), ...textBlock(0, "Hi"), ...Fake.end()]
    const fake = script(
      { stream: Stream.fromIterable(whole.slice(0, 4)) },
      { stream: Stream.fromIterable(whole.slice(0, -1)) },
    )
    return Effect.gen(function* () {
      const { events } = yield* play()
      assert.deepStrictEqual(tags(events), ["Attempt", "Block", "Abandoned", "Waiting", "Attempt", "Block", "Reply"])
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("does not wait for a connection that stays open after the reply", () => {
    const fake = script(stalls([Fake.start(), ...textBlock(0, "Hi"), ...Fake.end()]))
    return Effect.gen(function* () {
      const { events, tookMs } = yield* play()
      assert.deepStrictEqual(tags(events), ["Attempt", "Block", "Reply"])
      assert.isAtMost(tookMs, 1_000)
      assert.strictEqual(fake.open, 0)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("treats an error event like the refusal it is", () => {
    const overloaded: StreamEvent = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
    const fake = script({ stream: Stream.make(Fake.start(), overloaded) }, says("Hi"))
    return Effect.gen(function* () {
      const { events } = yield* play()
      assert.strictEqual(only(events, "Waiting")[0]?.reason, "overloaded")
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("does not offer again what the service would not have back, but what was thought since", () => {
    const fake = script(
      fails("invalid_request", { status: 400 }, "messages.1.content.0: Invalid `signature` in `thinking` block"),
      says("Fine"),
      says("Good"),
    )
    return Effect.gen(function* () {
      const thinking = { type: "thinking", thinking: "hm", signature: "sig" } as const
      const hi = { type: "text", text: "Hi" } as const
      const [hello, old] = [
        { role: "user", content: "Hello" },
        { role: "assistant", content: [thinking, hi] },
      ] as const
      const messages = [hello, old, { role: "user", content: "Again" } as const]
      yield* collect(request({ messages }))
      const since = { role: "assistant", content: [thinking, hi] } as const
      yield* collect(request({ messages: [...messages, since, { role: "user", content: "And again" }] }))
      assert.strictEqual(fake.asked.length, 3)
      const shown = fake.asked[2]?.messages.map(({ content }) => content)
      assert.deepStrictEqual(shown?.[1], [hi])
      assert.deepStrictEqual(shown?.[3], [thinking, hi])
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("leaves thinking out when the service does not accept it", () => {
    const refused = fails(
      "invalid_request",
      { status: 400 },
      "messages.1.content.0: Invalid `signature` in `thinking` block",
    )
    const fake = script(refused, says("Hi"))
    return Effect.gen(function* () {
      const thinking = { type: "thinking", thinking: "hm", signature: "sig" } as const
      const { events } = yield* play(
        request({
          messages: [
            { role: "user", content: "Hello" },
            { role: "assistant", content: [thinking, { type: "text", text: "Hi" }] },
            { role: "user", content: "Again" },
          ],
        }),
      )
      assert.deepStrictEqual(tags(events), ["Attempt", "Abandoned", "Attempt", "Block", "Reply"])
      assert.deepStrictEqual(fake.asked[0]?.messages[1]?.content, [thinking, { type: "text", text: "Hi" }])
      assert.deepStrictEqual(fake.asked[1]?.messages[1]?.content, [{ type: "text", text: "Hi" }])
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("closes the connection and books what was used when the consumer goes away", () => {
    const fake = script(stalls([Fake.start(), ...textBlock(0, "Hel")]))
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(collect(request()), { startImmediately: true })
      yield* Effect.repeat(Effect.yieldNow, { times: 50 })
      assert.strictEqual(fake.open, 1)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(fake.open, 0)
      const spent = yield* (yield* CostGovernor).ask.Report()
      assert.strictEqual(spent.total.usage.input_tokens, 100)
    }).pipe(Effect.provide(Fake.layer(fake)))
  })

  it.effect("behaves the same for the same seed", () => {
    const run = Effect.gen(function* () {
      const fake = script(fails("overloaded"), fails("server_error"), says("Hi"))
      const { events } = yield* play().pipe(Effect.provide(Fake.layer(fake)))
      return only(events, "Waiting").map((event) => event.delayMs)
    })
    return Effect.gen(function* () {
      const first = yield* Random.withSeed(run, "a")
      assert.deepStrictEqual(yield* Random.withSeed(run, "a"), first)
      assert.notDeepEqual(yield* Random.withSeed(run, "b"), first)
    })
  })
})
