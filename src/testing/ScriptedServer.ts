/**
 * Owns the scripted model over real HTTP and server-sent events, on loopback only: what a client with a base URL talks
 * to. Faults are what they are in the field: destroyed sockets, silence, torn frames, pages that are no stream.
 */
import * as http from "node:http"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as ApiRequest from "./ApiRequest.ts"
import * as Delivery from "./Delivery.ts"
import * as Fault from "./Fault.ts"
import * as Playbook from "./Playbook.ts"
import * as Player from "./Player.ts"
import * as Recorder from "./Recorder.ts"
import * as SseWriter from "./SseWriter.ts"
import * as Timing from "./Timing.ts"

export class ScriptedServerError extends Schema.TaggedError<ScriptedServerError>()("ScriptedServerError", {
  reason: Schema.Literals(["not_loopback", "in_use", "failed"]),
  message: Schema.String,
}) {}

export interface ServeOptions {
  readonly playbook: Playbook.Playbook
  /** 0, the default, takes a free one. */
  readonly port?: number | undefined
  /** `127.0.0.1`, `::1` or `localhost`. */
  readonly host?: string | undefined
  /** Refuse what a real API would refuse, such as a tool call without its result. Default true. */
  readonly strict?: boolean | undefined
  /** Keep every request for assertions. Default true; turn it off for long sessions and measurements. */
  readonly record?: boolean | undefined
  /** Decides drawn delays. */
  readonly seed?: string | number | undefined
  /** Runs before the request is answered. */
  readonly onRequest?: ((recording: Recorder.Recording) => Effect.Effect<void>) | undefined
}

export interface Serving extends Pick<Recorder.Recorder, "requests" | "atLeast"> {
  /** `http://127.0.0.1:43210`: the base URL for clients. */
  readonly url: string
  readonly port: number
}

export class ScriptedServer extends Context.Service<ScriptedServer, Serving>()("troupe/testing/ScriptedServer") {
  static readonly layer = (
    playbook: Playbook.Playbook,
    options: Omit<ServeOptions, "playbook"> = {},
  ): Layer.Layer<ScriptedServer, Playbook.PlaybookError | ScriptedServerError> =>
    Layer.effect(ScriptedServer, serve({ ...options, playbook }))

  /** Closing the scope closes the port, every connection, and every reply under way. */
  static readonly serve = (
    options: ServeOptions,
  ): Effect.Effect<Serving, Playbook.PlaybookError | ScriptedServerError, Scope.Scope> => serve(options)
}

const loopback: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"])

const serve = Effect.fnUntraced(function* (options: ServeOptions) {
  const host = options.host ?? "127.0.0.1"
  if (!loopback.has(host)) {
    return yield* new ScriptedServerError({
      reason: "not_loopback",
      message: `the scripted model does not listen on ${host}: it answers anyone, so it stays on ${[...loopback].join(", ")}`,
    })
  }
  const book = yield* Playbook.make(options.playbook)
  const recorder = Recorder.make(options.record ?? true)
  const random =
    options.seed === undefined
      ? yield* Random.Random
      : yield* Effect.service(Random.Random).pipe(Random.withSeed(options.seed))
  const answer = answering(book, recorder, options)
  const run = yield* FiberSet.makeRuntime<never>()

  const server = http.createServer((request, response) => {
    // Nobody hears a fault of the connection itself: the end of the response is the signal.
    request.on("error", () => {})
    response.on("error", () => {})
    const fiber = run(Effect.provideService(answer(request, response), Random.Random, random))
    response.once("close", () => fiber.interruptUnsafe())
  })
  // An idle client may come back after any pause, and a stalled reply is a stall, not a time-out of ours.
  server.keepAliveTimeout = 0
  server.requestTimeout = 0
  const port = yield* listen(server, host, options.port ?? 0)
  const url = `http://${host === "::1" ? "[::1]" : host}:${port}`
  return { url, port, requests: recorder.requests, atLeast: recorder.atLeast }
})

const listen = (server: http.Server, host: string, port: number) =>
  Effect.acquireRelease(
    Effect.callback<number, ScriptedServerError>((resume) => {
      const failed = (cause: NodeJS.ErrnoException) =>
        resume(
          Effect.fail(
            cause.code === "EADDRINUSE"
              ? new ScriptedServerError({
                  reason: "in_use",
                  message: `port ${port} on ${host} is in use; end what uses it, or take port 0 for a free one`,
                })
              : new ScriptedServerError({
                  reason: "failed",
                  message: `cannot listen on ${host}:${port}: ${cause.message}`,
                }),
          ),
        )
      server.once("error", failed)
      server.listen(port, host, () => {
        server.off("error", failed)
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
      })
    }),
    () =>
      Effect.callback<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      }),
  )

type Exchange = (request: http.IncomingMessage, response: http.ServerResponse) => Effect.Effect<void>

const answering = (book: Playbook.Playbook, recorder: Recorder.Recorder, options: ServeOptions): Exchange => {
  const player = Player.make(book, { cache: "marks", strict: options.strict ?? true })

  const messages: Exchange = Effect.fnUntraced(function* (request, response) {
    const read = Result.flatMap(yield* readBody(request), ApiRequest.read)
    if (Result.isFailure(read)) return refuse(response, Fault.refusal(400, read.failure), "req_scripted_0")
    const body = read.success
    const streamed = body.stream === true
    const at = yield* Clock.currentTimeMillis
    const answer = player.play(body, at)
    const { recording, end } = recorder.add({
      at,
      streamed,
      body,
      note: answer.note,
      headers: headersOf(request),
      ...idOf(request),
    })
    if (options.onRequest !== undefined) yield* options.onRequest(recording)
    const id = `req_scripted_${recording.number}`
    if (answer._tag === "Refused") {
      end("refused")
      return refuse(response, answer.refusal, id)
    }
    const delivery = Delivery.make(answer.reply, answer.fault)
    const send = streamed ? sendStream(response, delivery, answer, id) : sendWhole(response, delivery, answer, id)
    let outcome: Recorder.Outcome = "abandoned"
    yield* send.pipe(
      Effect.tap(() => Effect.sync(() => (outcome = delivery.end._tag === "Complete" ? "delivered" : "broken"))),
      Effect.ensuring(Effect.sync(() => end(outcome))),
    )
  })

  const countTokens: Exchange = Effect.fnUntraced(function* (request, response) {
    const parsed = yield* readBody(request)
    const read = Result.flatMap(parsed, (body) =>
      ApiRequest.read(typeof body === "object" && body !== null ? { max_tokens: 1, ...body } : body),
    )
    if (Result.isFailure(read)) return refuse(response, Fault.refusal(400, read.failure), "req_scripted_0")
    sendJson(response, 200, { input_tokens: player.countTokens(read.success) })
  })

  return (request, response) => {
    const { method = "GET" } = request
    const path = (request.url ?? "/").replace(/\?.*$/, "").replace(/(?<=.)\/$/, "")
    if (method === "POST" && path === "/v1/messages") return messages(request, response)
    if (method === "POST" && path === "/v1/messages/count_tokens") return countTokens(request, response)
    return Effect.sync(() => {
      if (path === "/" && (method === "GET" || method === "HEAD")) return sendJson(response, 200, about(book))
      const message = `${method} ${path}: the scripted model answers POST /v1/messages and POST /v1/messages/count_tokens`
      refuse(response, Fault.refusal(404, message), "req_scripted_0")
    })
  }
}

type Replied = Extract<Player.Answer, { readonly _tag: "Replied" }>

const sendStream = Effect.fnUntraced(function* (
  response: http.ServerResponse,
  { events, end }: Delivery.Delivery,
  { reply, fault }: Replied,
  id: string,
) {
  if (end._tag === "NotAStream") {
    if (end.as === "json") return sendJson(response, 200, wholeBody(reply.whole), id)
    response.writeHead(200, { ...headers(id), "content-type": "text/html; charset=utf-8" })
    response.end("<!doctype html><title>Scripted fault</title><p>This page is not an event stream.</p>")
    return
  }
  if (end._tag === "Reset" && events.length === 0) return destroy(response)
  response.writeHead(200, {
    ...headers(id),
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
  })
  const writer = SseWriter.make(response, { torn: fault?.torn === true })
  for (const { event, delay } of events) {
    if (!Timing.isNone(delay)) {
      yield* writer.flush
      yield* Timing.wait(delay)
    }
    writer.event(event)
  }
  switch (end._tag) {
    case "Complete":
      return yield* writer.end
    case "Reset":
      yield* writer.flush
      return destroy(response)
    case "Stall":
      yield* writer.flush
      return yield* Effect.never
    case "Pings":
      yield* writer.flush
      return yield* Effect.forever(
        Effect.suspend(() => {
          writer.event({ type: "ping" })
          return Effect.andThen(Timing.wait(end.every), writer.flush)
        }),
      )
    case "Garbled":
      writer.raw("content_block_delta", '{"type":"content_block_del')
      return yield* writer.end
    case "ErrorEvent":
      writer.raw("error", JSON.stringify(Fault.errorBody(end.refusal, id)))
      return yield* writer.end
  }
})

const sendWhole = Effect.fnUntraced(function* (
  response: http.ServerResponse,
  { events, end }: Delivery.Delivery,
  { reply }: Replied,
  id: string,
) {
  for (const { delay } of events) if (!Timing.isNone(delay)) yield* Timing.wait(delay)
  if (end._tag === "Reset") return destroy(response)
  if (end._tag === "Stall" || end._tag === "Pings") return yield* Effect.never
  if (end._tag === "ErrorEvent") return refuse(response, end.refusal, id)
  sendJson(response, 200, wholeBody(reply.whole), id)
})

const wholeBody = (whole: Replied["reply"]["whole"]) => ({
  type: "message",
  role: "assistant",
  stop_sequence: null,
  ...whole,
})

const about = (book: Playbook.Playbook) => ({
  scripted: true,
  playbook: book.name ?? "unnamed",
  message:
    "This is a scripted model: it plays a playbook and understands nothing. It is for tests and demonstrations. " +
    "POST /v1/messages as you would to a real one.",
})

/** On every answer, so that nobody takes it for a real model. */
const headers = (id: string): Readonly<Record<string, string>> => ({ "x-troupe-scripted": "true", "request-id": id })

const sendJson = (response: http.ServerResponse, status: number, body: unknown, id = "req_scripted_0", extra = {}) => {
  const bytes = Buffer.from(JSON.stringify(body))
  response.writeHead(status, {
    ...headers(id),
    ...extra,
    "content-type": "application/json",
    "content-length": bytes.length,
  })
  response.end(bytes)
}

const refuse = (response: http.ServerResponse, refusal: Fault.Refusal, id: string): void =>
  sendJson(response, refusal.status, Fault.errorBody(refusal, id), id, {
    ...(refusal.retryAfter !== undefined && { "retry-after": String(refusal.retryAfter) }),
  })

const destroy = (response: http.ServerResponse): void => void response.socket?.destroy()

const headersOf = (request: http.IncomingMessage): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(", ") : (value ?? ""),
    ]),
  )

const idOf = (request: http.IncomingMessage): { readonly requestId?: string } => {
  const id = request.headers["x-client-request-id"]
  return typeof id === "string" ? { requestId: id } : {}
}

const readBody = (request: http.IncomingMessage) =>
  Effect.callback<Result.Result<unknown, string>>((resume) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => resume(Effect.sync(() => parse(Buffer.concat(chunks).toString("utf8")))))
  })

const parse = (text: string): Result.Result<unknown, string> => {
  try {
    const value: unknown = JSON.parse(text)
    return Result.succeed(value)
  } catch (cause) {
    return Result.fail(`body: it is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}
