/** Owns how long the model seam waits and how often it tries, as the environment may change it. */

export interface Patience {
  readonly maxAttempts: number
  /** Without a byte: say so, then give up. */
  readonly warnAfterMs: number
  readonly abortAfterMs: number
  /** With nothing but pings. */
  readonly idleAfterMs: number
  /** For a reply that comes in one piece. */
  readonly wholeAfterMs: number
}

export const fromEnv = (env: (name: string) => string | undefined): Patience => {
  const number = (name: string, standard: number) => {
    const value = Number(env(name) ?? Number.NaN)
    return value >= 0 ? value : standard
  }
  return {
    maxAttempts: 1 + Math.min(15, Math.floor(number("CLAUDE_CODE_MAX_RETRIES", 10))),
    warnAfterMs: 45_000,
    abortAfterMs: 90_000,
    idleAfterMs: Math.max(300_000, number("CLAUDE_STREAM_IDLE_TIMEOUT_MS", 300_000)),
    wholeAfterMs: number("API_TIMEOUT_MS", 600_000) || 600_000,
  }
}
