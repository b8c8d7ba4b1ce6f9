import { assert, describe, it } from "@effect/vitest"
import * as Decide from "../../src/policy/Decide.ts"
import * as Rules from "../../src/policy/Rules.ts"
import { call, context, place, texts } from "./calls.ts"

/** The same numbers at every run. */
const numbers = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const specifiers = [
  "Bash", "Bash(npm *)", "Bash(npm run test:*)", "Bash(git push *)", "Bash(* --force)", "Bash(ls*)", "Bash(rm x)", "Bash(cat *)",
  "Read", "Read(.env)", "Read(//etc/**)", "Read(~/.ssh/**)", "Read(src/**)", "Edit", "Edit(src/**)", "Edit(**)", "Edit(*.ts)",
  "WebFetch", "WebFetch(domain:*.example.com)", "Agent(Explore)", "Skill(deploy *)", "mcp__github", "mcp__github__get_*", "Write",
] // prettier-ignore
const calls = [
  "$ npm test", "$ npm run test x && git push --force", "$ cat .env", "$ ls -la | grep x", "$ rm x", "$ eval 'git push x'",
  "$ cat src/*.ts > out.txt", "$ sudo rm x", "Read .env", "Read src/a.ts", "Read /etc/hosts", "Read ~/.ssh/id", "Edit src/a.ts",
  "Write .env", "Edit .git/config", "WebFetch api.example.com", "Agent Explore", "Skill deploy prod", "mcp__github__get_issue",
] // prettier-ignore
const modes = ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"] as const
const rank = { deny: 0, ask: 1, allow: 2 }

const cases = Array.from({ length: 600 }, (_, seed) => {
  const random = numbers(seed + 1)
  const pick = <A>(items: ReadonlyArray<A>): A => items[random(items.length)]!
  const rule = (behavior: string) => `${behavior} ${pick(specifiers)}`
  const rules = Array.from({ length: random(6) }, () => rule(pick(["allow", "ask", "deny"])))
  return { seed, rules, more: (behavior: string) => rule(behavior), one: call(pick(calls)), mode: pick(modes), random }
})

const decide = (
  rules: ReadonlyArray<string>,
  one: Parameters<typeof Decide.decide>[0],
  mode: Decide.DecideContext["mode"],
) => Decide.decide(one, Rules.compile(texts(rules.join(";;")), place), context(mode)).decision

describe("whatever the rules are", () => {
  it("more of what allows never opens what is denied", () => {
    for (const { rules, more, one, mode, seed } of cases) {
      if (decide(rules, one, mode) === "deny" && mode !== "dontAsk") {
        assert.strictEqual(decide([...rules, more("allow"), more("allow")], one, mode), "deny", `case ${seed}`)
      }
    }
  })
  it("more of what denies never opens anything", () => {
    for (const { rules, more, one, mode, seed } of cases) {
      const before = decide(rules, one, mode)
      const after = decide([...rules, more("deny")], one, mode)
      assert.isAtMost(rank[after], rank[before], `case ${seed}`)
    }
  })
  it("more questions never open anything", () => {
    for (const { rules, more, one, mode, seed } of cases) {
      assert.isAtMost(rank[decide([...rules, more("ask")], one, mode)], rank[decide(rules, one, mode)], `case ${seed}`)
    }
  })
  it("a rule that denies the whole tool always wins", () => {
    for (const { rules, one, mode, seed } of cases) {
      assert.strictEqual(decide([...rules, `deny ${one.tool}`], one, mode), "deny", `case ${seed}`)
    }
  })
  it("their order does not matter", () => {
    for (const { rules, one, mode, random, seed } of cases) {
      const shuffled = rules.map((rule) => [random(1_000), rule] as const).sort((a, b) => a[0] - b[0])
      const reordered = shuffled.map(([, rule]) => rule)
      assert.strictEqual(decide(reordered, one, mode), decide(rules, one, mode), `case ${seed}`)
    }
  })
  it("bypassing changes a question into an allowance and nothing else", () => {
    for (const { rules, one, seed } of cases) {
      const plain = decide(rules, one, "default")
      assert.strictEqual(decide(rules, one, "bypassPermissions"), plain === "ask" ? "allow" : plain, `case ${seed}`)
    }
  })
  it("a session that does not ask denies every question and nothing else", () => {
    for (const { rules, one, seed } of cases) {
      const plain = decide(rules, one, "default")
      assert.strictEqual(decide(rules, one, "dontAsk"), plain === "ask" ? "deny" : plain, `case ${seed}`)
    }
  })
  it("an explanation says what was decided", () => {
    for (const { rules, one, mode, seed } of cases) {
      const compiled = Rules.compile(texts(rules.join(";;")), place)
      const settled = Decide.decide(one, compiled, context(mode))
      const verdict = Decide.explain(one, compiled, context(mode))
      assert.deepStrictEqual(
        [verdict.decision, verdict.step, verdict.reason],
        [settled.decision, settled.step, settled.reason],
      )
      for (const entry of settled.by) {
        assert.isTrue(
          verdict.rules.some((rule) => rule.text === entry.rule.text && rule.matched),
          `case ${seed}`,
        )
      }
    }
  })
})
