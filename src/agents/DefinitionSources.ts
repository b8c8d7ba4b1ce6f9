/** Owns where agent definitions are looked for, and the drafts that are found there. */
import * as Effect from "effect/Effect"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import { findRoot } from "../platform/Git.ts"
import { Host } from "../platform/Host.ts"
import { type Entry, MarkdownIndex } from "../platform/MarkdownIndex.ts"
import * as PermissionMode from "../protocol/PermissionMode.ts"
import { get, isObject, type JsonObject } from "../settings/Merge.ts"
import type { Snapshot } from "../settings/Settings.ts"
import { parse } from "../settings/SettingsFile.ts"
import type { SettingsLayer } from "../settings/SettingsLayer.ts"
import { managedDirectories } from "../settings/Sources.ts"
import type { Failed, Kind, Origin } from "./Definition.ts"
import { type Field, fieldOf } from "./DefinitionFields.ts"
import type { Draft } from "./DefinitionReader.ts"

/** A directory of agent files. */
export interface Place {
  readonly directory: string
  readonly kind: Kind
  readonly near: number
  readonly plugin?: string
}

export interface Wanted {
  readonly cwd?: string | undefined
  readonly addDirs?: ReadonlyArray<string> | undefined
  readonly managedDirectory?: string | undefined
}

/** A draft with the folders between its file and the place it was found in. */
export interface Found {
  readonly draft: Draft
  readonly folders: ReadonlyArray<string>
}

/**
 * The directories that count, whether they exist or not: the organisation's, every `.claude/agents` from here up to the repository's root,
 * those of further directories, the user's. A directory that is two of them counts as the user's: nothing of theirs needs trust.
 */
export const places = Effect.fnUntraced(function* (wanted: Wanted, sources: Pick<Snapshot, "sources">) {
  const host = yield* Host
  const path = yield* Path.Path
  const cwd = path.resolve(wanted.cwd ?? host.cwd)
  const top = (yield* findRoot(cwd)) ?? cwd
  const counts = (kind: "user" | "project") => sources.sources.some((source) => source.kind === kind)
  const user = path.join(host.configDir, "agents")
  const managed = wanted.managedDirectory ?? managedDirectories[host.platform]
  const found: Array<Place> = [{ directory: path.join(managed, ".claude", "agents"), kind: "managed", near: 0 }]
  if (counts("user")) found.push({ directory: user, kind: "user", near: 0 })
  if (counts("project")) {
    const up: Array<string> = []
    for (let at = cwd; ; at = path.dirname(at)) {
      up.push(at)
      if (at === top || path.dirname(at) === at) break
    }
    for (const [near, at] of [...up, ...(wanted.addDirs ?? []).map((one) => path.resolve(cwd, one))].entries()) {
      const directory = path.join(at, ".claude", "agents")
      if (!found.some((place) => place.directory === directory)) found.push({ directory, kind: "project", near })
    }
  }
  return found
})

/** The drafts of some directories, read in one go. */
export const fromPlaces = Effect.fnUntraced(function* (all: ReadonlyArray<Place>) {
  const index = yield* MarkdownIndex
  const path = yield* Path.Path
  const owners = new Map<string, Place>()
  for (const place of all) {
    for (const file of yield* index.find(place.directory, "*.md")) if (!owners.has(file)) owners.set(file, place)
  }
  const entries = yield* index.entries([...owners.keys()])
  return entries.flatMap((entry): ReadonlyArray<Found> => {
    const place = owners.get(entry.path)
    if (place === undefined) return []
    const folders = path.relative(place.directory, path.dirname(entry.path)).split(path.sep)
    const called = path.basename(entry.path).replace(/\.md$/i, "")
    return [{ draft: draftOf(entry, place, called), folders: folders.filter((part) => part !== "") }]
  })
})

const draftOf = (entry: Entry, { kind, near, plugin }: Place, called: string): Draft => ({
  data: entry.data,
  origin: { kind, near, file: entry.path, ...(plugin !== undefined && { plugin }) },
  file: entry.path,
  // What is missing is missing from the top.
  at: (key) => ({ line: entry.lineOf(key) ?? 1 }),
  problems: entry.problems,
  called,
  prompt: { _tag: "File", path: entry.path, line: entry.bodyLine },
  isEmpty: entry.bodyChars === 0,
  hash: entry.hash ?? "",
})

/** One file, as if it stood in a folder's agents. */
export const fromFile = Effect.fnUntraced(function* (file: string) {
  const index = yield* MarkdownIndex
  const path = yield* Path.Path
  const entries = yield* index.entries([file])
  const place = { directory: path.dirname(file), kind: "project", near: 0 } as const
  return entries.map((entry): Found => ({
    draft: draftOf(entry, place, path.basename(file).replace(/\.md$/i, "")),
    folders: [],
  }))
})

/** One file of the user's library, by the name of the agent that is asked for. */
export const fromLibrary = Effect.fnUntraced(function* (name: string) {
  const index = yield* MarkdownIndex
  const path = yield* Path.Path
  const { configDir } = yield* Host
  if (!/^[\w][\w.-]*$/.test(name)) return undefined
  const [entry] = yield* index.entries([path.join(configDir, "agents-library", `${name}.md`)])
  if (entry === undefined) return undefined
  return draftOf(entry, { directory: "", kind: "library", near: 0 }, name)
})

interface Inline {
  readonly drafts: ReadonlyArray<Draft>
  readonly failed: ReadonlyArray<Failed>
}

/** `{ "name": { description, prompt, … } }`, wherever it stands. */
const drafts = (
  agents: JsonObject,
  about: { readonly origin: Origin; readonly file: string; readonly hash: (text: string) => string },
  at: (path: ReadonlyArray<string>) => { readonly line?: number; readonly column?: number } | undefined,
): Inline => {
  const failed: Array<Failed> = []
  const found = Object.entries(agents).flatMap(([name, value]): ReadonlyArray<Draft> => {
    if (!isObject(value)) {
      const message = 'it must be an object: { "description": "…", "prompt": "…" }'
      const diagnostic = { severity: "error" as const, file: about.file, ...at([name]), about: name, message }
      failed.push({ name, file: about.file, kind: about.origin.kind, diagnostics: [diagnostic] })
      return []
    }
    const place = (key: string) => at(Object.hasOwn(value, key) ? [name, key] : [name]) ?? {}
    return [
      {
        // The key is the name, whatever is written inside.
        data: { ...value, name },
        origin: about.origin,
        file: about.file,
        at: place,
        problems: [],
        called: name,
        prompt: undefined,
        isEmpty: false,
        hash: about.hash(JSON.stringify(value)),
      },
    ]
  })
  return { drafts: found, failed }
}

/** `--agents`. */
export const fromFlag = (text: string, hash: (text: string) => string): Inline => {
  const parsed = parse(text)
  if (Result.isFailure(parsed)) {
    const { message, ...place } = parsed.failure
    const diagnostic = { severity: "error" as const, file: "--agents", ...place, message: `not JSON: ${message}` }
    return { drafts: [], failed: [{ name: "--agents", file: "--agents", kind: "flag", diagnostics: [diagnostic] }] }
  }
  return drafts(
    parsed.success.value,
    { origin: { kind: "flag", near: 0 }, file: "--agents", hash },
    parsed.success.locate,
  )
}

const kindOf: Readonly<Record<SettingsLayer["source"]["kind"], Kind>> = {
  managed: "managed",
  flags: "flag",
  environment: "flag",
  arguments: "flag",
  local: "project",
  project: "project",
  user: "user",
}

const executable: ReadonlySet<Field> = new Set(["hooks", "mcpServers", "memory", "permissionMode"])

/** In a folder's settings only what `Trust` has looked at: what executes, spelled exactly as it knows it. */
const judged = (agents: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(agents).map(([name, agent]) => {
      if (!isObject(agent)) return [name, agent]
      const kept = Object.entries(agent).filter(([key, value]) => {
        const field = fieldOf(key)
        if (field === undefined || !executable.has(field)) return true
        return key === field && (field !== "permissionMode" || (typeof value === "string" && isMode(value)))
      })
      return [name, Object.fromEntries(kept)]
    }),
  )

const isMode = (name: string): boolean => PermissionMode.parse(name) !== undefined

/** The `agents` of the settings, each with the rank of its file and behind the agent files of that rank. */
export const fromSettings = ({ layers }: Pick<Snapshot, "layers">, hash: (text: string) => string): Inline => {
  const parts = layers.flatMap((layer): ReadonlyArray<Inline> => {
    const agents = get(layer.value, ["agents"])
    if (!isObject(agents)) return []
    const { kind, name } = layer.source
    // What is only for this person here goes before what is for everybody here.
    const origin = { kind: kindOf[kind], near: kind === "local" ? 1_000 : 1_001, file: name, reviewed: true }
    const known = kindOf[kind] === "project" ? judged(agents) : agents
    return [drafts(known, { origin, file: name, hash }, (path) => layer.locate(["agents", ...path]))]
  })
  return {
    drafts: parts.flatMap((part) => part.drafts),
    failed: parts.flatMap((part) => part.failed),
  }
}
