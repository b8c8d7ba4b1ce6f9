/** Owns every way a turn can end: one table of reason, result subtype and exit code. */
import * as Schema from "effect/Schema"

interface Ending {
  readonly subtype:
    | "success"
    | "error_max_turns"
    | "error_during_execution"
    | "error_max_budget_usd"
    | "error_max_structured_output_retries"
  /** What `troupe -p` exits with. */
  readonly exitCode: number
  readonly says: string
}

const ending = (subtype: Ending["subtype"], exitCode: number, says: string): Ending => ({ subtype, exitCode, says })

/** Exit codes: 0 done, 1 failed, 3 a limit was reached, 4 the model refused, 130 interrupted. (2 is bad usage, 143 SIGTERM.) */
export const endings = {
  completed: ending("success", 0, "the model finished"),
  max_turns: ending("error_max_turns", 3, "the turn limit was reached"),
  budget_exhausted: ending("error_max_budget_usd", 3, "the budget was spent"),
  deadline: ending("error_during_execution", 3, "the time budget ran out"),
  structured_output_retry_exhausted: ending(
    "error_max_structured_output_retries",
    1,
    "the model gave no output that fits the schema",
  ),
  refusal: ending("error_during_execution", 4, "the model declined to answer"),
  aborted_streaming: ending("error_during_execution", 130, "interrupted while the model was answering"),
  aborted_tools: ending("error_during_execution", 130, "interrupted while tools were running"),
  prompt_too_long: ending("error_during_execution", 1, "the conversation no longer fits the model's window"),
  blocking_limit: ending("error_during_execution", 1, "the context is too full to go on"),
  rapid_refill_breaker: ending("error_during_execution", 1, "the context kept filling up right after compaction"),
  image_error: ending("error_during_execution", 1, "an image or document was not accepted"),
  model_error: ending("error_during_execution", 1, "the model's reply could not be used"),
  api_error: ending("error_during_execution", 1, "the model service refused or failed"),
  malformed_tool_use_exhausted: ending("error_during_execution", 1, "the model kept sending unreadable tool calls"),
  repetition_stopped: ending("error_during_execution", 1, "the model kept repeating itself"),
  hook_stopped: ending("success", 0, "a hook ended the turn"),
  stop_hook_prevented: ending("success", 0, "a stop hook kept the turn from going on"),
  tool_deferred: ending("success", 0, "a tool call was handed to the caller"),
  tool_deferred_unavailable: ending("error_during_execution", 1, "a deferred tool call could not be continued"),
  background_requested: ending("success", 0, "the turn was moved to the background"),
  turn_setup_failed: ending("error_during_execution", 1, "the turn could not be prepared"),
  session_failed: ending("error_during_execution", 1, "the session failed"),
} as const satisfies Record<string, Ending>

export type TerminalReason = keyof typeof endings

const isReason = (name: string): name is TerminalReason => Object.hasOwn(endings, name)
export const reasons: ReadonlyArray<TerminalReason> = Object.keys(endings).filter(isReason)

/** How a turn ended. `detail` says what happened in words a person can act on. */
export const Terminal = Schema.Struct({
  reason: Schema.Literals(reasons),
  detail: Schema.optionalKey(Schema.String),
  /** Where the service failed: in which way. */
  error: Schema.optionalKey(Schema.String),
})
export type Terminal = typeof Terminal.Type

export const isError = (terminal: Terminal): boolean => endings[terminal.reason].subtype !== "success"
export const exitCode = (terminal: Terminal): number => endings[terminal.reason].exitCode
export const subtype = (terminal: Terminal): Ending["subtype"] => endings[terminal.reason].subtype
