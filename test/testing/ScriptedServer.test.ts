import * as http from "node:http"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { StreamEvent } from "../../src/protocol/StreamEvent.ts"
import type { Fault } from "../../src/testing/Fault.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { ScriptedServer } from "../../src/testing/ScriptedServer.ts"
import type { ServeOptions } from "../../src/testing/ScriptedServer.ts"
import { assistant, body, call, result, spoken, user } from "./conversation.ts"
import { ask, frames } from "./httpClient.ts"

const Events = Schema.fromJsonString(StreamEvent)
const decode = Schema.decodeUnknownSync(Events)
const said = (text: string) => spoken(frames(text).map(({ data }) => decode(data)))

const hello = body([user("hello")])
const serve = (playbook: Playbook, options: Omit<ServeOptions, "playbook"> = {}) =>
  ScriptedServer.serve({ ...options, playbook })
const faulty = (fault: Fault, reply = "Hello, wörld 🙂"): Playbook => ({ rules: [{ reply, faults: [fault] }] })

describe("ScriptedServer", () => {
  it.live("streams server-sent events and says in a header that it is scripted", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ rules: [{ reply: [{ text: "Hi" }, { tool: "Read", input: { a: "ü" } }] }] })
      const answer = yield* ask({ url, path: "/v1/messages?beta=true", body: hello })
      assert.strictEqual(answer.status, 200)
      assert.match(answer.headers["content-type"] ?? "", /^text\/event-stream/)
      assert.strictEqual(answer.headers["x-troupe-scripted"], "true")
      assert.isString(answer.headers["request-id"])
      assert.strictEqual(said(answer.text), 'Hi{"a":"ü"}')
      for (const { event, data } of frames(answer.text)) assert.strictEqual(decode(data).type, event)
    }),
  )

  it.live("answers a request that does not ask for a stream whole", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ rules: [{ reply: "Hi" }] })
      const answer = yield* ask({ url, body: { ...hello, stream: false } })
      assert.deepInclude(JSON.parse(answer.text), {
        type: "message",
        role: "assistant",
        content: [{ type: "text", text: "Hi" }],
        stop_reason: "end_turn",
      })
    }),
  )

  it.live("counts tokens", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ rules: [{ reply: "Hi" }] })
      const { max_tokens: _, stream: __, ...counted } = hello
      const answer = yield* ask({ url, path: "/v1/messages/count_tokens", body: counted })
      assert.match(answer.text, /^\{"input_tokens":[1-9]\d*\}$/)
    }),
  )

  it.live("says what it is to whoever looks, and where to go to whoever is lost", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ name: "n", rules: [{ reply: "Hi" }] })
      const get = yield* ask({ url, path: "/", method: "GET" })
      assert.match(get.text, /This is a scripted model/)
      const head = yield* ask({ url, path: "/", method: "HEAD" })
      assert.deepStrictEqual([head.status, head.text, head.headers["x-troupe-scripted"]], [200, "", "true"])
      const lost = yield* ask({ url, path: "/v1/complete", body: {} })
      assert.strictEqual(lost.status, 404)
      assert.match(lost.text, /not_found_error.*POST \/v1\/messages/)
    }),
  )

  const refusals: ReadonlyArray<readonly [string, Fault, number, string, string | undefined]> = [
    ["529", { status: 529 }, 529, "overloaded_error", undefined],
    ["429 with retry-after", { status: 429, retry_after: 3 }, 429, "rate_limit_error", "3"],
    ["429 without", { status: 429 }, 429, "rate_limit_error", undefined],
    ["500", { status: 500 }, 500, "api_error", undefined],
    ["spent money", { spend_cap: true }, 429, "rate_limit_error", undefined],
    ["a prompt that is too long", { prompt_too_long: true }, 400, "invalid_request_error", undefined],
  ]
  it.live.each(refusals)("refuses with %s as the API does", ([, fault, status, type, retryAfter]) =>
    Effect.gen(function* () {
      const { url } = yield* serve(faulty(fault))
      const answer = yield* ask({ url, body: hello })
      assert.strictEqual(answer.status, status)
      assert.strictEqual(answer.headers["retry-after"], retryAfter)
      assert.deepInclude(JSON.parse(answer.text).error, { type })
    }),
  )

  it.live("destroys the socket before any answer", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(faulty({ reset: 0 }))
      assert.deepInclude(yield* ask({ url, body: hello }), { status: 0, broken: "ECONNRESET" })
      assert.deepInclude(yield* ask({ url, body: { ...hello, stream: false } }), { status: 0, broken: "ECONNRESET" })
    }),
  )

  it.live("destroys the socket in the middle, after exactly so many events", () =>
    Effect.gen(function* () {
      const server = yield* serve(faulty({ reset: 4 }))
      const answer = yield* ask({ url: server.url, body: hello })
      assert.strictEqual(answer.broken, "ECONNRESET")
      assert.strictEqual(frames(answer.text).length, 4)
      const [recorded] = yield* server.requests
      assert.strictEqual(yield* recorded!.ended, "broken")
    }),
  )

  it.live("stalls with the connection open until the client leaves, and notices that", () =>
    Effect.gen(function* () {
      const server = yield* serve(faulty({ stall: 3 }))
      const answer = yield* ask({ url: server.url, body: hello, until: (text) => frames(text).length === 3 })
      assert.strictEqual(answer.broken, "left")
      const [recorded] = yield* server.requests
      assert.strictEqual(yield* recorded!.ended, "abandoned")
    }),
  )

  it.live("stalls before the first event with the headers sent", () =>
    Effect.gen(function* () {
      const server = yield* serve(faulty({ stall: 0 }))
      const status = yield* Effect.callback<number>((resume) => {
        const request = http.request(`${server.url}/v1/messages`, { method: "POST" }, (response) => {
          resume(Effect.succeed(response.statusCode ?? 0))
          request.destroy()
        })
        request.on("error", () => {})
        request.end(JSON.stringify(hello))
      })
      assert.strictEqual(status, 200)
    }),
  )

  it.live("sends pings and nothing else", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(faulty({ pings: "5ms" }))
      const answer = yield* ask({ url, body: hello, until: (text) => frames(text).length >= 3 })
      assert.deepStrictEqual([...new Set(frames(answer.text).map(({ event }) => event))], ["ping"])
    }),
  )

  it.live("tears frames inside characters and still says everything", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(faulty({ torn: true }))
      const answer = yield* ask({ url, body: hello })
      assert.strictEqual(said(answer.text), "Hello, wörld 🙂")
      assert.isTrue(answer.chunks.length > 20, `${answer.chunks.length} chunks`)
      const broken = answer.chunks.filter((chunk) => chunk.toString("utf8").includes("\ufffd"))
      assert.isTrue(broken.length > 0, "no chunk ends inside a character")
    }),
  )

  it.live("answers 200 with a document or a page instead of a stream", () =>
    Effect.gen(function* () {
      const json = yield* ask({ url: (yield* serve(faulty({ not_a_stream: "json" }))).url, body: hello })
      assert.deepStrictEqual([json.status, json.headers["content-type"]], [200, "application/json"])
      const html = yield* ask({ url: (yield* serve(faulty({ not_a_stream: "html" }))).url, body: hello })
      assert.strictEqual(html.status, 200)
      assert.match(html.headers["content-type"] ?? "", /^text\/html/)
    }),
  )

  it.live("garbles an event", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(faulty({ garbled: 2 }))
      const seen = frames((yield* ask({ url, body: hello })).text)
      assert.strictEqual(seen.length, 3)
      assert.throws(() => JSON.parse(seen[2]?.data ?? "") as unknown)
    }),
  )

  it.live("sends an error event in the middle of a stream", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(faulty({ error_event: 2 }))
      const seen = frames((yield* ask({ url, body: hello })).text)
      assert.strictEqual(seen.length, 3)
      const last = decode(seen[2]?.data)
      assert.isTrue(last.type === "error" && last.error.type === "overloaded_error")
    }),
  )

  it.live("is slow between events, malformed in arguments, and overflows the limit", () =>
    Effect.gen(function* () {
      const slow = yield* ask({ url: (yield* serve(faulty({ slow: 3 }))).url, body: hello })
      assert.strictEqual(said(slow.text), "Hello, wörld 🙂")
      assert.isTrue(slow.chunks.length > 3)
      const book: Playbook = {
        rules: [{ reply: [{ tool: "Read", input: { file_path: "/a" } }], faults: [{ malformed: true }] }],
      }
      const malformed = yield* ask({ url: (yield* serve(book)).url, body: hello })
      assert.throws(() => JSON.parse(said(malformed.text)) as unknown)
      const overflow = yield* serve(faulty({ overflow: 2_000_000 }, "x"))
      const flooded = yield* ask({ url: overflow.url, body: { ...hello, max_tokens: 5 } })
      assert.strictEqual(said(flooded.text).length, 2_000_001)
    }),
  )

  it.live("refuses a history that a real API would refuse, and says why", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ rules: [{ reply: "Hi" }] })
      const unpaired = body([user("x"), assistant([call("a", "Read")]), user("next")])
      const answer = yield* ask({ url, body: unpaired })
      assert.strictEqual(answer.status, 400)
      assert.match(answer.text, /invalid_request_error.*messages\.2: tool_use without a tool_result/)
      const lenient = yield* serve({ rules: [{ reply: "Hi" }] }, { strict: false })
      assert.strictEqual((yield* ask({ url: lenient.url, body: unpaired })).status, 200)
    }),
  )

  it.live("refuses a body that is no request", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ rules: [{ reply: "Hi" }] })
      assert.match((yield* ask({ url, body: "{ no" })).text, /body: it is not JSON/)
      assert.match((yield* ask({ url, body: { ...hello, messages: 3 } })).text, /messages: expected array/)
      assert.match((yield* ask({ url, body: "" })).text, /invalid_request_error/)
    }),
  )

  it.live("explains a request that no rule answers", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ name: "small", rules: [{ name: "bye", when: { user: "bye" }, reply: "Bye" }] })
      const answer = yield* ask({ url, body: hello })
      assert.strictEqual(answer.status, 400)
      const { message } = JSON.parse(answer.text).error
      assert.match(message, /no rule of small matches request 1/)
      assert.match(message, /- bye: user does not contain "bye"/)
    }),
  )

  it.live("keeps connections alive between requests", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ rules: [{ reply: "Hi" }] })
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
      const ports = new Set<number | undefined>()
      for (let n = 0; n < 5; n++) ports.add((yield* ask({ url, body: hello, agent })).localPort)
      agent.destroy()
      assert.strictEqual(ports.size, 1)
    }),
  )

  it.live("takes a body of fifty megabytes", () =>
    Effect.gen(function* () {
      const book = { rules: [{ when: { user: "needle" }, reply: "found" }] }
      const { url } = yield* serve(book, { record: false, strict: false })
      const image = {
        type: "image",
        source: { type: "base64", media_type: "image/png", data: "A".repeat(50_000_000) },
      } as const
      const answer = yield* ask({ url, body: body([user([image, { type: "text", text: "needle" }])]) })
      assert.strictEqual(said(answer.text), "found")
    }),
  )

  it.live("records what it was asked, and tells an observer before it answers", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const server = yield* serve(
        { rules: [{ name: "only", reply: "Hi" }] },
        { onRequest: ({ note, number }) => Effect.sync(() => void seen.push(`${number} ${note.rule}`)) },
      )
      yield* ask({ url: server.url, body: hello, headers: { "x-client-request-id": "abc", "x-api-key": "k" } })
      const [recorded] = yield* server.requests
      assert.deepStrictEqual(seen, ["1 only"])
      assert.strictEqual(recorded?.requestId, "abc")
      assert.strictEqual(recorded?.headers?.["x-api-key"], "k")
      assert.deepStrictEqual(recorded?.body, hello)
      assert.strictEqual(yield* recorded!.ended, "delivered")
    }),
  )

  it.live("serves many at once, each at its own pace", () =>
    Effect.gen(function* () {
      const { url } = yield* serve(
        { rules: [{ reply: "echo ${lastUser}", pace: { chunk: 2, delay: { min: 1, max: 4 } } }] },
        { seed: 7 },
      )
      const texts = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => `message ${n}`),
        (text) => Effect.map(ask({ url, body: body([user(text)]) }), (answer) => said(answer.text)),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(
        texts,
        Array.from({ length: 20 }, (_, n) => `echo message ${n}`),
      )
    }),
  )

  it.live("closes the port and every reply under way with its scope", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const server = yield* Scope.provide(serve(faulty({ stall: 1 })), scope)
      const asking = yield* Effect.forkChild(ask({ url: server.url, body: hello }))
      const [recorded] = yield* server.atLeast(1)
      yield* Scope.close(scope, Exit.void)
      assert.isDefined((yield* Fiber.join(asking)).broken)
      assert.strictEqual(yield* recorded!.ended, "abandoned")
      assert.strictEqual((yield* ask({ url: server.url, body: hello })).broken, "ECONNREFUSED")
    }),
  )

  it.live("listens on loopback only, and says when a port is taken", () =>
    Effect.gen(function* () {
      const book: Playbook = { rules: [{ reply: "Hi" }] }
      const outside = yield* Effect.flip(serve(book, { host: "0.0.0.0" }))
      assert.deepInclude(outside, { _tag: "ScriptedServerError", reason: "not_loopback" })
      const { port } = yield* serve(book)
      const taken = yield* Effect.flip(serve(book, { port }))
      assert.deepInclude(taken, { _tag: "ScriptedServerError", reason: "in_use" })
      assert.include(taken.message, String(port))
    }),
  )

  it.live("accepts a history of a thousand turns, request after request", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ rules: [{ reply: "Hi" }] }, { record: false })
      const turns = Array.from({ length: 1000 }, (_, n) => [
        assistant([call(`c${n}`, "Read", { file_path: `/src/file${n}.ts` })]),
        user([result(`c${n}`, `line of file ${n}\n`.repeat(40))]),
      ]).flat()
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
      for (const count of [1990, 1992, 1994, 1996, 1998, 2000]) {
        const answer = yield* ask({ url, agent, body: body([user("go"), ...turns.slice(0, count)]) })
        assert.strictEqual(answer.status, 200)
      }
      agent.destroy()
    }),
  )
})
