/**
 * Owns the settings in force: finds the sources, layers them, keeps the last good value of a file that breaks, and tells
 * where everything comes from. Nothing executes here; owners of settings decode their own slice.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { Files } from "../platform/Files.ts"
import { Host, type HostShape, overlay } from "../platform/Host.ts"
import { Watch } from "../platform/Watch.ts"
import * as Explain from "./Explain.ts"
import { unknownKeys } from "./KnownKeys.ts"
import { get, isObject, type JsonObject, mergeAll } from "./Merge.ts"
import { SettingsError } from "./SettingsError.ts"
import { type Diagnostic, diagnose, place, type SettingsLayer, type Source } from "./SettingsLayer.ts"
import { type Slice, slice } from "./Slice.ts"
import { locate, type Sources } from "./Sources.ts"
import * as Trust from "./Trust.ts"
import * as TrustStore from "./TrustStore.ts"

export interface SettingsOptions {
  /** Default: the host's. */
  readonly cwd?: string
  /** `--settings`: a file, or JSON in place. */
  readonly settings?: string
  /** `--setting-sources`; `--settings`, flags and managed settings always count. */
  readonly sources?: ReadonlyArray<"user" | "project" | "local">
  /** What flags say, in the spelling of the settings (`{ model: "opus" }`); `origins` names the flag of a key. */
  readonly flags?: JsonObject
  readonly origins?: Readonly<Record<string, string>>
  /** Where the machine's policy is; default is the platform's place. */
  readonly managedDirectory?: string
  /** Whether a person agreed to this executable configuration of the folder; what nobody agreed to is left out. Default: as remembered. */
  readonly trusted?: (review: Trust.Review) => boolean
}

export interface Snapshot {
  /** Everything merged, unknown keys included. */
  readonly value: JsonObject
  /** Lowest first. */
  readonly layers: ReadonlyArray<SettingsLayer>
  /** Executable configuration that waits for trust. */
  readonly reviews: ReadonlyArray<Trust.Review>
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** Those of `diagnostics` that the load before did not report: what to tell the person now. */
  readonly fresh: ReadonlyArray<Diagnostic>
  /** Every file that would count, present or not. */
  readonly files: ReadonlyArray<string>
  /** Those of them that people write: the user's, the project's, the local one. */
  readonly sources: ReadonlyArray<Source>
  /** Whose configuration counts beside the machine's: that of settings, and of the files that go with them. */
  readonly scopes: ReadonlyArray<"user" | "project" | "local">
  /** Where the machine's policy is; nowhere for fixed settings. */
  readonly managedDirectory?: string
}

export interface SettingsShape {
  readonly current: Effect.Effect<Snapshot>
  /** The present snapshot, then one for each reload that changed something. */
  readonly changes: Stream.Stream<Snapshot>
  /** Reads all sources again; a file that is now broken keeps its last good value. */
  readonly reload: Effect.Effect<Snapshot, SettingsError>
  /** A typed part, by dotted key. Values that do not fit are left out and named; a policy that does not fit is an error. */
  readonly slice: <S extends Schema.ConstraintDecoder<unknown>>(
    key: string,
    schema: S,
  ) => Effect.Effect<Slice<S["Type"]>, SettingsError>
  /** Whether a person agreed to what a file of the folder wants. */
  readonly trusted: Effect.Effect<(review: Trust.Review) => boolean>
  readonly explain: (key: string) => Effect.Effect<Explain.Explanation>
  readonly list: Effect.Effect<ReadonlyArray<Explain.Explanation>>
}

export class Settings extends Context.Service<Settings, SettingsShape>()("troupe/settings/Settings") {
  static readonly layer = (
    options: SettingsOptions = {},
  ): Layer.Layer<Settings, SettingsError, FileSystem.FileSystem | Path.Path | Files | Host> =>
    Layer.effect(Settings, make(options))

  /** Fixed settings, for embedding and tests: no file is read. */
  static readonly layerOf = (value: JsonObject): Layer.Layer<Settings> =>
    Layer.effect(
      Settings,
      Effect.gen(function* () {
        const source = { kind: "flags", name: "given settings" } as const
        const fixed: SettingsLayer = { source, value, withheld: {}, locate: () => undefined }
        const snapshot = snapshotOf([fixed], [], [], { files: [], sources: [], scopes: [] }, new Set())
        // No folder's files count, so nobody has to agree to any.
        return serve(
          yield* SubscriptionRef.make(snapshot),
          Effect.succeed(snapshot),
          Effect.succeed(() => false),
        )
      }),
    )
}

const make = Effect.fnUntraced(function* (options: SettingsOptions) {
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path | Files | Host>()
  const sources = yield* locate(options)
  const told = new Set<string>()
  const trusted =
    options.trusted === undefined
      ? Effect.provideContext(TrustStore.approved, services)
      : Effect.succeed(options.trusted)
  const load = Effect.gen(function* () {
    return assemble(yield* sources.read, sources, yield* trusted, told)
  })
  // One at a time: an older reading must not come out on top of a newer one.
  const one = yield* Semaphore.make(1)
  const reload = Effect.provideContext(load, services)
  const ref = yield* SubscriptionRef.make(yield* reload)
  return serve(ref, one.withPermit(Effect.tap(reload, (next) => SubscriptionRef.set(ref, next))), trusted)
})

type Found = Effect.Success<Sources["read"]>

const assemble = (
  found: Found,
  sources: Sources,
  trusted: (review: Trust.Review) => boolean,
  told: Set<string>,
): Snapshot => {
  const reviews: Array<Trust.Review> = []
  const diagnostics = [...found.diagnostics]
  const layers = found.layers.map((layer) => {
    diagnostics.push(...unknownIn(layer))
    const review = sources.folder(layer.source) ? Trust.review(layer.source, layer.value, sources.hash) : undefined
    if (review === undefined || trusted(review)) return layer
    reviews.push(review)
    diagnostics.push(waiting(layer, review))
    const { executable, harmless } = Trust.divide(layer.value)
    return { ...layer, value: harmless, withheld: executable }
  })
  return snapshotOf(
    [...layers, ...sources.environment(layers)].sort(sources.order),
    reviews,
    diagnostics,
    {
      files: sources.files,
      sources: sources.people,
      scopes: sources.scopes,
      managedDirectory: sources.managedDirectory,
    },
    told,
  )
}

const snapshotOf = (
  layers: ReadonlyArray<SettingsLayer>,
  reviews: ReadonlyArray<Trust.Review>,
  diagnostics: ReadonlyArray<Diagnostic>,
  places: Pick<Snapshot, "files" | "sources" | "scopes" | "managedDirectory">,
  told: Set<string>,
): Snapshot => {
  const fresh = diagnostics.filter((diagnostic) => !told.has(identity(diagnostic)))
  // What is mended is forgotten, so that it is told again should it come back.
  told.clear()
  for (const diagnostic of diagnostics) told.add(identity(diagnostic))
  return { value: mergeAll(layers.map((layer) => layer.value)), layers, reviews, diagnostics, fresh, ...places }
}

const identity = (diagnostic: Diagnostic): string =>
  `${place(diagnostic.source, diagnostic)} ${diagnostic.key} ${diagnostic.message}`

const unknownIn = (layer: SettingsLayer): ReadonlyArray<Diagnostic> =>
  unknownKeys(layer.value).map(({ path, suggestion }) => {
    const hint = suggestion === undefined ? "" : `; did you mean "${suggestion}"?`
    return diagnose(layer, "warning", path, `unknown setting, kept but not used${hint}`)
  })

const waiting = (layer: SettingsLayer, review: Trust.Review): Diagnostic => ({
  severity: "warning",
  source: layer.source,
  key: review.keys.join(", "),
  ...layer.locate((review.keys[0] ?? "").split(".")),
  message: "not in force until you agree to it: look at it with `troupe config trust`",
})

const serve = (
  ref: SubscriptionRef.SubscriptionRef<Snapshot>,
  reload: Effect.Effect<Snapshot, SettingsError>,
  trusted: SettingsShape["trusted"],
): SettingsShape => {
  const current = SubscriptionRef.get(ref)
  return {
    current,
    changes: Stream.changesWith(SubscriptionRef.changes(ref), sameSnapshot),
    reload,
    trusted,
    slice: (key, schema) => Effect.flatMap(current, ({ layers }) => sliceOf(layers, key, schema)),
    explain: (key) => Effect.map(current, ({ layers }) => Explain.explain(layers, key)),
    list: Effect.map(current, ({ layers }) => Explain.list(layers)),
  }
}

/** A typed part of these layers, as `slice` of the service gives one of those in force. */
export const sliceOf = <S extends Schema.ConstraintDecoder<unknown>>(
  layers: ReadonlyArray<SettingsLayer>,
  key: string,
  schema: S,
): Effect.Effect<Slice<S["Type"]>, SettingsError> => {
  const result = slice(layers, key, schema)
  const broken = result.diagnostics.find(({ source }) => source.kind === "managed")
  return broken === undefined ? Effect.succeed(result) : Effect.fail(SettingsError.of("policy", broken))
}

const sameSnapshot = (a: Snapshot, b: Snapshot): boolean =>
  JSON.stringify([a.layers, a.diagnostics]) === JSON.stringify([b.layers, b.diagnostics])

/**
 * Reloads at each change of a settings file or of what a person agreed to, until interrupted. What changed between the first
 * load and the beginning of the watch is caught up. A policy that breaks meanwhile leaves the last good one.
 */
export const follow: Effect.Effect<void, never, Settings | Watch | Host | FileSystem.FileSystem> = Effect.gen(
  function* () {
    const { current, reload } = yield* Settings
    const watch = yield* Watch
    const { files } = yield* current
    const fs = yield* FileSystem.FileSystem
    const trust = TrustStore.pathIn(yield* Host)
    // A link is watched at both ends: an atomic write replaces the file it leads to.
    const real = yield* Effect.forEach(files, (file) => Effect.orElseSucceed(fs.realPath(file), () => file))
    const bursts = yield* watch.open([...new Set([...files, ...real, trust])])
    const again = Effect.catch(reload, (error) => Effect.logWarning(error.message))
    yield* again
    yield* Stream.runForEach(bursts, () => again)
  },
).pipe(
  Effect.scoped,
  Effect.catch((error) => Effect.logWarning(error.message)),
)

/** The host with the settings' `env` block on top of the shell's variables. */
export const hostWith = (host: HostShape, snapshot: Snapshot): HostShape => {
  const env = get(snapshot.value, ["env"])
  if (!isObject(env)) return host
  const entries = Object.entries(env).flatMap(([name, value]) =>
    value === null || typeof value === "object" ? [] : [[name, String(value)]],
  )
  return overlay(host, Object.fromEntries(entries))
}
