/** Owns a model of one's own, as plain async functions, behind the seam that every provider stands behind. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as ApiErrors from "../model/ApiErrors.ts"
import { Provider, ProviderError, type ProviderRequest, type WholeReply } from "../model/Provider.ts"
import { StreamEvent } from "../protocol/StreamEvent.ts"

/**
 * Whoever runs the model. Both functions do one exchange; retries, fallbacks, time limits and budgets are around them. Throw a
 * `ProviderError` to say what went wrong and whether trying again may help; anything else thrown ends the turn.
 *
 * @example
 * import { createTroupe, type ModelProvider } from "troupe/promise"
 *
 * const usage = { input_tokens: 1, output_tokens: 1 }
 * const parrot: ModelProvider = {
 *   name: "parrot",
 *   async *stream({ requestId, model }) {
 *     yield { type: "message_start", message: { id: requestId, model, usage } }
 *     yield { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }
 *     yield { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello!" } }
 *     yield { type: "content_block_stop", index: 0 }
 *     yield { type: "message_delta", delta: { stop_reason: "end_turn" }, usage }
 *     yield { type: "message_stop" }
 *   },
 *   whole: async ({ requestId, model }) =>
 *     ({ id: requestId, model, content: [{ type: "text", text: "Hello!" }], stop_reason: "end_turn", usage }),
 * }
 * export const troupe = await createTroupe({ provider: parrot })
 */
export interface ModelProvider {
  /** Who this is, for people. */
  readonly name: string
  /** The events of a streamed reply, as the Messages API spells them. The signal is aborted when nobody waits any more. */
  readonly stream: (request: ProviderRequest, signal: AbortSignal) => AsyncIterable<StreamEvent>
  /** The same in one piece, for when a stream does not get through. */
  readonly whole: (request: ProviderRequest, signal: AbortSignal) => Promise<WholeReply>
}

const isStreamEvent = Schema.is(StreamEvent)

export const layer = (provider: ModelProvider): Layer.Layer<Provider> =>
  Layer.succeed(Provider, {
    name: provider.name,
    stream: (request) =>
      Stream.unwrap(
        Effect.map(Effect.abortSignal, (signal) =>
          Stream.fromAsyncIterable(events(provider, request, signal), failure(provider.name)),
        ),
      ),
    whole: (request) =>
      Effect.tryPromise({ try: (signal) => provider.whole(request, signal), catch: failure(provider.name) }),
  })

/** What a foreign function yields is looked at before it is believed. */
async function* events(provider: ModelProvider, request: ProviderRequest, signal: AbortSignal) {
  for await (const event of provider.stream(request, signal)) {
    if (!isStreamEvent(event)) {
      const what = JSON.stringify(event)?.slice(0, 200)
      throw ApiErrors.make("malformed_stream", `The provider ${provider.name} gave something that is no event: ${what}`)
    }
    yield event
  }
}

const failure =
  (name: string) =>
  (cause: unknown): ProviderError => {
    if (cause instanceof ProviderError) return cause
    const why = cause instanceof Error ? cause.message : String(cause)
    return ApiErrors.make("invalid_request", `The provider ${name} failed: ${why}`)
  }
