/** Owns usage and messages with every field that the API's types have: clients read them without asking whether they are there. */
import type { StreamEvent, WireUsage } from "../protocol/StreamEvent.ts"
import type { Usage } from "../protocol/Usage.ts"

/** Nobody said anything about these. */
const unsaid = {
  fallback_credit: null,
  inference_geo: null,
  iterations: null,
  output_tokens_details: null,
  service_tier: null,
} as const

/** What a reply said of itself so far. */
export const ofReply = (usage: WireUsage = {}) => ({
  ...unsaid,
  speed: usage.speed ?? null,
  cache_creation:
    usage.cache_creation == null
      ? null
      : {
          ephemeral_5m_input_tokens: usage.cache_creation.ephemeral_5m_input_tokens ?? 0,
          ephemeral_1h_input_tokens: usage.cache_creation.ephemeral_1h_input_tokens ?? 0,
        },
  server_tool_use:
    usage.server_tool_use == null
      ? null
      : { web_search_requests: usage.server_tool_use.web_search_requests ?? 0, web_fetch_requests: 0 },
  input_tokens: usage.input_tokens ?? 0,
  output_tokens: usage.output_tokens ?? 0,
  cache_creation_input_tokens: usage.cache_creation_input_tokens ?? 0,
  cache_read_input_tokens: usage.cache_read_input_tokens ?? 0,
})

/** What a turn used, with the two caches apart. */
export const ofTurn = (usage: Usage) => ({
  input_tokens: usage.input_tokens,
  output_tokens: usage.output_tokens,
  cache_creation_input_tokens: usage.cache_creation_input_tokens,
  cache_read_input_tokens: usage.cache_read_input_tokens,
  cache_creation: {
    ephemeral_5m_input_tokens: usage.cache_creation_input_tokens - (usage.cache_creation_1h_input_tokens ?? 0),
    ephemeral_1h_input_tokens: usage.cache_creation_1h_input_tokens ?? 0,
  },
  server_tool_use: { web_search_requests: usage.web_search_requests ?? 0, web_fetch_requests: 0 },
  service_tier: "standard",
  speed: "standard",
  inference_geo: "",
  iterations: [],
  output_tokens_details: { thinking_tokens: 0 },
  fallback_credit: null,
})

/** A message in the middle of being said: what is not known yet is `null`. */
export const unfinished = {
  type: "message",
  role: "assistant",
  stop_reason: null,
  stop_sequence: null,
  stop_details: null,
  container: null,
  context_management: null,
  diagnostics: null,
} as const

/** An event of the stream as the API sends it; ours keeps only what we read. */
export const streamed = (
  event: StreamEvent,
): { readonly type: StreamEvent["type"]; readonly [field: string]: unknown } => {
  if (event.type === "message_start") {
    return {
      ...event,
      message: { ...unfinished, content: [], ...event.message, usage: ofReply(event.message.usage ?? {}) },
    }
  }
  if (event.type !== "message_delta") return event
  return { ...event, delta: { container: null, stop_details: null, ...event.delta } }
}
