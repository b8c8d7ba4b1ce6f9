/** Owns `troupe config set` and `unset`: one key of one settings file, and whether the change is in force. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { pathOf } from "../settings/Explain.ts"
import { unknownKeys } from "../settings/KnownKeys.ts"
import { complaint, isText } from "../settings/KnownValues.ts"
import type { Json, JsonObject } from "../settings/Merge.ts"
import { Settings } from "../settings/Settings.ts"
import { remove, set } from "../settings/SettingsEdit.ts"
import { parse } from "../settings/SettingsFile.ts"
import { place } from "../settings/SettingsLayer.ts"
import { write } from "../settings/SettingsWriter.ts"
import { plain } from "./Plain.ts"
import type { SettingSource } from "./Options.ts"
import type { Stdio } from "./Stdio.ts"

export interface ConfigWrite {
  /** Dotted; a part with dots of its own stands in quotes: `enabledPlugins."fmt@team.example"`. */
  readonly key: string
  /** As it was typed; absent to remove the key. */
  readonly value: string | undefined
  readonly scope: SettingSource
}

/** JSON if it is JSON, and text otherwise. */
const valueOf = (typed: string): Json => {
  const parsed = parse(`{"typed":${typed}\n}`)
  if (Result.isFailure(parsed) || parsed.success.doubts.length > 0) return typed
  const { typed: value = typed, ...more } = parsed.success.value
  return Object.keys(more).length > 0 ? typed : value
}

const quoted = (key: string): ReadonlyArray<string> =>
  [...key.matchAll(/"([^"]*)"|[^."]+/g)].map(([whole, inner]) => inner ?? whole)

/** Answers the exit code. */
export const configWrite = Effect.fnUntraced(function* ({ key, scope, value: typed }: ConfigWrite, stdio: Stdio) {
  const { current, explain, reload } = yield* Settings
  const { layers, sources } = yield* current
  const say = (line: string) => stdio.out.write(`${plain(line)}\n`)
  const warn = (line: string) => stdio.err.write(`troupe: ${plain(line)}\n`)

  const path = key.includes('"') ? quoted(key) : pathOf(layers, key)
  if (path.length === 0 || path.includes("")) {
    yield* warn(`"${key}" is no key: write it as in permissions.defaultMode.`)
    return 2
  }
  const value = typed === undefined ? null : isText(path) ? typed : valueOf(typed)
  const wrong = typed === undefined ? undefined : complaint(path, value)
  if (wrong !== undefined) {
    yield* warn(`${wrong}; ${JSON.stringify(value)} is not. Nothing was changed.`)
    return 2
  }
  const [unknown] = unknownKeys(path.reduceRight<JsonObject>((inner, name) => Object.fromEntries([[name, inner]]), {}))
  if (unknown !== undefined && typed !== undefined) {
    const hint = unknown.suggestion === undefined ? "" : `; did you mean "${unknown.suggestion}"?`
    yield* warn(`warning: ${unknown.path.join(".")}: unknown setting, kept but not used${hint}`)
  }

  // In the home directory the project's file is the user's.
  const file = (sources.find(({ kind }) => kind === scope) ?? sources[0])?.name ?? ""
  const edit = typed === undefined ? remove(path) : set(path, value)
  const changed = yield* write(file, [edit], scope === "user" ? { mode: 0o600 } : {})
  yield* reload
  const dotted = path.join(".")
  if (!changed) {
    yield* say(typed === undefined ? `${dotted} is not set in ${file}.` : `${dotted} is so already in ${file}.`)
    return 0
  }
  yield* say(typed === undefined ? `Removed ${dotted} from ${file}.` : `Set ${dotted} in ${file}.`)
  const { entries } = yield* explain(dotted)
  const ours = entries.find(({ source }) => source.name === file)
  if (ours?.role === "withheld") yield* say("It is not in force until you agree to it: troupe config trust")
  const winner = entries.find(({ role }) => role === "wins")
  if (winner !== undefined && winner !== ours && ours?.role !== "merged") {
    const at = winner.origin ?? place(winner.source, winner)
    yield* say(typed === undefined ? `Now ${at} counts.` : `${at} sets it too, and counts: ${winner.why}.`)
  }
  return 0
})
