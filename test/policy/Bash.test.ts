import { assert, describe, it } from "@effect/vitest"
import { analyse, type Analysis } from "../../src/policy/Bash.ts"
import * as GitConfig from "../../src/policy/bash/GitConfig.ts"
import { bashCases } from "./bash-cases.ts"

const place = { cwd: "/w", home: "/h" }

const paths = (found: Analysis, tag: "Reads" | "Writes"): ReadonlyArray<string> =>
  found.touches.flatMap((touch) => (touch._tag === tag ? [touch.path] : []))
const hosts = (found: Analysis): ReadonlyArray<string> =>
  found.touches.flatMap((touch) => (touch._tag === "Connects" ? [touch.host] : []))
const missing = (wanted: ReadonlyArray<string> | undefined, found: ReadonlyArray<string>): ReadonlyArray<string> =>
  (wanted ?? []).filter((each) => !found.includes(each))

describe("the analysis of a shell line", () => {
  it("is tested with at least 300 lines, each of them once", () => {
    assert.isAtLeast(bashCases.length, 300)
    assert.strictEqual(new Set(bashCases.map(({ line }) => line)).size, bashCases.length)
  })

  for (const each of bashCases) {
    const name = each.line.length > 80 ? `${each.line.slice(0, 80)}…` : each.line
    it(`${each.opaque ? "cannot judge" : each.readOnly ? "lets pass" : "asks about"} ${JSON.stringify(name)}`, () => {
      const found = analyse(each.line, place)
      assert.strictEqual(found._tag, each.opaque ? "Opaque" : "Understood", found.why)
      assert.strictEqual(found._tag === "Understood" && found.readOnly, each.readOnly, found.why)
      assert.strictEqual(found.why === "", each.readOnly)
      assert.deepEqual(missing(each.reads, paths(found, "Reads")), [], "reads")
      assert.deepEqual(missing(each.writes, paths(found, "Writes")), [], "writes")
      if (each.readOnly) assert.deepEqual(paths(found, "Writes"), [])
      assert.deepEqual(missing(each.hosts, hosts(found)), [], "hosts")
      if (each.unknown)
        assert.isTrue(
          found.touches.some((touch) => touch._tag === "Unknown"),
          "unknown",
        )
      if (each.commands) {
        assert.deepEqual(
          found.commands.map(({ text }) => text),
          each.commands,
        )
      }
      assert.deepEqual(
        missing(
          each.variants,
          found.commands.flatMap(({ variants }) => variants),
        ),
        [],
        "variants",
      )
    })
  }
})

describe("what rules are matched with", () => {
  const first = (line: string) => {
    const [command] = analyse(line, place).commands
    if (command === undefined) throw new Error(`no command in ${line}`)
    return command
  }

  it("lets an allow rule see through harmless assignments and the transparent wrappers, and nothing else", () => {
    assert.deepEqual(first("NO_COLOR=1 npm test").allowText, ["NO_COLOR=1 npm test", "npm test"])
    assert.deepEqual(first("timeout 5 nice npm test").allowText, [
      "timeout 5 nice npm test",
      "nice npm test",
      "npm test",
    ])
    assert.deepEqual(first("xargs npm test").allowText, ["xargs npm test", "npm test"])
    assert.deepEqual(first("xargs -n1 npm test").allowText, ["xargs -n1 npm test"])
    for (const line of [
      "FOO=1 npm test",
      "PATH=. timeout 5 npm test",
      "sudo npm test",
      "env npm test",
      "bash -c 'npm test'",
      "watch npm test",
    ]) {
      assert.deepEqual(first(line).allowText.length, 1, line)
    }
  })

  it("says which commands no prefix can allow", () => {
    for (const line of [
      "find . -exec ls {} +",
      "find . -delete",
      "watch ls",
      "setsid ls",
      "flock x ls",
      "sudo ls",
      "$x y",
      "timeout 5 sudo ls",
    ]) {
      assert.isFalse(first(line).prefixAllowable, line)
    }
    for (const line of ["find . -name x", "npm test", "timeout 5 npm test"])
      assert.isTrue(first(line).prefixAllowable, line)
  })

  it("says whether a command is written out", () => {
    for (const line of ["npm test", "ls *.ts", "cat 'a b'", "cat ~/x"]) assert.isTrue(first(line).literal, line)
    for (const line of ["npm test $x", 'echo "$x"', "cat {a,b}", "x=$y npm test"])
      assert.isFalse(first(line).literal, line)
  })

  it("gives what belongs to no command a place that no rule allows", () => {
    const found = analyse("{ npm test; } > out", place)
    assert.deepEqual(
      found.commands.map(({ readOnly, text }) => ({ readOnly, text })),
      [
        { readOnly: false, text: "npm test" },
        { readOnly: false, text: "" },
      ],
    )
  })

  it("marks words of unknown programs as possible reads only", () => {
    const touch = analyse("frob .env", place).touches.find((each) => each._tag === "Reads")
    assert.deepEqual(touch, { _tag: "Reads", path: "/w/.env", possible: true })
  })
})

describe("git", () => {
  const clean = { ...place, cleanGit: true }
  const isReadOnly = (line: string) => {
    const found = analyse(line, clean)
    return found._tag === "Understood" && found.readOnly
  }

  it("is never read-only where nobody has looked at the repository, and says that this is why", () => {
    const [command] = analyse("git status", place).commands
    assert.isFalse(command?.readOnly)
    assert.isTrue(command?.needsCleanGit)
    assert.isNotTrue(analyse("git push", place).commands[0]?.needsCleanGit)
  })

  it("only looks, in a clean repository", () => {
    for (const line of [
      "git status",
      "git status -sb",
      "git log --oneline -5",
      "git diff",
      "git diff --stat HEAD~1",
      "git show HEAD:x",
      "git branch",
      "git branch -a",
      "git branch --list 'x*'",
      "git tag -l",
      "git remote -v",
      "git rev-parse --show-toplevel",
      "git ls-files",
      "git blame x",
      "git --no-pager log -n 3",
      "git stash list",
      "git config --get user.name",
      "git log | head -5",
    ]) {
      assert.isTrue(isReadOnly(line), line)
    }
  })

  it("still asks when it changes something, runs something or stands elsewhere", () => {
    for (const line of [
      "git branch -D x",
      "git branch x",
      "git tag x",
      "git commit -m x",
      "git push",
      "git fetch",
      "git stash",
      "git -c core.pager=./x log",
      "git -C ../x status",
      "git --git-dir=x status",
      "cd sub && git status",
      "git diff --output=x",
      "git diff --ext-diff",
      "git log --format=%G?",
      "git log --show-signature",
      "git remote show origin",
      "git config user.name x",
      "git config --get http.extraheader",
      "git grep -Oless x",
      "GIT_DIR=x git status",
      "git status > x",
      "git reflog expire --all",
    ]) {
      assert.isFalse(isReadOnly(line), line)
    }
  })

  it("is clean only with a configuration of harmless keys", () => {
    const usual =
      '[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n[remote "origin"]\n\turl = https://x.example/y\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch "main"]\n\tremote = origin\n'
    assert.isTrue(GitConfig.isClean(usual))
    for (const more of [
      "[core]\n\tfsmonitor = ./x",
      '[filter "x"]\n\tclean = ./x',
      '[diff "x"]\n\ttextconv = ./x',
      "[diff]\n\texternal = ./x",
      "[include]\n\tpath = x",
      '[remote "origin"]\n\tuploadpack = ./x',
      "[core]\n\thooksPath = x",
      "[core]\n\teol = \\\n x",
      "[core] fsmonitor = ./x",
      "[extensions]\n\tworktreeConfig = true",
      "[alias]\n\tstatus = !x",
      "[core]\n\tsshCommand = x",
      "nonsense",
    ]) {
      assert.isFalse(GitConfig.isClean(usual + more), more)
    }
  })
})

describe("hostile input", () => {
  const nasty: ReadonlyArray<string> = [
    "$(".repeat(5000),
    "(".repeat(10_000),
    "{".repeat(10_000),
    "`".repeat(10_000),
    "'".repeat(9999),
    '"$('.repeat(3300),
    "{a,b}".repeat(2000),
    `cat ${"{a,b}".repeat(40)}`,
    `cat {1..999999999}`,
    "a|".repeat(5000),
    "a;".repeat(5000),
    "x=1;".repeat(2500),
    "cat <<A;".repeat(1250),
    `${"if ".repeat(3000)}`,
    `echo ${"$((".repeat(2500)}`,
    `echo ${"[".repeat(9000)}`,
    `sed '${"s/a/b/;".repeat(1200)}' x`,
    `sed '${"[".repeat(9000)}'`,
    `awk '${"|".repeat(9000)}'`,
    `printf '${"%-".repeat(4000)}'`,
    `${"timeout 1 ".repeat(900)}ls`,
    `${"bash -c ".repeat(1200)}`,
    `for i in ${"$x ".repeat(3000)}; do echo $i; done`,
    `${"for i in a b; do ".repeat(25)}ls${"; done".repeat(25)}`,
    `f() { ${"f;".repeat(1000)} }; f`,
    `${Array.from({ length: 30 }, (_, at) => `f${at}() { f${at + 1}; f${at + 1}; }`).join("; ")}; f0`,
    `${"x=$x$x;".repeat(1400)}`,
    `echo ${"\\".repeat(9000)}`,
    `cat ${"../".repeat(3000)}x`,
    `${"A".repeat(9990)}=1`,
    " ".repeat(10_000),
    "\n".repeat(10_000),
  ]

  it("never throws, and takes time by its length only", () => {
    for (const line of nasty) analyse(line, place)
    for (const line of nasty) {
      const times = [0, 1, 2, 3, 4].map(() => {
        // Other tests share the machine, so the time of this process counts, not that of the clock.
        const from = process.cpuUsage()
        analyse(line.slice(0, 10_000), place)
        const { system, user } = process.cpuUsage(from)
        return (user + system) / 1000
      })
      // Whatever is worse than that takes seconds.
      assert.isBelow(Math.min(...times), 500, line.slice(0, 40))
    }
  })
})
