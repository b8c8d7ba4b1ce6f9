/** Calls of the built-in tools that are cut off: nothing is left half done, nothing goes on running. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import type { Model } from "../../../src/model/Model.ts"
import { FileMemory } from "../../../src/tools/FileMemory.ts"
import type { Tool } from "../../../src/tools/Tool.ts"
import { Tasks } from "../../../src/tools/Tasks.ts"
import { Edit } from "../../../src/tools/builtin/Edit.ts"
import { Glob } from "../../../src/tools/builtin/Glob.ts"
import { Grep } from "../../../src/tools/builtin/Grep.ts"
import { LS } from "../../../src/tools/builtin/LS.ts"
import { Monitor } from "../../../src/tools/builtin/Monitor.ts"
import { MultiEdit } from "../../../src/tools/builtin/MultiEdit.ts"
import { NotebookEdit } from "../../../src/tools/builtin/NotebookEdit.ts"
import { Read } from "../../../src/tools/builtin/Read.ts"
import type { Services } from "../../../src/tools/builtin/Source.ts"
import { TaskOutput } from "../../../src/tools/builtin/TaskOutput.ts"
import { WebSearch } from "../../../src/tools/builtin/WebSearch.ts"
import { Write } from "../../../src/tools/builtin/Write.ts"
import { becomes, living, marker } from "../processes.ts"
import { call, inWorkspace } from "./kit.ts"

/** Begins a call and cuts it off after so many steps of the event loop; whether it was cut off at all. */
const cutOff = Effect.fnUntraced(function* (tool: Tool<Services>, input: unknown, steps: number) {
  const fiber = yield* Effect.forkChild(call(tool, input), { startImmediately: true })
  for (let step = 0; step < steps && fiber.pollUnsafe() === undefined; step++) yield* tick
  yield* Fiber.interrupt(fiber)
  return Exit.hasInterrupts(yield* Fiber.await(fiber))
})

const tick = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))

const notebook = (source: string) =>
  JSON.stringify({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {},
    cells: [{ cell_type: "markdown", id: "a", metadata: {}, source }],
  })

const changes: ReadonlyArray<{
  readonly tool: Tool<Services>
  readonly name: string
  readonly before: string
  readonly input: (path: string) => Record<string, unknown>
  readonly isDone: (text: string) => boolean
}> = [
  {
    tool: Write,
    name: "a.txt",
    before: "old\n",
    input: (file_path) => ({ file_path, content: "new\n" }),
    isDone: (text) => text === "new\n",
  },
  {
    tool: Edit,
    name: "a.txt",
    before: "old\n",
    input: (file_path) => ({ file_path, old_string: "old", new_string: "new" }),
    isDone: (text) => text === "new\n",
  },
  {
    tool: MultiEdit,
    name: "a.txt",
    before: "old\n",
    input: (file_path) => ({
      file_path,
      edits: [
        { old_string: "old", new_string: "newer" },
        { old_string: "newer", new_string: "new" },
      ],
    }),
    isDone: (text) => text === "new\n",
  },
  {
    tool: NotebookEdit,
    name: "a.ipynb",
    before: notebook("old"),
    input: (notebook_path) => ({ notebook_path, cell_id: "a", new_source: "new" }),
    isDone: (text) => text.includes('"new"'),
  },
]

describe("a change that is cut off", () => {
  for (const { tool, name, before, input, isDone } of changes) {
    it.live(`${tool.name}: happened or did not, whenever that was, and the session knows which`, () =>
      inWorkspace(({ put, text, root }) =>
        Effect.gen(function* () {
          const memory = yield* FileMemory
          const seen = new Set<string>()
          for (let steps = 0; !seen.has("not cut off"); steps += 1 + Math.floor(steps / 10)) {
            const path = put(name, before)
            yield* call(Read, { file_path: path })
            const wasCut = yield* cutOff(tool, input(path), steps)
            const done = isDone(text(name))
            assert(done || text(name) === before, `after ${steps} steps: ${text(name)}`)
            assert.deepStrictEqual(fs.readdirSync(root), [name])
            // What it is believed to be is what it is: the next change needs no other look.
            const known = memory.known(path)?.hash
            yield* call(Read, { file_path: path })
            assert.strictEqual(known, memory.known(path)?.hash)
            seen.add(wasCut ? (done ? "cut off behind it" : "cut off before it") : "not cut off")
          }
          assert.isTrue(seen.has("cut off before it"))
        }),
      ),
    )
  }
})

describe("a call that reads and is cut off", () => {
  it.live("Read, LS, Glob and Grep can be asked again at once, whenever that was", () =>
    inWorkspace(({ put, root }) =>
      Effect.gen(function* () {
        for (let index = 0; index < 50; index++) put(`f${index}.txt`, "needle\n")
        const file_path = put("a.txt", "needle\n")
        const calls = [
          [Read, { file_path }],
          [LS, { path: root }],
          [Glob, { pattern: "*.txt" }],
          [Grep, { pattern: "needle" }],
        ] as const
        for (const [tool, input] of calls) {
          for (const steps of [0, 1, 2, 3, 5, 8, 13]) yield* cutOff(tool, input, steps)
          const { content } = yield* call(tool, input)
          assert.include(String(content), tool === Read ? "needle" : "f7.txt")
        }
        yield* becomes("no search is left", () => living(root).length === 0)
      }),
    ),
  )

  it.live("Grep ends the search that hangs", () =>
    inWorkspace(({ at }) =>
      Effect.gen(function* () {
        // Nobody ever writes into it.
        execFileSync("mkfifo", [at("pipe")])
        const pattern = `needle${marker()}`
        const fiber = yield* Effect.forkChild(call(Grep, { pattern, path: "pipe" }), { startImmediately: true })
        yield* becomes("the search runs", () => living(pattern).length === 1)
        yield* Fiber.interrupt(fiber)
        yield* becomes("the search is gone", () => living(pattern).length === 0)
      }),
    ),
  )

  it.live("TaskOutput and Monitor stop waiting, and the task goes on", () =>
    inWorkspace(({ root, at }) =>
      Effect.gen(function* () {
        const tasks = yield* Tasks
        const mark = marker()
        const { id } = yield* tasks.start({
          type: "local_bash",
          command: `sleep ${mark}`,
          description: undefined,
          toolUseId: "toolu_t",
          cwd: root,
          env: { PATH: process.env.PATH },
          timeout: undefined,
        })
        yield* becomes("it sleeps", () => living(mark).length > 0)
        const waits = [
          [TaskOutput, { task_id: id, block: true, timeout: 60_000 }],
          [Monitor, { task_id: id }],
          [Monitor, { task_id: id, pattern: "never" }],
          [Monitor, { path: at("never") }],
        ] as const
        for (const [tool, input] of waits) assert.isTrue(yield* cutOff(tool, input, 20), JSON.stringify(input))
        assert.strictEqual(tasks.find(id)?.status, "running")
        yield* tasks.stop(id)
      }),
    ),
  )

  it.live("WebSearch lets go of the service", () => {
    let open = 0
    const model: Model["Service"] = {
      stream: () =>
        Stream.unwrap(
          Effect.acquireRelease(
            Effect.sync(() => {
              open++
              return Stream.never
            }),
            () => Effect.sync(() => void open--),
          ),
        ),
    }
    return inWorkspace(
      () =>
        Effect.gen(function* () {
          const fiber = yield* Effect.forkChild(call(WebSearch, { query: "anything" }), { startImmediately: true })
          yield* becomes("it asks", () => open === 1)
          yield* Fiber.interrupt(fiber)
          assert.strictEqual(open, 0)
        }),
      { model },
    )
  })
})
