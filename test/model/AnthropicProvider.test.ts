import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Body from "../../src/model/AnthropicBody.ts"
import * as AnthropicProvider from "../../src/model/AnthropicProvider.ts"
import { Provider, type ProviderRequest } from "../../src/model/Provider.ts"
import { Host } from "../../src/platform/Host.ts"
import * as NodeHttpFetch from "../../src/platform/NodeHttpFetch.ts"
import type { StreamEvent } from "../../src/protocol/StreamEvent.ts"
import * as Fake from "./ScriptedProvider.ts"
import { answers, type Handler, serve, sse, streams } from "./StubServer.ts"

const layer = (env: Record<string, string>) =>
  Layer.provide(AnthropicProvider.layer, [Host.layerTest({ env }), NodeHttpFetch.layer])

const at = (url: string, env: Record<string, string> = {}) =>
  layer({ ANTHROPIC_API_KEY: "key-1", ANTHROPIC_BASE_URL: url, ...env })

const request: ProviderRequest = {
  requestId: "req-1",
  model: "claude-opus-5-5",
  maxTokens: 100,
  system: [],
  tools: [],
  messages: [{ role: "user", content: "Hello" }],
}

const reply = [Fake.start(), { type: "ping" } as const, ...Fake.textBlock(0, "Grüße 🙂 你好"), ...Fake.end()]

const refuses = (
  status: number,
  error: { type: string; message: string } | string,
  headers: Record<string, string> = {},
): Handler =>
  answers(status, typeof error === "string" ? error : { type: "error", error, request_id: "req_s" }, headers)

const events = Effect.flatMap(Provider, (provider) =>
  Effect.map(Stream.runCollect(provider.stream(request)), (all) => Array.from(all)),
)
const failure = Effect.flip(events)

describe("AnthropicProvider", () => {
  it.live("sends the request with its key, id and headers, and gives the raw events, pings included", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(sse(reply)))
      const got = yield* Effect.provide(
        events,
        at(server.url, { ANTHROPIC_CUSTOM_HEADERS: "X-Team: blue\nX-Other: a: b", ANTHROPIC_BETAS: "one, two" }),
      )
      assert.deepStrictEqual(got, reply as unknown)
      const [seen] = server.seen
      assert.strictEqual(seen?.url, "/v1/messages")
      assert.deepInclude(seen?.headers, {
        "x-api-key": "key-1",
        "x-client-request-id": "req-1",
        "content-type": "application/json",
        "anthropic-beta": "one,two",
        "x-team": "blue",
        "x-other": "a: b",
      })
      assert.isString(seen?.headers["anthropic-version"])
      assert.isUndefined(seen?.headers.authorization)
      assert.strictEqual(seen?.body, new TextDecoder().decode(Body.encode(request, true)))
    }),
  )

  it.live("prefers a token to a key", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(sse(reply)))
      yield* Effect.provide(events, at(server.url, { ANTHROPIC_AUTH_TOKEN: "token-1" }))
      assert.strictEqual(server.seen[0]?.headers.authorization, "Bearer token-1")
      assert.isUndefined(server.seen[0]?.headers["x-api-key"])
    }),
  )

  it.live("does not mind frames that are cut anywhere, inside characters too", () =>
    Effect.gen(function* () {
      const bytes = Buffer.from(sse(reply))
      const server = yield* serve((response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        let at = 0
        const next = () => {
          if (at >= bytes.length) return void response.end()
          response.write(bytes.subarray(at, (at += 7)), () => setImmediate(next))
        }
        next()
      })
      assert.deepStrictEqual(yield* Effect.provide(events, at(server.url)), reply as unknown)
    }),
  )

  it.live("uses its connection again", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(sse(reply)))
      yield* Effect.provide(Effect.repeat(events, { times: 4 }), at(server.url))
      assert.strictEqual(server.seen.length, 5)
      assert.strictEqual(server.sockets.size, 1)
    }),
  )

  it.live("tries again by itself when the server closed an idle connection under it", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(sse(reply)), (response) => response.socket?.destroy(), streams(sse(reply)))
      const got = yield* Effect.provide(Effect.andThen(events, events), at(server.url))
      assert.strictEqual(got.length, reply.length)
      assert.strictEqual(server.seen.length, 3)
    }),
  )

  it.live("closes the connection when its consumer goes away, before and during the answer", () =>
    Effect.gen(function* () {
      for (const begin of [true, false]) {
        const asked = yield* Deferred.make<void>()
        const closed = yield* Deferred.make<void>()
        const server = yield* serve((response, request) => {
          request.socket.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
          if (begin) {
            response.writeHead(200, { "content-type": "text/event-stream" })
            response.write(sse([Fake.start()]), () => Deferred.doneUnsafe(asked, Effect.void))
          } else Deferred.doneUnsafe(asked, Effect.void)
        })
        // The service lives on: it is the stream that closes its connection.
        yield* Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(events, { startImmediately: true })
          yield* Deferred.await(asked)
          yield* Fiber.interrupt(fiber)
          yield* Deferred.await(closed)
        }).pipe(Effect.provide(at(server.url)))
      }
    }),
  )

  it.live("closes the connection when enough was taken", () =>
    Effect.gen(function* () {
      const closed = yield* Deferred.make<void>()
      const server = yield* serve((response, request) => {
        request.socket.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write(sse(reply.slice(0, 3)))
      })
      // The connection belongs to the stream, not to the service: it closes while the service lives on.
      yield* Effect.provide(
        Effect.gen(function* () {
          yield* Stream.runDrain(Stream.take((yield* Provider).stream(request), 1))
          yield* Deferred.await(closed)
        }),
        at(server.url),
      )
    }),
  )

  it.live("says that a connection was lost in the middle, or before any answer", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        (response) => {
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.write(sse(reply.slice(0, 3)), () => setImmediate(() => response.socket?.destroy()))
        },
        (response) => response.socket?.destroy(),
      )
      const { error, got } = yield* Effect.gen(function* () {
        const got: Array<StreamEvent> = []
        const error = yield* Effect.flip(
          Stream.runForEach((yield* Provider).stream(request), (event) => Effect.sync(() => got.push(event))),
        )
        return { error, got }
      }).pipe(Effect.provide(at(server.url)))
      assert.deepInclude(error, { reason: "connection_lost", retryable: true })
      assert.strictEqual(got.length, 3)
      assert.deepInclude(yield* Effect.provide(failure, at(server.url)), { reason: "connection_lost", retryable: true })
    }),
  )

  it.live("recognises an answer that is no event stream, and unreadable events", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        (response) => {
          response.writeHead(200, { "content-type": "text/html" })
          response.end("<html>")
        },
        streams(sse(reply.slice(0, 2)), "event: content_block_delta\ndata: {oops\n\n"),
        streams(sse([Fake.start(), { type: "error", error: { type: "overloaded_error", message: "Busy" } }])),
        streams('event: message_hum\ndata: {"type":"message_hum"}\n\n', ": a comment\n\n", sse(reply)),
      )
      const provided = at(server.url)
      assert.deepInclude(yield* Effect.provide(failure, provided), { reason: "not_an_event_stream", retryable: true })
      assert.strictEqual((yield* Effect.provide(failure, provided)).reason, "malformed_stream")
      assert.strictEqual((yield* Effect.provide(failure, provided)).reason, "overloaded")
      assert.strictEqual((yield* Effect.provide(events, provided)).length, reply.length)
    }),
  )

  it.live("makes reasons of refusals, with the time to wait", () =>
    Effect.gen(function* () {
      const server = yield* serve(
        refuses(529, { type: "overloaded_error", message: "Busy" }, { "request-id": "req_9" }),
        refuses(429, { type: "rate_limit_error", message: "Slow down" }, { "retry-after": "7" }),
        refuses(401, { type: "authentication_error", message: "invalid x-api-key" }),
        refuses(404, { type: "not_found_error", message: "model: claude-opus-9" }),
        refuses(404, "<html>nothing here</html>"),
        refuses(400, { type: "invalid_request_error", message: "prompt is too long: 9 tokens > 8 maximum" }),
      )
      const provided = at(server.url)
      const next = Effect.provide(failure, provided)
      assert.deepInclude(yield* next, { reason: "overloaded", status: 529, serviceRequestId: "req_9" })
      assert.deepInclude(yield* next, { reason: "rate_limited", status: 429, retryAfterMs: 7_000, retryable: true })
      const key = yield* next
      assert.strictEqual(key.reason, "unauthenticated")
      assert.include(key.message, "ANTHROPIC_API_KEY")
      assert.strictEqual((yield* next).reason, "model_not_found")
      const lost = yield* next
      assert.strictEqual(lost.reason, "not_found")
      assert.include(lost.message, `${server.url} a Messages API? Check ANTHROPIC_BASE_URL`)
      assert.strictEqual((yield* next).reason, "prompt_too_long")
    }),
  )

  it.live("names the fix when nothing can be reached or nothing is set", () =>
    Effect.gen(function* () {
      const server = yield* serve()
      server.close()
      const refused = yield* Effect.provide(failure, at(server.url))
      assert.deepInclude(refused, { reason: "connection_failed", retryable: true })
      assert.include(refused.message, `Nothing accepts connections at ${server.url}`)
      const nowhere = yield* Effect.provide(failure, at("http://no-such-host.invalid"))
      assert.strictEqual(nowhere.reason, "connection_failed")
      assert.include(nowhere.message, "ANTHROPIC_BASE_URL")
      const keyless = yield* Effect.provide(failure, layer({}))
      assert.deepInclude(keyless, { reason: "unauthenticated", retryable: false })
      assert.include(keyless.message, "Set ANTHROPIC_API_KEY")
      const wrong = yield* Effect.provide(failure, at("localhost:8080"))
      assert.deepInclude(wrong, { reason: "misconfigured", retryable: false })
      const header = yield* Effect.provide(failure, at(server.url, { ANTHROPIC_CUSTOM_HEADERS: "no colon" }))
      assert.include(header.message, "ANTHROPIC_CUSTOM_HEADERS")
    }),
  )

  it.live("gets a reply in one piece", () =>
    Effect.gen(function* () {
      const whole = {
        type: "message",
        role: "assistant",
        id: "m",
        model: "x",
        content: [{ type: "text", text: "Hi" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 2 },
      }
      const server = yield* serve(refuses(200, JSON.stringify(whole)), refuses(200, "<html>"))
      const provided = at(server.url)
      const ask = Effect.flatMap(Provider, (provider) => provider.whole(request))
      const got = yield* Effect.provide(ask, provided)
      assert.deepInclude(got, { id: "m", stop_reason: "end_turn" })
      assert.include(server.seen[0]?.body, '"stream":false')
      const page = yield* Effect.provide(Effect.flip(ask), provided)
      assert.deepInclude(page, { reason: "not_found", retryable: false })
    }),
  )

  it.live("never repeats a credential that the service or an error echoes", () =>
    Effect.gen(function* () {
      const key = "sk-ant-api03-SECRET-KEY-0123456789"
      const token = "tok_SECRET_0123456789"
      const custom = "custom-SECRET-0123456789"
      const echo = `you sent ${key}, ${token}, Bearer ${custom} and blue-team`
      const json = { "content-type": "application/json" }
      const server = yield* serve(
        refuses(401, { type: "authentication_error", message: echo }, { "request-id": key }),
        refuses(500, `{"unexpected":"${echo}"}`),
        // The cut at 500 characters falls into the key.
        refuses(400, { type: "invalid_request_error", message: `${"x".repeat(485)} ${key}` }),
        streams(`event: x\ndata: {oops ${echo}\n\n`),
        streams(`event: x\ndata: {${"o".repeat(70)}${key}\n\n`),
        streams(sse([Fake.start(), { type: "error", error: { type: "api_error", message: echo } }])),
        (response) => {
          response.writeHead(200, json)
          response.end(JSON.stringify({ echo }))
        },
      )
      const env = {
        ANTHROPIC_API_KEY: key,
        ANTHROPIC_AUTH_TOKEN: token,
        ANTHROPIC_CUSTOM_HEADERS: `Proxy-Authorization: Bearer ${custom}\nX-Team: blue-team`,
        ANTHROPIC_BASE_URL: server.url,
      }
      for (let n = 0; n < 6; n++) {
        const error = yield* Effect.provide(failure, layer(env))
        assert.notMatch(JSON.stringify(error), /SECRET|sk-ant/, `answer ${n}`)
        if (n === 0) assert.include(error.message, "[redacted] and blue-team")
      }
      const whole = Effect.flip(Effect.flatMap(Provider, (provider) => provider.whole(request)))
      assert.notInclude(JSON.stringify(yield* Effect.provide(whole, layer(env))), "SECRET")
      const inUrl = { ...env, ANTHROPIC_BASE_URL: "http://me:pass-SECRET-word@127.0.0.1:1" }
      const refused = yield* Effect.provide(failure, layer(inUrl))
      assert.strictEqual(refused.reason, "connection_failed")
      assert.notInclude(refused.message, "SECRET")
      const noHeader = { ...env, ANTHROPIC_CUSTOM_HEADERS: "X-Team: blue\nx-key SECRET" }
      const misconfigured = yield* Effect.provide(failure, layer(noHeader))
      assert.notInclude(misconfigured.message, "SECRET")
      assert.include(misconfigured.message, "line 2")
    }),
  )

  const pours = (type: string, before: string, status = 200): { handler: Handler; poured: () => number } => {
    let poured = 0
    const chunk = Buffer.alloc(1024 * 1024, "x")
    const handler: Handler = (response) => {
      response.writeHead(status, { "content-type": type })
      response.write(before)
      const more = () => {
        while (!response.destroyed && poured < 1024) {
          poured++
          if (!response.write(chunk)) return void response.once("drain", more)
        }
      }
      more()
    }
    return { handler, poured: () => poured }
  }

  it.live("closes the connection under an event, a reply or an error page without end", () =>
    Effect.gen(function* () {
      const event = pours("text/event-stream", `${sse([Fake.start()])}event: x\ndata: `)
      const page = pours("text/html", "<html>", 500)
      const body = pours("application/json", '{"type":"message","x":"')
      const server = yield* serve(event.handler, page.handler, body.handler)
      const provided = at(server.url)
      const first = yield* Effect.provide(failure, provided)
      assert.deepInclude(first, { reason: "malformed_stream", retryable: false })
      assert.include(first.message, "16 MB")
      assert.strictEqual((yield* Effect.provide(failure, provided)).reason, "server_error")
      const whole = Effect.flip(Effect.flatMap(Provider, (provider) => provider.whole(request)))
      const last = yield* Effect.provide(whole, provided)
      assert.deepInclude(last, { reason: "malformed_stream", retryable: false })
      assert.include(last.message, "64 MB")
      assert.isBelow(event.poured(), 64)
      assert.isBelow(page.poured(), 64)
      assert.isBelow(body.poured(), 128)
    }),
  )

  it.live("takes an event that is nested without end for unreadable", () =>
    Effect.gen(function* () {
      const deep = `${"[".repeat(10_000)}${"]".repeat(10_000)}`
      const block = `{"type":"content_block_start","index":0,"content_block":{"type":"compaction","x":${deep}}}`
      const server = yield* serve(streams(sse([Fake.start()]), `event: content_block_start\ndata: ${block}\n\n`))
      assert.strictEqual((yield* Effect.provide(failure, at(server.url))).reason, "malformed_stream")
    }),
  )
})
