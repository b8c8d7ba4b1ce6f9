import { assert, describe, it } from "@effect/vitest"
import { between } from "../../src/settings/ConfigChange.ts"
import type { JsonObject } from "../../src/settings/Merge.ts"
import type { SettingsLayer, SourceKind } from "../../src/settings/SettingsLayer.ts"

const layer = (kind: SourceKind, value: JsonObject, withheld: JsonObject = {}): SettingsLayer => ({
  source: { kind, name: `/${kind}.json` },
  value,
  withheld,
  locate: () => undefined,
})

describe("what a reload changed", () => {
  it("is told by source, with the deepest keys that differ", () => {
    const before = [layer("user", { model: "a", verbose: true }), layer("project", { permissions: { deny: ["x"] } })]
    const after = [
      layer("user", { verbose: true, model: "b" }),
      layer("project", { permissions: { deny: ["x", "y"], ask: [] } }),
    ]
    assert.deepStrictEqual(between(before, after), [
      { source: "user", file: "/user.json", keys: ["model"], withheld: [] },
      { source: "project", file: "/project.json", keys: ["permissions.deny", "permissions.ask"], withheld: [] },
    ])
    assert.deepStrictEqual(between(after, after), [])
  })

  it("names a file that came or went by all its keys", () => {
    const one = [layer("local", { model: "a", env: {} })]
    assert.deepStrictEqual(between([], one)[0]?.keys, ["model", "env"])
    assert.deepStrictEqual(between(one, [])[0]?.keys, ["model", "env"])
    const env = (value: JsonObject | string) => [layer("local", { env: value })]
    assert.deepStrictEqual(between(env("x"), env({ A: "1" }))[0]?.keys, ["env"])
    assert.deepStrictEqual(between([], env({ A: "1" }))[0]?.keys, ["env.A"])
  })

  it("names what waits for trust, and not what stopped asking", () => {
    const quiet = [layer("project", {})]
    const wanting = [layer("project", {}, { permissions: { allow: ["Bash"] }, hooks: {} })]
    const expected = { source: "project", file: "/project.json", keys: [], withheld: ["permissions.allow", "hooks"] }
    assert.deepStrictEqual(between(quiet, wanting), [expected])
    assert.deepStrictEqual(between(wanting, quiet), [])
    const trusted = [layer("project", { permissions: { allow: ["Bash"] }, hooks: {} })]
    assert.deepStrictEqual(between(wanting, trusted), [
      { ...expected, keys: ["permissions.allow", "hooks"], withheld: [] },
    ])
  })
})
