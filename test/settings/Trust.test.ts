import { assert, describe, it } from "@effect/vitest"
import { hex } from "../../src/platform/Sha256.ts"
import { canonical, type JsonObject, merge } from "../../src/settings/Merge.ts"
import { divide, review } from "../../src/settings/Trust.ts"

const source = { kind: "project", name: "/p/.claude/settings.json" } as const
const keys = (value: JsonObject) => divide(value).keys
const hash = (value: JsonObject) => review(source, value, hex)?.hash

describe("Trust", () => {
  it.each([
    [{ hooks: { Stop: [{ hooks: [{ type: "command", command: "x" }] }] } }, "hooks"],
    [{ env: { LD_PRELOAD: "/x.so" } }, "env"],
    [{ apiKeyHelper: "x" }, "apiKeyHelper"],
    [{ statusLine: { type: "command", command: "x" } }, "statusLine"],
    [{ enableAllProjectMcpServers: true }, "enableAllProjectMcpServers"],
    [{ permissions: { allow: ["Bash"] } }, "permissions.allow"],
    [{ permissions: { additionalDirectories: ["/"] } }, "permissions.additionalDirectories"],
    [{ permissions: { defaultMode: "bypassPermissions" } }, "permissions.defaultMode"],
    [{ sandbox: { enabled: false } }, "sandbox.enabled"],
    [{ sandbox: { excludedCommands: ["docker"] } }, "sandbox.excludedCommands"],
    [{ disableAllHooks: false }, "disableAllHooks"],
    [{ disableAllHooks: true }, "disableAllHooks"],
    [{ sandbox: { enabled: true } }, "sandbox.enabled"],
    [{ agents: { a: { prompt: "x", hooks: {} } } }, "agents"],
    [{ agents: { a: { prompt: "x", memory: "user" } } }, "agents"],
    [{ agent: "of-the-folder" }, "agent"],
    [{ autoMemoryEnabled: true }, "autoMemoryEnabled"],
    [{ modelOverrides: { "claude-opus": "arn:x" } }, "modelOverrides"],
    [{ troupe: { models: { "claude-opus": { prices: [] } } } }, "troupe.models"],
    [{ cleanupPeriodDays: 1 }, "cleanupPeriodDays"],
  ])("asks for trust in %j", (value, key) => {
    assert.deepStrictEqual(keys(value), [key])
  })

  it.each([
    [{ model: "opus", outputStyle: "terse" }],
    [{ permissions: { deny: ["Bash"], ask: ["WebFetch"], defaultMode: "plan" } }],
    [{ disableSkillShellExecution: true, autoMemoryEnabled: false }],
    [{ hooks: {}, env: {}, permissions: { allow: [] } }],
    [{ agents: { a: { description: "x", prompt: "y" } } }],
    [{ somethingNew: { x: 1 } }],
  ])("asks for nothing in %j", (value) => {
    assert.deepStrictEqual(keys(value), [])
    assert.isUndefined(review(source, value, hex))
  })

  it("divides without loss", () => {
    const value = { model: "x", env: { A: "1" }, permissions: { allow: ["a"], deny: ["b"] } }
    const { executable, harmless } = divide(value)
    assert.deepStrictEqual(harmless, { model: "x", permissions: { deny: ["b"] } })
    assert.strictEqual(canonical(merge(harmless, executable)), canonical(value))
  })

  it("asks again when the executable part changes, and only then", () => {
    const first = hash({ env: { A: "1", B: "2" }, model: "x" })
    assert.strictEqual(hash({ model: "y", env: { B: "2", A: "1" } }), first)
    assert.notStrictEqual(hash({ env: { A: "1", B: "3" } }), first)
    assert.notStrictEqual(hash({ env: { A: "1", B: "2" }, apiKeyHelper: "x" }), first)
  })
})
