import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { createServer as createSecure } from "node:https"
import type { TLSSocket } from "node:tls"
import { promisify } from "node:util"
import { type Fetch, HttpFetch } from "../../src/platform/HttpFetch.ts"
import * as NodeHttpFetch from "../../src/platform/NodeHttpFetch.ts"
import { routed } from "../../src/platform/Route.ts"
import { answers, serve, serveWith } from "../model/StubServer.ts"
import { certificates, passphrase } from "./Certificates.ts"
import { proxy } from "./StubProxy.ts"

/** Several requests with one client, one after the other. */
const fetching = (env: Record<string, string>, ...urls: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const fetch = routed(yield* HttpFetch, (name) => env[name] || undefined)
    const texts: Array<string | Error> = []
    for (const url of urls) {
      texts.push(yield* Effect.promise(() => fetch(url).then((response) => response.text(), asError)))
    }
    return texts
  }).pipe(Effect.provide(NodeHttpFetch.layer))

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

const failing = (env: Record<string, string>, url: string) =>
  Effect.map(fetching(env, url), ([only]) => (only instanceof Error ? only : new Error(`answered: ${only}`)))

const aborted = async (fetch: Fetch): Promise<Error> => {
  const controller = new AbortController()
  const asking = fetch("https://api.stub.test/", { signal: controller.signal }).then(
    () => new Error("answered"),
    asError,
  )
  controller.abort()
  return asking
}

describe("NodeHttpFetch, on other ways", () => {
  it.live("asks a proxy for a tunnel, speaks TLS inside it with an authority of one's own, and uses it again", () =>
    Effect.gen(function* () {
      const { path, read } = yield* certificates
      const server = yield* serveWith(
        (listener) => createSecure({ cert: read("server.pem"), key: read("server.key") }, listener),
        answers(200, "hello"),
      )
      const way = yield* proxy({ to: server.port })
      const env = {
        HTTPS_PROXY: `http://user:p%40ss@127.0.0.1:${way.port}`,
        NODE_EXTRA_CA_CERTS: path("ca.pem"),
      }
      const url = "https://api.stub.test/v1/x?y=1"
      assert.deepStrictEqual(yield* fetching(env, url, url), ["hello", "hello"])
      assert.deepStrictEqual(
        way.asked.map(({ method, target }) => [method, target]),
        [["CONNECT", "api.stub.test:443"]],
      )
      assert.strictEqual(
        way.asked[0]?.headers["proxy-authorization"],
        `Basic ${Buffer.from("user:p@ss").toString("base64")}`,
      )
      assert.strictEqual(server.seen[0]?.url, "/v1/x?y=1")
      assert.strictEqual(server.seen[0]?.headers.host, "api.stub.test")
      assert.isUndefined(server.seen[0]?.headers["proxy-authorization"])
      // Without the authority nobody is trusted, tunnel or not.
      const { NODE_EXTRA_CA_CERTS: _, ...untrusting } = env
      const error = yield* failing(untrusting, url)
      assert.match(String("code" in error ? error.code : error), /SELF_SIGNED|UNABLE_TO/)
    }).pipe(Effect.scoped),
  )

  it.live("speaks TLS to a proxy that wants it, with the same authority", () =>
    Effect.gen(function* () {
      const { path, read } = yield* certificates
      const tls = { cert: read("server.pem"), key: read("server.key") }
      const server = yield* serveWith((listener) => createSecure(tls, listener), answers(200, "twice"))
      const way = yield* proxy({ to: server.port, tls })
      const env = { HTTPS_PROXY: `https://127.0.0.1:${way.port}`, NODE_EXTRA_CA_CERTS: path("ca.pem") }
      assert.deepStrictEqual(yield* fetching(env, "https://api.stub.test/"), ["twice"])
      assert.strictEqual(way.asked[0]?.target, "api.stub.test:443")
    }).pipe(Effect.scoped),
  )

  it.live("tells a proxy the whole address of a plain request", () =>
    Effect.gen(function* () {
      const server = yield* serve(answers(200, "plain"))
      const way = yield* proxy()
      const env = { http_proxy: `http://user:word@127.0.0.1:${way.port}` }
      // A name that is not this machine's own, so that the proxy counts; the proxy finds it all the same.
      const url = `http://0.0.0.0:${server.port}/a?b=c`
      assert.deepStrictEqual(yield* fetching(env, url), ["plain"])
      assert.deepInclude(way.asked[0], { method: "GET", target: url })
      assert.strictEqual(way.asked[0]?.headers.host, `0.0.0.0:${server.port}`)
      assert.match(way.asked[0]?.headers["proxy-authorization"] ?? "", /^Basic /)
      assert.deepStrictEqual(yield* fetching({ ...env, NO_PROXY: "0.0.0.0" }, url), ["plain"])
      assert.strictEqual(way.asked.length, 1)
    }).pipe(Effect.scoped),
  )

  it.live("says what a proxy refused, and when there is none", () =>
    Effect.gen(function* () {
      const url = "https://api.stub.test/"
      const locked = yield* proxy({ status: 407 })
      const credentials = yield* failing({ HTTPS_PROXY: locked.url }, url)
      assert.match(credentials.message, /refused a tunnel to api\.stub\.test:443: 407 .*user:password@/s)
      const closed = yield* proxy()
      assert.match((yield* failing({ HTTPS_PROXY: closed.url }, url)).message, /403 .*NO_PROXY/s)
      const none = yield* failing({ HTTPS_PROXY: "http://user:hunter2@127.0.0.1:1" }, url)
      assert.match(none.message, /Cannot reach the proxy at 127\.0\.0\.1:1 \(ECONNREFUSED\)\. Check HTTPS_PROXY/)
      assert.notInclude(none.message, "hunter2")
    }).pipe(Effect.scoped),
  )

  it.live("shows a client certificate, locked or not, and says which file is missing", () =>
    Effect.gen(function* () {
      const { path, read } = yield* certificates
      const server = yield* serveWith(
        (listener) =>
          createSecure(
            {
              cert: read("server.pem"),
              key: read("server.key"),
              ca: read("ca.pem"),
              requestCert: true,
              rejectUnauthorized: true,
            },
            listener,
          ),
        (response, request) => response.end((request.socket as TLSSocket).getPeerCertificate().subject.CN),
      )
      const url = `https://127.0.0.1:${server.port}/`
      const env = { NODE_EXTRA_CA_CERTS: path("ca.pem"), CLAUDE_CODE_CLIENT_CERT: path("client.pem") }
      assert.deepStrictEqual(yield* fetching({ ...env, CLAUDE_CODE_CLIENT_KEY: path("client.key") }, url), ["client"])
      const locked = {
        ...env,
        CLAUDE_CODE_CLIENT_KEY: path("locked.key"),
        CLAUDE_CODE_CLIENT_KEY_PASSPHRASE: passphrase,
      }
      assert.deepStrictEqual(yield* fetching(locked, url), ["client"])
      const missing = yield* failing({ ...env, CLAUDE_CODE_CLIENT_KEY: path("none.key") }, url)
      assert.match(missing.message, /CLAUDE_CODE_CLIENT_KEY names a file that cannot be read: .*none\.key \(ENOENT\)/)
    }).pipe(Effect.scoped),
  )

  it.live("does not wait for a tunnel when the request is aborted", () =>
    Effect.gen(function* () {
      const silent = yield* serveWith((listener) => createSecure(listener), answers(200, ""))
      const fetch = routed(yield* HttpFetch, (name) =>
        name === "HTTPS_PROXY" ? `http://127.0.0.1:${silent.port}` : undefined,
      )
      assert.strictEqual((yield* Effect.promise(() => aborted(fetch))).name, "AbortError")
    }).pipe(Effect.provide(NodeHttpFetch.layer), Effect.scoped),
  )

  it.live("takes up a handshake that was begun before, and makes its own where there is none", () =>
    Effect.gen(function* () {
      const { path, read } = yield* certificates
      const made = { connections: 0 }
      const server = yield* serveWith(
        (listener) => {
          const secure = createSecure({ cert: read("server.pem"), key: read("server.key") }, listener)
          secure.on("secureConnection", () => made.connections++)
          return secure
        },
        answers(200, "hello"),
      )
      const script = `
        const { make } = await import(${JSON.stringify(new URL("../../dist/lib/platform/NodeHttpFetch.js", import.meta.url).href)})
        const { fetch, close } = make()
        const url = new URL("https://127.0.0.1:${server.port}/")
        fetch.preconnect(url)
        fetch.preconnect(url)
        const said = []
        for (let i = 0; i < 2; i++) said.push(await (await fetch(url)).text())
        fetch.preconnect(new URL("https://127.0.0.1:9/"))
        process.stdout.write(said.join())
        close()`
      const env = { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: path("ca.pem") }
      const said = yield* Effect.promise(() => run(env, script))
      assert.deepStrictEqual([said, made.connections], ["hello,hello", 1])
    }),
  )
})

/** In a process of its own, which trusts what this environment says. */
const run = async (env: Record<string, string | undefined>, script: string): Promise<string> => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script], { env })
  return stdout
}
