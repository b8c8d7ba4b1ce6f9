import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as AnthropicProvider from "../../src/model/AnthropicProvider.ts"
import { Provider } from "../../src/model/Provider.ts"
import type { ProviderError } from "../../src/model/Provider.ts"
import { Host } from "../../src/platform/Host.ts"
import * as NodeHttpFetch from "../../src/platform/NodeHttpFetch.ts"
import type { StreamEvent } from "../../src/protocol/StreamEvent.ts"
import type { Fault } from "../../src/testing/Fault.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import { ScriptedServer } from "../../src/testing/ScriptedServer.ts"
import { request, spoken } from "./conversation.ts"

const overHttp = (book: Playbook) =>
  Layer.unwrap(
    Effect.map(ScriptedServer, ({ url }) => {
      const host = Host.layerTest({ env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "test" } })
      return AnthropicProvider.layer.pipe(Layer.provide([host, NodeHttpFetch.layer]))
    }),
  ).pipe(Layer.provide(ScriptedServer.layer(book)))

const summary = (error: ProviderError | undefined) =>
  error === undefined
    ? "delivered"
    : { reason: error.reason, status: error.status, retryable: error.retryable, retryAfterMs: error.retryAfterMs }

const outcome = Effect.gen(function* () {
  const provider = yield* Provider
  const events: Array<StreamEvent> = []
  const streamed = yield* provider.stream(request()).pipe(
    Stream.runForEach((event) => Effect.sync(() => void events.push(event))),
    Effect.match({ onFailure: summary, onSuccess: () => summary(undefined) }),
  )
  const whole = yield* Effect.match(provider.whole(request()), {
    onFailure: summary,
    onSuccess: ({ content, stop_reason }) => ({ content, stop_reason }),
  })
  return { text: spoken(events), count: events.length, streamed, whole }
})

const faults: ReadonlyArray<readonly [string, Fault | undefined]> = [
  ["nothing wrong", undefined],
  ["529", { status: 529 }],
  ["429 with retry-after", { status: 429, retry_after: 2 }],
  ["429 without", { status: 429 }],
  ["500", { status: 500 }],
  ["401", { status: 401 }],
  ["403", { status: 403 }],
  ["413", { status: 413 }],
  ["spent money", { spend_cap: true }],
  ["a prompt that is too long", { prompt_too_long: true }],
  ["a reset before any answer", { reset: 0 }],
  ["a reset in the middle", { reset: 4 }],
  ["torn frames", { torn: true }],
  ["a garbled event", { garbled: 3 }],
  ["an error event", { error_event: 3 }],
  ["a document instead of a stream", { not_a_stream: "json" }],
  ["a page instead of a stream", { not_a_stream: "html" }],
  ["malformed arguments", { malformed: true }],
  ["too much text", { overflow: 5000 }],
  ["slow events", { slow: 1 }],
]

describe("a playbook, in process and over HTTP", () => {
  it.live.each(faults)("is the same to a provider's user: %s", ([, fault]) =>
    Effect.gen(function* () {
      const book: Playbook = {
        rules: [
          {
            reply: [{ text: "Hällo 🙂" }, { tool: "Read", input: { a: 1 }, id: "call" }],
            ...(fault && { faults: [fault] }),
          },
        ],
      }
      const inside = yield* Effect.provide(outcome, ScriptedModel.layer(book))
      const outside = yield* Effect.provide(outcome, overHttp(book))
      assert.deepStrictEqual(outside, inside)
    }),
  )
})
