import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { explained, listed, wishes } from "../../src/cli/ConfigView.ts"
import { explain } from "../../src/settings/Explain.ts"
import { Settings, type Snapshot } from "../../src/settings/Settings.ts"

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

  const held = (withheld: Snapshot["layers"][number]["withheld"], name = "/w/.claude/settings.json") =>
    wishes({
      layers: [{ source: { kind: "project", name }, value: {}, withheld, locate: () => undefined }],
      reviews: [{ source: { kind: "project", name }, keys: ["hooks"], hash: "abc123" }],
    })
      .map(({ text }) => text)
      .join("\n")

  it("shows what waits for trust as it is, whatever it contains", () => {
    const text = held({ apiKeyHelper: "ls\u009d0; touch PWNED\u009c \u202e\u200b\u001b" }, "/w\u202e/settings.json")
    assert.include(text, "/w\\u202e/settings.json wants:")
    assert.include(text, "ls\\u009d0; touch PWNED\\u009c \\u202e\\u200b\\u001b")
    assert.include(text, "contains invisible characters")
    assert.notMatch(text, /[^\n\P{C}]/u)
    assert.notInclude(held({ apiKeyHelper: "printf '\\u001b'\n" }), "invisible characters")
  })

  it("hides the secrets of what waits for trust, and says so", () => {
    const server = { url: "https://x", headers: { Authorization: "Bearer hunter2" } }
    const text = held({ mcpServers: { x: server } })
    assert.notInclude(text, "hunter2")
    assert.include(text, "https://x")
    assert.include(text, "(14 characters, hidden)")
    assert.match(text, /hidden.*covers them.*abc123/s)
    assert.notInclude(held({ apiKeyHelper: "x" }), "hidden")
  })

  it("explains and lists without a character that cannot be seen", () => {
    const evil = "a\u009d\u202e"
    const layers = [
      { source: { kind: "user", name: evil }, value: { model: evil }, withheld: {}, locate: () => undefined },
    ] as const
    const found = explain(layers, "model")
    const snapshot = { layers, diagnostics: [], files: [evil] }
    for (const text of [
      explained([found], false, true),
      explained([found], true, true),
      listed(snapshot, false),
      listed(snapshot, true),
    ]) {
      assert.notMatch(text, /[^\n\P{C}]/u)
      assert.match(text, /\\(u00|x)9d/)
    }
    assert.strictEqual(JSON.parse(explained([found], true, true)).value, evil)
  })
})
