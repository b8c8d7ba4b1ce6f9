/** Owns what the Messages API's refusals mean: its error types, statuses and wording made into reasons, with the fix named. */
import * as Schema from "effect/Schema"
import * as CloudErrors from "./CloudErrors.ts"
import { ProviderError } from "./Provider.ts"

type Reason = ProviderError["reason"]

/** What is known about a refusal. */
export interface Refusal {
  readonly status?: number | undefined
  /** The API's own `error.type`. */
  readonly type?: string | undefined
  readonly message: string
  readonly retryAfterMs?: number | undefined
  readonly serviceRequestId?: string | undefined
  /** The service itself rather than a gateway: only there does a 429 without `retry-after` mean spent money. */
  readonly firstParty: boolean
  readonly url?: string | undefined
  /** What to do about it with this service, where that is not what one does with Anthropic's own. */
  readonly fixes?: Fixes | undefined
}

/** Whether a word is one of them. */
export const isReason = Schema.is(ProviderError.fields.reason)

export type Fixes = { readonly [R in Reason]?: string }

const byType: Readonly<Record<string, Reason>> = {
  authentication_error: "unauthenticated",
  billing_error: "billing",
  permission_error: "forbidden",
  request_too_large: "request_too_large",
  rate_limit_error: "rate_limited",
  overloaded_error: "overloaded",
  api_error: "server_error",
  timeout_error: "server_error",
  ...CloudErrors.reasons,
}

const byStatus: Readonly<Record<number, Reason>> = {
  401: "unauthenticated",
  402: "billing",
  403: "forbidden",
  407: "misconfigured",
  408: "server_error",
  409: "server_error",
  413: "request_too_large",
  429: "rate_limited",
  529: "overloaded",
}

const retryable: ReadonlySet<Reason> = new Set<Reason>([
  "rate_limited",
  "overloaded",
  "server_error",
  "connection_failed",
  "connection_lost",
  "stalled",
  "malformed_stream",
  "not_an_event_stream",
])

export const fromRefusal = (refusal: Refusal): ProviderError => {
  const reason = reasonOf(refusal)
  const fix = refusal.fixes?.[reason] ?? fixes[reason]?.(refusal)
  return make(reason, fix === undefined ? said(refusal) : `${said(refusal)} ${fix}`, {
    status: refusal.status,
    retryAfterMs: refusal.retryAfterMs,
    serviceRequestId: refusal.serviceRequestId,
  })
}

/** An error of a reason, retryable if errors of that reason are. */
export const make = (
  reason: Reason,
  message: string,
  facts: {
    readonly status?: number | undefined
    readonly retryAfterMs?: number | undefined
    readonly serviceRequestId?: string | undefined
    /** Where more is known than the reason says. */
    readonly retryable?: boolean | undefined
  } = {},
): ProviderError =>
  new ProviderError({
    reason,
    message,
    retryable: facts.retryable ?? retryable.has(reason),
    ...(facts.status !== undefined && { status: facts.status }),
    ...(facts.retryAfterMs !== undefined && { retryAfterMs: facts.retryAfterMs }),
    ...(facts.serviceRequestId !== undefined && { serviceRequestId: facts.serviceRequestId }),
  })

const reasonOf = (refusal: Refusal): Reason => {
  const { status, type, message } = refusal
  if (/prompt is too long|input is too long for|input length and `?max_tokens`? exceed/i.test(message))
    return "prompt_too_long"
  if (!refusal.firstParty && CloudErrors.isUnknownModel(message)) return "model_not_found"
  if (status === 404 || type === "not_found_error") return notFound(refusal)
  const reason = (type !== undefined && byType[type]) || (status !== undefined && byStatus[status]) || undefined
  if (reason === "rate_limited") {
    // Only the service's own 429 always says when to come back, unless it is about money.
    const spent = /usage limits|spend/i.test(message) || (refusal.firstParty && status === 429)
    return spent && refusal.retryAfterMs === undefined ? "spend_cap" : reason
  }
  if (reason !== undefined) return reason
  if (status !== undefined && status >= 500) return "server_error"
  if (status !== undefined && status >= 300 && status < 400) return "misconfigured"
  if (/credit balance/i.test(message)) return "billing"
  if (/\b(image|pdf|document|media)\b/i.test(message) && !/tool/i.test(message)) return "media_rejected"
  return "invalid_request"
}

/** The API's 404 speaks about the model; one without its error body comes from something that is not the API. */
const notFound = ({ type, message }: Refusal): Reason =>
  type === "not_found_error" && /^\s*model\b/i.test(message) ? "model_not_found" : "not_found"

const said = ({ status, message }: Refusal): string =>
  `The model service ${status === undefined ? "reported an error" : `answered ${status}`}: ${bounded(message)}`

const bounded = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim() || "(no message)"
  const cut = line.length > 500 ? `${line.slice(0, 500)}…` : line
  return /[.!?…]$/.test(cut) ? cut : `${cut}.`
}

const fixes: { readonly [R in Reason]?: (refusal: Refusal) => string } = {
  unauthenticated: () =>
    "The API key or token was not accepted: check ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN), and that it belongs to the service at ANTHROPIC_BASE_URL.",
  forbidden: () => "This key may not do that: check the permissions of its workspace.",
  billing: () => "Check the plan and the credit balance of the account.",
  spend_cap: () =>
    "The account's spending limit is reached, so trying again does not help: raise it or wait for its reset.",
  not_found: ({ url }) => `Is ${url ?? "the address"} a Messages API? Check ANTHROPIC_BASE_URL.`,
  misconfigured: ({ url, status }) =>
    status === 407
      ? "The proxy wants credentials: write http://user:password@host:port into HTTP_PROXY."
      : `${url ?? "The address"} redirects elsewhere: set ANTHROPIC_BASE_URL to where it leads.`,
  request_too_large: () =>
    "The request is too large as a whole: remove images or documents, or compact the conversation.",
}
