/**
 * Owns the seam to whoever runs the model: one HTTP exchange, streamed or whole, with typed failures.
 *
 * Retries, fallbacks, budgets and watchdogs are not here: they are `Model`, and so are the same for every provider,
 * the scripted one included.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { ContentBlock, TextBlock } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import type { StreamEvent } from "../protocol/StreamEvent.ts"

export type CacheTtl = "5m" | "1h"

/** What a model and a session ask of a plan of cache breakpoints. */
export interface CacheTerms {
  /** Fewer tokens than this are not cached by the service. */
  readonly minimum: number
  /** How long tools and system prompt are kept, and how long messages are. */
  readonly head: CacheTtl
  readonly messages: CacheTtl
}

/** A tool as the model sees it. */
export interface ToolSchema {
  readonly name: string
  readonly description: string
  readonly input_schema: Readonly<Record<string, unknown>>
  /** The service keeps it from the model until a tool reference names it. */
  readonly defer_loading?: boolean
}

/** A tool that the service runs itself, in the service's own spelling: `{ type: "web_search_20250305", name: "web_search" }`. */
export interface ServerTool {
  readonly type: string
  readonly name: string
  readonly [option: string]: unknown
}

/** One request, already resolved: a full model id, projected history, final token limit. */
export interface ProviderRequest {
  /** Sent as `x-client-request-id`; the same for every attempt of one request is not wanted: one id per attempt. */
  readonly requestId: string
  readonly model: string
  readonly maxTokens: number
  readonly system: ReadonlyArray<TextBlock>
  readonly tools: ReadonlyArray<ToolSchema>
  readonly serverTools?: ReadonlyArray<ServerTool>
  readonly messages: ReadonlyArray<Message>
  readonly toolChoice?: "auto" | "none"
  readonly thinking?: Readonly<Record<string, unknown>>
  readonly outputConfig?: Readonly<Record<string, unknown>>
  /** What its cache breakpoints are planned by. False: none, for a service that does not take them. */
  readonly caching?: CacheTerms | false
  readonly stopSequences?: ReadonlyArray<string>
  readonly betas?: ReadonlyArray<string>
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** What went wrong in one exchange. `retryable` is decided here, where the evidence is; how often, by `Model`. */
export class ProviderError extends Schema.TaggedError<ProviderError>()("ProviderError", {
  reason: Schema.Literals([
    "rate_limited",
    "spend_cap",
    "overloaded",
    "server_error",
    "connection_failed",
    "connection_lost",
    "stalled",
    "not_an_event_stream",
    "malformed_stream",
    "unauthenticated",
    "forbidden",
    "model_not_found",
    "not_found",
    "prompt_too_long",
    "request_too_large",
    "media_rejected",
    "invalid_request",
    "billing",
    "misconfigured",
  ]),
  message: Schema.String,
  retryable: Schema.Boolean,
  status: Schema.optionalKey(Schema.Finite),
  retryAfterMs: Schema.optionalKey(Schema.Finite),
  /** The service's own id for the request, for support. */
  serviceRequestId: Schema.optionalKey(Schema.String),
}) {}

/** A whole reply, from a provider that was not asked to stream. */
export interface WholeReply {
  readonly id: string
  readonly model: string
  readonly content: ReadonlyArray<ContentBlock>
  readonly stop_reason: string | null
  readonly stop_details?: Readonly<Record<string, unknown>> | null
  readonly usage: unknown
}

export class Provider extends Context.Service<
  Provider,
  {
    /** Who this is, for people: `anthropic`, `scripted`, … */
    readonly name: string
    /** Interrupting the consumer closes the connection. */
    readonly stream: (request: ProviderRequest) => Stream.Stream<StreamEvent, ProviderError>
    readonly whole: (request: ProviderRequest) => Effect.Effect<WholeReply, ProviderError>
  }
>()("troupe/model/Provider") {}
