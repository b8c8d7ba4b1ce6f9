/** Owns what went wrong on the way to a service or back, in words: nothing here is a refusal of the service itself. */
import { RouteError } from "../platform/HttpFetch.ts"
import * as ApiErrors from "./ApiErrors.ts"
import { TooMuch } from "./BoundedBody.ts"
import type { ProviderError } from "./Provider.ts"

/** Who was asked. */
export interface Address {
  readonly url: string
  /** The variable that says so: what to check when something is wrong with it. */
  readonly setting: string
  /** Anthropic itself rather than a gateway or a cloud. */
  readonly firstParty: boolean
}

/** No answer at all. */
export const unreachable = (error: unknown, { url, setting }: Address): ProviderError => {
  const { code, text, route } = causeOf(error)
  if (route !== undefined) return offRoute(route)
  switch (code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return ApiErrors.make(
        "connection_failed",
        `Cannot find the host of ${url} (${text}). Check ${setting} and the network.`,
      )
    case "ECONNREFUSED":
      return ApiErrors.make(
        "connection_failed",
        `Nothing accepts connections at ${url} (${text}). Check ${setting}, and that the service runs.`,
      )
    case "ECONNRESET":
    case "EPIPE":
      return ApiErrors.make("connection_lost", `${url} closed the connection without an answer (${text}).`)
  }
  if (code !== undefined && untrusted.test(code)) {
    return ApiErrors.make(
      "misconfigured",
      `The certificate of ${url} is not trusted (${text}). If a proxy of your company inspects connections, set NODE_EXTRA_CA_CERTS to a file with its certificate authority.`,
    )
  }
  return ApiErrors.make("connection_failed", `Cannot reach ${url}: ${text}. Check ${setting} and the network.`)
}

export const offRoute = ({ message, transient }: RouteError): ProviderError =>
  ApiErrors.make(transient ? "connection_failed" : "misconfigured", message)

const untrusted = /^(SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_|CERT_|ERR_TLS_CERT)/

export const timedOut = ({ url }: Address, timeoutMs: number): ProviderError =>
  ApiErrors.make("stalled", `No answer from ${url} within ${timeoutMs / 1000} s.`)

/** The answer ended before its end. */
export const lost = (error: unknown, { url, setting }: Address, what: "event" | "reply"): ProviderError => {
  const { text, cause } = causeOf(error)
  return cause instanceof TooMuch
    ? ApiErrors.make(
        "malformed_stream",
        `${url} sent ${cause.message} in one ${what}, which no model does, so the connection was closed. Check ${setting}.`,
        { retryable: false },
      )
    : ApiErrors.make("connection_lost", `The connection to ${url} was lost in the middle of the reply (${text}).`)
}

export const notAStream = (response: Response, { url }: Address): ProviderError => {
  const type = response.headers.get("content-type") ?? "no content type"
  return ApiErrors.make(
    "not_an_event_stream",
    `${url} answered ${response.status} with ${type} instead of an event stream; a proxy in between may not pass streams on.`,
    { status: response.status },
  )
}

export const garbled = (start: string, { url }: Address): ProviderError =>
  ApiErrors.make("malformed_stream", `An event from ${url} is unreadable: ${JSON.stringify(start)}.`)

export const notAReply = (response: Response, start: string, { url, setting }: Address): ProviderError =>
  ApiErrors.make(
    "not_found",
    `${url} answered ${response.status}, but not with a reply of a model: ${JSON.stringify(start)}. Check ${setting}.`,
    { status: response.status },
  )

interface Cause {
  readonly code?: string
  readonly text: string
  /** What is wrong with the way there, complete with its fix. */
  readonly route?: RouteError
  readonly cause: unknown
}

/** The first cause that has a code, for an error that never got an answer. */
export const causeOf = (error: unknown): Cause => {
  let last = "unknown error"
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth++) {
    if (cause.message !== "") last = cause.message
    if (cause instanceof RouteError) return { text: last, route: cause, cause }
    if (cause instanceof TooMuch) return { text: last, cause }
    if ("code" in cause && typeof cause.code === "string") return { code: cause.code, text: cause.code, cause }
    // Several addresses were tried: each has its own error.
    if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return causeOf(cause.errors[0])
  }
  return { text: last, cause: error }
}
