import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { layer } from "../../src/platform/NodeWatch.ts"
import { type Change, collapse, Watch, type WatchOptions } from "../../src/platform/Watch.ts"

const temp = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-watch-")))

/** Watches, makes the changes, and returns everything up to the burst after which `enough` has been seen. */
const after = (
  paths: ReadonlyArray<string>,
  change: () => void,
  options: WatchOptions & { readonly enough?: number } = {},
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const watch = yield* Watch
      const stream = yield* watch.open(paths, { settleMs: 60, ...options })
      yield* Effect.sync(change)
      let seen = 0
      return yield* Stream.runCollect(
        Stream.takeUntil(stream, (burst) => {
          seen += burst.length
          return seen >= (options.enough ?? 1)
        }),
      )
    }),
  ).pipe(
    Effect.map((bursts) => bursts.flat()),
    Effect.provide(layer),
  )

describe("Watch", () => {
  it.live("is left at once, though a directory does not answer", () =>
    Effect.gen(function* () {
      const { open } = yield* Watch
      // What watches is loaded at first use.
      yield* Effect.asVoid(Effect.scoped(open([temp])))
      const { readdir } = fs.promises
      Object.assign(fs.promises, { readdir: () => new Promise<never>(() => {}) })
      syncBuiltinESMExports()
      const opened = yield* Effect.timeoutOption(Effect.scoped(open([temp])), "100 millis")
      Object.assign(fs.promises, { readdir })
      syncBuiltinESMExports()
      assert.isTrue(Option.isNone(opened))
    }).pipe(Effect.provide(layer)),
  )

  it.live("tells of a change of a file, once for many writes", () =>
    Effect.gen(function* () {
      const file = path.join(temp, "one.json")
      fs.writeFileSync(file, "1")
      const changes = yield* after([file], () => {
        for (let i = 0; i < 5; i++) fs.writeFileSync(file, `${i}${"x".repeat(i)}`)
      })
      assert.deepStrictEqual(changes, [{ type: "changed", path: file }])
    }),
  )

  it.live("sees a file appear whose directories did not exist either", () =>
    Effect.gen(function* () {
      const file = path.join(temp, "later", ".claude", "settings.json")
      const changes = yield* after([file], () => {
        fs.mkdirSync(path.dirname(file), { recursive: true })
        fs.writeFileSync(file, "{}")
      })
      assert.deepStrictEqual(changes, [{ type: "created", path: file }])
    }),
  )

  it.live("takes a save by rename for a change", () =>
    Effect.gen(function* () {
      const file = path.join(temp, "saved.json")
      fs.writeFileSync(file, "old")
      const changes = yield* after([file], () => {
        fs.writeFileSync(`${file}.tmp`, "newer")
        fs.renameSync(`${file}.tmp`, file)
      })
      assert.deepStrictEqual(changes, [{ type: "changed", path: file }])
    }),
  )

  it.live("tells of a removal", () =>
    Effect.gen(function* () {
      const file = path.join(temp, "gone.json")
      fs.writeFileSync(file, "x")
      const changes = yield* after([file], () => fs.rmSync(file))
      assert.deepStrictEqual(changes, [{ type: "removed", path: file }])
    }),
  )

  it.live("says nothing about neighbours", () =>
    Effect.gen(function* () {
      const directory = path.join(temp, "crowd")
      fs.mkdirSync(directory)
      const file = path.join(directory, "wanted")
      const changes = yield* after([file], () => {
        fs.writeFileSync(path.join(directory, "other"), "x")
        fs.writeFileSync(file, "x")
      })
      assert.deepStrictEqual(changes, [{ type: "created", path: file }])
    }),
  )

  it.live("watches a directory, and below it when asked, but never node_modules", () =>
    Effect.gen(function* () {
      const directory = path.join(temp, "tree")
      fs.mkdirSync(path.join(directory, "node_modules"), { recursive: true })
      fs.mkdirSync(path.join(directory, "sub"))
      const write = () => {
        fs.writeFileSync(path.join(directory, "node_modules", "x"), "x")
        fs.writeFileSync(path.join(directory, "sub", "y"), "y")
        fs.writeFileSync(path.join(directory, "z"), "z")
      }
      const files = (changes: ReadonlyArray<Change>) => changes.map((one) => path.relative(directory, one.path)).sort()
      assert.deepStrictEqual(files(yield* after([directory], write)), ["z"])
      fs.rmSync(path.join(directory, "z"))
      fs.rmSync(path.join(directory, "sub", "y"))
      const deep = yield* after([directory], write, { recursive: true, enough: 2 })
      assert.deepStrictEqual(files(deep), ["sub/y", "z"])
    }),
  )
})

describe("collapse", () => {
  const burst = (...types: ReadonlyArray<Change["type"]>) =>
    collapse(types.map((type) => ({ type, path: "/f" }))).map(({ type }) => type)

  it("keeps one change for each path", () => {
    assert.deepStrictEqual(burst("changed", "changed"), ["changed"])
    assert.deepStrictEqual(burst("created", "changed"), ["created"])
    assert.deepStrictEqual(burst("removed", "created"), ["changed"])
    assert.deepStrictEqual(burst("changed", "removed"), ["removed"])
    assert.deepStrictEqual(burst("created", "removed"), [])
  })
})
