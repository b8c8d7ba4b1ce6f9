import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { TroupeNode } from "../../src/node/index.ts"
import { Git } from "../../src/platform/Git.ts"
import * as CarriedTree from "../../src/session/CarriedTree.ts"

const layer = Git.layer.pipe(Layer.provideMerge(TroupeNode.layer))

const git = (cwd: string, args: ReadonlyArray<string>, input?: string) =>
  execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
    cwd,
    encoding: "utf8",
    ...(input !== undefined && { input }),
  }).trim()

const repository = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-tree-")))),
    (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true })),
  ),
  (directory) => {
    const repo = path.join(directory, "repo")
    fs.mkdirSync(repo)
    git(repo, ["init", "-q"])
    fs.writeFileSync(path.join(repo, "a.txt"), "a\n")
    git(repo, ["add", "."])
    git(repo, ["commit", "-qm", "first"])
    return { directory, repo, target: path.join(directory, "target") }
  },
)

/** What a repository of this tree is packed as: it is written without anybody having checked it out. */
const packedTree = (repo: string, entries: string): CarriedTree.CarriedTree => {
  const tree = git(repo, ["mktree"], entries)
  const head = git(repo, ["rev-parse", "HEAD"])
  const work = git(repo, ["commit-tree", tree, "-p", head, "-m", "x"])
  git(repo, ["update-ref", "refs/troupe/head", head])
  git(repo, ["update-ref", "refs/troupe/work", work])
  const file = path.join(repo, "..", "bundle")
  git(repo, ["bundle", "create", "--quiet", file, "refs/troupe/head", "refs/troupe/work"])
  return { head, work, objectFormat: "sha1", within: "", left: [], bundle: fs.readFileSync(file, "base64") }
}

const refused = (packed: CarriedTree.CarriedTree, target: string, expected: RegExp) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(CarriedTree.unpack(packed, target))
    assert.match(error.message, expected)
    // Nothing is left behind, neither there nor beside it.
    assert.isFalse(fs.existsSync(target))
    assert.deepStrictEqual(
      fs.readdirSync(path.dirname(target)).filter((name) => name.startsWith(".troupe")),
      [],
    )
  })

describe("WorkTree", () => {
  it.live("links within it travel, links out of it are refused, however they are disguised", () =>
    Effect.gen(function* () {
      const { directory, repo, target } = yield* repository
      fs.mkdirSync(path.join(repo, "d/e"), { recursive: true })
      fs.writeFileSync(path.join(repo, "d/e/f"), "f")
      fs.symlinkSync("../../a.txt", path.join(repo, "d/e/up"))
      const good = yield* CarriedTree.pack(repo)
      yield* CarriedTree.unpack(good, target)
      assert.strictEqual(fs.readFileSync(path.join(target, "d/e/up"), "utf8"), "a\n")
      fs.rmSync(target, { recursive: true })
      for (const to of ["/etc/passwd", "../outside", "d/../../outside", "d/e/up/../../..", "C:\\x"]) {
        const link = path.join(repo, "link")
        fs.symlinkSync(to, link)
        const packed = yield* CarriedTree.pack(repo)
        yield* refused(packed, target, /its link link leads outside/)
        fs.unlinkSync(link)
      }
      assert.isTrue(fs.existsSync(directory))
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

  it.live("names that reach out, or into git itself, are refused", () =>
    Effect.gen(function* () {
      const { repo, target } = yield* repository
      const blob = git(repo, ["hash-object", "-w", "--stdin"], "x")
      const inner = git(repo, ["mktree"], `100644 blob ${blob}\tevil\n`)
      for (const name of ["..", ".git", ".GIT"]) {
        yield* refused(packedTree(repo, `040000 tree ${inner}\t${name}\n`), target, /name that is not allowed/)
      }
      const sound = packedTree(repo, `100644 blob ${blob}\tfine\n`)
      yield* refused({ ...sound, within: "../.." }, target, /outside itself/)
      yield* refused({ ...sound, head: "--upload-pack=x" }, target, /no names that could be/)
      yield* refused({ ...sound, work: "0".repeat(40) }, target, /rev-parse/)
      yield* refused({ ...sound, bundle: "bm90IGEgYnVuZGxl" }, target, /bundle/)
      yield* refused({ ...sound, bundle: "%%%" }, target, /damaged/)
      const cut = Buffer.from(sound.bundle, "base64")
      yield* refused({ ...sound, bundle: cut.subarray(0, cut.length - 40).toString("base64") }, target, /bundle/)
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

  it.live("what cannot be packed says why", () =>
    Effect.gen(function* () {
      const { directory, repo } = yield* repository
      const bare = yield* Effect.flip(CarriedTree.pack(directory))
      assert.match(bare.message, /no git repository/)
      const empty = path.join(directory, "empty")
      fs.mkdirSync(empty)
      git(empty, ["init", "-q"])
      assert.match((yield* Effect.flip(CarriedTree.pack(empty))).message, /nothing is committed yet/)
      git(repo, ["update-index", "--add", "--cacheinfo", `160000,${git(repo, ["rev-parse", "HEAD"])},sub`])
      git(repo, ["commit", "-qm", "sub"])
      assert.match((yield* Effect.flip(CarriedTree.pack(repo))).message, /submodules/)
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )
})
