import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { environment, Git, parseStatus } from "../../src/platform/Git.ts"
import * as NodeHost from "../../src/platform/NodeHost.ts"
import * as NodeProcess from "../../src/platform/NodeProcess.ts"

const temp = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-git-")))

const layer = Git.layer.pipe(
  Layer.provide(Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, NodeProcess.layer, NodeHost.layer)),
)

const git = (cwd: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...args], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_SYSTEM: "/dev/null" },
    stdio: ["ignore", "pipe", "ignore"],
  })

const repository = (name: string): string => {
  const root = path.join(temp, name)
  fs.mkdirSync(path.join(root, "src"), { recursive: true })
  git(root, "init", "-q", "-b", "main")
  fs.writeFileSync(path.join(root, "a.txt"), "a\n")
  fs.writeFileSync(path.join(root, "src", "b c.txt"), "b\n")
  git(root, "add", ".")
  git(root, "commit", "-q", "-m", "first")
  return root
}

describe("Git", () => {
  it.live("does not wait for a pipe that lies where a repository has a file", () =>
    Effect.gen(function* () {
      const { branch, own } = yield* Git
      const [dot, head] = [path.join(temp, "pipe-dot"), path.join(temp, "pipe-head")]
      fs.mkdirSync(dot)
      fs.mkdirSync(path.join(head, ".git"), { recursive: true })
      execFileSync("mkfifo", [path.join(dot, ".git")])
      for (const pipe of ["HEAD", "config", "index", "commondir"])
        execFileSync("mkfifo", [path.join(head, ".git", pipe)])
      for (const root of [dot, head]) {
        assert.isUndefined(yield* branch(root))
        assert.isTrue((yield* own(root))?.more)
      }
    }).pipe(Effect.provide(layer)),
  )

  it.live("knows root and branch from the files alone", () =>
    Effect.gen(function* () {
      const service = yield* Git
      const root = repository("plain")
      assert.strictEqual(yield* service.root(path.join(root, "src")), root)
      assert.strictEqual(yield* service.branch(path.join(root, "src")), "main")
      git(root, "checkout", "-q", "-b", "feature/with-slash")
      assert.strictEqual(yield* service.branch(root), "feature/with-slash")
      git(root, "checkout", "-q", "--detach")
      assert.strictEqual(yield* service.branch(root), "HEAD")
      const tree = path.join(temp, "plain-worktree")
      git(root, "worktree", "add", "-q", "-b", "side", tree)
      assert.deepStrictEqual([yield* service.root(tree), yield* service.branch(tree)], [tree, "side"])
    }).pipe(Effect.provide(layer)),
  )

  it.live("says nothing outside a repository", () =>
    Effect.gen(function* () {
      const service = yield* Git
      const outside = path.join(temp, "outside")
      fs.mkdirSync(outside)
      assert.isUndefined(yield* service.root(outside))
      assert.isUndefined(yield* service.branch(outside))
      assert.isUndefined(yield* service.status(outside))
    }).pipe(Effect.provide(layer)),
  )

  it.live("summarises what changed", () =>
    Effect.gen(function* () {
      const service = yield* Git
      const root = repository("changed")
      fs.writeFileSync(path.join(root, "a.txt"), "changed\n")
      fs.writeFileSync(path.join(root, "new ü.txt"), "new\n")
      git(root, "mv", "src/b c.txt", "src/moved.txt")
      const status = yield* service.status(root)
      assert.deepStrictEqual(status, {
        branch: "main",
        staged: 1,
        modified: 1,
        untracked: 1,
        conflicted: 0,
        paths: ["a.txt", "src/moved.txt", "new ü.txt"],
        truncated: false,
      })
      const short = yield* service.status(root, { maxPaths: 1 })
      assert.deepStrictEqual([short?.paths, short?.truncated], [["a.txt"], true])
    }).pipe(Effect.provide(layer)),
  )

  it.live("runs no program that a hostile repository names", () =>
    Effect.gen(function* () {
      const service = yield* Git
      const root = repository("hostile")
      const witness = path.join(temp, "witness")
      const evil = path.join(temp, "evil.sh")
      fs.writeFileSync(evil, `#!/bin/sh\necho "$0 $*" >> "${witness}"\ncat\n`, { mode: 0o755 })
      const hooks = path.join(root, ".git", "hooks")
      fs.mkdirSync(hooks, { recursive: true })
      for (const hook of ["post-index-change", "pre-commit", "fsmonitor-watchman", "reference-transaction"]) {
        fs.copyFileSync(evil, path.join(hooks, hook))
      }
      const more = path.join(root, ".git", "more.config")
      fs.writeFileSync(more, `[filter "odd=name.x"]\n\tclean = ${evil}\n\tsmudge = ${evil}\n\trequired = true\n`)
      for (const [key, value] of [
        ["core.fsmonitor", evil],
        ["core.pager", evil],
        ["core.sshCommand", evil],
        ["diff.external", evil],
        ["credential.helper", evil],
        ["filter.evil.clean", evil],
        ["filter.evil.process", evil],
        ["include.path", more],
      ]) {
        git(root, "config", key ?? "", value ?? "")
      }
      fs.writeFileSync(path.join(root, ".git", "info", "attributes"), "a.txt filter=evil\n*.odd filter=odd=name.x\n")
      // Same size, later time: git must look into the files, which is when filters run.
      fs.writeFileSync(path.join(root, "a.txt"), "b\n")
      fs.writeFileSync(path.join(root, "x.odd"), "b\n")
      assert.isFalse(fs.existsSync(witness))
      const status = yield* service.status(root)
      assert.strictEqual(status?.modified, 1)
      yield* service.run(root, ["diff", "--no-ext-diff", "--no-textconv", "--stat"])
      yield* service.run(root, ["log", "-1"])
      assert.isFalse(fs.existsSync(witness), "something of the repository ran")
      // The trap is real: plain git falls into it.
      git(root, "status")
      assert.isTrue(fs.existsSync(witness))
    }).pipe(Effect.provide(layer)),
  )

  it("cannot be sent elsewhere by the environment", () => {
    const env = environment({ PATH: "/bin", GIT_DIR: "/evil", GIT_SSH_COMMAND: "evil", GIT_CONFIG_COUNT: "1" })
    assert.deepStrictEqual(
      [env["GIT_DIR"], env["GIT_SSH_COMMAND"], env["GIT_CONFIG_COUNT"]],
      [undefined, undefined, undefined],
    )
    assert.deepStrictEqual([env["PATH"], env["GIT_OPTIONAL_LOCKS"], env["GIT_ALLOW_PROTOCOL"]], ["/bin", "0", ""])
  })

  it("reads conflicts and detached heads", () => {
    const text = [
      "# branch.oid abc",
      "# branch.head (detached)",
      "u UU N... 100644 100644 100644 100644 a b c e f.txt",
      "1 MM N... 100644 100644 100644 a b both.txt",
      "",
    ].join("\0")
    const { branch, conflicted, modified, paths, staged } = parseStatus(text, 10)
    assert.deepStrictEqual([branch, conflicted, staged, modified], ["HEAD", 1, 1, 1])
    assert.deepStrictEqual(paths, ["e f.txt", "both.txt"])
  })
})

describe("what a repository brings along", () => {
  const own = (root: string) => Effect.flatMap(Git, (service) => service.own(root))

  it.live("is its configuration, wherever in it one asks, and nothing more in a plain one", () =>
    Effect.gen(function* () {
      const root = repository("brings-plain")
      const found = yield* own(path.join(root, "src"))
      assert.isFalse(found?.more)
      assert.lengthOf(found?.texts ?? [], 1)
      assert.include(found?.texts[0], "[core]")
      const tree = path.join(temp, "brings-worktree")
      git(root, "worktree", "add", "-q", "-b", "other", tree)
      const files = (at: string) => ["a.txt", "src/b c.txt"].map((name) => path.join(at, name))
      assert.deepStrictEqual(found?.tracked, files(root))
      assert.deepStrictEqual(yield* own(tree), { ...found, tracked: files(tree) })
      assert.isUndefined(yield* own(os.tmpdir()))
    }).pipe(Effect.provide(layer)),
  )

  it.live("is what its index tracks, in every format, and more when the index is not all in one file", () =>
    Effect.gen(function* () {
      const root = repository("brings-index")
      const names = ["a.txt", "src/b c.txt", `src/${"long".repeat(60)}`, "src/é", "z/later"]
      fs.mkdirSync(path.join(root, "z"))
      for (const name of names) fs.writeFileSync(path.join(root, name), "")
      git(root, "add", ".")
      git(root, "add", "-N", ".")
      for (const version of ["2", "3", "4"]) {
        git(root, "update-index", "--index-version", version)
        const found = yield* own(root)
        assert.deepStrictEqual(
          found?.tracked,
          names.map((name) => path.join(root, name)),
          version,
        )
        assert.isFalse(found?.more)
      }
      git(root, "update-index", "--split-index")
      const split = yield* own(root)
      assert.deepStrictEqual([split?.tracked, split?.more], [undefined, true])
      const long = path.join(temp, "brings-long")
      fs.mkdirSync(long)
      git(long, "init", "-q", "--object-format=sha256")
      fs.writeFileSync(path.join(long, "a"), "")
      git(long, "add", ".")
      assert.deepStrictEqual((yield* own(long))?.tracked, [path.join(long, "a")])
    }).pipe(Effect.provide(layer)),
  )

  it.live("is more with a submodule, a hook that looking runs, or a git directory in the way", () =>
    Effect.gen(function* () {
      const hooked = repository("brings-hook")
      fs.writeFileSync(path.join(hooked, ".git", "hooks", "post-index-change"), "#!/bin/sh\n")
      const nested = repository("brings-submodule")
      const inner = path.join(nested, "inner")
      fs.mkdirSync(inner)
      git(inner, "init", "-q")
      fs.writeFileSync(path.join(inner, "x"), "x")
      git(inner, "add", ".")
      git(inner, "commit", "-q", "-m", "inner")
      git(nested, "add", "inner")
      const disguised = repository("brings-bare")
      git(path.join(disguised, "src"), "init", "-q", "--bare", "evil")
      for (const root of [hooked, nested, path.join(disguised, "src", "evil")]) {
        assert.isTrue((yield* own(root))?.more, root)
      }
      assert.isFalse((yield* own(disguised))?.more)
    }).pipe(Effect.provide(layer)),
  )
})
