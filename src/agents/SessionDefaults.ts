/**
 * Owns what the settings say about every session, and keeps an open one in step with them.
 *
 * What tightens applies at once. What opens has passed the trust in the settings already, and a rule that forbids stays for as long
 * as the session lasts: nothing that runs in it can loosen it by editing a file. A hook may keep a change of a source out of the session.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { HookEngine } from "../hooks/HookEngine.ts"
import * as RuleBook from "../permissions/RuleBook.ts"
import type * as Rule from "../policy/Rule.ts"
import { parseList } from "../policy/RuleList.ts"
import type { RuleText } from "../policy/Rules.ts"
import type { Effort } from "../protocol/Effort.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import type { ControlsShape } from "../session/Controls.ts"
import type { Recorder } from "../session/Recorder.ts"
import { between, type ConfigChange } from "../settings/ConfigChange.ts"
import { canonical } from "../settings/Merge.ts"
import { precedence, type SettingsLayer } from "../settings/SettingsLayer.ts"

type Layers = ReadonlyArray<SettingsLayer>

/** What a session starts with unless it is told otherwise. */
export interface Defaults {
  readonly model?: string | undefined
  readonly fallbackModel?: string | undefined
  readonly permissionMode?: PermissionMode | undefined
  readonly effort?: Effort | undefined
  /** The agent that every session is. */
  readonly agent?: string | undefined
  /** Permission rules with where they stand, and what settings say about modes and rules as a whole. */
  readonly rules?: RuleBook.RuleSettings | undefined
  readonly addDirs?: ReadonlyArray<string> | undefined
  /** Whether files are kept before they are changed: at all, and where nobody asks for it. */
  readonly checkpoints?: { readonly allowed: boolean; readonly unasked: boolean } | undefined
  /** The settings themselves, lowest first. */
  readonly layers?: Layers | undefined
}

export interface DefaultsUpdate {
  readonly layers: Layers
  /** What settings of these sources would say. */
  readonly defaultsOf: (layers: Layers) => Effect.Effect<Defaults>
  /** What people should know about it. */
  readonly warnings: ReadonlyArray<string>
}

export const SessionDefaults = Context.Reference<{
  readonly current: Effect.Effect<Defaults>
  /** What is so now, then every change. */
  readonly updates: Stream.Stream<DefaultsUpdate>
}>("troupe/agents/SessionDefaults", {
  defaultValue: () => ({ current: Effect.succeed({}), updates: Stream.empty }),
})

/** An open session, as far as settings concern it. */
export interface Following {
  /** What it was opened with. */
  readonly defaults: Defaults
  readonly recorder: Recorder["Service"]
  readonly controls: ControlsShape
  readonly cwd: string
  readonly home: string
  /** The model where nobody names one; absent when this session was told its model. */
  readonly defaultModel: string | undefined
  readonly allowedTools: ReadonlyArray<string>
  readonly disallowedTools: ReadonlyArray<string>
}

/** Follows the settings until the scope closes. Answers the rules in force: to be read anew for each call. */
export const follow = Effect.fnUntraced(function* (session: Following) {
  const { controls, cwd, defaultModel, home, recorder } = session
  const hooks = yield* HookEngine
  const book = RuleBook.make({
    cwd,
    home,
    settings: session.defaults.rules ?? RuleBook.noSettings,
    own: [...ownRules("allow", session.allowedTools), ...ownRules("deny", session.disallowedTools)],
  })
  let model = session.defaults.model ?? defaultModel
  let accepted = session.defaults.layers ?? []
  /** What a hook has kept out, by source; it is not asked again about the same. */
  const refused = new Map<string, string>()

  const complain = (message: string) => recorder.emit({ _tag: "Diagnosed", level: "warning", message })
  for (const problem of book.rules().problems) yield* complain(RuleBook.describe(problem))

  /** ConfigChange. The machine's policy applies whatever a hook says. */
  const isKeptOut = Effect.fnUntraced(function* ({ file, source }: ConfigChange, layers: Layers) {
    const name = sourceNames[source]
    if (name === undefined) return false
    const content = contentOf(layers, file)
    if (refused.get(file) === content) return true
    refused.delete(file)
    const { block } = yield* hooks.fire("ConfigChange", { source: name, file_path: file })
    if (block === undefined || source === "managed") return false
    refused.set(file, content)
    yield* Effect.logDebug(`${file}: the change is not applied to this session: ${block.reason}`)
    return true
  })

  const update = Effect.fnUntraced(function* ({ defaultsOf, layers, warnings }: DefaultsUpdate) {
    const changes: Array<ConfigChange> = []
    const out = new Set<string>()
    for (const change of between(accepted, layers)) {
      if (yield* isKeptOut(change, layers)) out.add(change.file)
      else changes.push(change)
    }
    for (const message of warnings) yield* complain(message)
    if (changes.length === 0) return
    accepted = mixed(layers, accepted, out)
    const defaults = yield* defaultsOf(accepted)
    const problems = book.renew(defaults.rules ?? RuleBook.noSettings)
    for (const change of changes) yield* recorder.emit({ _tag: "ConfigChanged", ...change })
    for (const problem of problems) yield* complain(RuleBook.describe(problem))
    yield* hooks.renew(accepted)
    const before = model
    model = defaults.model ?? defaultModel
    // A model that somebody chose for this session stays.
    if (defaultModel === undefined || model === undefined || model === before) return
    if ((yield* controls.current).model === before) yield* controls.change("settings", { model })
  })

  yield* (yield* SessionDefaults).updates.pipe(
    Stream.runForEach(update),
    Effect.catchTag("JournalError", (error) => Effect.logError(error.message)),
    Effect.forkScoped({ startImmediately: true }),
  )
  return book
})

/** As hooks know them; what was given on the command line cannot change. */
const sourceNames: Readonly<Record<string, string>> = {
  user: "user_settings",
  project: "project_settings",
  local: "local_settings",
  managed: "policy_settings",
}

const contentOf = (layers: Layers, file: string): string => {
  const layer = layers.find(({ source }) => source.name === file)
  return layer === undefined ? "" : canonical([layer.value, layer.withheld])
}

/** The new layers, except for the sources that stay as they were. */
const mixed = (layers: Layers, before: Layers, kept: ReadonlySet<string>): Layers =>
  [
    ...layers.filter(({ source }) => !kept.has(source.name)),
    ...before.filter(({ source }) => kept.has(source.name)),
  ].toSorted((a, b) => precedence.indexOf(a.source.kind) - precedence.indexOf(b.source.kind))

const ownRules = (behavior: Rule.Behavior, texts: ReadonlyArray<string>): ReadonlyArray<RuleText> =>
  parseList(texts).map((text) => ({ behavior, text, source: { kind: "cli" } }))
