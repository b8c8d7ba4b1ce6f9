/**
 * Owns the one door to a model: a request in, a stream of typed events out. Metering, retries, watchdog and fallbacks are
 * inside, so nobody can forget them.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { BudgetExceeded } from "../kernel/Budget.ts"
import type { ContentBlock, TextBlock } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import type { StopReason, StreamEvent } from "../protocol/StreamEvent.ts"
import type { Transition } from "../protocol/Transition.ts"
import type { Usage } from "../protocol/Usage.ts"
import { ProviderError, type ToolSchema } from "./Provider.ts"

/** What somebody wants from a model. */
export interface ModelRequest {
  /** On whose account it is booked. */
  readonly agent: string
  /** A name or an alias; the model table says what it means. */
  readonly model: string
  readonly fallbackModel?: string | undefined
  /** The most that is wanted; a budget may shrink it, not under 1,024. */
  readonly maxTokens: number
  readonly system: ReadonlyArray<TextBlock>
  readonly tools: ReadonlyArray<ToolSchema>
  readonly messages: ReadonlyArray<Message>
  readonly toolChoice?: "auto" | "none" | undefined
  readonly outputConfig?: Readonly<Record<string, unknown>> | undefined
  /** What the model's own default is, unless told. */
  readonly thinking?: Readonly<Record<string, unknown>> | undefined
  /** False once something outside has been done because of this reply: from then on it must not be asked for again. */
  readonly restartable: () => boolean
}

/** What happens on the way to a reply. `Reply` is the last one, and only a stream that succeeds has it. */
export type ModelEvent = Attempt | Chunk | Block | Waiting | Abandoned | Reply

/** An attempt is about to be sent: nothing has touched the network before the consumer asks for the next event. */
export interface Attempt {
  readonly _tag: "Attempt"
  readonly requestId: string
  readonly attempt: number
  readonly model: string
  readonly maxTokens: number
  readonly streaming: boolean
  /** How many messages are sent. */
  readonly messages: number
  /** Hashes of the prompt's layers, in cache order: tools, system, messages. */
  readonly ledger: ReadonlyArray<string>
}

/** A piece of the stream, as it arrived; only for watching. */
export interface Chunk {
  readonly _tag: "Chunk"
  readonly requestId: string
  readonly event: StreamEvent
}

/** A complete block. */
export interface Block {
  readonly _tag: "Block"
  readonly requestId: string
  readonly messageId: string
  readonly model: string
  readonly index: number
  readonly block: ContentBlock
  /** The raw arguments of a tool call that are not a JSON object, or were cut off; its `input` is then `{}`. Never run it. */
  readonly malformedInput?: string
}

/** Nothing happens for a while, and why. */
export interface Waiting {
  readonly _tag: "Waiting"
  readonly requestId: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly delayMs: number
  readonly reason: string
  readonly status?: number
}

/** Everything that came for this attempt is void; `transition` names how it goes on. */
export interface Abandoned {
  readonly _tag: "Abandoned"
  readonly requestId: string
  readonly reason: string
  readonly transition: Extract<
    Transition,
    "stream_retry" | "non_streaming_fallback" | "model_fallback" | "rate_limit_wait"
  >
}

/** The reply is complete, booked and paid for. */
export interface Reply {
  readonly _tag: "Reply"
  readonly requestId: string
  readonly messageId: string
  readonly model: string
  readonly stopReason: StopReason | null
  readonly stopDetail?: string
  readonly usage: Usage
  /** `null`: nobody knows this model's price. */
  readonly costUsd: number | null
  readonly durationMs: number
}

/** No reply could be had, and trying again by itself will not help. */
export class ModelError extends Schema.TaggedError<ModelError>("troupe/model/Model/ModelError")("ModelError", {
  /** `broken_off`: the stream died when it could not be restarted any more; the complete blocks stand. */
  reason: Schema.Union([ProviderError.fields.reason, Schema.Literal("broken_off")]),
  message: Schema.String,
  model: Schema.String,
  attempts: Schema.Finite,
  requestId: Schema.optionalKey(Schema.String),
  status: Schema.optionalKey(Schema.Finite),
  /** For `broken_off`: what the part that came has used, as far as the service told. */
  usage: Schema.optionalKey(Schema.Unknown),
}) {}

export class Model extends Context.Service<
  Model,
  {
    readonly stream: (request: ModelRequest) => Stream.Stream<ModelEvent, ModelError | BudgetExceeded>
  }
>()("troupe/model/Model") {}
