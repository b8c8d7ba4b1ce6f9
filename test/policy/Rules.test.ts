import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import type { JsonObject } from "../../src/settings/Merge.ts"
import { parse } from "../../src/settings/SettingsFile.ts"
import type { SettingsLayer, SourceKind } from "../../src/settings/SettingsLayer.ts"
import * as Decide from "../../src/policy/Decide.ts"
import * as Rules from "../../src/policy/Rules.ts"
import { call, compiled, context, place } from "./calls.ts"

const decision = (text: string, rules: Rules.Compiled) => Decide.decide(call(text), rules, context()).decision

describe("a malformed rule", () => {
  it("that denies, denies the whole tool it names", () => {
    const rules = compiled("deny Bash(rm;; allow Bash(npm *)")
    assert.strictEqual(decision("$ npm test", rules), "deny")
    assert.strictEqual(decision("Read a", rules), "allow")
    assert.strictEqual(rules.problems[0]?.effect, "every call of Bash is denied")
    assert.include(Decide.decide(call("$ ls"), rules, context()).reason, "cannot be read")
  })
  it("that denies files, denies what commands do to files as well", () => {
    const rules = compiled("deny Read(.env")
    assert.strictEqual(decision("Read a", rules), "deny")
    assert.strictEqual(decision("$ cat a", rules), "deny")
    assert.strictEqual(decision("$ npm test", rules), "ask")
  })
  it("that names no tool, denies everything", () => {
    const rules = Rules.compile([{ behavior: "deny", text: 42, source: { kind: "project" } }], place)
    assert.strictEqual(decision("Read a", rules), "deny")
    assert.strictEqual(rules.problems[0]?.effect, "every call is denied")
  })
  it("that asks, asks about the whole tool", () => {
    assert.strictEqual(decision("$ ls", compiled("ask Bash(ls")), "ask")
  })
  it("that allows, allows nothing", () => {
    const rules = compiled("allow Bash(npm test")
    assert.strictEqual(decision("$ npm test", rules), "ask")
    assert.strictEqual(rules.problems[0]?.effect, "it allows nothing")
  })
})

describe("a policy that keeps rules to itself", () => {
  it("silences settings below it, and nothing but it may allow", () => {
    const rules = compiled("managed:allow Bash(npm *);; allow Bash(make *);; cli:allow Bash(go *);; deny Read", true)
    assert.strictEqual(decision("$ npm test", rules), "allow")
    assert.strictEqual(decision("$ make x", rules), "ask")
    assert.strictEqual(decision("$ go x", rules), "ask")
    assert.strictEqual(decision("Read a", rules), "allow")
  })
  it("leaves a flag its denials", () => {
    assert.strictEqual(decision("Read a", compiled("cli:deny Read", true)), "deny")
  })
})

const layer = (kind: SourceKind, text: string, directory: string): SettingsLayer => {
  const read = parse(text)
  if (Result.isFailure(read)) return assert.fail()
  const { value, locate } = read.success
  return { source: { kind, name: `${directory}/settings.json`, directory }, value, withheld: {}, locate }
}

describe("settings", () => {
  it("give rules with their file and line, and what a leading slash means in them", () => {
    const project =
      '{\n  "permissions": {\n    "deny": [\n      "Read(/a/**)",\n      { "tool": "Task", "args": "Explore" }\n    ]\n  }\n}'
    const user = '{ "permissions": { "allow": ["Read(/b/**)"] } }'
    const local = '{ "permissions": { "ask": ["Bash(x)"] } }'
    const found = Rules.fromSettings(
      [layer("user", user, "/home/u/.claude"), layer("project", project, "/work"), layer("local", local, "/repo")],
      "/work/sub",
    )
    assert.deepStrictEqual(
      found.map(({ behavior, source, root }) => [behavior, source.kind, source.file, source.line, root]),
      [
        ["allow", "user", "/home/u/.claude/settings.json", 1, "/home/u/.claude"],
        ["deny", "project", "/work/settings.json", 4, "/work"],
        ["deny", "project", "/work/settings.json", 5, "/work"],
        ["ask", "local", "/repo/settings.json", 1, "/work/sub"],
      ],
    )
    const rules = Rules.compile(found, { cwd: "/work/sub", home: "/home/u" })
    assert.deepStrictEqual(
      rules.entries.map(({ rule }) => rule.text),
      ["Read(/b/**)", "Read(/a/**)", "Task(Explore)", "Bash(x)"],
    )
  })
  it("fail closed when a list of denials is no list", () => {
    const found = Rules.fromSettings([layer("project", '{ "permissions": { "deny": { "a": 1 } } }', "/work")], "/work")
    assert.strictEqual(decision("Read a", Rules.compile(found, place)), "deny")
  })
  it("limit modes wherever they are written, and rules only in a policy", () => {
    const text = JSON.stringify({
      allowManagedPermissionRulesOnly: true,
      permissions: { disableBypassPermissionsMode: "disable", disableAutoMode: "disable" },
    } satisfies JsonObject)
    const all = { bypassDisabled: true, autoDisabled: true, managedOnly: true }
    assert.deepStrictEqual(Rules.limits([layer("managed", text, "/etc")]), all)
    assert.deepStrictEqual(Rules.limits([layer("project", text, "/work")]), { ...all, managedOnly: false })
    assert.deepStrictEqual(Rules.limits([]), { bypassDisabled: false, autoDisabled: false, managedOnly: false })
  })
})
