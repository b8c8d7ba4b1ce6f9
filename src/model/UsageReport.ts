/** Owns what the service's own figures are worth: they come from outside, and a budget and a price are reckoned from them. */
import type { WireUsage } from "../protocol/StreamEvent.ts"
import type { Usage } from "../protocol/Usage.ts"

/** No window of any model is near; more is a mistake of somebody, and so is less than nothing. */
const most = 100_000_000

const isCount = (value: number): boolean => value >= 0 && value <= most

/** The figures so far with the new ones over them; those that cannot be are left out. */
export const over = (before: Usage, usage: WireUsage): Usage => {
  const figure = (value: number | null | undefined, known: number): number =>
    typeof value === "number" && isCount(value) ? Math.ceil(value) : known
  const hour = figure(usage.cache_creation?.ephemeral_1h_input_tokens, before.cache_creation_1h_input_tokens ?? 0)
  const searches = figure(usage.server_tool_use?.web_search_requests, before.web_search_requests ?? 0)
  const speed = usage.speed ?? before.speed
  return {
    input_tokens: figure(usage.input_tokens, before.input_tokens),
    output_tokens: figure(usage.output_tokens, before.output_tokens),
    cache_creation_input_tokens: figure(usage.cache_creation_input_tokens, before.cache_creation_input_tokens),
    cache_read_input_tokens: figure(usage.cache_read_input_tokens, before.cache_read_input_tokens),
    ...(hour > 0 && { cache_creation_1h_input_tokens: hour }),
    ...(searches > 0 && { web_search_requests: searches }),
    ...(speed !== undefined && { speed }),
  }
}

/** It says something about the reply's length that cannot be. */
export const isDoubtful = ({ output_tokens }: WireUsage): boolean =>
  typeof output_tokens === "number" && !isCount(output_tokens)
