/** Owns the names of every way a turn goes on instead of ending. Tests assert which one fired. */
import * as Schema from "effect/Schema"

export const Transition = Schema.Literals([
  /** Tools answered: ask the model again. */
  "next_turn",
  /** The stream died and nothing of the reply had started: the same request again. */
  "stream_retry",
  /** The stream died after a tool of the reply had started: keep the complete blocks and go on from there. */
  "stream_sealed",
  "non_streaming_fallback",
  "collapse_drain_retry",
  "reactive_compact_retry",
  /** The reply hit the small output slot: the same request with the large one. */
  "max_output_tokens_escalate",
  /** The reply hit the large slot too: keep what arrived and ask the model to continue in smaller pieces. */
  "max_output_tokens_recovery",
  "stop_hook_blocking",
  "token_budget_continuation",
  "pause_turn_continue",
  "model_fallback",
  "rate_limit_wait",
  /** A person's new message ended the running work and is answered next. */
  "submit_interrupt",
])
export type Transition = typeof Transition.Type
