import { assert, describe, it } from "@effect/vitest"
import type { HookEventName } from "../../src/hooks/HookEvents.ts"
import * as Matcher from "../../src/hooks/Matcher.ts"

const matches = (event: HookEventName, text: string, subject: string | undefined): boolean => {
  const made = Matcher.make(event, text)
  assert("matcher" in made, "problem" in made ? made.problem : "")
  return made.matcher.matches(subject)
}

describe("a matcher", () => {
  const cases: ReadonlyArray<readonly [HookEventName, string, string | undefined, boolean]> = [
    ["PreToolUse", "", "Bash", true],
    ["PreToolUse", "*", "Bash", true],
    ["PreToolUse", "Bash", "Bash", true],
    ["PreToolUse", "Bash", "BashOutput", false],
    ["PreToolUse", "bash", "Bash", false],
    ["PreToolUse", "Edit|Write", "Write", true],
    ["PreToolUse", "Edit , Write", "Write", true],
    ["PreToolUse", "Task", "Agent", true],
    ["PreToolUse", "Edit.*", "NotebookEdit", true],
    ["PreToolUse", "^Edit$", "NotebookEdit", false],
    ["PreToolUse", "mcp__memory", "mcp__memory__create", false],
    ["PreToolUse", "mcp__memory__.*", "mcp__memory__create", true],
    ["SubagentStart", "code-reviewer", "senior-code-reviewer", false],
    ["SubagentStart", "^my-plugin:reviewer$", "my-plugin:reviewer", true],
    // Of these a hyphen, a space or a comma makes a pattern.
    ["StopFailure", "rate_limit|overloaded", "overloaded", true],
    ["StopFailure", "rate-limit", "a rate-limit b", true],
    ["FileChanged", "data.csv", "data.csv", true],
    ["FileChanged", ".envrc|.env", ".env", true],
    // Where an event has no matcher, it is ignored.
    ["Stop", "whatever", undefined, true],
    ["SessionStart", "startup", undefined, false],
  ]
  for (const [event, text, subject, expected] of cases) {
    it(`"${text}" of ${event} ${expected ? "means" : "does not mean"} ${subject ?? "nothing"}`, () => {
      assert.strictEqual(matches(event, text, subject), expected)
    })
  }

  it("that cannot be read, or could take forever, is refused with what is wrong", () => {
    for (const [text, says] of [
      ["Bash(", /no regular expression/],
      ["(a+)+$", /repeats a repetition/],
      ["(?:x*y)*", /repeats a repetition/],
      [`^${"a".repeat(1_000)}`, /more than 1000 characters/],
    ] as const) {
      const made = Matcher.make("PreToolUse", text)
      assert.match("problem" in made ? made.problem : "", says)
    }
  })

  it("of FileChanged names the files to watch, letter by letter", () => {
    const made = Matcher.make("FileChanged", ".envrc|.env")
    assert.deepStrictEqual("matcher" in made ? Matcher.watchedNames(made.matcher) : [], [".envrc", ".env"])
  })
})
