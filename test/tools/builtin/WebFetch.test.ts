import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as http from "node:http"
import * as https from "node:https"
import type { AddressInfo } from "node:net"
import { Dns } from "../../../src/platform/Dns.ts"
import { HttpFetch } from "../../../src/platform/HttpFetch.ts"
import * as NodeHttpFetch from "../../../src/platform/NodeHttpFetch.ts"
import { text } from "../../../src/protocol/Content.ts"
import type { Services } from "../../../src/tools/builtin/Source.ts"
import { maxPageChars, WebFetch } from "../../../src/tools/builtin/WebFetch.ts"
import { KeptPages, PrivateAddresses } from "../../../src/tools/WebPages.ts"
import { certificates } from "../../platform/Certificates.ts"
import { call, inWorkspace, refusal, said } from "./kit.ts"
import { sideModel } from "./sideModel.ts"

type Handler = (request: http.IncomingMessage, response: http.ServerResponse) => void

/** A server on loopback. */
const serving = (handler: Handler) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly port: number; readonly close: () => void }>((resume) => {
      const server = http.createServer(handler)
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        const close = () => (server.closeAllConnections(), void server.close())
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, port, close }))
      })
    }),
    ({ close }) => Effect.sync(close),
  )

const echo = sideModel((request) => [text(`read: ${String(request.messages[0]?.content)}`)])

/** With real sockets on loopback, which sessions may not reach by default. */
const onLoopback = <A, E>(
  test: Effect.Effect<A, E, Services | Scope.Scope>,
  more: Parameters<typeof inWorkspace>[1] = {},
) =>
  inWorkspace(
    () =>
      Effect.scoped(test).pipe(
        Effect.provide(NodeHttpFetch.layer),
        Effect.provideService(PrivateAddresses, "allowed"),
        Effect.provideService(KeptPages, new Map()),
      ),
    { model: echo.service, ...more },
  )

const html: Handler = (_, response) => {
  response.setHeader("content-type", "text/html; charset=utf-8")
  response.end("<title>T</title><body><h2>Hé</h2><p>words <a href='/x'>x</a></p></body>")
}

describe("WebFetch", () => {
  it.live("has a small model read the page as markdown", () =>
    onLoopback(
      Effect.gen(function* () {
        const { url } = yield* serving(html)
        const output = yield* call(WebFetch, { url: `${url}/a#part`, prompt: "What is it?" })
        const content = String(output.content)
        assert.include(content, `<page url="${url}/a">\n# T\n\n## Hé\n\nwords [x](${url}/x)\n</page>\n\nWhat is it?`)
        assert.strictEqual(echo.asked.at(-1)?.model, "haiku")
        assert.deepInclude(output.structured, { code: 200, codeText: "OK", url: `${url}/a#part`, bytes: 72 })
        const invocation = yield* WebFetch.decode({ url: "https://example.com/x", prompt: "y" })
        assert.deepStrictEqual(yield* invocation.effects, { connects: ["example.com"] })
        assert.strictEqual((yield* invocation.opinion).behavior, "passthrough")
        assert.isTrue(invocation.readOnly && invocation.concurrencySafe)
      }),
    ),
  )

  it.live("passes text, JSON and other charsets on, notes a PDF, and refuses what is not text", () =>
    onLoopback(
      Effect.gen(function* () {
        const types: Record<string, readonly [string, Uint8Array | string]> = {
          "/text": ["text/plain; charset=iso-8859-1", Buffer.from("caf\u00e9", "latin1")],
          "/json": ["application/problem+json", `{"a":1}`],
          "/pdf": ["application/pdf", "%PDF-1.4"],
          "/png": ["image/png", Buffer.from([0x89, 0x50])],
          "/lie": ["text/plain", Buffer.from([1, 0, 2])],
          "/none": ["", "plain"],
        }
        const { url } = yield* serving((request, response) => {
          const [type, body] = types[request.url ?? ""] ?? ["text/plain", ""]
          if (type !== "") response.setHeader("content-type", type)
          if (request.url === "/gone") response.statusCode = 404
          response.end(body)
        })
        const fetch = (path: string) => said(WebFetch, { url: url + path, prompt: "p" })
        const refused = (path: string) => refusal(WebFetch, { url: url + path, prompt: "p" })
        assert.include(yield* fetch("/text"), "\ncafé\n")
        assert.include(yield* fetch("/json"), `{"a":1}`)
        assert.include(yield* fetch("/none"), "plain")
        assert.match(yield* fetch("/pdf"), /is a PDF document/)
        assert.match(yield* fetch("/empty"), /has no text/)
        assert.match(yield* refused("/png"), /not text \(image\/png/)
        assert.match(yield* refused("/lie"), /not text/)
        assert.match(yield* refused("/gone"), /answered 404 Not Found/)
      }),
    ),
  )

  it.live("follows a redirect on the same host and reports one to another", () =>
    onLoopback(
      Effect.gen(function* () {
        const { url } = yield* serving((request, response) => {
          const to = { "/a": "/b", "/away": "https://other.example/x", "/round": "/round", "/bad": "http://[" }[
            request.url ?? ""
          ]
          if (to === undefined) return html(request, response)
          response.writeHead(302, { location: to }).end()
        })
        assert.include(yield* said(WebFetch, { url: `${url}/a`, prompt: "p" }), `<page url="${url}/b">`)
        const output = yield* call(WebFetch, { url: `${url}/away`, prompt: "p" })
        assert.match(
          String(output.content),
          /^REDIRECT DETECTED.*Redirect URL: https:\/\/other.example\/x\nStatus: 302 Found/s,
        )
        assert.deepInclude(output.structured, { code: 302, bytes: 0 })
        assert.match(yield* refusal(WebFetch, { url: `${url}/round`, prompt: "p" }), /redirects more than 10 times/)
        assert.match(yield* refusal(WebFetch, { url: `${url}/bad`, prompt: "p" }), /redirects to nowhere/)
      }),
    ),
  )

  it.live("reads a long page in parts", () =>
    onLoopback(
      Effect.gen(function* () {
        const long = "x".repeat(maxPageChars) + "the rest"
        const { url } = yield* serving((_, response) => void response.end(long))
        assert.match(yield* said(WebFetch, { url, prompt: "p" }), /Read on with offset 100000\.\]$/)
        assert.include(yield* said(WebFetch, { url, prompt: "p", offset: maxPageChars }), "\nthe rest\n")
        assert.match(yield* said(WebFetch, { url, prompt: "p", offset: 999_999 }), /nothing at offset/)
      }),
    ),
  )

  it.live("gives the page itself, cut, where no model answers", () =>
    onLoopback(
      Effect.gen(function* () {
        const { url } = yield* serving((_, response) => void response.end("y".repeat(50_000)))
        const content = yield* said(WebFetch, { url, prompt: "p" })
        assert.match(
          content,
          /^\[No model could read the page \(too busy\); this is the page itself.\]\n\ny+\n\n\[Characters 0 to 20000 of 50000/,
        )
      }),
      { model: sideModel(() => "too busy").service },
    ),
  )

  it.live("refuses a page over ten megabytes, announced or not", () =>
    onLoopback(
      Effect.gen(function* () {
        const piece = "z".repeat(1024 * 1024)
        const { url } = yield* serving((request, response) => {
          if (request.url === "/announced")
            return void response.writeHead(200, { "content-length": 11 * 1024 * 1024 }).write("z")
          const more = () => {
            if (!response.destroyed) response.write(piece, () => setImmediate(more))
          }
          more()
        })
        assert.match(yield* refusal(WebFetch, { url: `${url}/announced`, prompt: "p" }), /larger than 10 MB/)
        assert.match(yield* refusal(WebFetch, { url: `${url}/endless`, prompt: "p" }), /larger than 10 MB/)
      }),
    ),
  )

  it.effect("keeps a page for fifteen minutes", () =>
    onLoopback(
      Effect.gen(function* () {
        let asked = 0
        const { url } = yield* serving((_, response) => void response.end(`visit ${++asked}`))
        const fetch = said(WebFetch, { url, prompt: "p" })
        assert.include(yield* fetch, "visit 1")
        yield* TestClock.adjust("14 minutes")
        assert.include(yield* fetch, "visit 1")
        yield* TestClock.adjust("2 minutes")
        assert.include(yield* fetch, "visit 2")
      }),
    ),
  )

  it.effect("gives up on a page that does not arrive, and closes the connection", () =>
    onLoopback(
      Effect.gen(function* () {
        const reached = yield* Deferred.make<void>()
        const closed = yield* Deferred.make<void>()
        const { url } = yield* serving((request) => {
          request.socket.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
          Deferred.doneUnsafe(reached, Effect.void)
        })
        const fiber = yield* Effect.forkChild(refusal(WebFetch, { url, prompt: "p" }))
        yield* Deferred.await(reached)
        yield* TestClock.adjust("5 minutes")
        assert.match(yield* Fiber.join(fiber), /did not arrive within 300 s/)
        yield* Deferred.await(closed)
      }),
    ),
  )

  it.live("closes the connection when it is interrupted", () =>
    onLoopback(
      Effect.gen(function* () {
        const reached = yield* Deferred.make<void>()
        const closed = yield* Deferred.make<void>()
        const { url } = yield* serving((request, response) => {
          response.write("a part")
          request.socket.on("close", () => Deferred.doneUnsafe(closed, Effect.void))
          Deferred.doneUnsafe(reached, Effect.void)
        })
        const fiber = yield* Effect.forkChild(call(WebFetch, { url, prompt: "p" }))
        yield* Deferred.await(reached)
        yield* Fiber.interrupt(fiber)
        yield* Deferred.await(closed)
      }),
    ),
  )

  it.live("checks the certificate by the name, though it connects by the address", () =>
    Effect.gen(function* () {
      const files = yield* certificates
      const server = https.createServer(
        { key: files.read("server.key"), cert: files.read("server.pem") },
        (_, response) => response.end("secured"),
      )
      yield* Effect.acquireRelease(
        Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => (server.closeAllConnections(), void server.close())),
      )
      const { port } = server.address() as AddressInfo
      yield* onLoopback(
        Effect.gen(function* () {
          assert.include(yield* said(WebFetch, { url: `https://api.stub.test:${port}/`, prompt: "p" }), "secured")
          const why = yield* refusal(WebFetch, { url: `https://other.stub.test:${port}/`, prompt: "p" })
          assert.match(why, /could not be fetched.*other\.stub\.test/)
        }).pipe(Effect.provideService(Dns, () => Effect.succeed(["127.0.0.1"]))),
        { env: { NODE_EXTRA_CA_CERTS: files.path("ca.pem") } },
      )
    }).pipe(Effect.scoped),
  )

  const notReached = Layer.succeed(HttpFetch, () => Promise.reject(new Error("connected")))

  it.live("refuses private addresses by every name, before it connects", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const hosts = [
          "localhost:3000",
          "localhost.",
          "127.0.0.1",
          "2130706433",
          "0x7f.1",
          "[::1]",
          "[::ffff:10.0.0.1]",
          "169.254.169.254",
          "metadata.google.internal",
          "intranet",
          "rebound.example",
          "mixed.example",
        ]
        for (const host of hosts) {
          assert.match(
            yield* refusal(WebFetch, { url: `http://${host}/`, prompt: "p" }),
            /WebFetch does not reach/,
            host,
          )
        }
        for (const url of [
          "nonsense",
          "file:///etc/passwd",
          "https://a:b@example.com/",
          `https://e.com/${"x".repeat(2_000)}`,
        ]) {
          assert.notMatch(yield* refusal(WebFetch, { url, prompt: "p" }), /connected/)
        }
        assert.match(yield* refusal(WebFetch, { url: "https://public.example", prompt: "" }), /prompt/)
      }).pipe(
        Effect.provide(notReached),
        Effect.provideService(Dns, (host) =>
          Effect.succeed(host === "mixed.example" ? ["93.184.216.34", "10.0.0.7"] : ["192.168.0.9"]),
        ),
      ),
    ),
  )

  it.live("connects over https to the very address that it has judged, under the name it was given", () =>
    inWorkspace(
      () =>
        Effect.gen(function* () {
          const seen: Array<readonly [string, string | null]> = []
          const addresses = ["93.184.216.34", "2606:4700::1"]
          let redirected = false
          const fetch = (input: string | URL | Request, init?: RequestInit) => {
            seen.push([String(input), new Headers(init?.headers).get("host")])
            if (redirected) return Promise.resolve(new Response("there"))
            redirected = true
            return Promise.resolve(new Response(null, { status: 301, headers: { location: "/new" } }))
          }
          const web = said(WebFetch, { url: "http://site.example/old", prompt: "p" }).pipe(
            Effect.provideService(HttpFetch, fetch),
            Effect.provideService(KeptPages, new Map()),
            Effect.provideService(Dns, () => Effect.succeed([addresses.shift() ?? "127.0.0.1"])),
          )
          assert.include(yield* web, "there")
          assert.deepStrictEqual(seen, [
            ["https://93.184.216.34/old", "site.example"],
            ["https://[2606:4700::1]/new", "site.example"],
          ])
        }),
      { model: echo.service },
    ),
  )

  it.live("does not go on by itself where only the www differs: a rule may be about that", () =>
    inWorkspace(
      () =>
        Effect.gen(function* () {
          let calls = 0
          const fetch = () => {
            calls++
            const headers = { location: "https://www.site.example/new" }
            return Promise.resolve(new Response(null, { status: 301, headers }))
          }
          const web = said(WebFetch, { url: "https://site.example/old", prompt: "p" }).pipe(
            Effect.provideService(HttpFetch, fetch),
            Effect.provideService(KeptPages, new Map()),
            Effect.provideService(Dns, () => Effect.succeed(["93.184.216.34"])),
          )
          assert.include(yield* web, "REDIRECT DETECTED")
          assert.strictEqual(calls, 1)
        }),
      { model: echo.service },
    ),
  )

  it.live("judges where a redirect leads, too", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        let calls = 0
        const fetch = () => {
          calls++
          return Promise.resolve(new Response(null, { status: 302, headers: { location: "/inside" } }))
        }
        const names = ["93.184.216.34", "127.0.0.1"]
        const why = yield* refusal(WebFetch, { url: "https://turning.example/", prompt: "p" }).pipe(
          Effect.provideService(HttpFetch, fetch),
          Effect.provideService(Dns, () => Effect.succeed([names.shift() ?? "127.0.0.1"])),
        )
        assert.match(why, /leads to 127\.0\.0\.1/)
        assert.strictEqual(calls, 1)
      }),
    ),
  )
})
