import { assert, describe, it } from "@effect/vitest"
import * as Condition from "../../src/hooks/Condition.ts"
import * as Bash from "../../src/policy/Bash.ts"
import type { Call } from "../../src/policy/Call.ts"

const place = { cwd: "/w", home: "/h" }
const bash = (command: string): Call => {
  const analysed = Bash.analyse(command, place)
  return { tool: "Bash", input: { command }, readOnly: false, touches: analysed.touches, bash: analysed }
}
const edit = (path: string, tool = "Edit"): Call => ({
  tool,
  input: { file_path: path },
  readOnly: false,
  touches: [{ _tag: "Writes", path, how: "change" }],
})
const holds = (text: string, call: Call) => Condition.make(text, place, "/w").condition.holds(call)

describe("the if of a hook", () => {
  const cases: ReadonlyArray<readonly [string, Call, boolean]> = [
    ["Bash(git *)", bash("FOO=bar git push"), true],
    ["Bash(git *)", bash("npm test && git push"), true],
    ["Bash(git *)", bash("npm test"), false],
    ["Bash(rm *)", bash("echo $(rm -rf /)"), true],
    ["Bash(rm *)", bash("echo $(date)"), false],
    ["Bash(git push *)", bash("echo $(date)"), true],
    ["Bash(git push *)", bash("echo hello"), false],
    ["Bash(rm *)", bash("if then fi ((("), true],
    ["Bash", bash("ls"), true],
    ["Edit(*.ts)", edit("/w/src/a.ts"), true],
    ["Edit(*.ts)", edit("/w/src/a.md"), false],
    ["Edit(src/**)", edit("/w/src/deep/a.ts"), true],
    ["Edit(src/**)", edit("/w/lib/src/a.ts"), false],
    // A rule is about one tool.
    ["Edit(*.ts)", edit("/w/a.ts", "Write"), false],
    ["Write(*.ts)", edit("/w/a.ts", "Write"), true],
    ["Edit(*.ts)", bash("touch a.ts"), false],
    ["mcp__memory__*", { tool: "mcp__memory__read", input: {}, readOnly: false, touches: [] }, true],
  ]
  for (const [text, call, expected] of cases) {
    it(`${text} ${expected ? "runs" : "does not run"} the hook for ${call.tool} ${JSON.stringify(call.input)}`, () => {
      assert.strictEqual(holds(text, call), expected)
    })
  }

  it("that cannot be read is said, and does not switch the hook off", () => {
    const { condition, problem } = Condition.make("Bash(rm *", place, "/w")
    assert.match(problem ?? "", /no closing parenthesis/)
    assert.isTrue(condition.holds(bash("ls")))
  })
})
