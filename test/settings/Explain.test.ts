import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { explain, hide, list, pathOf, render } from "../../src/settings/Explain.ts"
import { canonical, get, mergeAll } from "../../src/settings/Merge.ts"
import { parse } from "../../src/settings/SettingsFile.ts"
import type { SettingsLayer, SourceKind } from "../../src/settings/SettingsLayer.ts"

const file = (kind: SourceKind, name: string, text: string): SettingsLayer => {
  const { locate, value } = Result.getOrThrow(parse(text))
  return { source: { kind, name }, value, withheld: {}, locate }
}

const variable: SettingsLayer = {
  source: { kind: "environment", name: "environment" },
  value: { model: "haiku" },
  withheld: {},
  locate: () => undefined,
  origin: () => "ANTHROPIC_MODEL",
}

const layers = [
  file("user", "/u.json", '{\n  "model": "opus",\n  "permissions": { "deny": ["a"] }, "fallbackModel": ["x"]\n}'),
  file("project", "/p.json", '{ "model": "sonnet",\n "permissions": { "deny": ["b"] }, "fallbackModel": ["y"] }'),
  variable,
]

describe("explain", () => {
  it("lists every source that sets a key, highest first, with its place and why it counts or not", () => {
    const { entries, value } = explain(layers, "model")
    assert.strictEqual(value, "haiku")
    assert.deepStrictEqual(
      entries.map(({ line, origin, role, source, value }) => [role, source.name, line, origin, value]),
      [
        ["wins", "environment", undefined, "ANTHROPIC_MODEL", "haiku"],
        ["overridden", "/p.json", 1, undefined, "sonnet"],
        ["overridden", "/u.json", 2, undefined, "opus"],
      ],
    )
  })

  it("shows that lists are merged, and ordered chains are not", () => {
    const roles = (key: string) => explain(layers, key).entries.map(({ role }) => role)
    assert.deepStrictEqual(explain(layers, "permissions.deny").value, ["a", "b"])
    assert.deepStrictEqual(roles("permissions.deny"), ["wins", "merged"])
    assert.deepStrictEqual(roles("fallbackModel"), ["wins", "overridden"])
  })

  it("shows what waits for trust", () => {
    const local = file("local", "/l.json", '{"apiKeyHelper": "x"}')
    const held = [...layers, { ...local, value: {}, withheld: local.value }]
    const explanation = explain(held, "apiKeyHelper")
    assert.isUndefined(explanation.value)
    assert.deepStrictEqual(
      explanation.entries.map(({ column, line, role }) => [role, line, column]),
      [["withheld", 1, 2]],
    )
    assert.match(render(explanation), /apiKeyHelper is not in force\n {2}withheld +local +\/l\.json:1:2/)
  })

  it("says when nothing sets a key", () => {
    assert.deepStrictEqual(explain(layers, "nothing.here"), { key: "nothing.here", entries: [] })
    assert.match(render(explain(layers, "nothing.here")), /not set in any settings file/)
  })

  it("finds keys that contain dots", () => {
    const plugin = [file("user", "/u.json", '{"enabledPlugins": {"fmt@team.example": true}}')]
    assert.deepStrictEqual(pathOf(plugin, "enabledPlugins.fmt@team.example"), ["enabledPlugins", "fmt@team.example"])
    assert.strictEqual(explain(plugin, "enabledPlugins.fmt@team.example").value, true)
  })

  it("prints a link to the place, and never a secret, however deep", () => {
    const secrets = [
      file("user", "/u.json", '{"env": {"MY_API_KEY": "sk-123456", "PORT": "80"}, "apiKeyHelper": "pass"}'),
    ]
    const one = render(explain(secrets, "env.MY_API_KEY"))
    assert.include(one, "/u.json:1:10")
    assert.include(one, "9 characters, hidden")
    const all = render(explain(secrets, "env"))
    assert.include(all, '"PORT":"80"')
    assert.notInclude(one + all, "sk-123456")
    assert.notInclude(JSON.stringify(list(secrets).map(hide)), "sk-123456")
    assert.include(render(explain(secrets, "apiKeyHelper")), '"pass"')
  })

  it("lists everything that is set, once", () => {
    assert.deepStrictEqual(
      list(layers).map(({ key }) => key),
      ["fallbackModel", "model", "permissions.deny"],
    )
  })

  const Value = Schema.Union([Schema.Int, Schema.Array(Schema.Int)])
  const Settings = Schema.Struct({
    a: Schema.optionalKey(Value),
    b: Schema.optionalKey(Schema.Struct({ c: Schema.optionalKey(Value), d: Schema.optionalKey(Schema.String) })),
  })

  it.prop("never disagrees with the merge", [Settings, Settings, Settings], (values) => {
    const kinds = ["user", "project", "managed"] as const
    const sources = values.map((value, index): SettingsLayer => {
      const kind = kinds[index] ?? "user"
      return { source: { kind, name: kind }, value, withheld: {}, locate: () => undefined }
    })
    const merged = mergeAll(values)
    for (const path of [["a"], ["b"], ["b", "c"], ["b", "d"]]) {
      const { entries, value } = explain(sources, path)
      const expected = get(merged, path)
      assert.strictEqual(canonical(value ?? null), canonical(expected ?? null))
      assert.strictEqual(entries.length > 0, expected !== undefined)
      assert.lengthOf(
        entries.filter(({ role }) => role === "wins"),
        expected === undefined ? 0 : 1,
      )
    }
  })
})
