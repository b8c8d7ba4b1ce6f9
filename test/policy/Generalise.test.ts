import { assert, describe, it } from "@effect/vitest"
import * as Decide from "../../src/policy/Decide.ts"
import * as Generalise from "../../src/policy/Generalise.ts"
import * as Rules from "../../src/policy/Rules.ts"
import { call, compiled, context, place, texts } from "./calls.ts"

/** A call, rules in force, and the rules that would be saved. */
const rows: ReadonlyArray<readonly [string, string, ReadonlyArray<string>]> = [
  ["$ npm run test -- x", "", ["Bash(npm run test *)"]],
  ["$ npm test", "", ["Bash(npm test *)"]],
  ["$ npm run", "", ["Bash(npm run)"]],
  ["$ git commit -m x", "", ["Bash(git commit *)"]],
  ["$ git -C x status", "", ["Bash(git -C x status)"]],
  ["$ cargo test --all", "", ["Bash(cargo test *)"]],
  ["$ eslint src/a.ts", "", ["Bash(eslint *)"]],
  ["$ ./run.sh a", "", ["Bash(./run.sh *)"]],
  ["$ gh pr create -f", "", ["Bash(gh pr create *)"]],
  ["$ docker compose up -d", "", ["Bash(docker compose up *)"]],
  ["$ timeout 5 npm test", "", ["Bash(npm test *)"]],
  ["$ python x.py", "", ["Bash(python x.py)"]],
  ["$ python3 -m pytest", "", ["Bash(python3 -m pytest)"]],
  ["$ bash x.sh", "", ["Bash(bash x.sh)"]],
  ["$ /bin/bash x.sh", "", ["Bash(/bin/bash x.sh)"]],
  ["$ sudo npm test", "", ["Bash(sudo npm test)"]],
  ["$ bash -c 'rm x'", "", ["Bash(bash -c 'rm x')"]],
  ["$ make all && bash -c 'rm x'", "", []],
  ["$ git commit -m 'a b'", "", ["Bash(git commit *)"]],
  ["$ npx cowsay hi", "", ["Bash(npx cowsay hi)"]],
  ["$ rm -rf dist", "", ["Bash(rm -rf dist)"]],
  ["$ find . -name *.ts -delete", "", ["Bash(find . -name \\*.ts -delete)"]],
  ["$ git status && npm test | grep x", "allow Bash(git status)", ["Bash(npm test *)"]],
  ["$ npm test && npm run build && make all", "", ["Bash(npm test *)", "Bash(npm run build *)", "Bash(make all *)"]],
  ["$ a x; b x; c x; d x; e x; f x", "", []],
  ["$ eval x", "", ["Bash(eval x)"]],
  ["$ if x", "", []],
  ["$ cat /opt/a/b", "", ["Read(//opt/a/**)"]],
  ["Read /opt/a/b", "", ["Read(//opt/a/**)"]],
  ["Read /opt/b", "", ["Read(//opt/b)"]],
  ["Read ~/x", "", ["Read(//home/u/x)"]],
  ["Read /opt/[x]/b", "", ["Read(//opt/\\[x\\]/**)"]],
  ["Edit src/a.ts", "", ["Edit(//work/src/**)"]],
  ["Edit .git/config", "", []],
  ["WebFetch Docs.example.com", "", ["WebFetch(domain:docs.example.com)"]],
  ["Skill deploy prod", "", ["Skill(deploy *)"]],
  ["Agent Explore", "", ["Agent(Explore)"]],
  ["mcp__github__get_issue", "", ["mcp__github__get_issue"]],
]

describe("a rule to save", () => {
  it.each(rows)("%s (with %s) → %j", (text, rules, expected) => {
    const found = Generalise.suggest(call(text), compiled(rules), place)
    assert.deepStrictEqual(
      found.map(({ rule }) => rule),
      expected,
    )
  })
  it.each(rows.filter(([, , expected]) => expected.length > 0))(
    "%s is allowed once it is saved (with %s)",
    (text, rules) => {
      const saved = Generalise.suggest(call(text), compiled(rules), place).map(({ rule }) => `allow ${rule}`)
      const all = Rules.compile(texts([rules, ...saved].join(";;")), place)
      assert.strictEqual(Decide.decide(call(text), all, context()).decision, "allow")
      assert.deepStrictEqual(all.problems, [])
    },
  )
  it("says what it would cover before it is saved", () => {
    const [found] = Generalise.suggest(call("$ npm run test -- x"), compiled(""), place)
    assert.deepStrictEqual(found, {
      rule: "Bash(npm run test *)",
      covers: '"npm run test" with any arguments',
      lasts: "project",
    })
    assert.strictEqual(Generalise.suggest(call("Edit src/a.ts"), compiled(""), place)[0]?.lasts, "session")
  })
})
