/**
 * Owns the composition: which service stands on which, from settings to agents. What a platform must provide stays open in the
 * layer's requirements.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Agents, OutputSlots, SessionDefaults } from "./agents/Agents.ts"
import { CostGovernor } from "./cost/CostGovernor.ts"
import { ModelTable } from "./cost/ModelTable.ts"
import * as ModelSpec from "./cost/ModelSpec.ts"
import * as AnthropicProvider from "./model/AnthropicProvider.ts"
import { Model } from "./model/Model.ts"
import type { Provider } from "./model/Provider.ts"
import type { Files } from "./platform/Files.ts"
import { Git } from "./platform/Git.ts"
import { Host } from "./platform/Host.ts"
import type { HttpFetch } from "./platform/HttpFetch.ts"
import type { Process } from "./platform/Process.ts"
import type { Ripgrep } from "./platform/Ripgrep.ts"
import * as PermissionMode from "./protocol/PermissionMode.ts"
import { hostWith, Settings, type SettingsOptions } from "./settings/Settings.ts"
import type { SettingsError } from "./settings/SettingsError.ts"
import { MaxConcurrentCalls } from "./tools/Round.ts"

export interface RuntimeOptions<E = never, R = never> {
  /**
   * Whose settings files count: nobody's (unless told), the user's, or the user's and the project's. Or exactly what the
   * settings loader is to read.
   */
  readonly settings?: "none" | "user" | "project" | SettingsOptions | undefined
  /** Who runs the model; the Anthropic API, as the environment describes it, unless told. */
  readonly provider?: Layer.Layer<Provider, E, R> | undefined
}

/** What a platform must provide. `TroupeNode.layer` does for Node. */
export type Platform = Host | Files | FileSystem.FileSystem | Path.Path | Process | Ripgrep | HttpFetch

export type Services = Agents | Model | ModelTable | CostGovernor | Settings | Git

/**
 * Everything an agent needs, on top of a platform.
 *
 * @example
 * program.pipe(Effect.provide(Runtime.layer({ settings: "project" }).pipe(Layer.provide(TroupeNode.layer))))
 */
export const layer = <E = never, R = never>(
  options: RuntimeOptions<E, R> = {},
): Layer.Layer<Services, SettingsError | E, Platform | Exclude<R, Host>> => {
  const provider: Layer.Layer<Provider, E, R | Host | HttpFetch> = options.provider ?? AnthropicProvider.layer
  return Agents.layer.pipe(
    Layer.provideMerge(Model.layer),
    Layer.provide(provider),
    Layer.provideMerge(Layer.mergeAll(table, CostGovernor.layer(), Git.layer)),
    Layer.provide(knobs),
    // From here down the host has the settings' environment on top of the shell's.
    Layer.provide(host),
    Layer.provideMerge(settings(options.settings ?? "none")),
  )
}

const settings = (wanted: NonNullable<RuntimeOptions["settings"]>) => {
  if (wanted === "none") return Settings.layerOf({})
  if (wanted === "user") return Settings.layer({ sources: ["user"] })
  return Settings.layer(wanted === "project" ? {} : wanted)
}

const host = Layer.effect(
  Host,
  Effect.gen(function* () {
    const { current } = yield* Settings
    return hostWith(yield* Host, yield* current)
  }),
)

const table = Layer.unwrap(
  Effect.gen(function* () {
    const { slice } = yield* Settings
    const { value } = yield* slice("troupe.models", ModelSpec.Overrides)
    return ModelTable.layer(value ?? {})
  }),
)

const Permissions = Schema.Struct({
  defaultMode: Schema.optionalKey(PermissionMode.PermissionMode),
  allow: Schema.optionalKey(Schema.Array(Schema.String)),
  deny: Schema.optionalKey(Schema.Array(Schema.String)),
  additionalDirectories: Schema.optionalKey(Schema.Array(Schema.String)),
})

/** What settings and environment say about every session. */
const knobs = Layer.unwrap(
  Effect.gen(function* () {
    const { slice } = yield* Settings
    const { env } = yield* Host
    const { value: permissions = {} } = yield* slice("permissions", Permissions)
    const { value: model } = yield* slice("model", Schema.String)
    const { value: fallbackModel } = yield* slice("fallbackModel", Schema.String)
    const defaults = Layer.succeed(SessionDefaults, {
      model: env("ANTHROPIC_MODEL") ?? model,
      fallbackModel,
      permissionMode: permissions.defaultMode,
      allow: permissions.allow,
      deny: permissions.deny,
      addDirs: permissions.additionalDirectories,
    })
    const concurrency = positive(env("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY"))
    const slot = positive(env("CLAUDE_CODE_MAX_OUTPUT_TOKENS"))
    return Layer.mergeAll(
      defaults,
      concurrency === undefined ? Layer.empty : Layer.succeed(MaxConcurrentCalls, concurrency),
      slot === undefined ? Layer.empty : Layer.succeed(OutputSlots, [slot, slot] as const),
    )
  }),
)

const positive = (text: string | undefined): number | undefined => {
  const value = Number(text)
  return text !== undefined && Number.isInteger(value) && value > 0 ? value : undefined
}
