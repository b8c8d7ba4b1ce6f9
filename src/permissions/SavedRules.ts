/**
 * Owns keeping the rules a person agrees to in a settings file.
 *
 * Such rules open something, so they need trust like anything in a folder that does. The person has just agreed to them: if the rest
 * of the file was in force before, all of it stays in force. A file that waits for trust waits on.
 */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import type { Files } from "../platform/Files.ts"
import type { Host } from "../platform/Host.ts"
import { canonical, get, type JsonObject, mergeAll } from "../settings/Merge.ts"
import { Settings } from "../settings/Settings.ts"
import { append } from "../settings/SettingsEdit.ts"
import { write } from "../settings/SettingsWriter.ts"
import * as Trust from "../settings/Trust.ts"
import * as TrustStore from "../settings/TrustStore.ts"
import type { SaveRules } from "./Permissions.ts"

const at = ["permissions", "allow"]

export const make = Effect.gen(function* () {
  const settings = yield* Settings
  const services = yield* Effect.context<Files | FileSystem.FileSystem | Path.Path | Host>()

  const save = Effect.fnUntraced(
    function* (rules: ReadonlyArray<string>, destination: "local" | "project" | "user") {
      const before = yield* settings.current
      const source = before.sources.find(({ kind }) => kind === destination)
      if (source === undefined) return { failed: `there is no ${destination} settings file here` }
      yield* write(
        source.name,
        rules.map((rule) => append(at, rule)),
        destination === "user" ? { mode: 0o600 } : {},
      )
      const after = yield* settings.reload
      const review = after.reviews.find((one) => one.source.name === source.name)
      if (review === undefined) return { saved: source.name }
      const waited = before.reviews.some((one) => one.source.name === source.name)
      const held = (snapshot: typeof after) => {
        const layer = snapshot.layers.find((one) => one.source.name === source.name)
        return layer === undefined ? {} : mergeAll([layer.value, layer.withheld])
      }
      // Only what was there plus what was agreed to: somebody else may have written in between.
      if (waited || !isOnly(held(before), held(after), rules)) {
        return { failed: `${source.name} has other settings that wait for your agreement: troupe config trust` }
      }
      yield* TrustStore.approve([review])
      yield* settings.reload
      return { saved: source.name }
    },
    Effect.catch((error) => Effect.succeed({ failed: error.message })),
  )

  return ((rules, destination) => Effect.provideContext(save(rules, destination), services)) satisfies SaveRules
})

const isOnly = (before: JsonObject, after: JsonObject, rules: ReadonlyArray<string>): boolean => {
  const had = get(before, at)
  const list = Array.isArray(had) ? had : []
  const expected = mergeAll([before, { permissions: { allow: [...list, ...rules] } }])
  return canonical(Trust.divide(expected).executable) === canonical(Trust.divide(after).executable)
}
