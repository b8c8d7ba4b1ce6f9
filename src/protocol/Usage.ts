/** Owns what a reply consumed, in the API's spelling. */
import * as Schema from "effect/Schema"

const Count = Schema.Finite

export const Usage = Schema.Struct({
  input_tokens: Count,
  output_tokens: Count,
  cache_creation_input_tokens: Count,
  cache_read_input_tokens: Count,
  /** How much of the cache writes goes to the 1-hour cache (dearer); the rest is the 5-minute one. */
  cache_creation_1h_input_tokens: Schema.optionalKey(Count),
  web_search_requests: Schema.optionalKey(Count),
  speed: Schema.optionalKey(Schema.String),
})
export type Usage = typeof Usage.Type

export const none: Usage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
}

export const add = (a: Usage, b: Usage): Usage => {
  const hour = (a.cache_creation_1h_input_tokens ?? 0) + (b.cache_creation_1h_input_tokens ?? 0)
  const searches = (a.web_search_requests ?? 0) + (b.web_search_requests ?? 0)
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    cache_creation_input_tokens: a.cache_creation_input_tokens + b.cache_creation_input_tokens,
    cache_read_input_tokens: a.cache_read_input_tokens + b.cache_read_input_tokens,
    ...(hour > 0 && { cache_creation_1h_input_tokens: hour }),
    ...(searches > 0 && { web_search_requests: searches }),
  }
}

/** Everything the model read for a reply, cached or not. */
export const promptTokens = (usage: Usage): number =>
  usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
