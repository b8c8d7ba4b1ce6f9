import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { Host } from "../../src/platform/Host.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as TrustStore from "../../src/settings/TrustStore.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"

const file = "/work/.claude/settings.json"
const files = { [file]: '{ "permissions": { "allow": ["Bash"] } }' }

const allowed = Effect.gen(function* () {
  const { current } = yield* Settings
  const { value, reviews } = yield* current
  return { permissions: value["permissions"], reviews }
}).pipe(Effect.provide(Settings.layer(), { local: true }))

describe("TrustStore", () => {
  it.effect("puts in force what a person agreed to, and no other content", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const before = yield* allowed
      assert.deepStrictEqual(before.permissions, {})
      yield* TrustStore.approve(before.reviews)
      assert.deepStrictEqual((yield* allowed).permissions, { allow: ["Bash"] })
      yield* fs.writeFileString(file, '{ "permissions": { "allow": ["Bash", "Write"] } }')
      assert.deepStrictEqual((yield* allowed).permissions, {})
    }).pipe(Effect.provide(MemoryWorkspace.layer(files))),
  )

  it.effect("takes a store it cannot read for an empty one", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { configDir } = yield* Host
      yield* TrustStore.approve((yield* allowed).reviews)
      yield* fs.writeFileString(`${configDir}/troupe/trust.json`, "{ torn")
      assert.deepStrictEqual((yield* allowed).permissions, {})
    }).pipe(Effect.provide(MemoryWorkspace.layer(files))),
  )
})
