/**
 * Owns the way to Anthropic's Messages API, or a gateway that speaks it: address and credential from the environment. The SDK
 * is loaded at the first request.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Host } from "../platform/Host.ts"
import { type Fetch, HttpFetch } from "../platform/HttpFetch.ts"
import { routed } from "../platform/Route.ts"
import * as Access from "./Access.ts"
import * as Body from "./AnthropicBody.ts"
import * as ApiErrors from "./ApiErrors.ts"
import type { Kept } from "./CommandCredential.ts"
import * as MessagesApi from "./MessagesApi.ts"
import { Provider, type ProviderError } from "./Provider.ts"
import * as Secrets from "./Secrets.ts"

const home = "https://api.anthropic.com"
const setting = "ANTHROPIC_BASE_URL"

/** Where requests will go; what is wrong with the setting is said by the first of them. */
export const addressOf = (env: Access.Env): URL => {
  const given = env(setting)
  return new URL(given !== undefined && URL.canParse(given) ? given : home)
}

/** What the service asks of a request that comes with a subscription's token. */
const oauthBeta = "oauth-2025-04-20"

type Credential =
  | { readonly _tag: "Token"; readonly token: string; readonly beta?: string }
  | { readonly _tag: "Key"; readonly key: string; readonly from: string }

/** The settings' `apiKeyHelper`, as they are now. */
export type Helper = Effect.Effect<Kept | undefined, ProviderError>

/** In the order that counts. */
const credentialOf = Effect.fnUntraced(function* (
  env: Access.Env,
  helper: Helper,
): Effect.fn.Return<Credential, ProviderError> {
  const token = env("ANTHROPIC_AUTH_TOKEN")
  if (token !== undefined) return { _tag: "Token", token }
  const key = env("ANTHROPIC_API_KEY")
  if (key !== undefined) return { _tag: "Key", key, from: "ANTHROPIC_API_KEY" }
  const kept = yield* helper
  if (kept !== undefined) return { _tag: "Key", key: yield* kept.current, from: "apiKeyHelper" }
  const oauth = env("CLAUDE_CODE_OAUTH_TOKEN")
  if (oauth !== undefined) return { _tag: "Token", token: oauth, beta: oauthBeta }
  return yield* ApiErrors.make(
    "unauthenticated",
    "No credentials for the model service. Set ANTHROPIC_API_KEY to a key from console.anthropic.com (or ANTHROPIC_AUTH_TOKEN for a gateway).",
  )
})

export const way = (env: Access.Env, fetch: Fetch, helper: Helper = Effect.undefined): MessagesApi.Way => {
  const secrets = Secrets.fromEnv(env)
  const timeoutMs = Access.timeoutMs(env)

  const client = Effect.gen(function* () {
    const baseURL = (yield* Access.address(env, setting, home)) ?? home
    const headers = yield* Access.customHeaders(env)
    // Before anything large is loaded for nothing.
    yield* credentialOf(env, helper)
    const sdk = yield* Effect.promise(() => import("./AnthropicSdk.ts"))
    const options = MessagesApi.clientOptions(fetch, timeoutMs)
    // Whatever the credential is, it is a header of the request: it may change from one to the next.
    const made = new sdk.BaseAnthropic({ ...options, baseURL, apiKey: "unused", authToken: null })
    const firstParty = new URL(baseURL).hostname === new URL(home).hostname
    return { client: made, headers, address: { url: baseURL, setting, firstParty } }
  })
  // A wrong environment is reported each time; what loaded is kept.
  let ready: Effect.Success<typeof client> | undefined
  const connected = Effect.suspend(() =>
    ready === undefined ? Effect.tap(client, (loaded) => Effect.sync(() => (ready = loaded))) : Effect.succeed(ready),
  )

  return {
    name: "anthropic",
    secrets,
    betas: Access.betas(env),
    connect: (request) =>
      Effect.gen(function* () {
        const { client: made, headers, address } = yield* connected
        const credential = yield* credentialOf(env, helper)
        if (credential._tag === "Key") secrets.learn(credential.key)
        const betas = credential._tag === "Token" ? credential.beta : undefined
        return {
          client: made,
          address,
          timeoutMs,
          body: Body.encode,
          headers: {
            ...proof(credential),
            ...(betas !== undefined && {
              "anthropic-beta": [...Access.betas(env), ...(request.betas ?? []), betas].join(","),
            }),
            ...headers,
          },
          fixes: credential._tag === "Key" ? keyFixes[credential.from] : tokenFixes(credential),
        }
      }),
    // Only a command can make another one.
    renew: (error) => {
      const stated = env("ANTHROPIC_AUTH_TOKEN") ?? env("ANTHROPIC_API_KEY")
      if (stated !== undefined || error.status !== 401) return Effect.succeed(false)
      return Effect.flatMap(helper, (kept) =>
        kept === undefined ? Effect.succeed(false) : Effect.as(kept.forget, true),
      )
    },
  }
}

const keyFixes: Readonly<Record<string, ApiErrors.Fixes>> = {
  apiKeyHelper: { unauthenticated: "The key that apiKeyHelper printed was not accepted: check that command." },
}

const tokenFixes = ({ beta }: { readonly beta?: string }): ApiErrors.Fixes =>
  beta === undefined
    ? {}
    : {
        unauthenticated:
          "CLAUDE_CODE_OAUTH_TOKEN was not accepted; it may have expired: make a new one, or set ANTHROPIC_API_KEY instead.",
      }

/** Keys go where the API documents them: gateways that stand in for it look there. */
const proof = (credential: Credential): Readonly<Record<string, string | null>> =>
  credential._tag === "Key"
    ? { "x-api-key": credential.key, authorization: null }
    : { authorization: `Bearer ${credential.token}`, "x-api-key": null }

/** Without the commands of settings; `Providers.layer` has them. */
export const layer: Layer.Layer<Provider, never, Host | HttpFetch> = Layer.effect(
  Provider,
  Effect.gen(function* () {
    const host = yield* Host
    return MessagesApi.make(way(host.env, routed(yield* HttpFetch, host.env)))
  }),
)
