import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as Memory from "../../src/context/Memory.ts"
import * as MemoryRecall from "../../src/context/MemoryRecall.ts"
import * as Budget from "../../src/kernel/Budget.ts"
import { answering, asked, at, directory, memoryFile } from "./remembering.ts"

const files = {
  "/mem/project_release.md": memoryFile("release", "2026-11-06T09:00:00Z", "We release on Thursdays."),
  "/mem/project_ci.md": memoryFile("ci", "2026-11-18T09:00:00Z"),
  "/mem/team/db.md": memoryFile("db", "2026-10-01T09:00:00Z", "x".repeat(9_000)),
}
const prompt = "when is the next release, please?"
const now = at("2026-11-18T12:00:00Z")

describe("recall", () => {
  it.effect("tells what the small model chose, with its age, and only what is there", () =>
    Effect.gen(function* () {
      yield* now
      const memory = yield* Memory.make(directory)
      const found = yield* MemoryRecall.recall(memory, prompt)
      assert.deepStrictEqual(
        found.map(({ origin }) => origin),
        ["memory:project_release.md", "memory:team/db.md"],
      )
      assert.include(found[0]?.content, "/mem/project_release.md, written 12 days ago")
      assert.include(found[0]?.content, "We release on Thursdays.")
      assert.notInclude(found[0]?.content, "description:")
      assert.include(found[1]?.content, "of the team")
      assert.isBelow(found[1]?.content.length ?? 0, 4_300)
      const [question] = yield* asked
      assert.include(question?.prompt, prompt)
      assert.include(question?.prompt, "- project_ci.md (project, written today): ci: about ci")
    }).pipe(
      answering({ files: ["project_release.md", "../../etc/passwd", "made_up.md", "team/db.md", "team/db.md"] }, files),
    ),
  )

  it.effect("tells at most five", () =>
    Effect.gen(function* () {
      const memory = yield* Memory.make(directory)
      assert.lengthOf(yield* MemoryRecall.recall(memory, prompt), 5)
    }).pipe(
      answering(
        { files: [1, 2, 3, 4, 5, 6, 7].map((n) => `${n}.md`) },
        Object.fromEntries([1, 2, 3, 4, 5, 6, 7].map((n) => [`/mem/${n}.md`, memoryFile(`m${n}`, "2026-01-01")])),
      ),
    ),
  )

  it.effect("asks nobody when there is nothing to remember", () =>
    Effect.gen(function* () {
      const memory = yield* Memory.make(directory)
      assert.deepStrictEqual(yield* MemoryRecall.recall(memory, prompt), [])
      assert.deepStrictEqual(yield* asked, [])
    }).pipe(answering("never asked")),
  )

  it.effect("has nothing to say when the answer is no answer", () =>
    Effect.gen(function* () {
      const memory = yield* Memory.make(directory)
      assert.deepStrictEqual(yield* MemoryRecall.recall(memory, prompt), [])
    }).pipe(answering("I would take the first one.", files)),
  )

  it.effect("leaves the last fifth of a budget to the conversation", () =>
    Effect.gen(function* () {
      const memory = yield* Memory.make(directory)
      const spent = Effect.andThen(Budget.charge({ usd: 0.85 }), MemoryRecall.recall(memory, prompt))
      assert.deepStrictEqual(yield* Budget.within({ usd: 1 })(spent), [])
      assert.deepStrictEqual(yield* asked, [])
    }).pipe(answering({ files: ["project_ci.md"] }, files)),
  )
})

describe("recall beside a turn", () => {
  const settle = Effect.repeat(Effect.yieldNow, { times: 200 })

  it.effect("returns at once, and tells what it found at the end of a round, each memory once", () =>
    Effect.gen(function* () {
      const memory = yield* Memory.make(directory)
      const source = yield* MemoryRecall.source(memory)
      assert.deepStrictEqual(yield* source({ kind: "prompt", text: prompt }), [])
      yield* settle
      yield* TestClock.adjust("1 second")
      const told = yield* source({ kind: "round", touched: [] })
      assert.deepStrictEqual(
        told.map(({ origin }) => origin),
        ["memory:project_ci.md"],
      )
      assert.deepStrictEqual(yield* source({ kind: "round", touched: [] }), [])
      yield* source({ kind: "prompt", text: `${prompt} again` })
      yield* settle
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* source({ kind: "round", touched: [] }), [])
      assert.notInclude((yield* asked)[1]?.prompt, "project_ci.md")
    }).pipe(Effect.scoped, answering({ files: ["project_ci.md"] }, files)),
  )

  it.effect("does not wait for a model that is silent", () =>
    Effect.gen(function* () {
      const memory = yield* Memory.make(directory)
      const source = yield* MemoryRecall.source(memory)
      yield* source({ kind: "prompt", text: prompt })
      yield* settle
      assert.deepStrictEqual(yield* source({ kind: "round", touched: [] }), [])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* source({ kind: "round", touched: [] }), [])
    }).pipe(Effect.scoped, answering([{ reply: "x", faults: [{ stall: 0 }] }], files)),
  )

  it.effect("is not tried for a word or a command", () =>
    Effect.gen(function* () {
      const source = yield* MemoryRecall.source(yield* Memory.make(directory))
      for (const text of ["go on", "/model claude-opus-5 please"]) yield* source({ kind: "prompt", text })
      yield* settle
      assert.deepStrictEqual(yield* asked, [])
    }).pipe(Effect.scoped, answering({ files: [] }, files)),
  )

  it.effect("tells the model that the index it wrote is too long", () =>
    Effect.gen(function* () {
      const source = MemoryRecall.indexSource(yield* Memory.make(directory))
      const round = (path: string) => source({ kind: "round", touched: [path] })
      assert.deepStrictEqual(yield* round("/mem/other.md"), [])
      assert.include((yield* round("/mem/MEMORY.md"))[0]?.content, "over its limit")
    }).pipe(answering("x", { "/mem/MEMORY.md": "line\n".repeat(300) })),
  )
})
