import { assert, describe, it } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as TestClock from "effect/testing/TestClock"
import { absolute } from "../../src/context/AbsoluteDates.ts"
import * as Memory from "../../src/context/Memory.ts"
import * as MemoryFile from "../../src/context/MemoryFile.ts"
import { paragraph } from "../../src/context/MemoryText.ts"
import { Files } from "../../src/platform/Files.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"

const directory = { path: "/mem", real: "/mem" }
const make = Memory.make(directory)
const within = (files: Readonly<Record<string, string>> = {}) => Effect.provide(MemoryWorkspace.layer(files))
const wednesday = TestClock.setTime(DateTime.toEpochMillis(DateTime.makeUnsafe("2026-11-18T10:00:00Z")))

const draft: MemoryFile.Draft = {
  name: "Use pnpm",
  description: "npm breaks the lockfile",
  type: "feedback",
  content: "Use pnpm. Said yesterday, due next Monday.",
}

describe("a memory", () => {
  it.effect("is written as a file and as a line of the index", () =>
    Effect.gen(function* () {
      yield* wednesday
      const fs = yield* FileSystem.FileSystem
      const memory = yield* make
      assert.strictEqual(yield* memory.save(draft), "feedback_use_pnpm.md")
      assert.strictEqual(
        yield* fs.readFileString("/mem/feedback_use_pnpm.md"),
        [
          "---",
          'name: "Use pnpm"',
          'description: "npm breaks the lockfile"',
          "type: feedback",
          "modified: 2026-11-18T10:00:00.000Z",
          "---",
          "",
          "Use pnpm. Said on 2026-11-17, due on 2026-11-23.",
          "",
        ].join("\n"),
      )
      const line = "- [Use pnpm](feedback_use_pnpm.md) — npm breaks the lockfile"
      assert.strictEqual((yield* memory.index)?.text, `# Memory\n\n${line}`)
      yield* memory.save({ ...draft, description: "changed" })
      assert.include((yield* memory.index)?.text, "— changed")
      assert.deepStrictEqual(
        (yield* memory.list).map(({ file, modified, type }) => ({ file, modified, type })),
        [{ file: "feedback_use_pnpm.md", modified: 1_794_996_000_000, type: "feedback" }],
      )
    }).pipe(within()),
  )

  it.effect("that a crash left without its line is there, and gets the line with the next one", () =>
    Effect.gen(function* () {
      const memory = yield* make
      assert.deepStrictEqual(
        (yield* memory.list).map(({ name }) => name),
        ["Lost"],
      )
      yield* memory.save(draft)
      const index = (yield* memory.index)?.text ?? ""
      assert.include(index, "- [Lost](user_lost.md) — found again")
      assert.include(index, "(feedback_use_pnpm.md)")
      assert.include(index, "- my own line")
    }).pipe(
      within({
        "/mem/MEMORY.md": "# Mine\n- my own line\n",
        "/mem/user_lost.md": "---\nname: Lost\ndescription: found again\ntype: user\n---\nx",
      }),
    ),
  )

  it.effect("is kept though somebody else holds the index", () =>
    Effect.gen(function* () {
      const files = yield* Files
      yield* files.lock("memory /mem")
      const memory = yield* make
      const saving = yield* Effect.forkChild(memory.save(draft))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* Fiber.join(saving), "feedback_use_pnpm.md")
      assert.isUndefined(yield* memory.index)
      assert.lengthOf(yield* memory.list, 1)
    }).pipe(Effect.scoped, within()),
  )

  it.effect.each([
    "the key is AKIAIOSFODNN7EXAMPLE",
    "login with postgres://me:hunter22@db/x",
    "DB_PASSWORD=s3cr3t-value",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    "Authorization: Bearer abcdefghijklmnopqrstuvwxyz",
  ])("is refused when it holds a secret: %s", (content) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* make).save({ ...draft, content }))
      assert.strictEqual(error._tag, "MemoryRefused")
    }).pipe(within()),
  )

  it.effect("may speak about secrets", () =>
    Effect.gen(function* () {
      const content = "The token is in the vault; set API_KEY=<your key> and PASSWORD=$DB_PASSWORD."
      assert.strictEqual(yield* (yield* make).save({ ...draft, content }), "feedback_use_pnpm.md")
    }).pipe(within()),
  )

  it.effect.each(["../x.md", "a/../../x.md", "/etc/x.md", "MEMORY.md", "logs/2026.md", ".x.md", "x.txt", "a\0.md"])(
    "cannot be written elsewhere: %s",
    (file) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* Effect.flip((yield* make).save({ ...draft, file })))._tag, "MemoryRefused")
        assert.isUndefined(yield* (yield* make).read(file))
      }).pipe(within()),
  )

  it.effect("behind a link that leads out is not there; team may be a link", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink("/private/notes.md", "/mem/user_notes.md")
      yield* fs.symlink("/team", "/mem/team")
      yield* fs.symlink("/private/notes.md", "/team/steal.md")
      const memory = yield* make
      assert.deepStrictEqual(
        (yield* memory.list).map(({ file, shared }) => ({ file, shared })),
        [{ file: "team/ours.md", shared: true }],
      )
      assert.isUndefined(yield* memory.read("user_notes.md"))
      assert.isUndefined(yield* memory.read("team/steal.md"))
      assert.strictEqual(yield* memory.read("team/ours.md"), "ours")
    }).pipe(within({ "/private/notes.md": "private", "/team/ours.md": "ours", "/mem/x": "" })),
  )
})

describe("the index", () => {
  it("is read up to its limits, in whole lines", () => {
    const lines = Array.from({ length: 250 }, (_, n) => `- line ${n}`)
    const { cut, text } = MemoryFile.bounded(lines.join("\n"))
    assert.lengthOf(text.split("\n"), 200)
    assert.strictEqual(cut?.lines, 250)
    const long = MemoryFile.bounded(Array.from({ length: 100 }, () => "é".repeat(200)).join("\n"))
    assert.isAtMost(new TextEncoder().encode(long.text).length, 25_000)
    assert.isTrue(long.text.split("\n").every((line) => line.length === 200))
    assert.isUndefined(MemoryFile.bounded("short").cut)
  })

  it("is complained about when it is long or nearly so", () => {
    const of = (lines: number) => MemoryFile.indexWarning("x\n".repeat(lines))
    assert.isUndefined(of(100))
    assert.include(of(190), "close to its limit")
    assert.include(of(201), "over its limit")
  })

  it("stands in what the model is told, with how to write", () => {
    const text = paragraph(directory, { text: "- [a](a.md) — b", cut: { lines: 300, bytes: 9 } }, true)
    for (const part of ["/mem", "feedback", "MEMORY.md", "- [a](a.md) — b", "300 lines", "team/"]) {
      assert.include(text, part)
    }
  })
})

describe("dates", () => {
  const now = DateTime.makeUnsafe("2026-11-18T23:30:00Z")
  it.each([
    ["done yesterday", "done on 2026-11-17"],
    ["Tomorrow we ship", "on 2026-11-19 we ship"],
    ["on next Wednesday", "on 2026-11-25"],
    ["last Wednesday", "on 2026-11-11"],
    ["last Tuesday", "on 2026-11-17"],
    ["nothing relative", "nothing relative"],
  ] as const)("%s is %s", (text, expected) => {
    assert.strictEqual(absolute(text, now), expected)
  })

  it("tell the age of a memory", () => {
    const days = (n: number) => MemoryFile.age(0, n * 86_400_000 + 5)
    assert.deepStrictEqual([0, 1, 12].map(days), ["written today", "written 1 day ago", "written 12 days ago"])
  })
})
