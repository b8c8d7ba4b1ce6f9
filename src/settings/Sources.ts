/** Owns where settings are looked for, and the reading of those places. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import { Files } from "../platform/Files.ts"
import { findRoot } from "../platform/Git.ts"
import { Host, type HostShape, overlay } from "../platform/Host.ts"
import { environmentPairs } from "./KnownKeys.ts"
import { get, isObject, type Json, type JsonObject, mergeAll } from "./Merge.ts"
import { SettingsError } from "./SettingsError.ts"
import { maxBytes, parse } from "./SettingsFile.ts"
import { type Diagnostic, precedence, type SettingsLayer, type Source } from "./SettingsLayer.ts"

export interface Wanted {
  readonly cwd?: string
  readonly settings?: string
  readonly sources?: ReadonlyArray<"user" | "project" | "local">
  readonly flags?: JsonObject
  readonly origins?: Readonly<Record<string, string>>
  readonly managedDirectory?: string
}

export interface Sources {
  /** Reads every source that exists, lowest first; remembers the last good content of each file. */
  readonly read: Effect.Effect<
    { readonly layers: ReadonlyArray<SettingsLayer>; readonly diagnostics: ReadonlyArray<Diagnostic> },
    SettingsError,
    FileSystem.FileSystem | Files
  >
  readonly files: ReadonlyArray<string>
  /** The files that people write. */
  readonly people: ReadonlyArray<Source>
  readonly scopes: ReadonlyArray<"user" | "project" | "local">
  readonly managedDirectory: string
  /** Ships with the folder, so its executable part needs trust. */
  readonly folder: (source: Source) => boolean
  /** What variables say; those of the settings' own `env` count too. */
  readonly environment: (layers: ReadonlyArray<SettingsLayer>) => ReadonlyArray<SettingsLayer>
  readonly order: (a: SettingsLayer, b: SettingsLayer) => number
  readonly hash: (text: string) => string
}

/** Where the machine's policy is. */
export const managedDirectories: Readonly<Record<HostShape["platform"], string>> = {
  linux: "/etc/claude-code",
  darwin: "/Library/Application Support/ClaudeCode",
  win32: "C:\\Program Files\\ClaudeCode",
  other: "/etc/claude-code",
}

const rank = (layer: SettingsLayer): number => precedence.indexOf(layer.source.kind)

/** The nearest directory from `cwd` up to the repository's root that has the file; `cwd` itself when none has. */
const nearestWith = Effect.fnUntraced(function* (cwd: string, top: string, file: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  for (let at = cwd; ; at = path.dirname(at)) {
    const candidate = path.join(at, ".claude", file)
    if (yield* Effect.orElseSucceed(fs.exists(candidate), () => true)) return candidate
    if (at === top || path.dirname(at) === at) return path.join(cwd, ".claude", file)
  }
})

export const locate = Effect.fnUntraced(function* (wanted: Wanted) {
  const host = yield* Host
  const path = yield* Path.Path
  const { hash } = yield* Files
  const cwd = path.resolve(wanted.cwd ?? host.cwd)
  const top = (yield* findRoot(cwd)) ?? cwd
  const user = path.join(host.configDir, "settings.json")
  const counts = (kind: "user" | "project" | "local") => wanted.sources?.includes(kind) ?? true
  const source = (kind: Source["kind"], file: string): Source => {
    const inClaude = path.basename(path.dirname(file)) === ".claude" && kind !== "user"
    return { kind, name: file, directory: inClaude ? path.dirname(path.dirname(file)) : path.dirname(file) }
  }
  const project = yield* nearestWith(cwd, top, "settings.json")
  const local = yield* nearestWith(cwd, top, "settings.local.json")
  const inline = wanted.settings?.trim().startsWith("{") === true
  const argument = wanted.settings === undefined || inline ? undefined : path.resolve(cwd, wanted.settings)
  const managed = wanted.managedDirectory ?? managedDirectories[host.platform]
  const policy = path.join(managed, "managed-settings.json")
  const policies = path.join(managed, "managed-settings.d")

  const files: Array<Source> = []
  if (counts("user")) files.push(source("user", user))
  // In the home directory the user's file is found a second time, as the project's: it counts once, as the user's.
  if (counts("project") && project !== user) files.push(source("project", project))
  if (counts("local")) files.push(source("local", local))
  if (argument !== undefined) files.push(source("arguments", argument))

  const good = new Map<string, SettingsLayer>()

  const policyFiles = Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const names = yield* Effect.orElseSucceed(fs.readDirectory(policies), () => [])
    const parts = names.filter((name) => name.endsWith(".json") && !name.startsWith(".")).sort()
    return [policy, ...parts.map((name) => path.join(policies, name))].map((file) => source("managed", file))
  })

  const read = Effect.gen(function* () {
    const layers: Array<SettingsLayer> = []
    const diagnostics: Array<Diagnostic> = []
    for (const one of [...files, ...(yield* policyFiles)]) {
      const outcome = emptied(yield* readFile(one), good.get(one.name))
      if (outcome.broken === undefined) {
        if (outcome.layer === undefined) good.delete(one.name)
        else good.set(one.name, outcome.layer)
      }
      const last = good.get(one.name)
      if (outcome.broken !== undefined && last === undefined) {
        if (one.kind === "managed") return yield* SettingsError.of("policy", outcome.broken)
        if (one.kind === "arguments") return yield* SettingsError.of("argument", outcome.broken)
      }
      if (outcome.layer === undefined && outcome.broken === undefined && one.kind === "arguments") {
        return yield* SettingsError.of("argument", problem(one, "error", { message: "the file does not exist" }))
      }
      if (last !== undefined) layers.push(last)
      diagnostics.push(...outcome.doubts)
      if (outcome.broken !== undefined) {
        const then = last === undefined ? "the whole file is ignored" : "its last good content stays in force"
        diagnostics.push({ ...outcome.broken, message: `${outcome.broken.message}; ${then}` })
      }
    }
    if (inline) layers.push(yield* inlineLayer(wanted.settings ?? ""))
    if (wanted.flags !== undefined) layers.push(flagsLayer(wanted.flags, wanted.origins ?? {}))
    return { layers: layers.sort((a, b) => rank(a) - rank(b)), diagnostics }
  })

  return {
    read,
    files: [...files.map((file) => file.name), policy, policies],
    people: files.filter(({ kind }) => kind !== "arguments"),
    scopes: wanted.sources ?? ["user", "project", "local"],
    managedDirectory: managed,
    folder: ({ kind }) => kind === "project" || kind === "local",
    environment: (layers) => environmentLayer(host, layers),
    order: (a, b) => rank(a) - rank(b),
    hash,
  } satisfies Sources
})

interface Outcome {
  readonly layer?: SettingsLayer
  readonly blank?: boolean
  readonly broken?: Diagnostic
  readonly doubts: ReadonlyArray<Diagnostic>
}

const problem = (
  source: Source,
  severity: Diagnostic["severity"],
  about: { readonly message: string; readonly line?: number; readonly column?: number },
): Diagnostic => ({ severity, source, key: "", ...about })

const layerOf = (source: Source, text: string): Outcome => {
  const parsed = parse(text)
  if (Result.isFailure(parsed)) {
    return { broken: problem(source, "error", parsed.failure), doubts: [] }
  }
  const { doubts, locate, value } = parsed.success
  return {
    layer: { source, value, withheld: {}, locate },
    blank: text.trim() === "",
    doubts: doubts.map((doubt) => problem(source, "warning", doubt)),
  }
}

/** A file that had settings and is empty now is being written at this moment, or was lost in a crash: nobody meant to drop a rule. */
const emptied = (outcome: Outcome, last: SettingsLayer | undefined): Outcome => {
  if (outcome.blank !== true || last === undefined || Object.keys(last.value).length === 0) return outcome
  const message = "the file is empty (write {} if no settings are meant)"
  return { broken: problem(last.source, "error", { message }), doubts: [] }
}

const readFile = Effect.fnUntraced(function* (source: Source) {
  const files = yield* Files
  const read = yield* Effect.result(files.readText(source.name, { maxBytes }))
  if (Result.isSuccess(read)) return layerOf(source, read.success.text)
  const error = read.failure
  const absent = error._tag === "FileError" && (error.reason === "NotFound" || error.reason === "NotDirectory")
  const outcome: Outcome = absent
    ? { doubts: [] }
    : { broken: problem(source, "error", { message: error.message }), doubts: [] }
  return outcome
})

const inlineLayer = (text: string): Effect.Effect<SettingsLayer, SettingsError> => {
  const source: Source = { kind: "arguments", name: "--settings" }
  const { broken, layer } = layerOf(source, text)
  if (layer !== undefined) return Effect.succeed(layer)
  return Effect.fail(
    SettingsError.of("argument", broken ?? problem(source, "error", { message: "it is not a JSON object" })),
  )
}

const flagsLayer = (value: JsonObject, origins: Readonly<Record<string, string>>): SettingsLayer => ({
  source: { kind: "flags", name: "command line" },
  value,
  withheld: {},
  locate: () => undefined,
  origin: (path) => origins[path.join(".")] ?? origins[path[0] ?? ""],
})

const environmentLayer = (host: HostShape, layers: ReadonlyArray<SettingsLayer>): ReadonlyArray<SettingsLayer> => {
  const block = get(mergeAll(layers.map((layer) => layer.value)), ["env"])
  const texts = Object.entries(isObject(block) ? block : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  )
  const { env } = overlay(host, Object.fromEntries(texts))
  const set = Object.entries(environmentPairs).flatMap(([variable, { key, type }]) => {
    const text = env(variable)
    if (text === undefined) return []
    const value: Json = type === "number" && Number.isFinite(Number(text)) ? Number(text) : text
    return [{ variable, key, value }]
  })
  if (set.length === 0) return []
  return [
    {
      source: { kind: "environment", name: "environment" },
      value: Object.fromEntries(set.map(({ key, value }) => [key, value])),
      withheld: {},
      locate: () => undefined,
      origin: (path) => set.find(({ key }) => key === path[0])?.variable,
    },
  ]
}
