import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { layer } from "../../src/node/TroupeNode.ts"
import * as WorkTree from "../../src/session/WorkTree.ts"
import { temporary } from "../agents/realWorld.ts"

/** Long enough that what was written is not in doubt any more. */
const settled = Effect.sleep("80 millis")

const scene = Effect.gen(function* () {
  const root = yield* temporary("tree")
  const write = (name: string, text = name) => {
    fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
    fs.writeFileSync(path.join(root, name), text)
  }
  const tree = yield* WorkTree.make({ roots: () => [root], without: path.join(root, "own") })
  const look = Effect.map(Effect.andThen(settled, tree.look), (seen) =>
    seen
      .map(({ after, before, path: at }) => {
        const sign = before === undefined ? "+" : after === undefined ? "-" : "~"
        return `${sign}${path.relative(root, at)}`
      })
      .toSorted(),
  )
  return { root, write, look, at: (name: string) => path.join(root, name) }
})

describe("the look at a workspace", () => {
  it.live("finds what came, went and changed, also where no directory tells of it", () =>
    Effect.gen(function* () {
      const { at, look, write } = yield* scene
      for (const name of ["a.txt", "b.txt", "dir/c.txt", ".hidden/d.txt", "own/x.txt", ".git/index"]) write(name)
      fs.mkdirSync(at("empty"))
      assert.deepStrictEqual(yield* look, ["+.hidden/d.txt", "+a.txt", "+b.txt", "+dir/c.txt"])
      yield* look
      assert.deepStrictEqual(yield* look, [])
      fs.writeFileSync(at("a.txt"), "other")
      fs.rmSync(at("b.txt"))
      fs.renameSync(at("dir/c.txt"), at("dir/moved.txt"))
      write("empty/e.txt")
      write("new/deep/f.txt")
      assert.deepStrictEqual(yield* look, [
        "+dir/moved.txt",
        "+empty/e.txt",
        "+new/deep/f.txt",
        "-b.txt",
        "-dir/c.txt",
        "~a.txt",
      ])
      yield* look
      write("dir/one-more.txt")
      assert.deepStrictEqual(yield* look, ["+dir/one-more.txt"])
      yield* look
      // Same length, and a time that says nothing has happened.
      const { atimeMs, mtimeMs } = fs.statSync(at("a.txt"))
      fs.writeFileSync(at("a.txt"), "OTHER")
      fs.utimesSync(at("a.txt"), atimeMs / 1000, mtimeMs / 1000)
      assert.deepStrictEqual(yield* look, ["~a.txt"])
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

  it.live("tells once more of what was written within the grain of the clock", () =>
    Effect.gen(function* () {
      const root = yield* temporary("tree")
      const tree = yield* WorkTree.make({ roots: () => [root], without: "/nowhere" })
      yield* tree.look
      fs.writeFileSync(path.join(root, "a.txt"), "1")
      assert.lengthOf(yield* tree.look, 1)
      assert.lengthOf(yield* tree.look, 1)
      yield* settled
      yield* tree.look
      assert.lengthOf(yield* tree.look, 0)
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

  it.live("leaves out what rules hide, and follows no link", () =>
    Effect.gen(function* () {
      const { at, look, root, write } = yield* scene
      fs.mkdirSync(at(".git"))
      write(".gitignore", "built/\n*.log\n")
      for (const name of ["a.txt", "built/x.txt", "y.log"]) write(name)
      fs.symlinkSync("/etc", at("link"))
      fs.symlinkSync(at("a.txt"), at("second.txt"))
      assert.deepStrictEqual(yield* look, ["+.gitignore", "+a.txt"])
      yield* look
      write("built/z.txt")
      write("z.log")
      assert.deepStrictEqual(yield* look, [])
      write(".gitignore", "built/\n")
      assert.deepStrictEqual(yield* look, ["+y.log", "+z.log", "~.gitignore"])
      assert.isTrue(fs.existsSync(root))
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

  it.live("says that a workspace is too large instead of looking at a part of it", () =>
    Effect.gen(function* () {
      const { look, write } = yield* scene
      for (let i = 0; i < 12; i++) write(`${i}.txt`)
      assert.match(yield* Effect.flip(look), /more than 10 files/)
    }).pipe(Effect.scoped, Effect.provideService(WorkTree.MostFiles, 10), Effect.provide(layer)),
  )
})
