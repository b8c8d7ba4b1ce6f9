/**
 * Owns what the settings say about every session, and keeps an open one in step with them.
 *
 * What tightens applies at once. What opens has passed the trust in the settings already, and a rule that forbids stays for as long
 * as the session lasts: nothing that runs in it can loosen it by editing a file.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Rules } from "../permissions/Permissions.ts"
import * as Rule from "../permissions/Rule.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import type { ControlsShape } from "../session/Controls.ts"
import type { Recorder } from "../session/Recorder.ts"
import type { ConfigChange } from "../settings/ConfigChange.ts"

/** What a session starts with unless it is told otherwise. */
export interface Defaults {
  readonly model?: string | undefined
  readonly fallbackModel?: string | undefined
  readonly permissionMode?: PermissionMode | undefined
  readonly allow?: ReadonlyArray<string> | undefined
  readonly deny?: ReadonlyArray<string> | undefined
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
  /** The model where nobody names one; absent when this session was told its model. */
  readonly defaultModel: string | undefined
  readonly allowedTools: ReadonlyArray<string>
  readonly disallowedTools: ReadonlyArray<string>
}

/** Follows the settings until the scope closes. Answers the rules in force: to be read anew for each call. */
export const follow = Effect.fnUntraced(function* (session: Following) {
  const { controls, defaultModel, recorder } = session
  const rulesOf = ({ allow = [], deny = [] }: Defaults): Rules => ({
    allow: Rule.parseAll([...allow, ...session.allowedTools]),
    deny: Rule.parseAll([...deny, ...session.disallowedTools]),
  })
  let rules = rulesOf(session.defaults)
  let model = session.defaults.model ?? defaultModel

  const update = Effect.fnUntraced(function* ({ changes, defaults, warnings }: DefaultsUpdate) {
    const { allow, deny } = rulesOf(defaults)
    const known = new Set(rules.deny.map((rule) => rule.source))
    rules = { allow, deny: [...rules.deny, ...deny.filter((rule) => !known.has(rule.source))] }
    for (const change of changes) yield* recorder.emit({ _tag: "ConfigChanged", ...change })
    for (const message of warnings) yield* recorder.emit({ _tag: "Diagnosed", level: "warning", message })
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
  return {
    get allow() {
      return rules.allow
    },
    get deny() {
      return rules.deny
    },
  } satisfies Rules
})
