import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { certificates } from "../platform/Certificates.ts"
import { proxy } from "../platform/StubProxy.ts"
import { absent, ask, failure, reply, request } from "./Asking.ts"
import { answers, serve, serveWith, sse, streams } from "./StubServer.ts"

const at = (url: string, more: Record<string, string> = {}) => ({
  CLAUDE_CODE_USE_VERTEX: "1",
  CLOUD_ML_REGION: "us-east5",
  ANTHROPIC_VERTEX_PROJECT_ID: "project-1",
  ANTHROPIC_VERTEX_BASE_URL: `${url}/v1`,
  ...more,
})
const skipping = { CLAUDE_CODE_SKIP_VERTEX_AUTH: "1" }

/** A machine with Google credentials: what it shows is exchanged for a token at `tokens`, a new one each time. */
const machine = Effect.gen(function* () {
  const folder = mkdtempSync(join(tmpdir(), "troupe-gcp-"))
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true, force: true })))
  let made = 0
  const tokens = yield* serve((response, asked) =>
    answers(200, {
      access_token: `google-token-${++made}`,
      issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
      token_type: "Bearer",
      expires_in: 3600,
    })(response, asked),
  )
  writeFileSync(join(folder, "subject"), "subject-token")
  const file = join(folder, "adc.json")
  const credentials = {
    type: "external_account",
    audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
    subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
    token_url: `${tokens.url}/token`,
    credential_source: { file: join(folder, "subject") },
  }
  writeFileSync(file, JSON.stringify(credentials))
  return { tokens, env: { GOOGLE_APPLICATION_CREDENTIALS: file } }
})

const unauthenticated = answers(401, {
  error: { code: 401, message: "Request had invalid authentication credentials.", status: "UNAUTHENTICATED" },
})

describe("VertexProvider", () => {
  it.live("names project, region and dated model in the address, and shows Google's token", () =>
    Effect.gen(function* () {
      const { env, tokens } = yield* machine
      const server = yield* serve(streams(sse(reply)))
      const world = { env: at(server.url, { ...env, ANTHROPIC_CUSTOM_HEADERS: "X-Team: blue", ANTHROPIC_BETAS: "b1" }) }
      assert.deepStrictEqual(yield* ask(world), reply as unknown)
      const [seen] = server.seen
      assert.strictEqual(
        seen?.url,
        "/v1/projects/project-1/locations/us-east5/publishers/anthropic/models/claude-haiku-4-5@20251001:streamRawPredict",
      )
      assert.deepInclude(seen?.headers, {
        authorization: "Bearer google-token-1",
        "x-team": "blue",
        "anthropic-beta": "b1",
      })
      assert.isUndefined(seen?.headers["x-api-key"])
      assert.isUndefined(seen?.headers["anthropic-version"])
      const body = JSON.parse(seen?.body ?? "{}")
      assert.deepInclude(body, { stream: true, max_tokens: 100 })
      assert.isString(body.anthropic_version)
      assert.isUndefined(body.model)
      // Google's own exchange went through our fetch, as a form.
      assert.match(tokens.seen[0]?.body ?? "", /subject_token=subject-token/)
    }).pipe(Effect.scoped),
  )

  it.live("exchanges the login of gcloud for a token, through the proxy of the company", () =>
    Effect.gen(function* () {
      const { path, read } = yield* certificates
      const tls = { cert: read("server.pem"), key: read("server.key") }
      const google = yield* serveWith(
        (listener) => createServer(tls, listener),
        answers(200, { access_token: "google-token-9", token_type: "Bearer", expires_in: 3600 }),
      )
      const way = yield* proxy({ to: google.port })
      const login = { type: "authorized_user", client_id: "id", client_secret: "secret", refresh_token: "refresh-1" }
      writeFileSync(path("adc.json"), JSON.stringify(login))
      const server = yield* serve(streams(sse(reply)))
      yield* ask({
        env: at(server.url, {
          GOOGLE_APPLICATION_CREDENTIALS: path("adc.json"),
          NODE_EXTRA_CA_CERTS: path("ca.pem"),
          HTTPS_PROXY: way.url,
        }),
      })
      assert.strictEqual(server.seen[0]?.headers.authorization, "Bearer google-token-9")
      assert.strictEqual(way.asked[0]?.target, "oauth2.googleapis.com:443")
      assert.match(google.seen[0]?.body ?? "", /refresh_token=refresh-1/)
    }).pipe(Effect.scoped),
  )

  it.live("takes another region for a model that has one, and present models without a date", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(sse(reply)))
      const env = at(server.url, {
        ...skipping,
        VERTEX_REGION_CLAUDE_HAIKU_4_5: "europe-west1",
        VERTEX_REGION_CLAUDE_5_5_OPUS: "us",
      })
      for (const model of ["claude-haiku-4-5-20251001", "claude-opus-5-5", "claude-sonnet-5-5"]) {
        yield* ask({ env }, { ...request, model })
      }
      assert.deepStrictEqual(
        server.seen.map(({ url }) => /locations\/([^/]+).*models\/([^:]+)/.exec(url)?.slice(1)),
        [
          ["europe-west1", "claude-haiku-4-5@20251001"],
          ["us", "claude-opus-5-5"],
          ["us-east5", "claude-sonnet-5-5"],
        ],
      )
    }),
  )

  it.live("leaves credentials to a gateway that has them", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(sse(reply)))
      yield* ask({ env: at(server.url, { ...skipping, ANTHROPIC_AUTH_TOKEN: "gateway-1" }) })
      assert.strictEqual(server.seen[0]?.headers.authorization, "Bearer gateway-1")
    }),
  )

  it.live("renews a refused token exactly once, with gcpAuthRefresh before it", () =>
    Effect.gen(function* () {
      const { env } = yield* machine
      const ran: Array<string> = []
      const run = (command: string) => Effect.sync(() => (ran.push(command), {}))
      const settings = { gcpAuthRefresh: "gcloud auth application-default login" }
      const good = yield* serve(unauthenticated, streams(sse(reply)))
      assert.deepStrictEqual(yield* ask({ env: at(good.url, env), settings, run }), reply as unknown)
      assert.deepStrictEqual(
        good.seen.map(({ headers }) => headers.authorization),
        ["Bearer google-token-1", "Bearer google-token-2"],
      )
      const bad = yield* serve(unauthenticated)
      const error = yield* failure({ env: at(bad.url, env), settings, run })
      assert.deepInclude(error, { reason: "unauthenticated", status: 401, retryable: false })
      assert.match(error.message, /gcloud auth application-default login/)
      assert.strictEqual(bad.seen.length, 2)
      assert.strictEqual(ran.length, 2)
    }).pipe(Effect.scoped),
  )

  it.live("tells Google's refusals apart", () =>
    Effect.gen(function* () {
      const refusal = (code: number, status: string, message: string) =>
        answers(code, [{ error: { code, status, message } }])
      const server = yield* serve(
        refusal(403, "PERMISSION_DENIED", "Permission 'aiplatform.endpoints.predict' denied"),
        refusal(
          404,
          "NOT_FOUND",
          "Publisher Model `projects/p/locations/l/publishers/anthropic/models/m` was not found",
        ),
        refusal(429, "RESOURCE_EXHAUSTED", "Quota exceeded"),
      )
      const env = at(server.url, skipping)
      const denied = yield* failure({ env })
      assert.strictEqual(denied.reason, "forbidden")
      assert.match(denied.message, /answered 403: Permission 'aiplatform.endpoints.predict' denied\. /)
      assert.match(denied.message, /roles\/aiplatform\.user/)
      assert.strictEqual((yield* failure({ env })).reason, "model_not_found")
      assert.deepInclude(yield* failure({ env }), { reason: "rate_limited", retryable: true })
    }),
  )

  it.live("says what is missing: a region, a project, credentials, the package", () =>
    Effect.gen(function* () {
      const full = at("http://127.0.0.1:1", skipping)
      const { CLOUD_ML_REGION: _r, ...noRegion } = full
      assert.match((yield* failure({ env: noRegion })).message, /set CLOUD_ML_REGION/)
      const { ANTHROPIC_VERTEX_PROJECT_ID: _p, ...noProject } = full
      assert.match((yield* failure({ env: noProject })).message, /set ANTHROPIC_VERTEX_PROJECT_ID/)
      const env = at("http://127.0.0.1:1", { GOOGLE_APPLICATION_CREDENTIALS: "/nowhere/adc.json" })
      const none = yield* failure({ env })
      assert.strictEqual(none.reason, "unauthenticated")
      assert.match(none.message, /nowhere.*gcloud auth/s)
      const pack = yield* failure({ env: full, sdks: { vertex: absent } })
      assert.deepInclude(pack, { reason: "misconfigured", retryable: false })
      assert.match(pack.message, /npm install @anthropic-ai\/vertex-sdk/)
    }),
  )
})
