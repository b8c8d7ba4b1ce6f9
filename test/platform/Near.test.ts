import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { distance, nearest } from "../../src/platform/Near.ts"

describe("nearest", () => {
  it.each([
    ["modle", "model"],
    ["Permissions", "permissions"],
    ["permision", "permissions"],
    ["fallbackmodels", "fallbackModel"],
  ])("takes %s for %s", (typed, meant) => {
    assert.strictEqual(nearest(typed, ["model", "permissions", "fallbackModel", "env"]), meant)
  })

  it("suggests nothing that is not near", () => {
    assert.isUndefined(nearest("xyz", ["model", "env"]))
    assert.isUndefined(nearest("a", []))
  })

  it.prop("distance is zero for the same name only, and symmetric", [Schema.String, Schema.String], ([a, b]) => {
    assert.strictEqual(distance(a, b), distance(b, a))
    assert.strictEqual(distance(a, b) === 0, a === b)
  })
})
