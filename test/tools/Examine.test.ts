/** What the gate finds out about shell lines on a real disk, and what is decided then: names, links, repositories. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Git } from "../../src/platform/Git.ts"
import { Host } from "../../src/platform/Host.ts"
import * as NodeProcess from "../../src/platform/NodeProcess.ts"
import * as NodeRipgrep from "../../src/platform/NodeRipgrep.ts"
import * as Decide from "../../src/policy/Decide.ts"
import * as Rules from "../../src/policy/Rules.ts"
import * as Examine from "../../src/tools/Examine.ts"
import * as Tool from "../../src/tools/Tool.ts"
import { ToolCatalog } from "../../src/tools/ToolCatalog.ts"
import { Workspace } from "../../src/tools/Workspace.ts"

const Bash = Tool.make({
  name: "Bash",
  description: "Runs nothing.",
  input: Schema.Struct({ command: Schema.String }),
  effects: ({ command }) => Effect.succeed({ executes: command }),
  run: () => Effect.succeed({ content: "" }),
})

const git = (cwd: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], {
    cwd,
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
    stdio: "ignore",
  })

interface Place {
  readonly root: string
  readonly write: (name: string, text?: string) => void
  readonly link: (to: string, name: string) => void
  /** In default mode unless another is given. */
  readonly decided: (
    command: string,
    rules?: { readonly allow?: ReadonlyArray<string>; readonly deny?: ReadonlyArray<string> },
    mode?: Decide.DecideContext["mode"],
  ) => Effect.Effect<string>
}

/** `first`: what stands at the beginning of PATH. */
const within = (test: (place: Place) => Effect.Effect<void, never, Workspace>, first: ReadonlyArray<string> = []) =>
  Effect.acquireUseRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-examine-")))),
    (temp) => {
      const [root, home] = [path.join(temp, "work"), path.join(temp, "home")]
      fs.mkdirSync(root)
      fs.mkdirSync(home)
      const PATH = [...first.map((one) => one.replace("ROOT", root)), process.env.PATH].join(":")
      const host = Host.layerTest({ env: { PATH }, cwd: root, home, tmpDir: os.tmpdir() })
      const platform = Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, NodeProcess.layer, host)
      const services = Layer.mergeAll(
        Workspace.layer({ cwd: root, sessionId: "s" }),
        ToolCatalog.layer(),
        Git.layer,
        NodeRipgrep.layer,
      ).pipe(Layer.provideMerge(platform))
      return Effect.gen(function* () {
        yield* (yield* ToolCatalog).register(Bash)
        const examine = yield* Examine.make
        const decided: Place["decided"] = Effect.fnUntraced(function* (command, { allow = [], deny = [] } = {}, mode) {
          const ready = yield* examine({ id: "1", name: "Bash", input: { command } }, 0)
          if (ready._tag === "Rejected") return `rejected: ${ready.why}`
          const texts = (["allow", "deny"] as const).flatMap((behavior) =>
            (behavior === "allow" ? allow : deny).map((text) => ({
              behavior,
              text,
              root,
              source: { kind: "project" as const, file: "project.json" },
            })),
          )
          const rules = Rules.compile(texts, { cwd: root, home, managedOnly: false })
          return Decide.decide(ready.ask.call, rules, { cwd: root, home, mode: mode ?? "default" }).decision
        })
        const at = (name: string) => path.join(root, name)
        yield* test({
          root,
          decided,
          write: (name, text = "x\n") => {
            fs.mkdirSync(path.dirname(at(name)), { recursive: true })
            fs.writeFileSync(at(name), text)
          },
          link: (to, name) => fs.symlinkSync(to, at(name)),
        })
      }).pipe(Effect.scoped, Effect.provide(services))
    },
    (temp) => Effect.sync(() => fs.rmSync(temp, { recursive: true, force: true })),
  )

const secret = { deny: ["Read(.env)", "Read(keys/one)"] }

describe("a file that no rule lets be read", () => {
  it.live("stays out of reach by links that searches and comparisons follow", () =>
    within(
      Effect.fnUntraced(function* ({ decided, link, write }) {
        write(".env")
        write("keys/one")
        write("a/x")
        write("b/x")
        assert.strictEqual(yield* decided("diff a b", secret), "allow")
        assert.strictEqual(yield* decided("diff a/x b/x", secret), "allow")
        link("../.env", "a/y")
        assert.strictEqual(yield* decided("diff a b", secret), "deny")
        link("keys", "k")
        assert.strictEqual(yield* decided("grep -r x k", secret), "deny")
        assert.strictEqual(yield* decided("grep -r x b", secret), "allow")
        link("/etc/hostname", "b/out")
        assert.strictEqual(yield* decided("diff b keys"), "ask")
      }),
    ),
  )

  it.live("is not shown by git where it is tracked, in whatever way it is named", () =>
    within(
      Effect.fnUntraced(function* ({ decided, root, write }) {
        git(root, "init", "-q")
        write("a.txt")
        write("src/b.txt")
        write(".env")
        git(root, "add", "a.txt", "src")
        git(root, "commit", "-q", "-m", "one: two")
        const shown = ["git diff", "git show", "git log -p", "git grep x", "git status -v", "git blame a.txt"]
        for (const line of shown) assert.strictEqual(yield* decided(line, secret), "allow", line)
        for (const line of [
          "git show :.env",
          "git show :0:.env",
          "git show 'HEAD^{/one: t}:.env'",
          "git log -L1,1:.env",
        ])
          assert.strictEqual(yield* decided(line, secret), "deny", line)
        write("keys/one")
        git(root, "add", "-f", ".env", "keys")
        for (const line of [...shown, "git diff -- '*nv'", "git show HEAD:keys", "git cat-file -p :keys/one"])
          assert.strictEqual(yield* decided(line, secret), "deny", line)
        const others = [
          "git diff --stat",
          "git log --oneline -5",
          "git status",
          "git diff -- src a.txt",
          "git ls-files",
        ]
        for (const line of others) assert.strictEqual(yield* decided(line, secret), "allow", line)
      }),
    ),
  )

  it.live("is found by searches whose options nobody knows, and behind a way back out of a link", () =>
    within(
      Effect.fnUntraced(function* ({ decided, link, root, write }) {
        write(".env")
        write("keys/one")
        write("keys/sub/x")
        write("src/x")
        link("keys/sub", "l")
        const rules = { allow: ["Bash(grep *)", "Bash(rg *)", "Bash(diff *)", "Bash(cat *)", "Bash(git *)"], ...secret }
        for (const line of ["grep -R x .", "grep --recurs x .", "rg -uuL x", "rg -z x .", "diff -r . /nowhere"])
          assert.strictEqual(yield* decided(line, rules), "deny", line)
        for (const line of ["cat l/../one", "cd l; cat ../one"])
          assert.strictEqual(yield* decided(line, rules), "ask", line)
        for (const line of ["cd src && cd .. && cat src/x", "cat src/x | grep --no-group-separator x"])
          assert.strictEqual(yield* decided(line, rules), "allow", line)
        git(root, "init", "-q")
        write("a")
        git(root, "add", "a")
        for (const line of ["git archive HEAD", "git stash show -p", "git log --cc"])
          assert.strictEqual(yield* decided(line, rules), "allow", line)
        git(root, "add", "-f", ".env")
        for (const line of ["git archive HEAD", "git format-patch --stdout -1", "git stash show -p", "git log --cc"])
          assert.strictEqual(yield* decided(line, rules), "deny", line)
        assert.strictEqual(yield* decided("git stash push -m x", rules), "allow")
      }),
    ),
  )

  it.live("is not read through a directory of /proc, which is another one for every process", () =>
    within(
      Effect.fnUntraced(function* ({ decided, write }) {
        write("a")
        assert.strictEqual(yield* decided("cat /proc/self/cwd/a"), "ask")
        assert.strictEqual(yield* decided("cat /dev/null"), "allow")
      }),
    ),
  )
})

describe("a pattern", () => {
  it.live("is asked about when it matches a file whose name is an option", () =>
    within(
      Effect.fnUntraced(function* ({ decided, write }) {
        write("a")
        for (const line of ["grep x *", "wc -l *", "cat *"]) assert.strictEqual(yield* decided(line), "allow", line)
        write("-r")
        for (const line of ["grep x *", "wc -l *", "cat *"]) assert.strictEqual(yield* decided(line), "ask", line)
        assert.strictEqual(yield* decided("cat a*"), "allow")
      }),
    ),
  )
})

describe("a PATH that leads into the workspace", () => {
  it.live("makes a program of the workspace of a well-known name, so that is asked about", () =>
    within(
      Effect.fnUntraced(function* ({ decided, write }) {
        const rules = { allow: ["Bash(npm test)"] }
        for (const line of ["ls", "ls | wc -l", "npm test && ls"])
          assert.strictEqual(yield* decided(line, rules), "allow", line)
        write("tools/wc")
        assert.strictEqual(yield* decided("ls"), "allow")
        for (const line of ["ls | wc -l", "npm test && wc -l x"])
          assert.strictEqual(yield* decided(line, rules), "ask", line)
        write("node_modules/.bin/touch")
        assert.strictEqual(yield* decided("touch x", {}, "acceptEdits"), "ask")
        assert.strictEqual(yield* decided("mkdir x", {}, "acceptEdits"), "allow")
        write("sub/x")
        assert.strictEqual(yield* decided("cd sub && ls"), "ask")
      }),
      ["ROOT/tools", "node_modules/.bin"],
    ),
  )
})

describe("accepted edits", () => {
  it.live("do not reach a protected file by a name that the line itself makes", () =>
    within(
      Effect.fnUntraced(function* ({ decided, link, write }) {
        write(".git/config")
        write("config")
        link(".git", "l")
        const decide = (line: string) => decided(line, {}, "acceptEdits")
        for (const line of ["cp config other", "mv config b && cat b", "rm -rf config", "mkdir -p x/y && touch x/y/z"])
          assert.strictEqual(yield* decide(line), "allow", line)
        for (const line of [
          "mv l x && cp config x/config",
          "cp -P l x && echo a > x/config",
          "cp -l .git/config x",
          "cp -s .git/config x",
          "cp --target=.git config",
          "mv --targ=.git config",
          "cp --rec evil/. .",
        ])
          assert.strictEqual(yield* decide(line), "ask", line)
      }),
    ),
  )
})

describe("accepted edits beside links", () => {
  it.live("stay inside, whatever names a pattern or a way back makes", () =>
    within(
      Effect.fnUntraced(function* ({ decided, link, write }) {
        for (const name of ["src/a", "src/b", "d/other", ".git/config", "new/.mcp.json", "new/pyrightconfig.json"])
          write(name)
        write("../outside/sub/x")
        link("../outside/sub", "out")
        const decide = (line: string) => decided(line, {}, "acceptEdits")
        for (const line of ["cp src/* d", "mv src/* d/", "cp src/? d/ && cat d/a", "mkdir -p x && mv src/* x"])
          assert.strictEqual(yield* decide(line), "allow", line)
        for (const line of [
          "touch out/../pwned",
          "echo a > out/../pwned",
          "cd out; touch ../pwned",
          "mv src/a out/../pwned",
          "cp new/.m* .",
          "cp new/p* .",
        ])
          assert.strictEqual(yield* decide(line), "ask", line)
        link("../../outside/sub/x", "d/a")
        assert.strictEqual(yield* decide("cp src/* d"), "ask")
        assert.strictEqual(yield* decide("cp src/b* d"), "allow")
        link(".git", "lk")
        assert.strictEqual(yield* decide("cp -d l? t && echo x > t/lk/config"), "ask")
      }),
    ),
  )
})

describe("a directory behind a link", () => {
  it.live("is entered by its own name, so that .. and git mean what is checked", () =>
    within(
      Effect.fnUntraced(function* ({ decided, link, root, write }) {
        git(root, "init", "-q")
        write("evil/deep/x")
        git(path.join(root, "evil"), "init", "-q")
        git(path.join(root, "evil"), "config", "core.fsmonitor", "touch /tmp/never")
        link("evil/deep", "l")
        const workspace = yield* Workspace
        assert.strictEqual(yield* decided("git status"), "allow")
        assert.isTrue(yield* workspace.enter("l"))
        assert.strictEqual(workspace.cwd(), path.join(root, "evil/deep"))
        assert.strictEqual(yield* decided("git status"), "ask")
      }),
    ),
  )
})
