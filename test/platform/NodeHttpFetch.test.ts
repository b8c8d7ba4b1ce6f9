import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { createServer, type ServerResponse } from "node:http"
import { gzipSync } from "node:zlib"
import { HttpFetch } from "../../src/platform/HttpFetch.ts"
import * as NodeHttpFetch from "../../src/platform/NodeHttpFetch.ts"

const serve = (handler: (response: ServerResponse, body: string, method: string) => void) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer((request, response) => {
        let body = ""
        request.on("data", (chunk: Buffer) => (body += chunk.toString()))
        request.on("end", () => handler(response, body, request.method ?? ""))
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close }))
      })
    }),
    (server) => Effect.sync(server.close),
  )

const promised = <A>(make: () => Promise<A>) => Effect.promise(make)
const failed = (make: () => Promise<unknown>) =>
  promised(() =>
    make().then(
      () => undefined,
      (error: unknown) => error,
    ),
  )

describe("NodeHttpFetch", () => {
  it.live("sends text with its length, and gives status, headers and body", () =>
    Effect.gen(function* () {
      const server = yield* serve((response, body, method) => {
        response.writeHead(418, { "x-a": "b", "set-cookie": ["one", "two"] })
        response.end(`${method} ${body}`)
      })
      const fetch = yield* HttpFetch
      const response = yield* promised(() => fetch(server.url, { method: "POST", body: "höhö" }))
      assert.deepStrictEqual([response.status, response.ok, response.headers.get("x-a")], [418, false, "b"])
      assert.deepStrictEqual(response.headers.getSetCookie(), ["one", "two"])
      assert.strictEqual(yield* promised(() => response.text()), "POST höhö")
    }).pipe(Effect.provide(NodeHttpFetch.layer)),
  )

  it.live("unpacks what a proxy has packed, and takes answers without a body", () =>
    Effect.gen(function* () {
      const packed = yield* serve((response) => {
        response.writeHead(200, { "content-encoding": "gzip" })
        response.end(gzipSync("packed"))
      })
      const empty = yield* serve((response) => void response.writeHead(204).end())
      const fetch = yield* HttpFetch
      const response = yield* promised(() => fetch(packed.url))
      assert.strictEqual(yield* promised(() => response.text()), "packed")
      assert.strictEqual((yield* promised(() => fetch(empty.url))).body, null)
    }).pipe(Effect.provide(NodeHttpFetch.layer)),
  )

  it.live("carries a body of any size to a slow reader", () =>
    Effect.gen(function* () {
      const size = 5_000_000
      const server = yield* serve((response) => void response.end(Buffer.alloc(size, "x")))
      const fetch = yield* HttpFetch
      const response = yield* promised(() => fetch(server.url))
      const bytes = yield* promised(async () => {
        let read = 0
        for await (const chunk of response.body ?? []) {
          read += chunk.length
          await new Promise((resolve) => setImmediate(resolve))
        }
        return read
      })
      assert.strictEqual(bytes, size)
    }).pipe(Effect.provide(NodeHttpFetch.layer)),
  )

  it.live("does not even begin when it is already aborted, and refuses other protocols", () =>
    Effect.gen(function* () {
      let asked = 0
      const server = yield* serve((response) => {
        asked++
        response.end()
      })
      const fetch = yield* HttpFetch
      const aborted = yield* failed(() => fetch(server.url, { signal: AbortSignal.abort() }))
      assert.instanceOf(aborted, Error)
      assert.strictEqual(asked, 0)
      assert.instanceOf(yield* failed(() => fetch("file:///etc/hosts")), TypeError)
    }).pipe(Effect.provide(NodeHttpFetch.layer)),
  )
})
