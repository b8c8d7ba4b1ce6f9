/**
 * Owns the way to Anthropic's Messages API, or a gateway that speaks it, through the official SDK: credentials and address
 * from the environment, one HTTP exchange per call, raw events. The SDK is loaded at the first request.
 */
import type { BaseAnthropic } from "@anthropic-ai/sdk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Host } from "../platform/Host.ts"
import { HttpFetch } from "../platform/HttpFetch.ts"
import { ContentBlock } from "../protocol/Content.ts"
import type { StreamEvent } from "../protocol/StreamEvent.ts"
import * as Body from "./AnthropicBody.ts"
import * as ApiErrors from "./ApiErrors.ts"
import * as BoundedBody from "./BoundedBody.ts"
import { Provider, type ProviderError, type ProviderRequest } from "./Provider.ts"
import * as Secrets from "./Secrets.ts"
import * as WireEvents from "./WireEvents.ts"

const home = "https://api.anthropic.com"
const path = "/v1/messages"

/** Far more than the largest that a model or the service itself sends. */
const largestReply = 64 * BoundedBody.mega
const largestEvent = 16 * BoundedBody.mega
/** What of an error page is read at all. */
const largestRefusal = BoundedBody.mega

/** What the environment says about the service. */
interface Access {
  readonly baseURL: string
  readonly firstParty: boolean
  readonly credential: { readonly authToken: string } | { readonly apiKey: string }
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
}

type Env = (name: string) => string | undefined

const accessFrom = (env: Env): Access | ProviderError => {
  const baseURL = env("ANTHROPIC_BASE_URL") ?? home
  if (!URL.canParse(baseURL) || !/^https?:$/.test(new URL(baseURL).protocol)) {
    return ApiErrors.make(
      "misconfigured",
      `ANTHROPIC_BASE_URL is not an http(s) address: ${JSON.stringify(baseURL)}. Set it to something like ${home}, or unset it.`,
    )
  }
  const authToken = env("ANTHROPIC_AUTH_TOKEN")
  const apiKey = env("ANTHROPIC_API_KEY")
  const headers = customHeaders(env("ANTHROPIC_CUSTOM_HEADERS"))
  if (typeof headers === "string") return ApiErrors.make("misconfigured", headers)
  if (authToken === undefined && apiKey === undefined) {
    return ApiErrors.make(
      "unauthenticated",
      "No credentials for the model service. Set ANTHROPIC_API_KEY to a key from console.anthropic.com (or ANTHROPIC_AUTH_TOKEN for a gateway).",
    )
  }
  const timeout = Number(env("API_TIMEOUT_MS") ?? Number.NaN)
  return {
    baseURL,
    firstParty: new URL(baseURL).hostname === new URL(home).hostname,
    credential: authToken === undefined ? { apiKey: apiKey ?? "" } : { authToken },
    headers,
    timeoutMs: timeout > 0 ? timeout : 600_000,
  }
}

/** `Name: value`, one per line. */
const customHeaders = (text: string | undefined): Readonly<Record<string, string>> | string => {
  const headers: Record<string, string> = {}
  for (const [index, line] of (text ?? "").split(/\r?\n|\\n/).entries()) {
    if (line.trim() === "") continue
    const [, name, value] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*:\s*(.*?)\s*$/.exec(line) ?? []
    if (name === undefined || value === undefined) {
      // Not quoted: it may be a credential that lacks its name.
      return `ANTHROPIC_CUSTOM_HEADERS has a line that is no header, line ${index + 1}. Write "Name: value", one per line.`
    }
    headers[name.toLowerCase()] = value
  }
  return headers
}

/** What is loaded and built at the first request. */
interface Sdk {
  readonly client: BaseAnthropic
  readonly access: Access
  readonly redact: (text: string) => string
  readonly events: (response: Response) => AsyncIterable<{ readonly event: string | null; readonly data: string }>
  readonly explain: (error: unknown, now: number) => ProviderError
}

export const layer: Layer.Layer<Provider, never, Host | HttpFetch> = Layer.effect(
  Provider,
  Effect.gen(function* () {
    const host = yield* Host
    const fetch = yield* HttpFetch
    const secrets = Secrets.fromEnv(host.env)
    const betas = (host.env("ANTHROPIC_BETAS") ?? "").split(",").flatMap((beta) => beta.trim() || [])

    const load = Effect.gen(function* () {
      const access = accessFrom(host.env)
      if ("_tag" in access) return yield* access
      const sdk = yield* Effect.promise(() => import("./AnthropicSdk.ts"))
      const client = new sdk.BaseAnthropic({
        ...access.credential,
        baseURL: access.baseURL,
        maxRetries: 0,
        timeout: access.timeoutMs,
        fetch: async (input, init) => {
          const response = await fetch(input, init)
          return response.ok ? response : BoundedBody.cut(response, largestRefusal)
        },
        logLevel: "off",
      })
      const loaded: Sdk = {
        client,
        access,
        redact: secrets.redact,
        events: (response) => sdk.Stream.rawEvents(response),
        explain: (error, now) =>
          error instanceof sdk.APIConnectionTimeoutError
            ? ApiErrors.make("stalled", `No answer from ${access.baseURL} within ${access.timeoutMs / 1000} s.`)
            : error instanceof sdk.APIError && error.status !== undefined
              ? ApiErrors.fromRefusal({
                  status: error.status,
                  type: error.type ?? undefined,
                  message: secrets.redact(error.apiMessage ?? error.message),
                  retryAfterMs: retryAfter(error.headers, now),
                  serviceRequestId: error.requestID ?? undefined,
                  firstParty: access.firstParty,
                  url: access.baseURL,
                })
              : unreachable(error, access),
      }
      return loaded
    })
    // A wrong environment is reported each time; what loaded is kept.
    let ready: Sdk | undefined
    const sdk = Effect.suspend(() =>
      ready === undefined ? Effect.tap(load, (loaded) => Effect.sync(() => (ready = loaded))) : Effect.succeed(ready),
    )

    const post = ({ client, access, explain }: Sdk, request: ProviderRequest, stream: boolean, signal: AbortSignal) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const allBetas = [...new Set([...betas, ...(request.betas ?? [])])]
        return Effect.tryPromise({
          try: () =>
            client
              .post(path, {
                body: Body.encode(request, stream),
                stream,
                signal,
                timeout: access.timeoutMs,
                headers: {
                  "content-type": "application/json",
                  ...keyHeaders(access),
                  ...(allBetas.length > 0 && { "anthropic-beta": allBetas.join(",") }),
                  ...access.headers,
                  "x-client-request-id": request.requestId,
                },
              })
              .asResponse(),
          catch: (error) => explain(error, now),
        })
      })

    const stream = (request: ProviderRequest): Stream.Stream<StreamEvent, ProviderError> =>
      Stream.unwrap(
        Effect.gen(function* () {
          const loaded = yield* sdk
          const connection = yield* abortable
          const response = yield* post(loaded, request, true, connection.signal)
          if (!/^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "")) {
            return yield* notAStream(response, loaded.access)
          }
          return eventsOf(loaded, response)
        }),
      ).pipe(Stream.mapError(secrets.redactError))

    const whole = (request: ProviderRequest) =>
      Effect.scoped(
        Effect.gen(function* () {
          const loaded = yield* sdk
          const connection = yield* abortable
          const response = yield* post(loaded, request, false, connection.signal)
          const text = yield* Effect.tryPromise({
            try: () => BoundedBody.limited(response, largestReply).text(),
            catch: (error) => lost(error, loaded.access),
          })
          return yield* Effect.mapError(decodeWhole(text), () => notAReply(response, text, loaded))
        }),
      ).pipe(Effect.mapError(secrets.redactError))

    return { name: "anthropic", stream, whole }
  }),
)

/** The SDK sends keys as bearer tokens; gateways that stand in for the API look for them where the API documents them. */
const keyHeaders = ({ credential }: Access) =>
  "apiKey" in credential ? { "x-api-key": credential.apiKey, authorization: null } : {}

/** Closing the scope closes the connection, whatever state it is in. */
const abortable = Effect.acquireRelease(
  Effect.sync(() => new AbortController()),
  (controller) => Effect.sync(() => controller.abort()),
)

const eventsOf = ({ events, access, redact }: Sdk, response: Response): Stream.Stream<StreamEvent, ProviderError> => {
  const body = BoundedBody.limitedBetween(response, largestEvent)
  return Stream.fromAsyncIterable(events(body.response), (error) => lost(error, access)).pipe(
    Stream.mapEffect(({ event, data }) => {
      body.restart()
      if (data === "") return event === "ping" ? Effect.succeed<StreamEvent>({ type: "ping" }) : Effect.undefined
      const parsed = WireEvents.parse(data)
      if (parsed === "garbled") {
        const start = JSON.stringify(beginning(data, redact))
        return Effect.fail(
          ApiErrors.make("malformed_stream", `An event from ${access.baseURL} is unreadable: ${start}.`),
        )
      }
      if (parsed?.type === "error") {
        const { type } = parsed.error
        const message = redact(parsed.error.message)
        return Effect.fail(ApiErrors.fromRefusal({ type, message, firstParty: access.firstParty, url: access.baseURL }))
      }
      return Effect.succeed(parsed)
    }),
    Stream.filter((event) => event !== undefined),
  )
}

/** Enough to recognise it by. A credential that the cut falls into is gone before. */
const beginning = (text: string, redact: (text: string) => string): string => redact(text.slice(0, 4_096)).slice(0, 80)

const WholeReply = Schema.Struct({
  type: Schema.Literal("message"),
  id: Schema.String,
  model: Schema.String,
  content: Schema.Array(ContentBlock),
  stop_reason: Schema.NullOr(Schema.String),
  stop_details: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown))),
  usage: Schema.Unknown,
})
const decodeWhole = Schema.decodeUnknownEffect(Schema.fromJsonString(WholeReply))

const lost = (error: unknown, access: Access): ProviderError =>
  error instanceof BoundedBody.TooMuch
    ? ApiErrors.make(
        "malformed_stream",
        `${access.baseURL} sent ${error.message} in one ${error.limit === largestEvent ? "event" : "reply"}, which no model does, so the connection was closed. Check ANTHROPIC_BASE_URL.`,
        { retryable: false },
      )
    : ApiErrors.make(
        "connection_lost",
        `The connection to ${access.baseURL} was lost in the middle of the reply (${causeOf(error).text}).`,
      )

const notAStream = (response: Response, access: Access): ProviderError => {
  const type = response.headers.get("content-type") ?? "no content type"
  return ApiErrors.make(
    "not_an_event_stream",
    `${access.baseURL} answered ${response.status} with ${type} instead of an event stream; a proxy in between may not pass streams on.`,
    { status: response.status },
  )
}

const notAReply = (response: Response, text: string, { access, redact }: Sdk): ProviderError => {
  const start = JSON.stringify(beginning(text, redact))
  return ApiErrors.make(
    "not_found",
    `${access.baseURL} answered ${response.status}, but not with a reply of a model: ${start}. Check ANTHROPIC_BASE_URL.`,
    { status: response.status },
  )
}

/** The first cause that has a code, for an error that never got an answer. */
const causeOf = (error: unknown): { readonly code: string | undefined; readonly text: string } => {
  let last = "unknown error"
  for (let cause = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth++) {
    if (cause.message !== "") last = cause.message
    if ("code" in cause && typeof cause.code === "string") return { code: cause.code, text: `${cause.code}` }
    // Several addresses were tried: each has its own error.
    if (cause instanceof AggregateError && cause.errors[0] instanceof Error) return causeOf(cause.errors[0])
  }
  return { code: undefined, text: last }
}

const unreachable = (error: unknown, { baseURL }: Access): ProviderError => {
  const { code, text } = causeOf(error)
  switch (code) {
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return ApiErrors.make(
        "connection_failed",
        `Cannot find the host of ${baseURL} (${text}). Check ANTHROPIC_BASE_URL and the network.`,
      )
    case "ECONNREFUSED":
      return ApiErrors.make(
        "connection_failed",
        `Nothing accepts connections at ${baseURL} (${text}). Check ANTHROPIC_BASE_URL, and that the service runs.`,
      )
    case "ECONNRESET":
    case "EPIPE":
      return ApiErrors.make("connection_lost", `${baseURL} closed the connection without an answer (${text}).`)
    default:
      return ApiErrors.make(
        "connection_failed",
        `Cannot reach ${baseURL}: ${text}. Check ANTHROPIC_BASE_URL and the network.`,
      )
  }
}

/** Seconds, or a date. */
const retryAfter = (headers: Headers | undefined, now: number): number | undefined => {
  const value = headers?.get("retry-after")
  if (value === null || value === undefined || value.trim() === "") return undefined
  const seconds = Number(value)
  if (seconds >= 0) return seconds * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
