import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Rule from "../../src/policy/Rule.ts"
import { parseList } from "../../src/policy/RuleList.ts"

const problem = (text: string, behavior: Rule.Behavior): Rule.RuleProblem => {
  const read = Rule.parse(text, behavior)
  assert.isTrue(Result.isFailure(read), `"${text}" was read`)
  return Result.isFailure(read) ? read.failure : assert.fail()
}
const rule = (text: string, behavior: Rule.Behavior = "deny"): Rule.Rule => {
  const read = Rule.parse(text, behavior)
  return Result.isSuccess(read) ? read.success : assert.fail(Rule.describe(read.failure))
}

describe("a malformed rule", () => {
  /** The rule with `^` before the place that is reported; what is wrong with it; and the tool that could be read. */
  const rows: ReadonlyArray<readonly [string, Rule.Behavior, string, string | undefined]> = [
    ["^", "deny", "is empty", undefined],
    ["^   ", "deny", "is empty", undefined],
    ["Bash(npm test^", "deny", "no closing parenthesis", "Bash"],
    ["Bash(npm test)^ --watch", "deny", "goes on behind", "Bash"],
    ["Bash^)", "deny", "no opening one", undefined],
    ["^(npm test)", "deny", "names no tool", undefined],
    ["Stop^ Task", "deny", 'contains " "', undefined],
    ["Bash^()", "deny", "nothing between", "Bash"],
    ["Read^( )", "deny", "nothing between", "Read"],
    ["Ba^\u200bsh", "deny", "invisible character U+200B", undefined],
    ["Read(a^\u202eb)", "deny", "invisible character U+202E", "Read"],
    ["^*", "allow", "nobody has named", "*"],
    ["B^*", "allow", "nobody has named", "B*"],
    ["mcp__^*", "allow", "nobody has named", "mcp__*"],
    ["mcp__^*__get", "allow", "nobody has named", "mcp__*__get"],
    ["^bash", "allow", "it is called Bash", "bash"],
    ["mcp__*(^a:b)", "deny", "behind a glob", "mcp__*"],
    ["mcp__a__b(^x)", "deny", "takes none", "mcp__a__b"],
    ["Bash(^command:rm *)", "deny", "easy to get around", "Bash"],
    ["Read(^file_path : x)", "deny", "easy to get around", "Read"],
    ["WebFetch(^url:https://x)", "deny", "easy to get around", "WebFetch"],
    ["Grep(^path:src)", "deny", "easy to get around", "Grep"],
    ["Bash(^run_in_background:true)", "allow", "shows nothing about the rest", "Bash"],
    ["mcp__a__b(^x:1)", "allow", "shows nothing about the rest", "mcp__a__b"],
    ["WebFetch(^example.com)", "deny", "which domain", "WebFetch"],
    ["WebFetch(domain:^https://example.com)", "deny", "no domain in", "WebFetch"],
    ["WebFetch(domain:^a b)", "allow", "no domain in", "WebFetch"],
    ["WebSearch(^cats)", "deny", "takes none", "WebSearch"],
    ["TodoWrite(x:^)", "deny", "gives no value to x", "TodoWrite"],
    ["^Write(docs/**)", "allow", "only Read and Edit", "Write"],
    ["^MultiEdit(docs/**)", "allow", "only Read and Edit", "MultiEdit"],
    ["^Glob(docs/**)", "allow", "only Read and Edit", "Glob"],
    ["Edit(^!docs/**)", "allow", "out of nothing", "Edit"],
    ["Edit(a/^[b)", "allow", "not closed", "Edit"],
    ["Edit(a^\\)", "allow", "ends in a backslash", "Edit"],
    ["  Edit(a/^[b)", "allow", "not closed", "Edit"],
  ]
  it.each(rows)("%s (%s): %s", (marked, behavior, what, tool) => {
    const found = problem(marked.replace("^", ""), behavior)
    assert.include(found.what, what)
    assert.strictEqual(found.at, marked.indexOf("^"), found.what)
    assert.strictEqual(found.tool, tool)
    assert.isAbove(found.fix.length, 10)
  })
  it("is described with its place and its fix", () => {
    assert.strictEqual(
      Rule.describe(problem("Bash(npm test", "deny")),
      'The rule "Bash(npm test" has no closing parenthesis (character 14). Write Bash(npm test).',
    )
  })
})

describe("a rule that is read", () => {
  it("keeps parentheses of its specifier", () => {
    const { pattern } = rule("Bash(echo (a) b)") as Extract<Rule.Rule, { _tag: "Command" }>
    assert.strictEqual(pattern.text, "echo (a) b")
  })
  it.each([
    ["Read(//etc/x)", "root", "/etc/x"],
    ["Read(~/x)", "home", "/x"],
    ["Read(~)", "home", "/**"],
    ["Read(/x)", "source", "/x"],
    ["Read(./x)", "cwd", "/x"],
    ["Read(x)", "cwd", "x"],
    ["Read(C:\\Users\\u\\x)", "root", "/c/Users/u/x"],
    ["Read(//c/Users/**)", "root", "/c/Users/**"],
  ])("%s is anchored at the %s", (text, anchor, pattern) => {
    const found: object = rule(text)
    assert.deepInclude(found, { _tag: "Path", anchor, pattern })
  })
  it("goes by the new names of tools", () => {
    assert.deepInclude(rule("Fetch(domain:a.b)"), { _tag: "Domain", domain: "a.b" })
    assert.deepInclude(rule("Task(Explore)"), { _tag: "Agent", name: "Explore" })
  })
  it("takes a known parameter, and leaves the rest to commands", () => {
    assert.strictEqual(rule("Bash(run_in_background : true)")._tag, "Param")
    assert.strictEqual(rule("Bash(timeout:*)")._tag, "Command")
    assert.strictEqual(rule("Bash(make:all)")._tag, "Command")
    assert.strictEqual(rule("Agent(isolation:worktree)")._tag, "Agent")
  })
  it.each([
    ["Write(docs/**)", "deny", "only Read and Edit"],
    ["Glob(docs/**)", "ask", "only Read and Edit"],
    ["bash(ls)", "deny", "called Bash"],
    ["Read(a[b)", "deny", "exactly that path"],
    ["Bash(git:* push)", "allow", "ordinary character"],
    ["Bash(git * main)", "allow", "before the rest"],
    ["Bash(git -C * status *)", "allow", "before the rest"],
  ] as const)("%s as a %s rule warns: %s", (text, behavior, what) => {
    assert.include(rule(text, behavior).warnings[0]?.what, what)
  })
})

it("does not warn about a star behind the words that matter, nor where it tightens", () => {
  for (const text of [
    "Bash(git *)",
    "Bash(git log * main)",
    "Bash(* --version)",
    "Bash(ls*)",
    "Bash(npm run test:*)",
  ]) {
    assert.deepStrictEqual(rule(text, "allow").warnings, [], text)
  }
  assert.deepStrictEqual(rule("Bash(git * main)", "deny").warnings, [])
})

describe("the old form", () => {
  it.each([
    [{ tool: "Task", args: "Explore" }, "Task(Explore)"],
    [{ tool: "Bash" }, "Bash"],
    [{ tool: "Bash", args: "" }, "Bash"],
    [{ tool: "Agent", args: { model: "opus" } }, "Agent(model:opus)"],
    ["Bash(ls)", "Bash(ls)"],
  ])("%j becomes %s", (value, text) => assert.strictEqual(Rule.migrate(value), text))
  it("stays malformed when it has no text", () => {
    for (const value of [42, null, { args: "x" }, { tool: "Bash", args: { a: 1, b: 2 } }]) {
      assert.isTrue(Result.isFailure(Rule.parse(Rule.migrate(value), "deny")))
    }
  })
})

describe("a list of flags", () => {
  it("is separated by commas and spaces outside parentheses", () => {
    assert.deepStrictEqual(parseList(["Read,Edit Bash(npm run test, x) ", "Bash(echo (a b))", ""]), [
      "Read",
      "Edit",
      "Bash(npm run test, x)",
      "Bash(echo (a b))",
    ])
  })
})
