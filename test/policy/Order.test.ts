import { assert, describe, it } from "@effect/vitest"
import type { Call, PathTouch } from "../../src/policy/Call.ts"
import * as Decide from "../../src/policy/Decide.ts"
import * as RuleMatch from "../../src/policy/RuleMatch.ts"
import { bash, call, compiled, context } from "./calls.ts"

const decide = (one: Call, rules = "", mode: Decide.DecideContext["mode"] = "default") => {
  const settled = Decide.decide(one, compiled(rules), context(mode))
  return `${settled.decision} ${settled.step}`
}

describe("the order of steps", () => {
  const rules = "allow Bash(npm *);; ask Bash(npm publish *);; deny Bash(npm unpublish *)"
  const test = (hook: Call["hook"], more: Partial<Call> = {}) => bash("npm test", { ...(hook && { hook }), ...more })
  const rows: ReadonlyArray<readonly [string, Call, string, string]> = [
    ["a hook's denial comes first", test({ behavior: "deny" }), rules, "deny hook-deny"],
    ["a hook that asks outranks an allow rule", test({ behavior: "ask" }), rules, "ask hook-ask"],
    ["a hook that defers outranks an allow rule", test({ behavior: "defer" }), rules, "ask hook-defer"],
    [
      "a deny rule outranks a hook that asks",
      bash("npm unpublish x", { hook: { behavior: "ask" } }),
      rules,
      "deny deny-rule",
    ],
    [
      "a deny rule outranks a hook that allows",
      bash("npm unpublish x", { hook: { behavior: "allow" } }),
      rules,
      "deny deny-rule",
    ],
    [
      "an ask rule outranks a hook that allows",
      bash("npm publish x", { hook: { behavior: "allow" } }),
      rules,
      "ask ask-rule",
    ],
    ["a hook may allow what no rule does", bash("make", { hook: { behavior: "allow" } }), rules, "allow hook-allow"],
    [
      "a hook cannot allow a protected path",
      { ...call("Edit .git/config"), hook: { behavior: "allow" } },
      "",
      "ask protected-path",
    ],
    [
      "a hook cannot allow a critical removal",
      bash("rm -rf /", { hook: { behavior: "allow" } }),
      "",
      "ask critical-removal",
    ],
    [
      "the tool's question outranks a hook that allows",
      test({ behavior: "allow" }, { opinion: { behavior: "ask" } }),
      "",
      "ask tool",
    ],
    ["the tool may allow by itself", bash("make", { opinion: { behavior: "allow" } }), "", "allow tool"],
    [
      "the tool's word does not outrank an ask rule",
      bash("npm publish x", { opinion: { behavior: "allow" } }),
      rules,
      "ask ask-rule",
    ],
    [
      "the tool's denial counts before anything is asked",
      bash("npm publish x", { opinion: { behavior: "deny" } }),
      rules,
      "deny tool",
    ],
    [
      "a tool without an opinion changes nothing",
      test(undefined, { opinion: { behavior: "passthrough" } }),
      rules,
      "allow allow-rule",
    ],
    ["the sandbox stands for an approval", bash("make", { sandboxed: true }), "", "allow sandbox"],
    [
      "the sandbox stands for a question about the whole tool",
      bash("make", { sandboxed: true }),
      "ask Bash",
      "allow sandbox",
    ],
    [
      "the sandbox does not answer a question about a command",
      bash("make", { sandboxed: true }),
      "ask Bash(make *)",
      "ask ask-rule",
    ],
    [
      "the sandbox does not open what is forbidden",
      bash("make", { sandboxed: true }),
      "deny Bash(make *)",
      "deny deny-rule",
    ],
  ]
  it.each(rows)("%s", (_, one, texts, expected) => {
    assert.strictEqual(decide(one, texts), expected)
  })

  it("plan mode asks for a sandboxed command all the same", () => {
    assert.strictEqual(decide(bash("make", { sandboxed: true }), "", "plan"), "ask mode")
  })
  it("bypassing answers a tool's question, unless a person must", () => {
    assert.strictEqual(decide(bash("make", { opinion: { behavior: "ask" } }), "", "bypassPermissions"), "allow mode")
    const must = bash("make", { opinion: { behavior: "ask", always: true } })
    assert.strictEqual(decide(must, "", "bypassPermissions"), "ask tool")
    assert.strictEqual(decide(must, "", "dontAsk"), "deny tool")
  })
  it("a disabled bypass counts as the default mode", () => {
    const settled = Decide.decide(bash("make"), compiled(""), { ...context("bypassPermissions"), bypassDisabled: true })
    assert.strictEqual(settled.decision, "ask")
  })
  it("says that an allowance was a question answered by the mode", () => {
    const settled = Decide.decide(bash("make"), compiled("ask Bash"), context("bypassPermissions"))
    assert.deepStrictEqual([settled.decision, settled.asked], ["allow", true])
    assert.include(settled.reason, 'the rule "Bash" wants it to be asked')
  })
})

describe("links", () => {
  const link = (path: string, real: string, kind: PathTouch["kind"] = "read"): Call => ({
    tool: kind === "read" ? "Read" : "Edit",
    input: {},
    readOnly: kind === "read",
    touches: [],
    paths: [{ path, real, kind, outside: !real.startsWith("/work/"), protected: false }],
  })
  it("forbids a link whose target is forbidden, and the other way round", () => {
    assert.strictEqual(decide(link("/work/key", "/home/u/.ssh/id"), "deny Read(~/.ssh/**)"), "deny deny-rule")
    assert.strictEqual(decide(link("/work/.env", "/work/plain"), "deny Read(.env)"), "deny deny-rule")
  })
  it("allows a link only if its target is allowed too", () => {
    assert.strictEqual(decide(link("/work/src/a", "/etc/passwd", "write"), "allow Edit(src/**)"), "ask default")
    assert.strictEqual(decide(link("/work/src/a", "/work/src/b", "write"), "allow Edit(src/**)"), "allow allow-rule")
    assert.strictEqual(
      decide(link("/work/src/a", "/opt/b", "write"), "allow Edit(src/**);; allow Edit(//opt/**)"),
      "allow allow-rule",
    )
  })
  it("does not read through a link that leads out", () => {
    assert.strictEqual(decide(link("/work/a", "/etc/passwd")), "ask default")
  })
})

describe("names", () => {
  it("are compared in one Unicode form", () => {
    const composed = "caf\u00e9"
    const apart = "cafe\u0301"
    assert.strictEqual(decide(call(`Read ${apart}/a`), `deny Read(${composed}/**)`), "deny deny-rule")
    assert.strictEqual(decide(call(`Edit ${composed}/a`), `allow Edit(${apart}/**)`), "allow allow-rule")
  })
  it("differ by case only for rules that allow", () => {
    assert.strictEqual(decide(call("Read SECRETS/a"), "deny Read(secrets/**)"), "deny deny-rule")
    assert.strictEqual(decide(call("Edit SRC/a"), "allow Edit(src/**)"), "ask default")
    assert.strictEqual(decide(call("Agent explore"), "deny Agent(Explore)"), "deny deny-rule")
    assert.strictEqual(decide(call("Agent explore"), "allow Agent(Explore)"), "ask default")
  })
})

describe("patterns that a shell expands", () => {
  it("are judged by what is on the disk, when somebody has looked", () => {
    const cat = bash("cat .e*")
    const found = (files: ReadonlyArray<string>): Call => ({
      ...cat,
      paths: [
        { path: "/work/.e*", real: "/work/.e*", kind: "read", outside: false, protected: false, pattern: true, files },
      ],
    })
    assert.strictEqual(decide(found(["/work/.envoy"]), "deny Read(.env)"), "allow mode")
    assert.strictEqual(decide(found(["/work/.envoy", "/work/.env"]), "deny Read(.env)"), "deny deny-rule")
  })
  it("reach hidden files once the shell is told so", () => {
    assert.strictEqual(decide(bash("cat *"), "deny Read(.env)"), "allow mode")
    assert.strictEqual(decide(bash("shopt -s dotglob && cat *"), "deny Read(.env)"), "deny deny-rule")
  })
})

describe("an agent's own tools", () => {
  const within = (tools: string) => ({ ...context(), within: [compiled(tools)] })
  const inside = (one: Call, tools: string, rules = "") => {
    const settled = Decide.decide(one, compiled(rules), within(tools))
    return `${settled.decision} ${settled.step}`
  }
  it("deny what they do not name, even if it only reads", () => {
    assert.strictEqual(inside(bash("git log"), "allow Bash(git diff *)", "allow Bash"), "deny agent-tools")
    assert.strictEqual(inside(bash("ls"), "allow Bash(git diff *)"), "deny agent-tools")
    assert.strictEqual(inside(call("Edit a"), "allow Read"), "deny agent-tools")
    assert.strictEqual(inside(bash("git diff && rm x"), "allow Bash(git diff *)", "allow Bash"), "deny agent-tools")
  })
  it("never widen what the parent allows", () => {
    assert.strictEqual(inside(bash("git diff x"), "allow Bash(git diff *)"), "ask default")
    assert.strictEqual(inside(bash("git diff x"), "allow Bash(git diff *)", "allow Bash(git *)"), "allow allow-rule")
    assert.strictEqual(inside(bash("git diff x"), "allow Bash(git diff *)", "deny Bash(git *)"), "deny deny-rule")
  })
})

describe("an explanation", () => {
  it("shows the decision, every rule that is about the call with its source, and the effects", () => {
    const rules = compiled("deny Read(.env);; user:allow Bash(cat *);; allow Bash(npm *);; allow WebSearch")
    const verdict = Decide.explain(call("$ cat .env"), rules, context())
    assert.deepStrictEqual(verdict, {
      decision: "deny",
      step: "deny-rule",
      reason: 'the rule "Read(.env)" forbids: it would read /work/.env',
      rules: [
        {
          behavior: "deny",
          text: "Read(.env)",
          source: "project",
          file: "project.json",
          matched: true,
          why: "it would read /work/.env",
        },
        {
          behavior: "allow",
          text: "Bash(cat *)",
          source: "user",
          file: "user.json",
          matched: true,
          why: 'it covers "cat .env"',
        },
        {
          behavior: "allow",
          text: "Bash(npm *)",
          source: "project",
          file: "project.json",
          matched: false,
          why: "it does not cover this call",
        },
      ],
      effects: verdict.effects,
    })
    assert.isTrue(verdict.effects.some((touch) => touch._tag === "Reads" && touch.path === "/work/.env"))
  })
  it("names the part that no rule allows", () => {
    const verdict = Decide.explain(call("$ npm test && make x"), compiled("allow Bash(npm *)"), context())
    assert.deepStrictEqual([verdict.decision, verdict.reason], ["ask", 'no rule allows "make x"'])
  })
})

describe("what is denied as a whole", () => {
  const { deny } = compiled(
    "deny Bash(*);; deny mcp__jira;; deny Agent(Explore);; deny Edit(a/**);; deny Read(.env*);; deny Read(!.env.example)",
  )
  it("need not be offered", () => {
    assert.deepStrictEqual(
      ["Bash", "mcp__jira__search", "mcp__git__log", "Edit", "Read"].filter((tool) =>
        RuleMatch.removesTool(deny, tool),
      ),
      ["Bash", "mcp__jira__search"],
    )
    assert.isTrue(RuleMatch.removesAgent(deny, "Explore"))
    assert.isFalse(RuleMatch.removesAgent(deny, "Plan"))
  })
  it("is left out of searches", () => {
    const files = ["/work/.env", "/work/.env.example", "/work/a/b", "/other/.env"]
    assert.deepStrictEqual(
      files.filter((path) => RuleMatch.hidesFile(deny, path)),
      ["/work/.env"],
    )
  })
})
