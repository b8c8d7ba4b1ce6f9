/**
 * Owns the agent definitions of a session: found everywhere they may be, read once, the strongest of each name in force, what is wrong
 * with the others said. They follow their files while the session runs; nothing in them executes before a person agreed to it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { FileError } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import { MarkdownIndex } from "../platform/MarkdownIndex.ts"
import type { NotText } from "../platform/Text.ts"
import { Watch } from "../platform/Watch.ts"
import { Settings, type Snapshot as SettingsSnapshot } from "../settings/Settings.ts"
import type * as Trust from "../settings/Trust.ts"
import * as TrustStore from "../settings/TrustStore.ts"
import { builtins } from "./BuiltinAgents.ts"
import * as Definition from "./Definition.ts"
import type { AgentDefinition, Diagnostic, Failed } from "./Definition.ts"
import { type Outcome, read } from "./DefinitionReader.ts"
import * as DefinitionSources from "./DefinitionSources.ts"

export interface DefinitionsOptions extends DefinitionSources.Wanted {
  /** `--agents`: JSON. */
  readonly agents?: string | undefined
  /** Whether a person agreed to what executes in an agent of the folder. Default: as remembered. */
  readonly trusted?: ((review: Trust.Review) => boolean) | undefined
}

/** A definition that is not in force because of another one of its name. */
export interface Row {
  readonly definition: AgentDefinition
  readonly overriddenBy?: AgentDefinition
}

export interface Snapshot {
  /** One of each name, sorted by name. */
  readonly active: ReadonlyArray<AgentDefinition>
  /** Every definition that could be read, the strongest of a name first. */
  readonly all: ReadonlyArray<Row>
  readonly failed: ReadonlyArray<Failed>
  /** Markdown beside the agents that is none. */
  readonly skipped: ReadonlyArray<{ readonly file: string; readonly why: string }>
  /** Of those that were read: what is odd about them. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** What waits for a person to agree to it. */
  readonly reviews: ReadonlyArray<Trust.Review>
  readonly directories: ReadonlyArray<string>
}

export interface DefinitionsShape {
  readonly current: Effect.Effect<Snapshot>
  /** The present snapshot, then one for each reload that changed something. */
  readonly changes: Stream.Stream<Snapshot>
  /** Looks at every place again; only files that changed are read. */
  readonly reload: Effect.Effect<Snapshot>
  /** By name, by another name it has, by the last part of a plugin's agent if that is unmistakable, or from the user's library. */
  readonly find: (name: string) => Effect.Effect<AgentDefinition | undefined>
  /** The text of its system prompt, read now. */
  readonly prompt: (definition: AgentDefinition) => Effect.Effect<string, FileError | NotText>
  /** The agents of a plugin, until the scope closes. */
  readonly register: (plugin: {
    readonly name: string
    readonly directory: string
  }) => Effect.Effect<void, never, Scope.Scope>
}

type Needs = MarkdownIndex | Files | FileSystem.FileSystem | Path.Path | Host | Settings

export class Definitions extends Context.Service<Definitions, DefinitionsShape>()("troupe/agents/Definitions") {
  static readonly layer = (options: DefinitionsOptions = {}): Layer.Layer<Definitions, never, Needs> =>
    Layer.effect(Definitions, make(options))
}

export const make = Effect.fnUntraced(function* (options: DefinitionsOptions) {
  const services = yield* Effect.context<Needs>()
  const index = yield* MarkdownIndex
  const plugins = new Map<string, DefinitionSources.Place>()
  const load = Effect.gen(function* () {
    const { current } = yield* Settings
    return yield* assemble(options, yield* current, [...plugins.values()])
  })
  // One at a time: an older look must not come out on top of a newer one.
  const one = yield* Semaphore.make(1)
  const ref = yield* SubscriptionRef.make(yield* load)
  const reload = one.withPermit(
    Effect.tap(Effect.provideContext(load, services), (next) => SubscriptionRef.set(ref, next)),
  )
  const current = SubscriptionRef.get(ref)
  return Definitions.of({
    current,
    changes: Stream.changesWith(SubscriptionRef.changes(ref), isSame),
    reload,
    find: Effect.fnUntraced(function* (name) {
      const found = named((yield* current).active, name)
      return found ?? (yield* Effect.provideContext(library(name), services))
    }),
    prompt: ({ prompt }) =>
      prompt._tag === "Text"
        ? Effect.succeed(prompt.text)
        : Effect.map(index.body(prompt.path), ({ text }) => text.trim()),
    register: ({ directory, name }) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.suspend(() => {
            plugins.set(name, { directory, kind: "plugin", near: 0, plugin: name })
            return reload
          }),
          () => {
            plugins.delete(name)
            return reload
          },
        ),
      ),
  })
})

/** Reloads at each change of an agent file, of a setting, or of what a person agreed to, until interrupted. */
export const follow = Effect.gen(function* () {
  const { current, reload } = yield* Definitions
  const settings = yield* Settings
  const watch = yield* Watch
  const trust = TrustStore.pathIn(yield* Host)
  const { directories } = yield* current
  const bursts = yield* watch.open([...directories, trust], { recursive: true })
  // What changed before the watch began is caught up.
  yield* Stream.runForEach(Stream.merge(bursts, settings.changes), () => reload)
}).pipe(
  Effect.scoped,
  Effect.catch((error) => Effect.logWarning(error.message)),
)

type Loaded = Extract<Outcome, { readonly _tag: "Loaded" }>

const assemble = Effect.fnUntraced(function* (
  options: DefinitionsOptions,
  settings: SettingsSnapshot,
  plugins: ReadonlyArray<DefinitionSources.Place>,
) {
  const { hash } = yield* Files
  const host = yield* Host
  const trusted = options.trusted ?? (yield* TrustStore.approved)
  const locks = locksOf(settings)
  const places = [...(yield* DefinitionSources.places(options, settings)), ...plugins]
  const files = yield* DefinitionSources.fromPlaces(places.filter(({ kind }) => !locks.agents(kind)))
  const flag = options.agents === undefined ? nothing : DefinitionSources.fromFlag(options.agents, hash)
  const inSettings = DefinitionSources.fromSettings(settings, hash)
  const inline = [...flag.drafts, ...inSettings.drafts].filter(({ origin }) => !locks.agents(origin.kind))

  const drafts = [...files, ...inline.map((draft) => ({ draft, folders: [] }))]
  const result = readAll(drafts, (outcome) => judge(outcome, locks, trusted, hash))
  const all = rank([...result.loaded, ...builtins(host)])
  const snapshot: Snapshot = {
    active: inForce(all),
    all,
    failed: [...flag.failed, ...inSettings.failed, ...result.failed],
    skipped: result.skipped,
    diagnostics: [...result.diagnostics, ...twins(all)],
    reviews: result.reviews,
    directories: places.map(({ directory }) => directory),
  }
  return snapshot
})

/** What a directory or a file of agents would give, if it were a folder's: for whoever writes it. */
export const inspect = Effect.fnUntraced(function* (at: string, isDirectory: boolean) {
  const place = { directory: at, kind: "project", near: 0 } as const
  const drafts = yield* isDirectory ? DefinitionSources.fromPlaces([place]) : DefinitionSources.fromFile(at)
  const { diagnostics, failed, loaded, skipped } = readAll(drafts, (outcome) => ({ outcome, review: undefined }))
  const all = rank(loaded)
  const snapshot: Snapshot = {
    active: inForce(all),
    all,
    failed,
    skipped,
    diagnostics: [...diagnostics, ...twins(all)],
    reviews: [],
    directories: isDirectory ? [at] : [],
  }
  return snapshot
})

interface Judged {
  readonly outcome: Loaded
  readonly review: Trust.Review | undefined
}

const readAll = (drafts: ReadonlyArray<DefinitionSources.Found>, judging: (outcome: Loaded) => Judged) => {
  const loaded: Array<AgentDefinition> = []
  const failed: Array<Failed> = []
  const skipped: Array<Snapshot["skipped"][number]> = []
  const diagnostics: Array<Diagnostic> = []
  const reviews: Array<Trust.Review> = []
  for (const { draft, folders } of drafts) {
    const found = read(draft, folders)
    if (found._tag === "Skipped") skipped.push({ file: draft.file, why: found.why })
    else if (found._tag === "Failed") {
      failed.push({ name: found.name, file: draft.file, kind: draft.origin.kind, diagnostics: found.diagnostics })
    } else {
      const { outcome, review } = judging(found)
      loaded.push(outcome.definition)
      diagnostics.push(...outcome.diagnostics)
      if (review !== undefined) reviews.push(review)
    }
  }
  return { loaded, failed, skipped, diagnostics, reviews }
}

const inForce = (all: ReadonlyArray<Row>): ReadonlyArray<AgentDefinition> =>
  all
    .flatMap(({ definition, overriddenBy }) => (overriddenBy === undefined ? [definition] : []))
    .toSorted((a, b) => Definition.compare(a.name, b.name))

const nothing: ReturnType<typeof DefinitionSources.fromFlag> = { drafts: [], failed: [] }

interface Locks {
  readonly agents: (kind: Definition.Kind) => boolean
  readonly fields: (kind: Definition.Kind) => ReadonlyArray<string>
}

/** An organisation may keep people and folders from bringing their own. */
const locksOf = ({ layers }: SettingsSnapshot): Locks => {
  const said = layers.findLast(({ source }) => source.kind === "managed")?.value["strictPluginOnlyCustomization"]
  const locks = (what: string) => said === true || (Array.isArray(said) && said.includes(what))
  const concerns = (kind: Definition.Kind) => kind === "project" || kind === "user" || kind === "library"
  const fields = [...(locks("hooks") ? ["hooks"] : []), ...(locks("mcp") ? ["mcpServers"] : [])]
  return {
    agents: (kind) => concerns(kind) && locks("agents"),
    fields: (kind) => (concerns(kind) ? fields : []),
  }
}

/** What executes is taken out where an organisation says so, and where nobody agreed to it yet. */
const judge = (
  outcome: Loaded,
  locks: Locks,
  trusted: (review: Trust.Review) => boolean,
  hash: (text: string) => string,
): Judged => {
  const parts = Definition.executable(outcome.definition)
  const locked = locks.fields(outcome.definition.origin.kind).filter((field) => Object.hasOwn(parts, field))
  const definition = locked.length === 0 ? outcome.definition : Definition.withhold(outcome.definition, locked)
  const review = Definition.trustOf(definition.origin) === "review" ? Definition.review(definition, hash) : undefined
  if (review === undefined || trusted(review)) return { outcome: { ...outcome, definition }, review: undefined }
  const warning: Diagnostic = {
    severity: "warning",
    file: review.source.name,
    about: review.keys.join(", "),
    message: "not in force until you agree to it: look at it with `troupe config trust`",
  }
  return {
    outcome: {
      ...outcome,
      definition: Definition.withhold(definition, review.keys),
      diagnostics: [...outcome.diagnostics, warning],
    },
    review,
  }
}

/** The first of each name is in force. */
const rank = (definitions: ReadonlyArray<AgentDefinition>): ReadonlyArray<Row> => {
  const first = new Map<string, AgentDefinition>()
  return definitions.toSorted(Definition.strongestFirst).map((definition) => {
    const stronger = first.get(definition.name)
    if (stronger === undefined) first.set(definition.name, definition)
    return stronger === undefined ? { definition } : { definition, overriddenBy: stronger }
  })
}

/** Two files of one name in one directory: nobody meant that, and which of them counts is only their order. */
const twins = (all: ReadonlyArray<Row>): ReadonlyArray<Diagnostic> =>
  all.flatMap(({ definition, overriddenBy }) => {
    const { file, kind, near } = definition.origin
    const other = overriddenBy?.origin
    if (file === undefined || other?.file === undefined || other.file === file) return []
    if (other.kind !== kind || other.near !== near) return []
    const message = `"${definition.name}" is also defined in ${other.file}, which counts; rename one of them`
    return [{ severity: "warning" as const, file, about: "name", message }]
  })

/** A plugin's agent also goes by the end of its name, if only one does. */
const named = (active: ReadonlyArray<AgentDefinition>, name: string): AgentDefinition | undefined => {
  const exact = active.find((one) => one.name === name) ?? active.find((one) => one.aliases.includes(name))
  if (exact !== undefined) return exact
  const ends = active.filter((one) => one.name.endsWith(`:${name}`))
  return ends.length === 1 ? ends[0] : undefined
}

const library = Effect.fnUntraced(function* (name: string) {
  const settings = yield* (yield* Settings).current
  if (!settings.sources.some(({ kind }) => kind === "user") || locksOf(settings).agents("library")) return undefined
  const draft = yield* DefinitionSources.fromLibrary(name)
  if (draft === undefined) return undefined
  const outcome = read(draft)
  return outcome._tag === "Loaded" ? outcome.definition : undefined
})

const isSame = (a: Snapshot, b: Snapshot): boolean => JSON.stringify(a) === JSON.stringify(b)
