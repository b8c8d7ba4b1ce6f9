/**
 * Owns the way to Microsoft Foundry, through its SDK. Its models are deployments that people name themselves, so names are sent
 * as they are.
 */
import * as Effect from "effect/Effect"
import type { Fetch } from "../platform/HttpFetch.ts"
import * as Access from "./Access.ts"
import * as Body from "./AnthropicBody.ts"
import type * as ApiErrors from "./ApiErrors.ts"
import * as CloudSdks from "./CloudSdks.ts"
import * as Command from "./CommandCredential.ts"
import * as MessagesApi from "./MessagesApi.ts"
import * as Secrets from "./Secrets.ts"

const setting = "ANTHROPIC_FOUNDRY_BASE_URL"

const fixes: ApiErrors.Fixes = {
  unauthenticated:
    "Foundry does not accept this credential: check ANTHROPIC_FOUNDRY_API_KEY (the key of the resource that ANTHROPIC_FOUNDRY_RESOURCE names), or log in with az login.",
  forbidden: "Check that this identity has the role Azure AI User on the resource.",
  not_found: `Check ANTHROPIC_FOUNDRY_RESOURCE or ${setting}.`,
  model_not_found:
    "Foundry knows models by the names of their deployments: create one, or state its name with --model or ANTHROPIC_DEFAULT_SONNET_MODEL.",
}

/** A token of `az login` lives for about an hour. */
const tokenMs = 5 * 60_000
const tokenCommand =
  "az account get-access-token --scope https://ai.azure.com/.default --query accessToken --output tsv"

export const way = (env: Access.Env, fetch: Fetch, sdks: CloudSdks.Sdks, shell?: Command.Shell): MessagesApi.Way => {
  const secrets = Secrets.fromEnv(env)
  const timeoutMs = Access.timeoutMs(env)
  const skipAuth = Access.isOn(env("CLAUDE_CODE_SKIP_FOUNDRY_AUTH"))
  const apiKey = env("ANTHROPIC_FOUNDRY_API_KEY")
  const stated = env("ANTHROPIC_FOUNDRY_AUTH_TOKEN")
  const azure =
    shell === undefined
      ? undefined
      : Command.keep(Command.run(shell, "az login", tokenCommand, 60_000), "az login", tokenMs)

  const client = Effect.gen(function* () {
    const url = yield* Access.address(env, setting, "https://example.services.ai.azure.com/anthropic")
    const resource = env("ANTHROPIC_FOUNDRY_RESOURCE")
    if (url === undefined && resource === undefined) {
      return yield* Access.misconfigured(
        `Microsoft Foundry is chosen (CLAUDE_CODE_USE_FOUNDRY), but no resource: set ANTHROPIC_FOUNDRY_RESOURCE to its name, or ${setting} to its address.`,
      )
    }
    const headers = yield* Access.customHeaders(env)
    const { AnthropicFoundry } = yield* CloudSdks.load(sdks.foundry, "@anthropic-ai/foundry-sdk", "Microsoft Foundry")
    const baseURL = url ?? `https://${resource}.services.ai.azure.com/anthropic/`
    return {
      // The credential is a header of each request, because it may change; the client wants one all the same.
      client: new AnthropicFoundry({
        ...MessagesApi.clientOptions(fetch, timeoutMs),
        baseURL,
        apiKey: "unused",
        // Both at once are refused, and without this one it would look into the environment of the process.
        resource: null,
      }),
      headers,
      address: { url: baseURL, setting: url === undefined ? "ANTHROPIC_FOUNDRY_RESOURCE" : setting, firstParty: false },
    }
  })
  let ready: Effect.Success<typeof client> | undefined
  const connected = Effect.suspend(() =>
    ready === undefined ? Effect.tap(client, (loaded) => Effect.sync(() => (ready = loaded))) : Effect.succeed(ready),
  )

  const proof = Effect.gen(function* () {
    if (skipAuth) {
      const token = env("ANTHROPIC_AUTH_TOKEN")
      return { "x-api-key": null, authorization: token === undefined ? null : `Bearer ${token}` }
    }
    if (apiKey !== undefined) return { "x-api-key": apiKey }
    if (stated !== undefined) return { "x-api-key": null, authorization: `Bearer ${stated}` }
    if (azure === undefined) {
      return yield* Access.misconfigured(
        "Microsoft Foundry is chosen (CLAUDE_CODE_USE_FOUNDRY), but no credential: set ANTHROPIC_FOUNDRY_API_KEY.",
      )
    }
    const token = yield* azure.current
    secrets.learn(token)
    return { "x-api-key": null, authorization: `Bearer ${token}` }
  })

  return {
    name: "foundry",
    secrets,
    betas: Access.betas(env),
    connect: () =>
      Effect.gen(function* () {
        const { client: made, headers, address } = yield* connected
        return {
          client: made,
          address,
          timeoutMs,
          body: Body.encode,
          headers: { ...(yield* proof), ...headers },
          fixes,
        }
      }),
    renew: (error) =>
      skipAuth || apiKey !== undefined || stated !== undefined || azure === undefined || error.status !== 401
        ? Effect.succeed(false)
        : Effect.as(azure.forget, true),
  }
}
