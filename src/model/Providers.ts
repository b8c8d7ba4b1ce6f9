/**
 * Owns the choice of who runs the model: a cloud if the environment switches one on, else Anthropic or a gateway. It is made once,
 * and nothing of what was not chosen is loaded.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Host } from "../platform/Host.ts"
import { HttpFetch } from "../platform/HttpFetch.ts"
import { Process } from "../platform/Process.ts"
import { routed } from "../platform/Route.ts"
import { Settings } from "../settings/Settings.ts"
import * as Access from "./Access.ts"
import * as AnthropicProvider from "./AnthropicProvider.ts"
import * as ApiErrors from "./ApiErrors.ts"
import { CloudSdks } from "./CloudSdks.ts"
import * as Command from "./CommandCredential.ts"
import * as MessagesApi from "./MessagesApi.ts"
import { Provider, type ProviderError } from "./Provider.ts"

export type Choice = "anthropic" | "bedrock" | "vertex" | "foundry"

/** The first switch that is on. */
export const choose = (env: Access.Env): Choice =>
  (["bedrock", "vertex", "foundry"] as const).find((cloud) =>
    Access.isOn(env(`CLAUDE_CODE_USE_${cloud.toUpperCase()}`)),
  ) ?? "anthropic"

/** A script that asks somebody may take a while. */
const helperMs = 60_000

const make = Effect.gen(function* () {
  const host = yield* Host
  const { env } = host
  const settings = yield* Settings
  const sdks = yield* CloudSdks
  const shell: Command.Shell = { process: yield* Process, host }
  const fetch = routed(yield* HttpFetch, env)
  // As the settings are when it is needed: a folder may have become trusted meanwhile.
  const command = (key: string): Effect.Effect<string | undefined, ProviderError> =>
    settings.slice(key, Schema.String).pipe(
      Effect.map(({ value }) => value?.trim() || undefined),
      Effect.mapError((error) => ApiErrors.make("misconfigured", error.message)),
    )

  switch (choose(env)) {
    case "bedrock": {
      const { way } = yield* Effect.promise(() => import("./BedrockProvider.ts"))
      const commands = Effect.all({
        awsAuthRefresh: command("awsAuthRefresh"),
        awsCredentialExport: command("awsCredentialExport"),
      })
      return MessagesApi.make(way(env, fetch, sdks, commands, shell))
    }
    case "vertex": {
      const { way } = yield* Effect.promise(() => import("./VertexProvider.ts"))
      return MessagesApi.make(way(env, fetch, sdks, Effect.all({ gcpAuthRefresh: command("gcpAuthRefresh") }), shell))
    }
    case "foundry": {
      const { way } = yield* Effect.promise(() => import("./FoundryProvider.ts"))
      return MessagesApi.make(way(env, fetch, sdks, shell))
    }
    case "anthropic":
      // While the session is being opened the handshake is under way.
      fetch.preconnect?.(AnthropicProvider.addressOf(env))
      return MessagesApi.make(AnthropicProvider.way(env, fetch, helperOf(command("apiKeyHelper"), shell)))
  }
})

/** The present command's key; another command has another one. */
const helperOf = (command: Effect.Effect<string | undefined, ProviderError>, shell: Command.Shell) => {
  const kept = new Map<string, Command.Kept>()
  return Effect.map(command, (text) => {
    if (text === undefined) return undefined
    const before = kept.get(text)
    if (before !== undefined) return before
    const name = "apiKeyHelper"
    const made = Command.keep(Command.run(shell, name, text, helperMs), name, keptFor(shell.host.env))
    kept.set(text, made)
    return made
  })
}

const keptFor = (env: Access.Env): number => {
  const stated = env("CLAUDE_CODE_API_KEY_HELPER_TTL_MS")
  const ms = stated === undefined ? Number.NaN : Number(stated)
  return ms >= 0 ? ms : 5 * 60_000
}

/** Who the environment and the settings say. */
export const layer: Layer.Layer<Provider, never, Host | HttpFetch | Process | Settings> = Layer.effect(Provider, make)
