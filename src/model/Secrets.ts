/** Owns keeping credentials out of what people and journals are told: services like to repeat what they were sent. */
import { ProviderError } from "./Provider.ts"

export interface Secrets {
  /** The text without them. Cut it afterwards: half a key is a secret too. */
  readonly redact: (text: string) => string
  readonly redactError: (error: ProviderError) => ProviderError
}

/** Anything shorter is a word, and would be struck out of ordinary sentences. */
const shortest = 6

const isSecretName = (name: string): boolean => /auth|key|token|secret|passw|cookie|credential|session/i.test(name)

/** Long, without spaces, and of more than letters: what nobody types by hand. */
const isSecretValue = (value: string): boolean => value.length >= 20 && /[0-9]/.test(value) && /[a-z]/i.test(value)

/** What the environment says that must not be repeated. */
export const fromEnv = (env: (name: string) => string | undefined): Secrets => {
  const url = env("ANTHROPIC_BASE_URL") ?? ""
  const password = URL.canParse(url) ? new URL(url).password : ""
  return make([
    env("ANTHROPIC_API_KEY") ?? "",
    env("ANTHROPIC_AUTH_TOKEN") ?? "",
    password,
    ...headerSecrets(env("ANTHROPIC_CUSTOM_HEADERS") ?? ""),
  ])
}

const headerSecrets = (lines: string): ReadonlyArray<string> =>
  lines.split(/\r?\n|\\n/).flatMap((line) => {
    const [name = "", ...rest] = line.split(":")
    // `Bearer …`, `a=…; b=…`: the parts are as secret as the whole.
    const parts = rest.join(":").split(/[\s;,]+/)
    return isSecretName(name)
      ? parts
          .flatMap((part) => [part, part.slice(part.indexOf("=") + 1)])
          .filter((part) => !/^(bearer|basic)$/i.test(part))
      : parts.filter(isSecretValue)
  })

export const make = (values: ReadonlyArray<string>): Secrets => {
  const spelled = values.flatMap((given) => {
    const value = given.trim()
    return value.length < shortest ? [] : [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]
  })
  // The longest first: one may be a part of another.
  const unique = [...new Set(spelled)].toSorted((a, b) => b.length - a.length)
  const redact = (text: string): string => unique.reduce((rest, secret) => rest.replaceAll(secret, "[redacted]"), text)
  const redactError = (error: ProviderError): ProviderError => {
    const message = redact(error.message)
    const id = error.serviceRequestId === undefined ? undefined : redact(error.serviceRequestId)
    if (message === error.message && id === error.serviceRequestId) return error
    const { reason, retryable, status, retryAfterMs } = error
    return new ProviderError({
      reason,
      message,
      retryable,
      ...(status !== undefined && { status }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
      ...(id !== undefined && { serviceRequestId: id }),
    })
  }
  return { redact, redactError }
}
