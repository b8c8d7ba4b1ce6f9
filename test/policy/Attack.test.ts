/** What rules and modes make of lines that an attacker wrote: a rule that allows a program allows nothing that bash does beside it. */
import { assert, describe, it } from "@effect/vitest"
import { analyse } from "../../src/policy/Bash.ts"
import * as Decide from "../../src/policy/Decide.ts"
import { call, compiled, context } from "./calls.ts"

const decided = (rules: string, line: string, mode?: Decide.DecideContext["mode"]) =>
  Decide.decide(call(`$ ${line}`), compiled(rules), context(mode)).decision

describe("rules that allow a program", () => {
  const rules = ["ls *", "echo *", "cat *", "git *", "printf *"].map((text) => `allow Bash(${text})`).join(";;")

  for (const line of [
    "x='$(touch pwned)'; ls ${x@P}",
    "x='a[$(touch pwned)]'; ls $((x))",
    "x='a[$(touch pwned)]'; git log -n $((x))",
    "ls $( [[ 'a[$(touch pwned)]' -eq 0 ]] )",
    "ls $({ echo hi; } > pwned)",
    "ls $(( PATH=5 ))",
    "ls ${PATH:=x}",
    "ls ${!x}",
    "ls \"${x:-$'$(touch pwned)'}\"",
    "ls $\\\n(touch pwned)",
    "ls 2>(touch pwned)",
    "printf -v PATH .; ls -la",
    "a[$(touch pwned)]=1; ls -la",
    "ls() { touch pwned; }; ls -la",
    "ls -la $(coproc touch pwned)",
    "cat < /dev/tcp/192.0.2.1/80",
    "echo a 3<>/dev/udp/192.0.2.1/53",
  ])
    it(`do not allow ${JSON.stringify(line)}`, () => assert.strictEqual(decided(rules, line), "ask"))

  for (const line of [
    "ls -la $HOME",
    "echo $TOKEN",
    'echo "${NAME:-none}"',
    "git commit -m \"$(cat <<'E'\nit's (a) `b` $(c)\nE\n)\"",
    "for i in 1 2; do echo $i; git log -$i; done",
    "x=1; echo $((x + 1))",
  ])
    it(`allow ${JSON.stringify(line)}`, () => assert.strictEqual(decided(rules, line), "allow"))
})

describe("a rule that forbids a file", () => {
  it("holds for a pattern that matches nothing, which is a name to the shell", () => {
    assert.strictEqual(decided("deny Read(\\[id\\].key)", "cat [id].key"), "deny")
    assert.strictEqual(decided("deny Read(\\[id\\].key)", "cat [id].ts"), "allow")
  })
})

describe("a look at a clean repository", () => {
  const isReadOnly = (line: string) => {
    const found = analyse(line, { cwd: "/w", home: "/h", cleanGit: true })
    return found._tag === "Understood" && found.readOnly
  }

  it("starts no gpg, however a format asks for it", () => {
    for (const line of [
      "git log --format=%G?",
      "git log --format='%h %+GK'",
      "git log --pretty=tformat:%-GS",
      "git show --format='% G?'",
      "git branch --format='%(signature)'",
      "git for-each-ref --format='%(*signature:key)'",
      "git for-each-ref --sort=-signature:grade",
      "git tag --list --sort=signature",
    ])
      assert.isFalse(isReadOnly(line), line)
    for (const line of ["git log --format='%h %an %s'", "git log --grep=signature", "git branch --sort=-committerdate"])
      assert.isTrue(isReadOnly(line), line)
  })
})
