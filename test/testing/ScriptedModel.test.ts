import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { Provider } from "../../src/model/Provider.ts"
import type { ProviderError, ProviderRequest } from "../../src/model/Provider.ts"
import type { StreamEvent } from "../../src/protocol/StreamEvent.ts"
import type { Fault } from "../../src/testing/Fault.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import type { ScriptedModelOptions } from "../../src/testing/ScriptedModel.ts"
import { assistant, call, request, spoken, user } from "./conversation.ts"

const play = <A, E>(
  book: Playbook,
  effect: Effect.Effect<A, E, Provider | ScriptedModel>,
  options: ScriptedModelOptions = {},
) => Effect.provide(effect, ScriptedModel.layer(book, options))

/** What arrives before the stream ends or fails, and the failure. */
const stream = Effect.fnUntraced(function* (asked: ProviderRequest = request()) {
  const provider = yield* Provider
  const events: Array<StreamEvent> = []
  const error = yield* provider.stream(asked).pipe(
    Stream.runForEach((event) => Effect.sync(() => void events.push(event))),
    Effect.match({ onFailure: (failed): ProviderError | undefined => failed, onSuccess: () => undefined }),
  )
  return { events, error, text: spoken(events) }
})
const whole = (asked = request()) => Effect.flatMap(Provider, (provider) => provider.whole(asked))

const faulty = (fault: Fault): Playbook => ({ rules: [{ reply: "Hello, world", faults: [fault] }] })

describe("ScriptedModel", () => {
  it.effect("streams a reply and gives the same one whole", () =>
    play(
      { rules: [{ reply: "Hello, ${lastUser}" }] },
      Effect.gen(function* () {
        assert.strictEqual((yield* Provider).name, "scripted")
        const { events, text } = yield* stream(request([user("you")]))
        assert.strictEqual(text, "Hello, you")
        assert.strictEqual(events.at(-1)?.type, "message_stop")
        assert.deepStrictEqual((yield* whole(request([user("you")]))).content, [{ type: "text", text: "Hello, you" }])
      }),
    ),
  )

  it.effect("keeps to its timing by Clock, event by event", () =>
    play(
      { rules: [{ reply: "abcdef" }], pace: { before: "1s", chunk: 2, delay: 100 } },
      Effect.gen(function* () {
        const provider = yield* Provider
        const times: Array<readonly [string, number]> = []
        const fiber = yield* provider.stream(request()).pipe(
          Stream.runForEach((event) =>
            Effect.map(Clock.currentTimeMillis, (now) => void times.push([event.type, now])),
          ),
          Effect.forkChild({ startImmediately: true }),
        )
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(
          times.filter(([type]) => type === "message_start" || type === "content_block_delta").map(([, now]) => now),
          [1000, 1000, 1100, 1200],
        )
      }),
    ),
  )

  it.effect("takes as long for a whole reply as for a streamed one", () =>
    play(
      { rules: [{ reply: "abcdef" }], pace: { before: "1s", chunk: 2, delay: 100 } },
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(Effect.andThen(whole(), Clock.currentTimeMillis), {
          startImmediately: true,
        })
        yield* TestClock.adjust("10 seconds")
        assert.strictEqual(yield* Fiber.join(fiber), 1200)
      }),
    ),
  )

  it.effect("draws delays from a seed: the same seed waits the same", () => {
    const book: Playbook = { rules: [{ reply: "abcdefgh" }], pace: { chunk: 1, delay: { min: 0, max: 1000 } } }
    const timed = (seed: string, options: ScriptedModelOptions = {}) =>
      Effect.gen(function* () {
        const from = yield* Clock.currentTimeMillis
        const fiber = yield* play(book, Effect.andThen(stream(), Clock.currentTimeMillis), options).pipe(
          Random.withSeed(seed),
          Effect.forkChild({ startImmediately: true }),
        )
        yield* TestClock.adjust("1 minute")
        return (yield* Fiber.join(fiber)) - from
      })
    return Effect.gen(function* () {
      const first = yield* timed("a")
      assert.strictEqual(yield* timed("a"), first)
      assert.notStrictEqual(yield* timed("b"), first)
      assert.strictEqual(yield* timed("a", { seed: 1 }), yield* timed("b", { seed: 1 }))
    })
  })

  const refusals: ReadonlyArray<readonly [string, Fault, Partial<ProviderError>]> = [
    ["529", { status: 529 }, { reason: "overloaded", status: 529, retryable: true }],
    [
      "429 with retry-after",
      { status: 429, retry_after: 3 },
      { reason: "rate_limited", retryAfterMs: 3000, retryable: true },
    ],
    ["429 without", { status: 429 }, { reason: "rate_limited", retryable: true }],
    ["500", { status: 500 }, { reason: "server_error", retryable: true }],
    ["401", { status: 401 }, { reason: "unauthenticated", retryable: false }],
    ["spent money", { spend_cap: true }, { reason: "spend_cap", retryable: false }],
    [
      "a prompt that is too long",
      { prompt_too_long: true },
      { reason: "prompt_too_long", status: 400, retryable: false },
    ],
  ]
  it.effect.each(refusals)("fails with a typed error for %s, streamed or whole", ([, fault, expected]) =>
    play(
      faulty(fault),
      Effect.gen(function* () {
        const { events, error } = yield* stream()
        assert.deepStrictEqual(events, [])
        assert.deepInclude(error, expected)
        assert.deepInclude(yield* Effect.flip(whole()), expected)
      }),
    ),
  )

  const breaks: ReadonlyArray<readonly [string, Fault, number, ProviderError["reason"]]> = [
    ["a reset before any answer", { reset: 0 }, 0, "connection_lost"],
    ["a reset in the middle", { reset: 3 }, 3, "connection_lost"],
    ["a garbled event", { garbled: 2 }, 2, "malformed_stream"],
    ["an error event", { error_event: 4 }, 4, "overloaded"],
    ["a page instead of a stream", { not_a_stream: "html" }, 0, "not_an_event_stream"],
    ["a document instead of a stream", { not_a_stream: "json" }, 0, "not_an_event_stream"],
  ]
  it.effect.each(breaks)("breaks off with %s", ([, fault, count, reason]) =>
    play(
      faulty(fault),
      Effect.gen(function* () {
        const { events, error } = yield* stream()
        assert.strictEqual(events.length, count)
        assert.strictEqual(error?.reason, reason)
        assert.isTrue(error?.retryable)
        const [recorded] = yield* ScriptedModel.requests
        assert.strictEqual(yield* recorded!.ended, "broken")
      }),
    ),
  )

  it.effect("answers a whole request as usual where only a stream can be spoilt", () =>
    Effect.gen(function* () {
      for (const fault of [{ garbled: 0 }, { not_a_stream: "json" as const }]) {
        const reply = yield* play(faulty(fault), whole())
        assert.deepStrictEqual(reply.content, [{ type: "text", text: "Hello, world" }])
      }
      assert.strictEqual((yield* play(faulty({ reset: 3 }), Effect.flip(whole()))).reason, "connection_lost")
    }),
  )

  it.effect("stalls for ever after so many events", () =>
    play(
      faulty({ stall: 2 }),
      Effect.gen(function* () {
        const provider = yield* Provider
        let count = 0
        const fiber = yield* provider.stream(request()).pipe(
          Stream.runForEach(() => Effect.sync(() => void count++)),
          Effect.forkChild({ startImmediately: true }),
        )
        yield* TestClock.adjust("10 hours")
        assert.strictEqual(count, 2)
        assert.isUndefined(fiber.pollUnsafe())
        yield* Fiber.interrupt(fiber)
        const [recorded] = yield* ScriptedModel.requests
        assert.strictEqual(yield* recorded!.ended, "abandoned")
      }),
    ),
  )

  it.effect("pings for ever and says nothing else", () =>
    play(
      faulty({ pings: "10s" }),
      Effect.gen(function* () {
        const provider = yield* Provider
        const seen: Array<string> = []
        const fiber = yield* provider.stream(request()).pipe(
          Stream.runForEach((event) => Effect.sync(() => void seen.push(event.type))),
          Effect.forkChild({ startImmediately: true }),
        )
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(
          seen,
          Array.from({ length: 6 }, () => "ping"),
        )
        yield* Fiber.interrupt(fiber)
      }),
    ),
  )

  it.effect("is slow where it shall be, and complete", () =>
    play(
      faulty({ slow: "5s" }),
      Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(stream(), { startImmediately: true })
        yield* TestClock.adjust("1 minute")
        const { text } = yield* Fiber.join(fiber)
        assert.strictEqual(text, "Hello, world")
      }),
    ),
  )

  it.effect("delivers a whole reply in spite of torn frames, malformed arguments or too much text", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* play(faulty({ torn: true }), stream())).text, "Hello, world")
      assert.strictEqual((yield* play(faulty({ overflow: 50_000 }), stream())).text.length, 50_012)
      const cut = yield* play(
        { rules: [{ reply: [{ tool: "Read", input: { file_path: "/a" } }], faults: [{ malformed: true }] }] },
        stream(),
      )
      assert.throws(() => JSON.parse(cut.text) as unknown)
      assert.strictEqual(cut.events.at(-1)?.type, "message_stop")
    }),
  )

  it.effect("records every request with what came of it", () =>
    play(
      { rules: [{ name: "greeting", reply: "hi", faults: [{ status: 529, times: 1 }] }] },
      Effect.gen(function* () {
        yield* stream(request([user("one")], { requestId: "r1" }))
        yield* stream(request([user("two")], { requestId: "r2" }))
        yield* Effect.exit(whole(request([user("x"), assistant([call("a", "Read")]), user("y")])))
        const recorded = yield* ScriptedModel.requests
        assert.deepStrictEqual(
          recorded.map(({ number, streamed, note, requestId }) => [number, streamed, requestId, note.rule, note.fault]),
          [
            [1, true, "r1", "greeting", "status 529"],
            [2, true, "r2", "greeting", undefined],
            [3, false, "request-1", undefined, undefined],
          ],
        )
        assert.match(recorded[2]?.note.problem ?? "", /tool_use without a tool_result/)
        assert.deepStrictEqual(recorded[1]?.body.messages, [user("two")])
        assert.deepStrictEqual(yield* Effect.forEach(recorded, ({ ended }) => ended), [
          "refused",
          "delivered",
          "refused",
        ])
      }),
    ),
  )

  it.effect("signals when so many requests have come", () =>
    play(
      { rules: [{ reply: "hi" }] },
      Effect.gen(function* () {
        const model = yield* ScriptedModel
        const waiting = yield* Effect.forkChild(model.atLeast(2), { startImmediately: true })
        yield* stream()
        assert.isUndefined(waiting.pollUnsafe())
        yield* stream()
        assert.strictEqual((yield* Fiber.join(waiting)).length, 2)
      }),
    ),
  )

  it.effect("does not start with a playbook that is wrong", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(play({ rules: [{ reply: "${typo}" }] }, stream()))
      assert.strictEqual(error._tag, "PlaybookError")
    }),
  )
})
