/** Owns the events of a streamed reply, as the Messages API spells them and as `stream_event` lines repeat them. */
import * as Schema from "effect/Schema"

/** Usage as it arrives: every field may be absent or null, and more may come. */
export const WireUsage = Schema.Struct({
  input_tokens: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  output_tokens: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  cache_creation_input_tokens: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  cache_read_input_tokens: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  cache_creation: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        ephemeral_5m_input_tokens: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
        ephemeral_1h_input_tokens: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
      }),
    ),
  ),
  server_tool_use: Schema.optionalKey(
    Schema.NullOr(Schema.Struct({ web_search_requests: Schema.optionalKey(Schema.NullOr(Schema.Finite)) })),
  ),
  speed: Schema.optionalKey(Schema.NullOr(Schema.String)),
})
export type WireUsage = typeof WireUsage.Type

export const StopReason = Schema.Literals([
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "pause_turn",
  "refusal",
  "model_context_window_exceeded",
])
export type StopReason = typeof StopReason.Type

const MessageStart = Schema.Struct({
  type: Schema.Literal("message_start"),
  message: Schema.Struct({
    id: Schema.String,
    model: Schema.String,
    usage: Schema.optionalKey(Schema.NullOr(WireUsage)),
  }),
})

const ContentBlockStart = Schema.Struct({
  type: Schema.Literal("content_block_start"),
  index: Schema.Finite,
  content_block: Schema.Record(Schema.String, Schema.Unknown),
})

const Delta = Schema.Union([
  Schema.Struct({ type: Schema.Literal("text_delta"), text: Schema.String }),
  Schema.Struct({ type: Schema.Literal("input_json_delta"), partial_json: Schema.String }),
  Schema.Struct({ type: Schema.Literal("thinking_delta"), thinking: Schema.String }),
  Schema.Struct({ type: Schema.Literal("signature_delta"), signature: Schema.String }),
  Schema.Struct({ type: Schema.Literal("citations_delta"), citation: Schema.Unknown }),
])

const ContentBlockDelta = Schema.Struct({
  type: Schema.Literal("content_block_delta"),
  index: Schema.Finite,
  delta: Delta,
})

const ContentBlockStop = Schema.Struct({ type: Schema.Literal("content_block_stop"), index: Schema.Finite })

const MessageDelta = Schema.Struct({
  type: Schema.Literal("message_delta"),
  delta: Schema.Struct({
    stop_reason: Schema.optionalKey(Schema.NullOr(Schema.String)),
    stop_sequence: Schema.optionalKey(Schema.NullOr(Schema.String)),
    stop_details: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
  }),
  usage: Schema.optionalKey(Schema.NullOr(WireUsage)),
})

const MessageStop = Schema.Struct({ type: Schema.Literal("message_stop") })
const Ping = Schema.Struct({ type: Schema.Literal("ping") })
const StreamError = Schema.Struct({
  type: Schema.Literal("error"),
  error: Schema.Struct({ type: Schema.String, message: Schema.String }),
})

export const StreamEvent = Schema.Union([
  ContentBlockDelta,
  ContentBlockStart,
  ContentBlockStop,
  MessageStart,
  MessageDelta,
  MessageStop,
  Ping,
  StreamError,
])
export type StreamEvent = typeof StreamEvent.Type
