import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as TestClock from "effect/testing/TestClock"
import * as MemoryConsolidation from "../../src/context/MemoryConsolidation.ts"
import * as MemoryExtraction from "../../src/context/MemoryExtraction.ts"
import { Files } from "../../src/platform/Files.ts"
import type { Message } from "../../src/protocol/Message.ts"
import { answering, asked, at, memoryFile, parts } from "./remembering.ts"

const sessionId = "s1"
const said: ReadonlyArray<Message> = [
  { role: "user", content: "please always use tabs" },
  {
    role: "assistant",
    content: [
      { type: "text", text: "I will." },
      { type: "tool_use", id: "t", name: "Read", input: { file_path: "/x" } },
    ],
  },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "secret file content" }] },
]
const tabs = { name: "Tabs", description: "indent with tabs", type: "feedback", content: "Tabs, as said today." }
const noon = at("2026-11-18T12:00:00Z")

describe("extraction", () => {
  it.effect("keeps what the small model found, with dates, and notes the day", () =>
    Effect.gen(function* () {
      yield* noon
      const fs = yield* FileSystem.FileSystem
      const { log, memory } = yield* parts
      const files = yield* MemoryExtraction.extract({ log, memory, sessionId }, said)
      assert.deepStrictEqual(files, ["feedback_tabs.md"])
      assert.include(yield* memory.read("feedback_tabs.md"), "Tabs, as said on 2026-11-18.")
      assert.strictEqual(
        yield* fs.readFileString("/mem/logs/2026/11/2026-11-18.md"),
        "- 12:00:00Z [s1] Decided on tabs on 2026-11-18\n",
      )
      const [question] = yield* asked
      assert.include(question?.system, "Today is 2026-11-18")
      assert.include(question?.prompt, "<user>please always use tabs</user>\n<agent>I will.</agent>")
      assert.notInclude(question?.prompt, "secret file content")
    }).pipe(
      answering({
        memories: [tabs, { name: "", type: "joke" }, { ...tabs, name: "Key", content: "api_key=abcd1234efgh" }],
        log: ["Decided on tabs today", "token: ghp_abcdefghijklmnopqrstuvwxyz0123456789"],
      }),
    ),
  )

  it.effect("changes a memory that is there, and never names a file of its own choice", () =>
    Effect.gen(function* () {
      const { log, memory } = yield* parts
      const files = yield* MemoryExtraction.extract({ log, memory, sessionId }, said)
      assert.deepStrictEqual(files, ["old.md", "feedback_other.md"])
    }).pipe(
      answering(
        {
          memories: [
            { ...tabs, file: "old.md" },
            { ...tabs, name: "Other", file: "../../evil.md" },
          ],
        },
        { "/mem/old.md": memoryFile("old", "2026-01-01") },
      ),
    ),
  )

  it.effect("runs beside the session, reads each message once, and nothing that was saved already", () =>
    Effect.gen(function* () {
      const options = { ...(yield* parts), sessionId }
      const extraction = yield* MemoryExtraction.make(options)
      const turn = Effect.fnUntraced(function* (messages: ReadonlyArray<Message>) {
        yield* extraction.turnEnded(messages)
        yield* Effect.yieldNow
        yield* extraction.idle
      })
      yield* turn(said)
      const more: Message = { role: "user", content: "and another thing" }
      yield* turn([...said, more])
      const write = { type: "tool_use", id: "w", name: "Write", input: { file_path: "/mem/a.md" } } as const
      yield* turn([...said, more, { role: "user", content: "remember it" }, { role: "assistant", content: [write] }])
      const questions = yield* asked
      assert.lengthOf(questions, 2)
      assert.include(questions[1]?.prompt, "and another thing")
      assert.notInclude(questions[1]?.prompt, "always use tabs")
    }).pipe(Effect.scoped, answering({ memories: [], log: [] })),
  )

  it.effect("asks nothing when no person said anything", () =>
    Effect.gen(function* () {
      const options = { ...(yield* parts), sessionId }
      yield* MemoryExtraction.extract(options, [{ role: "assistant", content: "done" }])
      assert.deepStrictEqual(yield* asked, [])
    }).pipe(answering("x")),
  )
})

describe("the daily logs", () => {
  it.effect("are due after a day, or when five sessions have written", () =>
    Effect.gen(function* () {
      yield* noon
      const { log } = yield* parts
      assert.isFalse(yield* log.isDue)
      yield* log.add("a", ["one"])
      assert.isFalse(yield* log.isDue)
      yield* TestClock.adjust("24 hours")
      assert.isTrue(yield* log.isDue)
      const [entry] = yield* log.pending
      yield* log.settle(entry?.time ?? 0)
      assert.isFalse(yield* log.isDue)
      for (const session of ["b", "c", "d", "e"]) yield* log.add(session, ["two"])
      assert.isFalse(yield* log.isDue)
      yield* log.add("f", ["three"])
      assert.isTrue(yield* log.isDue)
      assert.lengthOf(yield* log.pending, 5)
    }).pipe(answering("x")),
  )

  it.effect("are not written through a link", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink("/tmp", "/mem/logs")
      const { log } = yield* parts
      yield* log.add("a", ["one"])
      assert.deepStrictEqual(yield* fs.readDirectory("/tmp"), [])
    }).pipe(answering("x")),
  )

  const old = { "/mem/project_ci.md": memoryFile("ci", "2026-01-01", "CI is slow.") }
  const merged = {
    memories: [{ file: "project_ci.md", name: "ci", description: "CI", type: "project", content: "CI is fast." }],
  }

  it.effect("are merged into memories by one session alone", () =>
    Effect.gen(function* () {
      yield* noon
      const { log, memory } = yield* parts
      yield* log.add("a", ["CI was made fast"])
      yield* TestClock.adjust("25 hours")
      const files = yield* Files
      const busy = Effect.andThen(files.lock("memory consolidation /mem"), MemoryConsolidation.consolidate(memory, log))
      assert.strictEqual(yield* Effect.scoped(busy), 0)
      assert.deepStrictEqual(yield* asked, [])
      assert.strictEqual(yield* MemoryConsolidation.consolidate(memory, log), 1)
      assert.include(yield* memory.read("project_ci.md"), "CI is fast.")
      const [question] = yield* asked
      assert.include(question?.prompt, "CI is slow.")
      assert.include(question?.prompt, "- 2026-11-18 [a] CI was made fast")
      assert.strictEqual(yield* MemoryConsolidation.consolidate(memory, log), 0)
    }).pipe(answering(merged, old)),
  )

  it.effect("stay as they are when the model gives no answer", () =>
    Effect.gen(function* () {
      yield* noon
      const { log, memory } = yield* parts
      yield* log.add("a", ["CI was made fast"])
      yield* TestClock.adjust("25 hours")
      assert.strictEqual(yield* MemoryConsolidation.consolidate(memory, log), 0)
      assert.isTrue(yield* log.isDue)
    }).pipe(answering("no", old)),
  )
})
