import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { absent, ask, events, failure, layer, reply, request } from "./Asking.ts"
import { answers, serve, sse, streams } from "./StubServer.ts"

const at = (url: string, more: Record<string, string> = {}) => ({
  CLAUDE_CODE_USE_FOUNDRY: "1",
  ANTHROPIC_FOUNDRY_BASE_URL: `${url}/anthropic`,
  ...more,
})
const refused = answers(401, { error: { code: "401", message: "Access denied due to invalid subscription key." } })

describe("FoundryProvider", () => {
  it.live("asks the resource for a deployment by its name, with its key", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(sse(reply)))
      const env = at(server.url, { ANTHROPIC_FOUNDRY_API_KEY: "azure-key-1", ANTHROPIC_API_KEY: "other" })
      assert.deepStrictEqual(yield* ask({ env }, { ...request, model: "our-sonnet" }), reply as unknown)
      const [seen] = server.seen
      assert.strictEqual(seen?.url, "/anthropic/v1/messages")
      assert.strictEqual(seen?.headers["x-api-key"], "azure-key-1")
      assert.isUndefined(seen?.headers.authorization)
      assert.isString(seen?.headers["anthropic-version"])
      assert.deepInclude(JSON.parse(seen?.body ?? "{}"), { model: "our-sonnet", stream: true })
    }),
  )

  it.live("shows a token where one is stated, and leaves it to a gateway that has its own", () =>
    Effect.gen(function* () {
      const server = yield* serve(streams(sse(reply)))
      yield* ask({ env: at(server.url, { ANTHROPIC_FOUNDRY_AUTH_TOKEN: "entra-1" }) })
      yield* ask({ env: at(server.url, { CLAUDE_CODE_SKIP_FOUNDRY_AUTH: "1" }) })
      assert.deepStrictEqual(
        server.seen.map(({ headers }) => [headers.authorization, headers["x-api-key"]]),
        [
          ["Bearer entra-1", undefined],
          [undefined, undefined],
        ],
      )
    }),
  )

  it.live("asks the Azure CLI for a token, keeps it, and asks again once when it is refused", () =>
    Effect.gen(function* () {
      const ran: Array<string> = []
      const run = (command: string) => Effect.sync(() => ({ stdout: `entra-token-${ran.push(command)}\n` }))
      const server = yield* serve(streams(sse(reply)), refused, streams(sse(reply)), refused)
      const all = Effect.gen(function* () {
        yield* events()
        yield* events()
        return yield* Effect.flip(events())
      })
      const error = yield* Effect.provide(all, layer({ env: at(server.url), run }))
      assert.deepInclude(error, { reason: "unauthenticated", status: 401 })
      assert.match(error.message, /ANTHROPIC_FOUNDRY_API_KEY/)
      assert.strictEqual(ran.length, 3)
      assert.match(ran[0] ?? "", /^az account get-access-token/)
      assert.deepStrictEqual(
        server.seen.map(({ headers }) => headers.authorization),
        [1, 1, 2, 2, 3].map((n) => `Bearer entra-token-${n}`),
      )
    }),
  )

  it.live("says what is missing: the resource, the deployment, the package", () =>
    Effect.gen(function* () {
      const key = { CLAUDE_CODE_USE_FOUNDRY: "1", ANTHROPIC_FOUNDRY_API_KEY: "azure-key-1" }
      const resource = yield* failure({ env: key })
      assert.strictEqual(resource.reason, "misconfigured")
      assert.match(resource.message, /set ANTHROPIC_FOUNDRY_RESOURCE/)
      const server = yield* serve(
        answers(404, {
          error: { code: "DeploymentNotFound", message: "The API deployment for this resource does not exist." },
        }),
      )
      const deployment = yield* failure({ env: { ...key, ...at(server.url) } })
      assert.strictEqual(deployment.reason, "model_not_found")
      assert.match(deployment.message, /names of their deployments/)
      const pack = yield* failure({ env: { ...key, ...at(server.url) }, sdks: { foundry: absent } })
      assert.match(pack.message, /npm install @anthropic-ai\/foundry-sdk/)
    }),
  )
})
