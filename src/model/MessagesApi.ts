/**
 * Owns one exchange with anything that speaks the Messages API through an SDK's client: the request as it is sent, the answer as
 * raw events or whole, every failure as a typed error, and a second try where a credential had only expired.
 *
 * Who is asked, and how one proves who one is, is a `Way`: Anthropic, a gateway, a cloud.
 */
import type { BaseAnthropic } from "@anthropic-ai/sdk"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Fetch } from "../platform/HttpFetch.ts"
import { ContentBlock } from "../protocol/Content.ts"
import type { StreamEvent } from "../protocol/StreamEvent.ts"
import * as ApiErrors from "./ApiErrors.ts"
import * as BoundedBody from "./BoundedBody.ts"
import * as CloudErrors from "./CloudErrors.ts"
import type { Provider, ProviderError, ProviderRequest } from "./Provider.ts"
import type { Secrets } from "./Secrets.ts"
import * as WireEvents from "./WireEvents.ts"
import * as WireFailures from "./WireFailures.ts"

/** Far more than the largest that a model or the service itself sends. */
const largestReply = 64 * BoundedBody.mega
export const largestEvent = 16 * BoundedBody.mega
/** What of an error page is read at all. */
const largestRefusal = BoundedBody.mega

/** A client that is ready to ask, and how to ask it. */
export interface Connection {
  readonly client: BaseAnthropic
  readonly address: WireFailures.Address
  /** `null` takes away one that the client would send. */
  readonly headers: Readonly<Record<string, string | null>>
  readonly timeoutMs: number
  readonly body: (request: ProviderRequest, stream: boolean) => Uint8Array | string
  /** What to do about a refusal here. */
  readonly fixes?: ApiErrors.Fixes | undefined
}

/** The way to one service. */
export interface Way {
  readonly name: string
  /** The connection for a request; made once and kept, except for what must be fresh. */
  readonly connect: (request: ProviderRequest) => Effect.Effect<Connection, ProviderError>
  /** The service refused who we are: whether it is worth asking once more, with something new. */
  readonly renew: (error: ProviderError) => Effect.Effect<boolean, ProviderError>
  readonly secrets: Secrets
  readonly betas: ReadonlyArray<string>
}

/** A `fetch` for an SDK's client: the page of a refusal is not read beyond what anybody quotes. */
export const guarded =
  (fetch: Fetch) =>
  async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init)
    return response.ok ? response : BoundedBody.cut(response, largestRefusal)
  }

/** What all clients are made with: retries, logs and the environment are ours. */
export const clientOptions = (fetch: Fetch, timeoutMs: number) =>
  ({ maxRetries: 0, timeout: timeoutMs, fetch: guarded(fetch), logLevel: "off" }) as const

export const make = (way: Way): Provider["Service"] => {
  const { secrets } = way

  const post = (connection: Connection, request: ProviderRequest, stream: boolean, signal: AbortSignal) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const betas = [...new Set([...way.betas, ...(request.betas ?? [])])]
      return Effect.tryPromise({
        try: () =>
          connection.client
            .post("/v1/messages", {
              body: connection.body(request, stream),
              stream,
              signal,
              timeout: connection.timeoutMs,
              headers: {
                "content-type": "application/json",
                ...(betas.length > 0 && { "anthropic-beta": betas.join(",") }),
                ...connection.headers,
                "x-client-request-id": request.requestId,
              },
            })
            .asResponse(),
        catch: (error) => explain(error, connection, now, secrets),
      }).pipe(Effect.map((response) => ({ connection, response })))
    })

  const ask = (request: ProviderRequest, stream: boolean, signal: AbortSignal) => {
    const once = Effect.flatMap(way.connect(request), (connection) => post(connection, request, stream, signal))
    return Effect.catchIf(
      once,
      ({ reason }) => reason === "unauthenticated" || reason === "forbidden",
      (error) => Effect.flatMap(way.renew(error), (again) => (again ? once : Effect.fail(error))),
    )
  }

  return {
    name: way.name,
    stream: (request) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const { signal } = yield* abortable
          const { connection, response } = yield* ask(request, true, signal)
          if (!/^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "")) {
            return yield* WireFailures.notAStream(response, connection.address)
          }
          const sdk = yield* Effect.promise(() => import("./AnthropicSdk.ts"))
          return eventsOf((answer) => sdk.Stream.rawEvents(answer), response, connection, secrets)
        }),
      ).pipe(Stream.mapError(secrets.redactError)),
    whole: (request) =>
      Effect.scoped(
        Effect.gen(function* () {
          const { signal } = yield* abortable
          const { connection, response } = yield* ask(request, false, signal)
          const text = yield* Effect.tryPromise({
            try: () => BoundedBody.limited(response, largestReply).text(),
            catch: (error) => WireFailures.lost(error, connection.address, "reply"),
          })
          return yield* Effect.mapError(decodeWhole(text), () =>
            WireFailures.notAReply(response, beginning(text, secrets), connection.address),
          )
        }),
      ).pipe(Effect.mapError(secrets.redactError)),
  }
}

/** Closing the scope closes the connection, whatever state it is in. */
const abortable = Effect.acquireRelease(
  Effect.sync(() => new AbortController()),
  (controller) => Effect.sync(() => controller.abort()),
)

type RawEvents = (response: Response) => AsyncIterable<{ readonly event: string | null; readonly data: string }>

const eventsOf = (
  raw: RawEvents,
  response: Response,
  { address, fixes }: Connection,
  secrets: Secrets,
): Stream.Stream<StreamEvent, ProviderError> => {
  const body = BoundedBody.limitedBetween(response, largestEvent)
  return Stream.fromAsyncIterable(raw(body.response), (error) => WireFailures.lost(error, address, "event")).pipe(
    Stream.mapEffect(({ event, data }) => {
      body.restart()
      if (data === "") return event === "ping" ? Effect.succeed<StreamEvent>({ type: "ping" }) : Effect.undefined
      const parsed = WireEvents.parse(data)
      if (parsed === "garbled") return Effect.fail(WireFailures.garbled(beginning(data, secrets), address))
      if (parsed?.type === "error") {
        const { type } = parsed.error
        const message = secrets.redact(parsed.error.message)
        const { firstParty, url } = address
        return Effect.fail(ApiErrors.fromRefusal({ type, message, firstParty, url, fixes }))
      }
      return Effect.succeed(parsed)
    }),
    Stream.filter((event) => event !== undefined),
  )
}

/** Enough to recognise it by. A credential that the cut falls into is gone before. */
const beginning = (text: string, { redact }: Secrets): string => redact(text.slice(0, 4_096)).slice(0, 80)

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

/** By name and shape: the command carries a copy of the SDK, and a cloud's package brings its own. */
const explain = (error: unknown, connection: Connection, now: number, { redact }: Secrets): ProviderError => {
  const { address, fixes, timeoutMs } = connection
  if (!(error instanceof Error)) return WireFailures.unreachable(error, address)
  if (error.name === "APIConnectionTimeoutError") return WireFailures.timedOut(address, timeoutMs)
  if (!("status" in error) || typeof error.status !== "number") return withoutAnswer(error, connection)
  const headers = "headers" in error && error.headers instanceof Headers ? error.headers : undefined
  const said = CloudErrors.read("error" in error ? error.error : undefined, headers)
  return ApiErrors.fromRefusal({
    status: error.status,
    type: said.type,
    message: redact(said.message ?? error.message),
    retryAfterMs: retryAfter(headers, now),
    serviceRequestId: headers?.get("request-id") ?? headers?.get("x-amzn-requestid") ?? undefined,
    firstParty: address.firstParty,
    url: address.url,
    fixes,
  })
}

/** The clouds' clients find credentials on the way, and report their absence as a lost connection. */
const withoutAnswer = (error: Error, { address, fixes }: Connection): ProviderError => {
  if (!/AWS credentials|OAuth credentials|azureADTokenProvider/.test(error.message)) {
    return WireFailures.unreachable(error, address)
  }
  const { route } = WireFailures.causeOf(error)
  if (route !== undefined) return WireFailures.offRoute(route)
  const { message } = error.cause instanceof Error ? error.cause : error
  const why = message.replace(/\s+/g, " ").trim().slice(0, 300)
  return ApiErrors.make(
    "unauthenticated",
    `No credentials for ${address.url} (${why}). ${fixes?.unauthenticated ?? ""}`,
  )
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
