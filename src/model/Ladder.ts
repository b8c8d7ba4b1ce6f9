/**
 * Owns the decision what to do after an attempt failed: again, again without streaming, with another model, or not at all. Pure:
 * time and chance are given.
 */
import type { ProviderError } from "./Provider.ts"

/** Where one stands on the ladder. */
export interface Rung {
  /** Counts from 1, anew for a fallback model. */
  readonly attempt: number
  readonly streaming: boolean
  /** How often in a row the service said that it is overloaded. */
  readonly overloaded: number
  /** How many streams died after they had begun, or were none. */
  readonly deaths: number
  /** All thinking is left out, because the service did not accept it. */
  readonly withoutThinking: boolean
}

export const first: Rung = { attempt: 1, streaming: true, overloaded: 0, deaths: 0, withoutThinking: false }

/** What else is known. */
export interface Situation {
  readonly maxAttempts: number
  /** Another model may be asked, and has not been yet. */
  readonly hasFallback: boolean
  /** 0 ≤ chance < 1 */
  readonly chance: number
}

export type Step =
  | { readonly _tag: "GiveUp"; readonly why?: string }
  | {
      readonly _tag: "Again"
      readonly rung: Rung
      readonly transition: "stream_retry" | "non_streaming_fallback" | "model_fallback" | "rate_limit_wait"
      readonly delayMs: number
    }

const firstDelay = 500
const longestDelay = 32_000
/** Nobody wants to look at a spinner for longer; a limit that lasts for hours is an error with a date in it. */
const patience = 15 * 60_000
const overloadsUntilFallback = 3
const deathsUntilWhole = 2
/** Where nobody answers at all the address is probably wrong, and the person should hear that soon. */
const callsToNobody = 5

/** The stream had begun and did not come to its end. */
const isDeath = (error: ProviderError) =>
  error.reason === "connection_lost" || error.reason === "stalled" || error.reason === "malformed_stream"

export const next = (rung: Rung, error: ProviderError, situation: Situation): Step => {
  const overloaded = error.reason === "overloaded" ? rung.overloaded + 1 : 0
  const deaths = rung.deaths + (rung.streaming && isDeath(error) ? 1 : 0)
  const after = { ...rung, attempt: rung.attempt + 1, overloaded, deaths }
  const mayGoOn = rung.attempt < situation.maxAttempts

  if (isRefusedThinking(error) && !rung.withoutThinking && mayGoOn) {
    return { _tag: "Again", rung: { ...after, withoutThinking: true }, transition: "stream_retry", delayMs: 0 }
  }
  if (!error.retryable) return { _tag: "GiveUp" }
  if (overloaded >= overloadsUntilFallback && situation.hasFallback) {
    return {
      _tag: "Again",
      rung: { ...after, attempt: 1, overloaded: 0 },
      transition: "model_fallback",
      delayMs: 0,
    }
  }
  if (!mayGoOn || (error.reason === "connection_failed" && rung.attempt >= callsToNobody))
    return { _tag: "GiveUp", why: `Gave up after ${rung.attempt} attempts.` }
  if (error.retryAfterMs !== undefined && error.retryAfterMs > patience) {
    return { _tag: "GiveUp", why: `The service asks to wait ${Math.ceil(error.retryAfterMs / 60_000)} minutes.` }
  }
  if (rung.streaming && error.reason === "not_an_event_stream") {
    return { _tag: "Again", rung: { ...after, streaming: false }, transition: "non_streaming_fallback", delayMs: 0 }
  }
  const delayMs = error.retryAfterMs ?? backoff(rung.attempt, situation.chance)
  if (rung.streaming && deaths >= deathsUntilWhole) {
    return { _tag: "Again", rung: { ...after, streaming: false }, transition: "non_streaming_fallback", delayMs }
  }
  const transition = error.reason === "rate_limited" ? "rate_limit_wait" : "stream_retry"
  return { _tag: "Again", rung: after, transition, delayMs }
}

/** Doubles from half a second, and varies by a quarter so that many who failed together do not come back together. */
const backoff = (attempt: number, chance: number): number =>
  Math.round(Math.min(longestDelay, firstDelay * 2 ** (attempt - 1)) * (0.75 + chance / 2))

/** A signature that this model or account does not accept: history from elsewhere. */
const isRefusedThinking = (error: ProviderError): boolean =>
  error.reason === "invalid_request" && /thinking|signature/i.test(error.message)
