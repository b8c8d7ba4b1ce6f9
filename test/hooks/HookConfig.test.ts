import { assert, describe, it } from "@effect/vitest"
import * as HookConfig from "../../src/hooks/HookConfig.ts"
import * as HookSettings from "../../src/hooks/HookSettings.ts"
import { command, layer, one } from "./engine.ts"

const place = { cwd: "/w", home: "/h" }
const read = (value: unknown) => HookSettings.read([layer({ hooks: value })], place)

describe("hooks as people write them", () => {
  it("are named with their line when something is wrong, and the rest counts", () => {
    const { handlers, problems, refused } = read({
      PreTooluse: [],
      Stop: { hooks: [] },
      PostToolUse: [{ matcher: 7, hooks: [] }, { matcher: "(", hooks: [] }, "x", { matcher: "Edit" }],
      PreToolUse: [
        {
          matcher: "Bash",
          hooks: [
            { type: "comand", command: "x" },
            { type: "command" },
            { type: "command", command: "x", timeout: -1 },
            { type: "command", command: "node x.js", args: [] },
            { type: "command", command: "fine", unknownField: true },
          ],
        },
      ],
      SessionStart: [
        {
          hooks: [
            { type: "prompt", prompt: "ok?" },
            { ...command("x"), if: "Bash(ls)" },
          ],
        },
      ],
    })
    assert.deepStrictEqual(
      handlers.map(({ action }) => (action.type === "command" ? action.command : action.type)),
      ["node x.js", "fine"],
    )
    const said = problems.map(HookConfig.render)
    const expected = [
      /user\.json:\d+: hooks\.PreTooluse: there is no event "PreTooluse"; did you mean "PreToolUse"\?/,
      /hooks\.Stop: must be a list of groups/,
      /PostToolUse\.0\.matcher: must be a text/,
      /PostToolUse\.1\.matcher: the matcher is no regular expression/,
      /PostToolUse\.2: must be an object/,
      /PostToolUse\.3: has no list "hooks"/,
      /hooks\.0: has the type "comand", .*did you mean "command"/,
      /hooks\.1: does not fit: .*command/,
      /hooks\.2: does not fit: .*timeout/,
      /hooks\.3\.command: with "args", "command" is the program alone/,
      /SessionStart\.0\.hooks\.0: a hook of type "prompt" cannot answer SessionStart; write one of command, mcp_tool/,
      /SessionStart\.0\.hooks\.1: "if" asks about a tool call/,
    ]
    assert.strictEqual(said.length, expected.length, said.join("\n"))
    for (const [at, pattern] of expected.entries()) assert.match(said[at] ?? "", pattern)
    for (const text of said) assert.match(text, /^\/settings\/user\.json:\d+: /)
    assert.deepStrictEqual(
      refused.map(({ event, what }) => `${event} ${what}`),
      ["SessionStart ok?", "SessionStart x"],
    )
  })

  it("of an agent's file end with the subagent, not with the session", () => {
    const found = HookConfig.read({ Stop: [{ hooks: [command("x")] }] }, { scope: "agent", name: "reviewer" }, place)
    assert.deepStrictEqual(
      found.handlers.map(({ event }) => event),
      ["SubagentStop"],
    )
  })

  it("of a folder wait for trust, and are shown with that reason", () => {
    const found = HookSettings.read([layer({}, "project", one("PreToolUse", command("evil"), "Bash"))], place)
    assert.deepStrictEqual(found.handlers, [])
    assert.deepStrictEqual(
      found.refused.map(({ what, why }) => [what, why]),
      [["evil", HookSettings.untrusted]],
    )
  })

  it("may be nothing, null or no object", () => {
    assert.deepStrictEqual(read(null).problems, [])
    assert.match(read([1]).problems[0]?.message ?? "", /must be an object/)
  })
})

describe("what settings limit hooks to", () => {
  const barred = (layers: Parameters<typeof HookSettings.read>[0], scope: "user" | "managed" | "embedder") =>
    HookSettings.read(layers, place).barred({ scope, name: "x" })

  it("is decided by the strongest source, and the policy's own hooks only by the policy", () => {
    const off = layer({ disableAllHooks: true })
    assert.match(barred([off], "user") ?? "", /switched off/)
    assert.isUndefined(barred([off], "managed"))
    assert.isUndefined(barred([off], "embedder"))
    assert.isUndefined(barred([off, layer({ disableAllHooks: false }, "project")], "user"))
    const policy = layer({ disableAllHooks: true }, "managed")
    assert.match(barred([policy], "managed") ?? "", /policy switches all hooks off/)
    const only = layer({ allowManagedHooksOnly: true }, "managed")
    assert.match(barred([only], "user") ?? "", /only its own hooks/)
    assert.isUndefined(barred([only], "managed"))
    assert.isUndefined(barred([only], "embedder"))
    // Nobody but the policy can say so.
    assert.isUndefined(barred([layer({ allowManagedHooksOnly: true })], "user"))
  })
})
