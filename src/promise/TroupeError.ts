/** Owns the errors that promises are rejected with: an `Error` with a `code`, made from whatever went wrong inside. */
import * as Cause from "effect/Cause"

const codes = {
  ActorDown: "agent_down",
  BadOutputSchema: "bad_output_schema",
  BadSessionId: "bad_session_id",
  JournalError: "journal",
  NoOutput: "no_output",
  PlaybookError: "playbook",
  RewindRefused: "rewind_refused",
  SessionBusy: "session_busy",
  SessionNotFound: "session_not_found",
  SessionElsewhere: "session_elsewhere",
  SettingsError: "settings",
} as const

/**
 * What a `TroupeError` is about. `aborted`: the caller's signal. `closed`: the agent or its troupe was closed. `bad_tool`: a
 * tool's definition cannot be used. `internal`: a bug of ours. The others are named in their message.
 */
export type TroupeErrorCode = (typeof codes)[keyof typeof codes] | "aborted" | "bad_tool" | "closed" | "internal"

/**
 * Every rejection of `troupe/promise`. `code` is for programs, `message` for people: it says what to do. `cause` is the error
 * underneath.
 *
 * @example
 * import { createTroupe, TroupeError } from "troupe/promise"
 *
 * await using troupe = await createTroupe()
 * try {
 *   await troupe.resume("00000000-0000-4000-8000-000000000000")
 * } catch (error) {
 *   if (error instanceof TroupeError && error.code === "session_not_found") await troupe.open()
 *   else throw error
 * }
 */
export class TroupeError extends Error {
  readonly code: TroupeErrorCode
  constructor(code: TroupeErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    // What the platform calls it too, so that whoever handles aborts anywhere handles this one.
    this.name = code === "aborted" ? "AbortError" : "TroupeError"
  }
}

export const aborted = (signal: AbortSignal): TroupeError =>
  new TroupeError("aborted", "The signal was aborted, and the turn with it.", signal.reason)

export const closed = (what: string): TroupeError =>
  new TroupeError("closed", `${what} is closed. Open a new one to go on; sessions stay on disk and can be resumed.`)

/** The error for a failure, a defect or an interruption; `what` was worked with. */
export const fromCause = (cause: Cause.Cause<unknown>, what: string): TroupeError => {
  if (Cause.hasInterruptsOnly(cause)) return closed(what)
  return from(Cause.squash(cause))
}

const isKnown = (tag: unknown): tag is keyof typeof codes => typeof tag === "string" && Object.hasOwn(codes, tag)

const from = (error: unknown): TroupeError => {
  if (error instanceof TroupeError) return error
  if (!(error instanceof Error)) return new TroupeError("internal", String(error), error)
  const tag = "_tag" in error ? error._tag : undefined
  return new TroupeError(isKnown(tag) ? codes[tag] : "internal", error.message, error)
}
