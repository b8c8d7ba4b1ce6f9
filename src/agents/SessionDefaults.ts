/**
 * Owns what the settings say about every session, and keeps an open one in step with them.
 *
 * What tightens applies at once. What opens has passed the trust in the settings already, and a rule that forbids stays for as long
 * as the session lasts: nothing that runs in it can loosen it by editing a file.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as RuleBook from "../permissions/RuleBook.ts"
import type * as Rule from "../policy/Rule.ts"
import { parseList } from "../policy/RuleList.ts"
import type { RuleText } from "../policy/Rules.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import type { ControlsShape } from "../session/Controls.ts"
import type { Recorder } from "../session/Recorder.ts"
import type { ConfigChange } from "../settings/ConfigChange.ts"

/** What a session starts with unless it is told otherwise. */
export interface Defaults {
  readonly model?: string | undefined
  readonly fallbackModel?: string | undefined
  readonly permissionMode?: PermissionMode | undefined
  /** Permission rules with where they stand, and what settings say about modes and rules as a whole. */
  readonly rules?: RuleBook.RuleSettings | undefined
  readonly addDirs?: ReadonlyArray<string> | undefined
}

export interface DefaultsUpdate {
  readonly defaults: Defaults
  /** What changed in which source. */
  readonly changes: ReadonlyArray<ConfigChange>
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
  const book = RuleBook.make({
    cwd,
    home,
    settings: session.defaults.rules ?? RuleBook.noSettings,
    own: [...ownRules("allow", session.allowedTools), ...ownRules("deny", session.disallowedTools)],
  })
  let model = session.defaults.model ?? defaultModel

  const complain = (message: string) => recorder.emit({ _tag: "Diagnosed", level: "warning", message })
  for (const problem of book.rules().problems) yield* complain(RuleBook.describe(problem))

  const update = Effect.fnUntraced(function* ({ changes, defaults, warnings }: DefaultsUpdate) {
    const problems = book.renew(defaults.rules ?? RuleBook.noSettings)
    for (const change of changes) yield* recorder.emit({ _tag: "ConfigChanged", ...change })
    for (const message of [...warnings, ...problems.map(RuleBook.describe)]) yield* complain(message)
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

const ownRules = (behavior: Rule.Behavior, texts: ReadonlyArray<string>): ReadonlyArray<RuleText> =>
  parseList(texts).map((text) => ({ behavior, text, source: { kind: "cli" } }))
