/** Asks whoever the environment and the settings name, over real HTTP, with commands answered by a function. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { CloudSdks, type Sdks } from "../../src/model/CloudSdks.ts"
import { Provider, type ProviderRequest } from "../../src/model/Provider.ts"
import * as Providers from "../../src/model/Providers.ts"
import { Host } from "../../src/platform/Host.ts"
import * as NodeHttpFetch from "../../src/platform/NodeHttpFetch.ts"
import { Process, type RunResult } from "../../src/platform/Process.ts"
import type { JsonObject } from "../../src/settings/Merge.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as Fake from "./ScriptedProvider.ts"

export const request: ProviderRequest = {
  requestId: "req-1",
  model: "claude-haiku-4-5-20251001",
  maxTokens: 100,
  system: [],
  tools: [],
  messages: [{ role: "user", content: "Hello, Grüße" }],
}

export const reply = [Fake.start(), ...Fake.textBlock(0, "Grüße 🙂"), ...Fake.end()]

export interface World {
  readonly env: Record<string, string>
  readonly settings?: JsonObject
  /** What a command prints, or how it fails. */
  readonly run?: (command: string) => Effect.Effect<Partial<RunResult>>
  readonly sdks?: Partial<Sdks>
}

export const layer = ({ env, settings = {}, run = () => Effect.succeed({ exitCode: 1 }), sdks }: World) =>
  Providers.layer.pipe(
    Layer.provide([
      Host.layerTest({ env }),
      NodeHttpFetch.layer,
      Settings.layerOf(settings),
      Process.layerScripted(({ args }) => run(args[1] ?? "")),
      Layer.effect(
        CloudSdks,
        Effect.map(CloudSdks, (usual) => ({ ...usual, ...sdks })),
      ),
    ]),
  )

export const events = (asked: ProviderRequest = request) =>
  Effect.flatMap(Provider, (provider) =>
    Effect.map(Stream.runCollect(provider.stream(asked)), (all) => Array.from(all)),
  )

export const ask = (world: World, asked: ProviderRequest = request) => Effect.provide(events(asked), layer(world))

export const failure = (world: World, asked: ProviderRequest = request) => Effect.flip(ask(world, asked))

/** What an absent package looks like. */
export const absent = () =>
  Promise.reject(Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" }))
