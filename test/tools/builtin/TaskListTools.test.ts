import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { promisify } from "node:util"
import { rolldown } from "rolldown"
import { ListTools } from "../../../src/tools/builtin/ListTools.ts"
import { TaskCreate, TaskGet, TaskList, TaskUpdate } from "../../../src/tools/builtin/TaskListTools.ts"
import { TodoWrite } from "../../../src/tools/builtin/TodoWrite.ts"
import { call, inWorkspace, refusal, said } from "./kit.ts"

const create = (subject: string, more: object = {}) =>
  call(TaskCreate, { subject, description: `do ${subject}`, ...more })

describe("the task list", () => {
  it.live("creates, shows, updates and lists tasks", () =>
    inWorkspace(({ config }) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* said(TaskList, {}), "No tasks found")
        const made = yield* create("one", { activeForm: "Doing one", metadata: { a: 1, b: 2 } })
        assert.strictEqual(made.content, "Task #1 created successfully: one")
        assert.deepStrictEqual(made.structured, { task: { id: "1", subject: "one", description: "do one" } })
        yield* create("two")
        const updated = yield* call(TaskUpdate, {
          taskId: "1",
          status: "in_progress",
          owner: "main",
          metadata: { a: null },
        })
        assert.strictEqual(updated.content, "Updated task #1 owner, metadata, status")
        assert.deepInclude(updated.structured, { success: true, statusChange: { from: "pending", to: "in_progress" } })
        yield* call(TaskUpdate, { taskId: "2", addBlockedBy: ["1"] })
        assert.strictEqual(yield* said(TaskList, {}), "#1 [in_progress] one (main)\n#2 [pending] two [blocked by #1]")
        assert.strictEqual(
          yield* said(TaskGet, { taskId: "1" }),
          "Task #1: one\nStatus: in_progress\nOwner: main\nDescription: do one\nBlocks: #2",
        )
        const file = JSON.parse(fs.readFileSync(path.join(config, "tasks", "session-1", "1.json"), "utf8"))
        assert.deepInclude(file, { id: "1", activeForm: "Doing one", blocks: ["2"], metadata: { b: 2 } })
        yield* call(TaskUpdate, { taskId: "1", status: "completed" })
        assert.include(yield* said(TaskList, {}), "#2 [pending] two")
        assert.notInclude(yield* said(TaskList, {}), "blocked")
        assert.match(yield* said(TaskUpdate, { taskId: "1", status: "completed" }), /was so already/)
      }),
    ),
  )

  it.live("deletes a task with every mention of it, and never gives its number again", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        yield* create("one")
        yield* create("two")
        yield* call(TaskUpdate, { taskId: "1", addBlocks: ["2"] })
        yield* call(TaskUpdate, { taskId: "2", status: "deleted" })
        yield* call(TaskUpdate, { taskId: "1", status: "deleted" })
        assert.match(String((yield* create("three")).content), /#3/)
        assert.strictEqual(yield* said(TaskGet, { taskId: "1" }), "Task not found")
      }),
    ),
  )

  it.live("refuses what is not there, and tasks that wait for themselves", () =>
    inWorkspace(({ config }) =>
      Effect.gen(function* () {
        assert.match(yield* refusal(TaskUpdate, { taskId: "1", status: "completed" }), /no task #1. The list is empty/)
        yield* create("one")
        assert.match(yield* refusal(TaskUpdate, { taskId: "../1" }), /There are: #1/)
        assert.match(yield* refusal(TaskUpdate, { taskId: "1", addBlocks: ["1"] }), /cannot wait for itself/)
        assert.match(yield* refusal(TaskUpdate, { taskId: "1", addBlocks: ["9"] }), /no task #9/)
        assert.match(yield* refusal(TaskUpdate, { taskId: "1", status: "done" }), /status/)
        assert.match(yield* refusal(TaskCreate, { subject: "" }), /subject/)
        fs.writeFileSync(path.join(config, "tasks", "session-1", "7.json"), "{ damaged")
        assert.strictEqual(yield* said(TaskList, {}), "#1 [pending] one")
      }),
    ),
  )

  it.live("is shared under a name from the environment, and loses no task when many are created at once", () =>
    inWorkspace(
      ({ config }) =>
        Effect.gen(function* () {
          yield* Effect.forEach(
            Array.from({ length: 20 }, (_, n) => n),
            (n) => create(`task ${n}`),
            { concurrency: "unbounded" },
          )
          const listed = yield* call(TaskList, {})
          const { tasks } = listed.structured as { readonly tasks: ReadonlyArray<{ readonly id: string }> }
          assert.deepStrictEqual(
            tasks.map(({ id }) => Number(id)),
            Array.from({ length: 20 }, (_, n) => n + 1),
          )
          assert.isTrue(fs.existsSync(path.join(config, "tasks", "our-list----x", "20.json")))
        }),
      { env: { CLAUDE_CODE_TASK_LIST_ID: "our/list/../x" } },
    ),
  )
})

describe("two processes with one task list", () => {
  it.live("lose nothing of each other", () =>
    inWorkspace(({ config }) =>
      Effect.promise(async () => {
        fs.mkdirSync(config)
        const file = path.join(config, "writer.mjs")
        const input = path.join(import.meta.dirname, "taskWriter.ts")
        const bundle = await rolldown({ input, platform: "node", transform: { target: "node20" } })
        await bundle.write({ file, format: "esm", codeSplitting: false })
        const run = (name: string) => promisify(execFile)(process.execPath, [file, config, name])
        await Promise.all([run("a"), run("b")])
        const directory = path.join(config, "tasks", "shared")
        const names = fs.readdirSync(directory).filter((name) => name.endsWith(".json"))
        const subjects = names.map((name) => JSON.parse(fs.readFileSync(path.join(directory, name), "utf8")).subject)
        assert.strictEqual(new Set(subjects).size, 20)
        assert.strictEqual(names.length, 20)
      }),
    ),
  )
})

describe("TodoWrite", () => {
  it.live("replaces the whole list and tells the one before", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const todo = (status: string) => ({ content: "Run", status, activeForm: "Running" })
        const first = yield* call(TodoWrite, { todos: [todo("pending")] })
        assert.deepStrictEqual(first.structured, { oldTodos: [], newTodos: [todo("pending")] })
        const second = yield* call(TodoWrite, { todos: [todo("completed")] })
        assert.deepStrictEqual(second.structured, { oldTodos: [todo("pending")], newTodos: [todo("completed")] })
        const third = yield* call(TodoWrite, { todos: [] })
        assert.deepStrictEqual(third.structured, { oldTodos: [], newTodos: [] })
        assert.match(yield* refusal(TodoWrite, { todos: [{ ...todo("pending"), status: "done" }] }), /status/)
        assert.match(yield* refusal(TodoWrite, { todos: [{ content: "a", status: "pending" }] }), /activeForm/)
        assert.match(yield* refusal(TodoWrite, { todos: [{ ...todo("pending"), content: "" }] }), /content/)
      }),
    ),
  )
})

describe("the list tools", () => {
  it.live("are offered one family at a time, to models that profit or when somebody asks", () =>
    Effect.gen(function* () {
      const offered = (model: string, env: Record<string, string> = {}) =>
        inWorkspace(() => Effect.all([TaskCreate.enabled, TodoWrite.enabled]), {
          env,
          controls: { model, permissionMode: "default" },
        })
      for (const model of ["claude-sonnet-4-5", "claude-opus-4-7", "claude-haiku-4-5", "claude-sonnet-4-6"]) {
        assert.deepStrictEqual(yield* offered(model), [true, false], model)
        assert.deepStrictEqual(yield* offered(model, { CLAUDE_CODE_ENABLE_TASKS: "0" }), [false, true], model)
      }
      for (const model of ["claude-opus-4-8", "sonnet", "opus", "haiku", "unheard-of"]) {
        assert.deepStrictEqual(yield* offered(model), [false, false], model)
        assert.deepStrictEqual(yield* offered(model, { CLAUDE_CODE_ENABLE_TODO_TOOLS: "1" }), [true, false], model)
      }
      const asked = inWorkspace(() => TaskCreate.enabled.pipe(Effect.provideService(ListTools, "present")))
      assert.isTrue(yield* asked)
    }),
  )
})
