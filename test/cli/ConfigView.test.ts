import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { explained, listed } from "../../src/cli/ConfigView.ts"
import { Settings } from "../../src/settings/Settings.ts"

const settings = Effect.provide(
  Effect.gen(function* () {
    const { current, explain, list } = yield* Settings
    return { snapshot: yield* current, model: yield* explain("model"), all: yield* list }
  }),
  Settings.layerOf({ model: "opus", modle: "x" }),
)

describe("troupe config", () => {
  it.effect("explains one key, as text and as JSON", () =>
    Effect.gen(function* () {
      const { model } = yield* settings
      assert.match(explained([model], false, true), /^model = "opus"\n {2}wins/)
      assert.deepInclude(JSON.parse(explained([model], true, true)), { key: "model", value: "opus" })
    }),
  )

  it.effect("explains all keys, or says that there are none", () =>
    Effect.gen(function* () {
      const { all } = yield* settings
      assert.include(explained(all, false, false), 'modle = "x"')
      assert.lengthOf(JSON.parse(explained(all, true, false)), 2)
      assert.include(explained([], false, false), "defaults apply")
    }),
  )

  it.effect("lists where settings come from", () =>
    Effect.gen(function* () {
      const { snapshot } = yield* settings
      assert.include(listed(snapshot, false), "given settings  (2 settings)")
      assert.deepInclude(JSON.parse(listed(snapshot, true)).sources[0], { kind: "flags", settings: 2 })
    }),
  )
})
