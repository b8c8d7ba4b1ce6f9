import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { createServer } from "node:https"
import { Provider } from "../../src/model/Provider.ts"
import * as Providers from "../../src/model/Providers.ts"
import { Host } from "../../src/platform/Host.ts"
import { HttpFetch } from "../../src/platform/HttpFetch.ts"
import * as NodeProcess from "../../src/platform/NodeProcess.ts"
import { Process } from "../../src/platform/Process.ts"
import { Settings } from "../../src/settings/Settings.ts"
import { certificates } from "../platform/Certificates.ts"
import { proxy } from "../platform/StubProxy.ts"
import { ask, events, failure, layer, reply, request } from "./Asking.ts"
import { answers, serve, serveWith, sse, streams } from "./StubServer.ts"

const good = streams(sse(reply))
const refused = answers(401, { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } })

/** A service in memory, for what happens in virtual time. */
const inMemory = (settings: Record<string, string>, env: Record<string, string>, run: () => string) => {
  const seen: Array<string | null> = []
  const fetch = Layer.succeed(HttpFetch, (_input, init) => {
    seen.push(new Headers(init?.headers).get("x-api-key"))
    return Promise.resolve(new Response(sse(reply), { headers: { "content-type": "text/event-stream" } }))
  })
  const made = Providers.layer.pipe(
    Layer.provide([
      Host.layerTest({ env }),
      fetch,
      Settings.layerOf(settings),
      // As a process does, it lets others run meanwhile.
      Process.layerScripted(() =>
        Effect.andThen(
          Effect.yieldNow,
          Effect.sync(() => ({ stdout: run() })),
        ),
      ),
    ]),
  )
  return { seen, made }
}

describe("Providers", () => {
  it("is chosen by the first switch that is on", () => {
    const choose = (env: Record<string, string>) => Providers.choose((name) => env[name])
    assert.strictEqual(choose({}), "anthropic")
    assert.strictEqual(choose({ CLAUDE_CODE_USE_BEDROCK: "0", CLAUDE_CODE_USE_VERTEX: "true" }), "vertex")
    assert.strictEqual(choose({ CLAUDE_CODE_USE_BEDROCK: "1", CLAUDE_CODE_USE_FOUNDRY: "1" }), "bedrock")
    assert.strictEqual(choose({ CLAUDE_CODE_USE_FOUNDRY: "yes", ANTHROPIC_API_KEY: "k" }), "foundry")
  })

  it.live("proves who one is by the first of token, key, command, subscription", () =>
    Effect.gen(function* () {
      const server = yield* serve(good)
      const all = {
        ANTHROPIC_BASE_URL: `${server.url}/gateway/v2`,
        ANTHROPIC_AUTH_TOKEN: "token-1",
        ANTHROPIC_API_KEY: "key-1",
        CLAUDE_CODE_OAUTH_TOKEN: "oauth-1",
        ANTHROPIC_BETAS: "b1",
      }
      const settings = { apiKeyHelper: "make-key" }
      const run = () => Effect.succeed({ stdout: "  helper-1\n" })
      const without = (...names: ReadonlyArray<string>) =>
        Object.fromEntries(Object.entries(all).filter(([name]) => !names.includes(name)))
      yield* ask({ env: all, settings, run })
      yield* ask({ env: without("ANTHROPIC_AUTH_TOKEN"), settings, run })
      yield* ask({ env: without("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"), settings, run })
      yield* ask({ env: without("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY") })
      assert.deepStrictEqual(
        server.seen.map(({ url, headers }) => [
          url,
          headers.authorization,
          headers["x-api-key"],
          headers["anthropic-beta"],
        ]),
        [
          ["/gateway/v2/v1/messages", "Bearer token-1", undefined, "b1"],
          ["/gateway/v2/v1/messages", undefined, "key-1", "b1"],
          ["/gateway/v2/v1/messages", undefined, "helper-1", "b1"],
          ["/gateway/v2/v1/messages", "Bearer oauth-1", undefined, "b1,oauth-2025-04-20"],
        ],
      )
      const nobody = yield* failure({ env: { ANTHROPIC_BASE_URL: server.url } })
      assert.strictEqual(nobody.reason, "unauthenticated")
      assert.match(nobody.message, /Set ANTHROPIC_API_KEY/)
    }),
  )

  it.effect("keeps the key of apiKeyHelper for five minutes, and asks for it once however many wait", () =>
    Effect.gen(function* () {
      let ran = 0
      const { seen, made } = inMemory({ apiKeyHelper: "make-key" }, {}, () => `helper-key-${++ran}`)
      yield* Effect.gen(function* () {
        yield* Effect.all([events(), events(), events()], { concurrency: "unbounded" })
        yield* TestClock.adjust("299 seconds")
        yield* events()
        assert.strictEqual(ran, 1)
        yield* TestClock.adjust("1 second")
        yield* events()
      }).pipe(Effect.provide(made))
      assert.deepStrictEqual(
        seen,
        [1, 1, 1, 1, 2].map((n) => `helper-key-${n}`),
      )
    }),
  )

  it.effect("keeps it for as long as CLAUDE_CODE_API_KEY_HELPER_TTL_MS says", () =>
    Effect.gen(function* () {
      let ran = 0
      const env = { CLAUDE_CODE_API_KEY_HELPER_TTL_MS: "1000" }
      const { seen, made } = inMemory({ apiKeyHelper: "make-key" }, env, () => `helper-key-${++ran}`)
      yield* Effect.gen(function* () {
        yield* events()
        yield* TestClock.adjust("1 second")
        yield* events()
      }).pipe(Effect.provide(made))
      assert.deepStrictEqual(seen, ["helper-key-1", "helper-key-2"])
    }),
  )

  it.live("asks apiKeyHelper again once after a 401, and no more", () =>
    Effect.gen(function* () {
      let ran = 0
      const run = () => Effect.sync(() => ({ stdout: `helper-key-${++ran}` }))
      const world = (url: string) => ({ env: { ANTHROPIC_BASE_URL: url }, settings: { apiKeyHelper: "make-key" }, run })
      const server = yield* serve(refused, good, good)
      yield* Effect.provide(Effect.andThen(events(), events()), layer(world(server.url)))
      const keys = server.seen.map(({ headers }) => headers["x-api-key"])
      assert.deepStrictEqual(keys, ["helper-key-1", "helper-key-2", "helper-key-2"])
      const closed = yield* serve(refused)
      const error = yield* failure(world(closed.url))
      assert.deepInclude(error, { reason: "unauthenticated", status: 401, retryable: false })
      assert.match(error.message, /key that apiKeyHelper printed was not accepted/)
      assert.strictEqual(closed.seen.length, 2)
      // Another key would not be allowed more.
      const denied = yield* serve(answers(403, { type: "error", error: { type: "permission_error", message: "no" } }))
      assert.strictEqual((yield* failure(world(denied.url))).reason, "forbidden")
      assert.strictEqual(denied.seen.length, 1)
      // A key that nobody can renew is not tried twice.
      const stated = yield* serve(refused)
      yield* failure({ ...world(stated.url), env: { ANTHROPIC_BASE_URL: stated.url, ANTHROPIC_API_KEY: "key-1" } })
      assert.strictEqual(stated.seen.length, 1)
    }),
  )

  it.live("says how apiKeyHelper failed, in its own words, and never what it printed", () =>
    Effect.gen(function* () {
      const world = (result: object) => ({
        env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:1" },
        settings: { apiKeyHelper: "make-key" },
        run: () => Effect.succeed(result),
      })
      const failed = yield* failure(world({ exitCode: 3, stdout: "half-a-secret", stderr: "vault is sealed\nmore\n" }))
      assert.strictEqual(failed.reason, "unauthenticated")
      assert.match(failed.message, /command of apiKeyHelper .* ended with code 3: vault is sealed/)
      assert.notInclude(failed.message, "half-a-secret")
      assert.match((yield* failure(world({ timedOut: true }))).message, /did not end within 60 s/)
      assert.match((yield* failure(world({ stdout: "\n" }))).message, /printed nothing/)
      assert.match((yield* failure(world({ stdout: "the key is: abc" }))).message, /more than one word/)
      const echo = yield* serve(
        answers(400, { type: "error", error: { type: "invalid_request_error", message: "bad key helper-key-9" } }),
      )
      const told = yield* failure({ ...world({ stdout: "helper-key-9" }), env: { ANTHROPIC_BASE_URL: echo.url } })
      assert.notInclude(told.message, "helper-key-9")
    }),
  )

  it.live("runs apiKeyHelper in a real shell with the environment of the session", () =>
    Effect.gen(function* () {
      const server = yield* serve(good)
      const env = { ANTHROPIC_BASE_URL: server.url, PATH: process.env["PATH"] ?? "", TEAM: "blue" }
      const made = Providers.layer.pipe(
        Layer.provide([
          Host.layerTest({ env, cwd: process.cwd() }),
          Layer.succeed(HttpFetch, (input, init) => globalThis.fetch(input, init)),
          Settings.layerOf({ apiKeyHelper: 'echo asked >&2; echo "key-of-$TEAM"' }),
          NodeProcess.layer,
        ]),
      )
      const provider = yield* Provider.pipe(Effect.provide(made))
      yield* Effect.provideService(events(), Provider, provider)
      assert.strictEqual(server.seen[0]?.headers["x-api-key"], "key-of-blue")
    }),
  )

  it.live("goes to the address of the region, the project's place, the resource", () =>
    Effect.gen(function* () {
      // It refuses every tunnel, and so says who was asked for.
      const way = yield* proxy()
      const bedrock = { CLAUDE_CODE_USE_BEDROCK: "1", AWS_BEARER_TOKEN_BEDROCK: "bedrock-key" }
      const vertex = {
        CLAUDE_CODE_USE_VERTEX: "1",
        ANTHROPIC_VERTEX_PROJECT_ID: "p",
        CLAUDE_CODE_SKIP_VERTEX_AUTH: "1",
      }
      const foundry = {
        CLAUDE_CODE_USE_FOUNDRY: "1",
        ANTHROPIC_FOUNDRY_API_KEY: "azure-key",
        ANTHROPIC_FOUNDRY_RESOURCE: "ours",
      }
      const envs: ReadonlyArray<Record<string, string>> = [
        { ...bedrock, AWS_REGION: "eu-west-1" },
        { ...bedrock, AWS_DEFAULT_REGION: "us-west-2" },
        { ...bedrock, AWS_REGION: "eu-west-1", ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION: "eu-north-1" },
        { ...vertex, CLOUD_ML_REGION: "us-east5" },
        { ...vertex, CLOUD_ML_REGION: "global" },
        { ...vertex, CLOUD_ML_REGION: "eu" },
        foundry,
        { ANTHROPIC_API_KEY: "key-1" },
      ]
      for (const env of envs) {
        const error = yield* failure({ env: { ...env, HTTPS_PROXY: way.url } })
        assert.strictEqual(error.reason, "misconfigured")
        assert.match(error.message, /refused a tunnel/)
      }
      assert.deepStrictEqual(
        way.asked.map(({ target }) => target.replace(/:443$/, "")),
        [
          "bedrock-runtime.eu-west-1.amazonaws.com",
          "bedrock-runtime.us-west-2.amazonaws.com",
          "bedrock-runtime.eu-north-1.amazonaws.com",
          "us-east5-aiplatform.googleapis.com",
          "aiplatform.googleapis.com",
          "aiplatform.eu.rep.googleapis.com",
          "ours.services.ai.azure.com",
          "api.anthropic.com",
        ],
      )
    }),
  )

  it.live("says so when a subscription's token was refused", () =>
    Effect.gen(function* () {
      const server = yield* serve(refused)
      const error = yield* failure({
        env: { ANTHROPIC_BASE_URL: server.url, CLAUDE_CODE_OAUTH_TOKEN: "oauth-token-1" },
      })
      assert.strictEqual(error.reason, "unauthenticated")
      assert.match(error.message, /CLAUDE_CODE_OAUTH_TOKEN was not accepted/)
      assert.strictEqual(server.seen.length, 1)
    }),
  )

  it.live("trusts an authority of one's own, and names the setting when it is not trusted", () =>
    Effect.gen(function* () {
      const { path, read } = yield* certificates
      const tls = { cert: read("server.pem"), key: read("server.key") }
      const server = yield* serveWith((listener) => createServer(tls, listener), good)
      const env = { ANTHROPIC_BASE_URL: `https://127.0.0.1:${server.port}`, ANTHROPIC_API_KEY: "key-1" }
      const error = yield* failure({ env })
      assert.deepInclude(error, { reason: "misconfigured", retryable: false })
      assert.match(error.message, /certificate of https:.* is not trusted.*NODE_EXTRA_CA_CERTS/)
      assert.deepStrictEqual(yield* ask({ env: { ...env, NODE_EXTRA_CA_CERTS: path("ca.pem") } }), reply as unknown)
    }).pipe(Effect.scoped),
  )

  it.live("does not ask anybody when a proxy is misspelled, and keeps its password to itself", () =>
    Effect.gen(function* () {
      const error = yield* failure(
        { env: { ANTHROPIC_API_KEY: "key-1", HTTPS_PROXY: "socks5://u:hunter2@p:1" } },
        request,
      )
      assert.deepInclude(error, { reason: "misconfigured", retryable: false })
      assert.match(error.message, /HTTPS_PROXY names a socks5 proxy/)
      assert.notInclude(error.message, "hunter2")
    }),
  )
})
