/** Owns what is told on the way to a reply, of each attempt from before it is sent to its end. */
import type { ContentBlock } from "../protocol/Content.ts"
import type { StopReason, StreamEvent } from "../protocol/StreamEvent.ts"
import type { Transition } from "../protocol/Transition.ts"
import type { Usage } from "../protocol/Usage.ts"
import type * as Ledger from "./Ledger.ts"
import type { CacheTerms } from "./Provider.ts"

/**
 * What happens on the way to a reply. Each `Attempt` ends with one `Abandoned`, with the `Reply`, or with the failure of the
 * stream; the `Reply` is the last event, and only a stream that succeeds has it.
 */
export type ModelEvent = Attempt | Chunk | Block | Waiting | Abandoned | Stalling | Reply

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
  /** The prompt's layers in cache order, and up to where of the messages: a name and a hash each (see `Ledger`). */
  readonly ledger: ReadonlyArray<string>
  /** What the layers before the messages say. */
  readonly segments: ReadonlyArray<Ledger.Segment>
  /** How long the service is asked to keep tools and system, and messages; absent: it is not asked to. */
  readonly cacheTtl?: Pick<CacheTerms, "head" | "messages">
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
  /** The same for people: what happened, and where. */
  readonly detail?: string
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
  /** What it has used all the same, as far as that is known. It is booked. */
  readonly usage?: Usage
  readonly costUsd?: number | null
}

/** Nothing has come for a while; soon the attempt is given up. */
export interface Stalling {
  readonly _tag: "Stalling"
  readonly requestId: string
  readonly quietMs: number
  readonly abortAfterMs: number
}

/** The reply is complete. It is booked when the stream ends; until then what was put aside for it stays so. */
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
