/** Owns what can go wrong between a client and the model, as a playbook states it and as the API words it. */
import * as Schema from "effect/Schema"
import * as ApiErrors from "../model/ApiErrors.ts"
import type { ProviderError } from "../model/Provider.ts"
import { When } from "./Matcher.ts"
import { Time } from "./Timing.ts"

const Events = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Yes = Schema.Literal(true)

const kinds = {
  /** An HTTP error: 529, 500, 429, 401, … with the API's error body. */
  status: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 400, maximum: 599 }))),
  /** 400, worded as the API does, so that clients know to compact. */
  prompt_too_long: Schema.optionalKey(Yes),
  /** 429 for spent money: no `retry-after`, and retrying is pointless. */
  spend_cap: Schema.optionalKey(Yes),
  /** The socket is destroyed after n events; 0 is before any answer. */
  reset: Schema.optionalKey(Events),
  /** Nothing more comes after n events, and the connection stays open. */
  stall: Schema.optionalKey(Events),
  /** Pings at this interval for ever, and nothing else. */
  pings: Schema.optionalKey(Time),
  /** Frames arrive cut at odd byte boundaries, inside characters too. The reply is complete. */
  torn: Schema.optionalKey(Yes),
  /** 200, but a JSON document or an HTML page instead of an event stream. */
  not_a_stream: Schema.optionalKey(Schema.Literals(["json", "html"])),
  /** An event whose data is not JSON, after n good ones. */
  garbled: Schema.optionalKey(Events),
  /** An `error` event after n good ones. */
  error_event: Schema.optionalKey(Events),
  /** The arguments of the last tool call are cut in the middle. */
  malformed: Schema.optionalKey(Yes),
  /** So many characters of text are added to the reply, whatever the request's limit. */
  overflow: Schema.optionalKey(Events),
  /** This long before every event. */
  slow: Schema.optionalKey(Time),
}
const names = Object.keys(kinds)

const Shape = Schema.Struct({
  ...kinds,
  /** Seconds, for 429 and 529. */
  retry_after: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))),
  error_type: Schema.optionalKey(Schema.String),
  message: Schema.optionalKey(Schema.String),
  /** Only the first so many requests that it applies to; without it, all of them. */
  times: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** Only requests that satisfy this. */
  when: Schema.optionalKey(When),
})

export const Fault = Shape.check(
  Schema.makeFilter((fault: typeof Shape.Type) => {
    const given = Object.keys(fault).filter((key) => names.includes(key))
    return (
      given.length === 1 || `a fault has exactly one of ${names.join(", ")}; this one has ${given.join(", ") || "none"}`
    )
  }),
)
export type Fault = typeof Fault.Type

/** The name for reports and recordings: `status 529`, `reset`. */
export const nameOf = (fault: Fault): string =>
  fault.status === undefined
    ? (Object.keys(fault).find((key) => names.includes(key)) ?? "fault")
    : `status ${fault.status}`

/** A whole, valid reply reaches the client in spite of it. */
export const delivers = (fault: Fault): boolean =>
  fault.torn !== undefined || fault.malformed !== undefined || fault.overflow !== undefined || fault.slow !== undefined

/** Applies only where there is a stream to spoil; a non-streaming request is answered as usual. */
export const streamOnly = (fault: Fault): boolean => fault.not_a_stream !== undefined || fault.garbled !== undefined

/** An answer that is no reply: an HTTP status with the API's error body. */
export interface Refusal {
  readonly status: number
  readonly type: string
  readonly message: string
  /** Seconds. */
  readonly retryAfter?: number
}

const errorTypes: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  504: "timeout_error",
  529: "overloaded_error",
}

export const refusal = (status: number, message: string, extra: Partial<Refusal> = {}): Refusal => ({
  status,
  type: errorTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error"),
  message,
  ...extra,
})

/** The refusal a fault amounts to; nothing when it spoils a reply instead. */
export const refusalOf = (fault: Fault, promptTokens: number): Refusal | undefined => {
  const extra = {
    ...(fault.error_type !== undefined && { type: fault.error_type }),
    ...(fault.retry_after !== undefined && { retryAfter: fault.retry_after }),
  }
  if (fault.status !== undefined) {
    return refusal(fault.status, fault.message ?? `Scripted fault: status ${fault.status}`, extra)
  }
  if (fault.prompt_too_long !== undefined) {
    // Clients read the two numbers out of this sentence, so it is the API's own.
    const limit = Math.max(1, promptTokens - 1)
    return refusal(400, fault.message ?? `prompt is too long: ${promptTokens} tokens > ${limit} maximum`, extra)
  }
  if (fault.spend_cap !== undefined) {
    return refusal(429, fault.message ?? "You have reached your specified API usage limits (spend limit).", extra)
  }
  return undefined
}

/** What an `error` event says. It comes after the 200, so the status is only what it would have been. */
export const eventRefusal = (fault: Fault): Refusal =>
  refusal(529, fault.message ?? "Overloaded", fault.error_type === undefined ? {} : { type: fault.error_type })

export const errorBody = (refused: Refusal, requestId: string) => ({
  type: "error",
  error: { type: refused.type, message: refused.message },
  request_id: requestId,
})

/** The same refusal for a client that has no HTTP in between. */
export const providerError = (refused: Refusal, requestId: string): ProviderError =>
  ApiErrors.fromRefusal({
    status: refused.status,
    type: refused.type,
    message: refused.message,
    retryAfterMs: refused.retryAfter === undefined ? undefined : refused.retryAfter * 1000,
    serviceRequestId: requestId,
    firstParty: false,
  })

/** The status line had said 200 already, so the error of an event has none. */
export const eventError = (refused: Refusal, requestId: string): ProviderError =>
  ApiErrors.fromRefusal({
    type: refused.type,
    message: refused.message,
    serviceRequestId: requestId,
    firstParty: false,
  })
