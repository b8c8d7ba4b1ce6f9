/** Owns what the environment says to every provider alike: headers, betas, patience, switches, addresses. */
import * as Effect from "effect/Effect"
import * as ApiErrors from "./ApiErrors.ts"
import type { ProviderError } from "./Provider.ts"

export type Env = (name: string) => string | undefined

/** A switch as people set them: `1`, `true`, `yes`, `on`. */
export const isOn = (value: string | undefined): boolean => /^(1|true|yes|on)$/i.test(value?.trim() ?? "")

export const timeoutMs = (env: Env): number => {
  const timeout = Number(env("API_TIMEOUT_MS") ?? Number.NaN)
  return timeout > 0 ? timeout : 600_000
}

export const betas = (env: Env): ReadonlyArray<string> =>
  (env("ANTHROPIC_BETAS") ?? "").split(",").flatMap((beta) => beta.trim() || [])

export const misconfigured = (message: string): Effect.Effect<never, ProviderError> =>
  Effect.fail(ApiErrors.make("misconfigured", message))

/** The address that a variable states, if it states one. */
export const address = (
  env: Env,
  setting: string,
  example: string,
): Effect.Effect<string | undefined, ProviderError> => {
  const value = env(setting)
  if (value === undefined || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))) {
    return Effect.succeed(value)
  }
  return misconfigured(
    `${setting} is not an http(s) address: ${JSON.stringify(value)}. Set it to something like ${example}, or unset it.`,
  )
}

/** `Name: value`, one per line. */
export const customHeaders = (env: Env): Effect.Effect<Readonly<Record<string, string>>, ProviderError> => {
  const headers: Record<string, string> = {}
  for (const [index, line] of (env("ANTHROPIC_CUSTOM_HEADERS") ?? "").split(/\r?\n|\\n/).entries()) {
    if (line.trim() === "") continue
    const [, name, value] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*?)\s*$/.exec(line) ?? []
    if (name === undefined || value === undefined) {
      // Not quoted: it may be a credential that lacks its name.
      return misconfigured(
        `ANTHROPIC_CUSTOM_HEADERS has a line that is no header, line ${index + 1}. Write "Name: value", one per line.`,
      )
    }
    headers[name.toLowerCase()] = value
  }
  return Effect.succeed(headers)
}
