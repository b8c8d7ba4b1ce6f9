/** Owns keeping credentials out of what people and journals are told: services like to repeat what they were sent. */
import { ProviderError } from "./Provider.ts"

export interface Secrets {
  /** The text without them. Cut it afterwards: half a key is a secret too. */
  readonly redact: (text: string) => string
  readonly redactError: (error: ProviderError) => ProviderError
  /** One that became known only now. */
  readonly learn: (value: string) => void
}

/** Anything shorter is a word, and would be struck out of ordinary sentences. */
const shortest = 6

const isSecretName = (name: string): boolean => /auth|key|token|secret|passw|cookie|credential|session/i.test(name)

/** Long, without spaces, and of more than letters: what nobody types by hand. */
const isSecretValue = (value: string): boolean => value.length >= 20 && /[0-9]/.test(value) && /[a-z]/i.test(value)

/** What the environment says that must not be repeated. */
export const fromEnv = (env: (name: string) => string | undefined): Secrets => {
  return make([
    ...named.map((name) => env(name) ?? ""),
    ...addresses.flatMap((name) => [env(name), env(name.toLowerCase())]).map(passwordOf),
    ...headerSecrets(env("ANTHROPIC_CUSTOM_HEADERS") ?? ""),
  ])
}

const named = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "AWS_BEARER_TOKEN_BEDROCK",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "ANTHROPIC_FOUNDRY_API_KEY",
  "ANTHROPIC_FOUNDRY_AUTH_TOKEN",
  "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
]

const addresses = [
  "ANTHROPIC_BASE_URL",
  "ANTHROPIC_BEDROCK_BASE_URL",
  "ANTHROPIC_VERTEX_BASE_URL",
  "ANTHROPIC_FOUNDRY_BASE_URL",
  "HTTPS_PROXY",
  "HTTP_PROXY",
]

const passwordOf = (url: string = ""): string => (URL.canParse(url) ? new URL(url).password : "")

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
  let unique: ReadonlyArray<string> = []
  const learn = (given: string): void => {
    const value = given.trim()
    if (value.length < shortest) return
    const spelled = [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]
    // The longest first: one may be a part of another.
    unique = [...new Set([...unique, ...spelled])].toSorted((a, b) => b.length - a.length)
  }
  for (const value of values) learn(value)
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
  return { redact, redactError, learn }
}
