import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as fs from "node:fs"
import * as path from "node:path"
import { Files } from "../../src/platform/Files.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import { append, remove, set } from "../../src/settings/SettingsEdit.ts"
import { write } from "../../src/settings/SettingsWriter.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"

const file = "/work/.claude/settings.json"
const text = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.readFileString(file))
const holding = (content: string) => Effect.provide(MemoryWorkspace.layer({ [file]: content }))

describe("writing settings", () => {
  it.effect("makes the file and its directories, and says whether anything changed", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* write(file, [set(["model"], "opus"), append(["permissions", "deny"], "Bash")]))
      const made = '{\n  "model": "opus",\n  "permissions": {\n    "deny": [\n      "Bash"\n    ]\n  }\n}\n'
      assert.strictEqual(yield* text, made)
      assert.isFalse(yield* write(file, [set(["model"], "opus")]))
      assert.isFalse(yield* write("/work/none/settings.json", [remove(["model"])]))
      const { exists } = yield* FileSystem.FileSystem
      assert.isFalse(yield* exists("/work/none"))
    }).pipe(Effect.provide(MemoryWorkspace.layer())),
  )

  it.effect("keeps the byte-order mark and the line endings", () =>
    Effect.gen(function* () {
      yield* write(file, [set(["b"], 2), remove(["a"])])
      const { readFile } = yield* FileSystem.FileSystem
      const bytes = new TextDecoder("utf-8", { ignoreBOM: true }).decode(yield* readFile(file))
      assert.strictEqual(bytes, '\uFEFF{\r\n  // one\r\n  "b": 2\r\n}\r\n')
    }).pipe(holding('\uFEFF{\r\n  // one\r\n  "a": 1\r\n}\r\n')),
  )

  it.effect("leaves a broken file alone and says where it is broken", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(write(file, [set(["a"], 2)]))
      assert.deepInclude(error, { _tag: "SettingsWriteError", reason: "broken", file, line: 3, column: 1 })
      assert.match(error.message, /settings\.json:3:1: .*Correct the file by hand/)
      assert.strictEqual(yield* text, '{\n  "a": 1,\n')
    }).pipe(holding('{\n  "a": 1,\n')),
  )

  it.effect("leaves a file alone that is no text", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(write(file, [set(["a"], 2)]))
      assert.deepInclude(error, { _tag: "SettingsWriteError", reason: "broken" })
      assert.strictEqual(yield* text, "\u0000\u0000")
    }).pipe(holding("\u0000\u0000")),
  )

  it.effect("makes all edits or none", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(write(file, [set(["b"], 1), set(["a", "inner"], 2)]))
      assert.deepInclude(error, { reason: "conflict" })
      assert.strictEqual(yield* text, '{"a": 1}')
    }).pipe(holding('{"a": 1}')),
  )

  it.effect("waits for another writer, and gives up in the end", () =>
    Effect.gen(function* () {
      const files = yield* Files
      const patient = yield* Effect.scoped(
        Effect.gen(function* () {
          yield* files.lock(file)
          const hasty = yield* Effect.forkChild(Effect.flip(write(file, [set(["a"], 2)], { wait: "1 second" })))
          const patient = yield* Effect.forkChild(write(file, [set(["a"], 3)]))
          yield* TestClock.adjust("2 seconds")
          assert.deepInclude(yield* Fiber.join(hasty), { _tag: "SettingsWriteError", reason: "busy" })
          return patient
        }),
      )
      yield* TestClock.adjust("1 second")
      assert.isTrue(yield* Fiber.join(patient))
      assert.strictEqual(yield* text, '{"a": 3}')
    }).pipe(holding('{"a": 1}')),
  )

  it.effect("sweeps what a dead writer left, when it is old enough to be dead", () =>
    Effect.gen(function* () {
      const { readDirectory, writeFileString } = yield* FileSystem.FileSystem
      yield* writeFileString("/work/.claude/.settings.local.json.17.0.tmp", "{")
      yield* TestClock.adjust("50 seconds")
      yield* writeFileString("/work/.claude/.settings.json.18.3.tmp", "{")
      yield* writeFileString("/work/.claude/.mine.tmp", "not ours")
      yield* TestClock.adjust("11 seconds")
      yield* write(file, [set(["a"], 2)])
      assert.sameMembers(yield* readDirectory("/work/.claude"), [
        ".mine.tmp",
        ".settings.json.18.3.tmp",
        "settings.json",
      ])
    }).pipe(holding('{"a": 1}')),
  )
})

const node = Layer.mergeAll(NodeFiles.layer, NodeFileSystem.layer, NodePath.layer)
const temporary = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

describe("on a real disk", () => {
  it.live("writers at the same time lose nothing, whatever name they know the file by", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const real = path.join(directory, "dotfiles", "settings.json")
      fs.mkdirSync(path.join(directory, "home"))
      // The links are there before the file is.
      fs.symlinkSync(path.join("..", "dotfiles", "settings.json"), path.join(directory, "home", "settings.json"))
      fs.symlinkSync("home", path.join(directory, "alias"))
      const names = [
        real,
        path.join(directory, "home", "settings.json"),
        path.join(directory, "alias", "settings.json"),
      ]
      const count = 24
      yield* Effect.forEach(
        Array.from({ length: count }, (_, index) => index),
        (index) => write(names[index % names.length] ?? real, [set([`k${index}`], index), append(["all"], index)]),
        { concurrency: "unbounded" },
      )
      const value = JSON.parse(fs.readFileSync(real, "utf8"))
      assert.strictEqual(Object.keys(value).length, count + 1)
      assert.lengthOf(value.all, count)
      assert.isTrue(fs.lstatSync(path.join(directory, "home", "settings.json")).isSymbolicLink())
      assert.deepStrictEqual(fs.readdirSync(path.dirname(real)), ["settings.json"])
    }).pipe(Effect.scoped, Effect.provide(node)),
  )

  it.live("keep the mode of the file, and give a new one the mode that was asked for", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const [old, made] = [path.join(directory, "old.json"), path.join(directory, "new.json")]
      fs.writeFileSync(old, "{}", { mode: 0o640 })
      yield* write(old, [set(["a"], 1)], { mode: 0o600 })
      yield* write(made, [set(["a"], 1)], { mode: 0o600 })
      assert.strictEqual(fs.statSync(old).mode & 0o777, 0o640)
      assert.strictEqual(fs.statSync(made).mode & 0o777, 0o600)
    }).pipe(Effect.scoped, Effect.provide(node)),
  )
})
