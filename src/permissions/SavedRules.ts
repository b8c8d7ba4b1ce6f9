/**
 * Owns keeping the rules a person agrees to in a settings file.
 *
 * Such rules open something, so they need trust like anything in a folder that does. The person has just agreed to them: if the rest
 * of the file was in force before, all of it stays in force. A file that waits for trust waits on.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import { Files } from "../platform/Files.ts"
import type { Host } from "../platform/Host.ts"
import { get, type JsonObject, mergeAll } from "../settings/Merge.ts"
import { Settings } from "../settings/Settings.ts"
import { append } from "../settings/SettingsEdit.ts"
import { write } from "../settings/SettingsWriter.ts"
import * as Trust from "../settings/Trust.ts"
import * as TrustStore from "../settings/TrustStore.ts"
import type { Behavior } from "../policy/Rule.ts"
import type { SaveRules } from "./Permissions.ts"

const at = (behavior: Behavior) => ["permissions", behavior]

export const make = Effect.gen(function* () {
  const settings = yield* Settings
  const services = yield* Effect.context<Files | FileSystem.FileSystem | Path.Path | Host>()

  const { hash } = yield* Files

  const save = Effect.fnUntraced(
    function* (rules: ReadonlyArray<string>, destination: "local" | "project" | "user", behavior: Behavior) {
      const { layers, reviews, sources } = yield* settings.current
      const source = sources.find(({ kind }) => kind === destination)
      if (source === undefined) return { failed: `there is no ${destination} settings file here` }
      const layer = layers.find((one) => one.source.name === source.name)
      const had = layer === undefined ? {} : mergeAll([layer.value, layer.withheld])
      const waited = reviews.some((one) => one.source.name === source.name)
      // Agreed to beforehand, and to nothing but this: what somebody else writes meanwhile has another hash.
      const review = waited ? undefined : Trust.review(source, added(had, rules, behavior), hash)
      if (review !== undefined) yield* TrustStore.approve([review])
      const edits = rules.map((rule) => append(at(behavior), rule))
      yield* write(source.name, edits, destination === "user" ? { mode: 0o600 } : {})
      yield* settings.reload
      return waited
        ? { failed: `they stand in ${source.name}, which waits for your agreement: troupe config trust` }
        : { saved: source.name }
    },
    Effect.catch((error) => Effect.succeed({ failed: error.message })),
  )

  return ((rules, destination, behavior = "allow") =>
    Effect.provideContext(save(rules, destination, behavior), services)) satisfies SaveRules
})

const added = (had: JsonObject, rules: ReadonlyArray<string>, behavior: Behavior): JsonObject => {
  const before = get(had, at(behavior))
  const list = Array.isArray(before) ? before : []
  return mergeAll([had, { permissions: { [behavior]: [...list, ...rules.filter((rule) => !list.includes(rule))] } }])
}
