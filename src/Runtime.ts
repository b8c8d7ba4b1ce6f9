/**
 * Owns the composition: which service stands on which, from settings to agents. What a platform must provide stays open in the
 * layer's requirements.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agents, OutputSlots } from "./agents/Agents.ts"
import { StopHoldCap } from "./agents/SessionHooks.ts"
import { MaxDepth } from "./agents/Subagents.ts"
import { type Defaults, SessionDefaults } from "./agents/SessionDefaults.ts"
import { CostGovernor } from "./cost/CostGovernor.ts"
import { ModelTable } from "./cost/ModelTable.ts"
import * as ModelSpec from "./cost/ModelSpec.ts"
import { Hooks } from "./hooks/Hooks.ts"
import { Model } from "./model/Model.ts"
import type { Provider } from "./model/Provider.ts"
import * as Providers from "./model/Providers.ts"
import { Classifier, fromModel } from "./permissions/Classifier.ts"
import { SaveRules } from "./permissions/Permissions.ts"
import * as SavedRules from "./permissions/SavedRules.ts"
import type { Files } from "./platform/Files.ts"
import { Git } from "./platform/Git.ts"
import { Host } from "./platform/Host.ts"
import type { HttpFetch } from "./platform/HttpFetch.ts"
import type { Process } from "./platform/Process.ts"
import type { Ripgrep } from "./platform/Ripgrep.ts"
import { MarkdownIndex } from "./platform/MarkdownIndex.ts"
import { Watch } from "./platform/Watch.ts"
import * as Rules from "./policy/Rules.ts"
import { Effort } from "./protocol/Effort.ts"
import * as PermissionMode from "./protocol/PermissionMode.ts"
import { follow, hostWith, Settings, type SettingsOptions, type Snapshot, sliceOf } from "./settings/Settings.ts"
import type { SettingsError } from "./settings/SettingsError.ts"
import { render } from "./settings/SettingsLayer.ts"
import { SkillLibrary } from "./skills/SkillLibrary.ts"
import { DeferAbove, shareOf } from "./tools/Deferral.ts"
import { MaxConcurrentCalls } from "./tools/Round.ts"

export interface RuntimeOptions<E = never, R = never> {
  /**
   * Whose settings files count: nobody's (unless told), the user's, or the user's and the project's. Or exactly what the
   * settings loader is to read.
   */
  readonly settings?: "none" | "user" | "project" | SettingsOptions | undefined
  /** Who runs the model; who the environment says (Anthropic, a gateway, a cloud), unless told. */
  readonly provider?: Layer.Layer<Provider, E, R> | undefined
}

/** What a platform must provide. `TroupeNode.layer` does for Node. */
export type Platform = Host | Files | FileSystem.FileSystem | Path.Path | Process | Ripgrep | HttpFetch

export type Services = Agents | Model | ModelTable | CostGovernor | Settings | Git | Hooks

/**
 * Everything an agent needs, on top of a platform.
 *
 * @example
 * program.pipe(Effect.provide(Runtime.layer({ settings: "project" }).pipe(Layer.provide(TroupeNode.layer))))
 */
export const layer = <E = never, R = never>(
  options: RuntimeOptions<E, R> = {},
): Layer.Layer<Services, SettingsError | E, Platform | Exclude<R, Host>> => {
  const provider: Layer.Layer<Provider, E, R | Host | HttpFetch | Process | Settings> =
    options.provider ?? Providers.layer
  return Agents.layer.pipe(
    Layer.provide(Layer.effect(Classifier, fromModel)),
    Layer.provideMerge(Model.layer),
    Layer.provide(provider),
    Layer.provide(SkillLibrary.layer),
    Layer.provideMerge(Layer.mergeAll(table, CostGovernor.layer(), Git.layer, Hooks.layer, MarkdownIndex.layer)),
    Layer.provide(knobs),
    // From here down the host has the settings' environment on top of the shell's.
    Layer.provide(host),
    Layer.provide(Layer.effect(SaveRules, SavedRules.make)),
    Layer.merge(options.settings === undefined || options.settings === "none" ? Layer.empty : live),
    Layer.provideMerge(settings(options.settings ?? "none")),
  )
}

const settings = (wanted: NonNullable<RuntimeOptions["settings"]>) => {
  if (wanted === "none") return Settings.layerOf({})
  if (wanted === "user") return Settings.layer({ sources: ["user"] })
  return Settings.layer(wanted === "project" ? {} : wanted)
}

/**
 * Keeps the settings in step with their files, where the platform can watch. It begins when the first request is on its way; what
 * changed until then is caught up.
 */
const live = Layer.effectDiscard(
  Effect.gen(function* () {
    const watch = yield* Effect.serviceOption(Watch)
    if (Option.isNone(watch)) return
    yield* Effect.forkScoped(Effect.delay(Effect.provideService(follow, Watch, watch.value), "1 second"))
  }),
)

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
  additionalDirectories: Schema.optionalKey(Schema.Array(Schema.String)),
})

/** What settings and environment say about every session. */
const knobs = Layer.unwrap(
  Effect.gen(function* () {
    const { env } = yield* Host
    const defaults = Layer.succeed(SessionDefaults, yield* sessionDefaults)
    const concurrency = positive(env("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY"))
    const slot = positive(env("CLAUDE_CODE_MAX_OUTPUT_TOKENS"))
    const holds = positive(env("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"))
    const depth = positive(env("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH"))
    const deferAbove = shareOf(env("ENABLE_TOOL_SEARCH"))
    return Layer.mergeAll(
      defaults,
      concurrency === undefined ? Layer.empty : Layer.succeed(MaxConcurrentCalls, concurrency),
      deferAbove === undefined ? Layer.empty : Layer.succeed(DeferAbove, deferAbove),
      holds === undefined ? Layer.empty : Layer.succeed(StopHoldCap, holds),
      depth === undefined ? Layer.empty : Layer.succeed(MaxDepth, depth),
      slot === undefined ? Layer.empty : Layer.succeed(OutputSlots, [slot, slot] as const),
    )
  }),
)

const sessionDefaults = Effect.gen(function* () {
  const settings = yield* Settings
  const { cwd, env } = yield* Host
  const read = Effect.fnUntraced(function* (layers: Snapshot["layers"]): Effect.fn.Return<Defaults, SettingsError> {
    const { value: permissions = {} } = yield* sliceOf(layers, "permissions", Permissions)
    const { value: model } = yield* sliceOf(layers, "model", Schema.String)
    const { value: fallbackModel } = yield* sliceOf(layers, "fallbackModel", Schema.String)
    const { value: effort } = yield* sliceOf(layers, "effortLevel", Effort)
    const { value: agent } = yield* sliceOf(layers, "agent", Schema.String)
    const { value: checkpointing = true } = yield* sliceOf(layers, "fileCheckpointingEnabled", Schema.Boolean)
    const unasked = isOn(env("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"))
    const allowed = !isOn(env("CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING")) && (checkpointing || unasked)
    return {
      agent,
      model: env("ANTHROPIC_MODEL") ?? model,
      fallbackModel,
      effort,
      permissionMode: permissions.defaultMode,
      rules: { rules: Rules.fromSettings(layers, cwd), limits: Rules.limits(layers) },
      addDirs: permissions.additionalDirectories,
      checkpoints: { allowed, unasked },
      layers,
    }
  })
  // A policy that cannot be read stops the start; one that breaks later leaves what was good.
  let good = yield* read((yield* settings.current).layers)
  const defaultsOf = (layers: Snapshot["layers"]) =>
    Effect.catch(read(layers), (error) => Effect.as(Effect.logWarning(error.message), good))
  const current = Effect.gen(function* () {
    good = yield* defaultsOf((yield* settings.current).layers)
    return good
  })
  const updates = settings.changes.pipe(
    Stream.zipWithIndex,
    Stream.map(([{ fresh, layers }, index]) => ({
      layers,
      defaultsOf,
      // What was wrong at the start has been said at the start.
      warnings: index === 0 ? [] : fresh.map(render),
    })),
  )
  return { current, updates }
})

const isOn = (text: string | undefined): boolean => text !== undefined && !["", "0", "false", "no"].includes(text)

const positive = (text: string | undefined): number | undefined => {
  const value = Number(text)
  return text !== undefined && Number.isInteger(value) && value > 0 ? value : undefined
}
