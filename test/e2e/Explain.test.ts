/** `troupe permissions explain`: what users suffer from today, asked of the command itself. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { endedWith, toldLast, world } from "./world.ts"

const Verdict = Schema.fromJsonString(
  Schema.Struct({
    decision: Schema.Literals(["allow", "ask", "deny"]),
    reason: Schema.String,
    step: Schema.String,
    rules: Schema.Array(Schema.Struct({ text: Schema.String, matched: Schema.Boolean, source: Schema.String })),
    effects: Schema.Array(Schema.Struct({ _tag: Schema.String })),
  }),
)

/** A project with a repository, a secret and two rules. */
const project = Effect.gen(function* () {
  const here = yield* world({ rules: [{ when: {}, reply: "Hi." }] })
  execFileSync("git", ["init", "-q"], { cwd: here.work })
  fs.mkdirSync(path.join(here.work, "src"))
  here.write("src/index.ts", "// TODO\n")
  here.write(".env", "SECRET=1\n")
  const rules = { deny: ["Read(.env)"], allow: ["Bash(npm run test:*)"], ask: ["Bash(git push *)"] }
  fs.mkdirSync(here.config, { recursive: true })
  fs.writeFileSync(path.join(here.config, "settings.json"), JSON.stringify({ permissions: rules }))
  const explain = (command: string, ...flags: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const input = JSON.stringify({ command })
      const ended = yield* here.run(["permissions", "explain", "--tool", "Bash", "--input", input, "--json", ...flags])
      endedWith(ended, 0)
      return Schema.decodeUnknownSync(Verdict)(ended.out)
    })
  return { ...here, explain }
})

describe.concurrent("a file that a rule keeps from Read", () => {
  it.live("is left out of searches, in every form of their answers", () =>
    Effect.gen(function* () {
      const grep = (input: object) => ({ tool: "Grep", input: { pattern: "SECRET", ...input } })
      const here = yield* world({
        rules: [
          {
            when: { turn: 1 },
            reply: [
              grep({}),
              grep({ output_mode: "content", "-C": 1 }),
              grep({ output_mode: "count", glob: ".env" }),
              grep({ path: "lk" }),
              { tool: "Glob", input: { pattern: "**/*" } },
            ],
          },
          { when: { turn: 2 }, reply: "Done." },
        ],
      })
      here.write(".env", "SECRET=hidden\n")
      here.write("open.txt", "a\nSECRET shown\nb\n")
      fs.symlinkSync(".", path.join(here.work, "lk"))
      endedWith(yield* here.run(["-p", "go", "--disallowedTools", "Read(.env)"]), 0)
      const told = toldLast((yield* here.requests)[1])
      assert.notInclude(told, "hidden")
      assert.notInclude(told, ".env")
      assert.include(told, "open.txt:2:SECRET shown")
      assert.include(told, "open.txt-1-a")
    }),
  )
})

describe.concurrent("troupe permissions explain", () => {
  it.live("asks nothing about chains that only read, also through a pipe and in a clean repository", () =>
    Effect.gen(function* () {
      const { explain } = yield* project
      const chains = [
        "ls -la && cat package.json | head -20",
        "find src -name '*.ts' | sort | tail -5",
        "git status && git log --oneline -5 && git diff --stat",
        "grep -n TODO src/index.ts || echo none",
        "cd src && ls; pwd",
        'for f in src/*.ts; do wc -l "$f"; done',
      ]
      const verdicts = yield* Effect.forEach(chains, (chain) => explain(chain), { concurrency: 3 })
      assert.deepStrictEqual(
        verdicts.map(({ decision, reason }, index) => (decision === "allow" ? "allow" : `${chains[index]}: ${reason}`)),
        chains.map(() => "allow"),
      )
    }),
  )

  it.live("keeps a file from every program that a rule keeps from Read", () =>
    Effect.gen(function* () {
      const { explain } = yield* project
      const ways = ["cat .env", "grep -r SECRET .", "cp .env x", "wc -l < .env", "cat .e*", "base64 ./src/../.env"]
      const verdicts = yield* Effect.forEach(ways, (way) => explain(way, "--dangerously-skip-permissions"), {
        concurrency: 3,
      })
      for (const [index, { decision, rules, step }] of verdicts.entries()) {
        assert.deepStrictEqual([decision, step], ["deny", "deny-rule"], ways[index])
        assert.deepStrictEqual(rules.find(({ matched }) => matched)?.text, "Read(.env)")
      }
    }),
  )

  it.live("says which rule answers, and asks for what no rule covers", () =>
    Effect.gen(function* () {
      const { explain } = yield* project
      assert.deepInclude(yield* explain("npm run test -- --watch"), { decision: "allow", step: "allow-rule" })
      assert.deepInclude(yield* explain("npm run test && rm -rf src"), { decision: "ask" })
      assert.deepInclude(yield* explain("git push --force"), { decision: "ask", step: "ask-rule" })
      assert.deepInclude(yield* explain("rm -rf /", "--dangerously-skip-permissions"), {
        decision: "ask",
        step: "critical-removal",
      })
    }),
  )

  it.live("tells people the same in words, and what is wrong with their call or their rules", () =>
    Effect.gen(function* () {
      const { config, run } = yield* project
      const told = yield* run(["permissions", "explain", "--tool", "Bash", "--input", '{"command":"cat .env"}'])
      assert.match(told.out, /^deny: the rule "Read\(\.env\)" forbids/)
      assert.include(told.out, "settings.json:1")
      const unknown = yield* run(["permissions", "explain", "--tool", "Bsh"])
      assert.strictEqual(unknown.code, 1)
      assert.include(unknown.err, "There is no tool named Bsh")
      const broken = yield* run(["permissions", "explain", "--tool", "Bash", "--input", "{"])
      assert.strictEqual(broken.code, 2)
      assert.include(broken.err, "--input is not JSON")
      fs.writeFileSync(path.join(config, "settings.json"), '{ "permissions": { "deny": ["Bash(rm"] } }')
      const closed = yield* run(["permissions", "explain", "--tool", "Bash", "--input", '{"command":"ls"}'])
      assert.match(closed.out, /^deny: .*cannot be read/)
      assert.match(closed.err, /settings\.json:1: permissions\.deny: .*every call of Bash is denied/)
    }),
  )
})
