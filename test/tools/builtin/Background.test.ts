/** Bash in the background with TaskOutput, TaskStop and Monitor: as a model uses them, on real processes. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import { background } from "../../../src/tools/builtin/Background.ts"
import { Bash } from "../../../src/tools/builtin/Bash.ts"
import { Monitor } from "../../../src/tools/builtin/Monitor.ts"
import { TaskOutput } from "../../../src/tools/builtin/TaskOutput.ts"
import { TaskStop } from "../../../src/tools/builtin/TaskStop.ts"
import { Tasks } from "../../../src/tools/Tasks.ts"
import { Workspace } from "../../../src/tools/Workspace.ts"
import { becomes, living, marker } from "../processes.ts"
import { call, inWorkspace, refusal, said } from "./kit.ts"

const Launched = Schema.decodeUnknownSync(
  Schema.Struct({ backgroundTaskId: Schema.String, rawOutputPath: Schema.String }),
)

const launch = Effect.fnUntraced(function* (command: string, more: object = {}) {
  const output = yield* call(Bash, { command, run_in_background: true, ...more })
  const { backgroundTaskId: id, rawOutputPath: file } = Launched(output.structured)
  return { id, file, content: String(output.content), structured: output.structured, display: output.display }
})

/** The id of the next task the model would be told about. */
const nextNotice = Effect.flatMap(Tasks, (tasks) => Stream.runHead(tasks.notices)).pipe(
  Effect.timeoutOption("100 millis"),
  Effect.map((found) => (found._tag === "Some" && found.value._tag === "Some" ? found.value.value.taskId : undefined)),
)

describe("Bash in the background", () => {
  it.live("answers at once with the task's id and the file its output goes to", () =>
    inWorkspace(({ at, root }) =>
      Effect.gen(function* () {
        const workspace = yield* Workspace
        const started = performance.now()
        const task = yield* launch(`pwd; cat; until [ -e ${at("go")} ]; do sleep 0.01; done; cd /; echo done`)
        assert.isBelow(performance.now() - started, 2000)
        assert.include(
          task.content,
          `Command running in background with ID: ${task.id}. Its output goes to ${task.file}`,
        )
        assert.isTrue(yield* workspace.contains(task.file))
        assert.deepStrictEqual(task.structured, {
          stdout: "",
          stderr: "",
          interrupted: false,
          isImage: false,
          backgroundTaskId: task.id,
          rawOutputPath: task.file,
        })
        assert.strictEqual(task.display, `Running in the background (${task.id})`)
        yield* becomes("it has printed", () => fs.readFileSync(task.file, "utf8") === `${root}\n`)
        fs.writeFileSync(at("go"), "")
        yield* (yield* Tasks).ended(task.id)
        assert.strictEqual(fs.readFileSync(task.file, "utf8"), `${root}\ndone\n`)
        assert.strictEqual(workspace.cwd(), root)
      }),
    ),
  )

  it.live("goes on when the call that started it is over, and the next ones are interrupted", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const mark = marker()
        const { id } = yield* launch(`sleep ${mark}`)
        const fiber = yield* Effect.forkChild(call(TaskOutput, { task_id: id, timeout: 60_000 }), {
          startImmediately: true,
        })
        yield* becomes("it sleeps", () => living(mark).length > 0)
        yield* Fiber.interrupt(fiber)
        assert.isNotEmpty(living(mark))
        yield* said(TaskStop, { task_id: id })
        assert.deepStrictEqual(living(mark), [])
      }),
    ),
  )

  it.live("may run for two hours, and not at all where background tasks are switched off", () =>
    Effect.gen(function* () {
      yield* inWorkspace(() =>
        Effect.gen(function* () {
          const long = { command: "true", run_in_background: true, timeout: 7_200_001 }
          assert.match(yield* refusal(Bash, long), /at most 7200000 ms/)
          yield* launch("true", { timeout: 7_200_000 })
        }),
      )
      yield* inWorkspace(
        () =>
          Effect.gen(function* () {
            assert.match(yield* refusal(Bash, { command: "true", run_in_background: true }), /switched off/)
            for (const tool of background) assert.isFalse(yield* tool.enabled)
          }),
        { env: { CLAUDE_CODE_DISABLE_BACKGROUND_TASKS: "1" } },
      )
    }),
  )

  it.live("does not run a command that only sleeps, and says what to use instead", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        for (const command of ["sleep 2", " sleep 30 ;", "sleep 1m", "sleep 1 1", "sleep 2.5s\n"]) {
          assert.match(yield* refusal(Bash, { command }), /only sleeps.*Monitor.*run_in_background/, command)
        }
        for (const command of ["sleep 0.01", "true; sleep 0.01", "sleep 0 && echo hi"]) yield* said(Bash, { command })
        const { id } = yield* launch("sleep 5")
        yield* said(TaskStop, { task_id: id })
        assert.isTrue(Bash.cascades)
      }),
    ),
  )
})

describe("TaskOutput", () => {
  it.live("returns what is new each time, and how the task stands", () =>
    inWorkspace(({ at }) =>
      Effect.gen(function* () {
        const { id, file } = yield* launch(`echo one; until [ -e ${at("go")} ]; do sleep 0.01; done; echo two; exit 4`)
        yield* becomes("it has printed", () => fs.readFileSync(file, "utf8") === "one\n")
        const first = yield* said(TaskOutput, { task_id: id, block: false })
        assert.strictEqual(
          first,
          `<retrieval_status>not_ready</retrieval_status>\n\n<task_id>${id}</task_id>\n\n<task_type>local_bash</task_type>\n\n` +
            "<status>running</status>\n\n<output>\none\n</output>",
        )
        assert.match(yield* said(TaskOutput, { task_id: id, timeout: 20 }), />timeout<.*\n[\s\S]*\(no new output\)$/)
        fs.writeFileSync(at("go"), "")
        const last = yield* call(TaskOutput, { task_id: id })
        assert.match(
          String(last.content),
          />success<[\s\S]*<status>failed<[\s\S]*<exit_code>4<[\s\S]*<output>\ntwo\n<\/output>$/,
        )
        assert.deepStrictEqual(last.structured, {
          retrieval_status: "success",
          task: {
            task_id: id,
            task_type: "local_bash",
            status: "failed",
            description: `echo one; until [ -e ${at("go")} ]; do sleep 0.01; done; echo two; exit 4`,
            output: "two\n",
            exitCode: 4,
          },
        })
        // The model knows: nobody tells it again.
        assert.isUndefined(yield* nextNotice)
        assert.match(yield* said(TaskOutput, { bash_id: id }), /<status>failed<[\s\S]*\(no new output\)$/)
      }),
    ),
  )

  it.live("shows the end of very long output and says where the rest is", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const { id, file } = yield* launch("seq 1 100000")
        const text = yield* said(TaskOutput, { task_id: id })
        assert.isBelow(text.length, TaskOutput.maxResultChars)
        assert.include(text, `[560895 bytes before this are not shown. The whole output is in ${file}]`)
        assert.match(text, /\n100000\n<\/output>$/)
      }),
    ),
  )

  it.live("returns only lines that match a filter, whatever the pattern would cost elsewhere", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const { id } = yield* launch("seq 1 12; printf 'a%.0s' {1..5000}; echo b")
        const text = yield* said(TaskOutput, { task_id: id, filter: "^1\\d$" })
        assert.match(text, /<output>\n10\n11\n12\n<\/output>$/)
        const slow = yield* launch("printf 'a%.0s' {1..5000}; echo b")
        const started = performance.now()
        assert.match(yield* said(TaskOutput, { task_id: slow.id, filter: "^(a+)+$" }), /no new output/)
        assert.isBelow(performance.now() - started, 3000)
        assert.match(yield* refusal(TaskOutput, { task_id: id, filter: "(" }), /not a valid regular expression/)
      }),
    ),
  )

  it.live("names the tasks that run when there is no such one", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        assert.match(yield* refusal(TaskOutput, { task_id: "nope" }), /no background task nope.*No background task is/)
        const { id } = yield* launch(`sleep ${marker()}`, { description: "wait a while" })
        assert.include(yield* refusal(TaskStop, { task_id: "../x" }), `Running are:\n${id}: wait a while`)
        assert.match(yield* refusal(TaskOutput, {}), /task_id is missing/)
        assert.match(yield* refusal(TaskOutput, { task_id: id, timeout: 600_001 }), /timeout/)
      }),
    ),
  )
})

describe("TaskStop", () => {
  it.live("ends a task, once, and says so", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const mark = marker()
        const { id } = yield* launch(`sleep ${mark}`)
        yield* becomes("it sleeps", () => living(mark).length > 0)
        const output = yield* call(TaskStop, { shell_id: id })
        const message = `Successfully stopped task: ${id} (sleep ${mark})`
        assert.strictEqual(output.content, message)
        assert.deepStrictEqual(output.structured, {
          message,
          task_id: id,
          task_type: "local_bash",
          command: `sleep ${mark}`,
        })
        assert.deepStrictEqual(living(mark), [])
        assert.isUndefined(yield* nextNotice)
        assert.match(yield* refusal(TaskStop, { task_id: id }), /is over already: it was stopped/)
        assert.match(yield* said(TaskOutput, { task_id: id }), /<status>killed</)
      }),
    ),
  )

  it.live("ends what a task that is over has left running", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const mark = marker()
        const { id } = yield* launch(`setsid sleep ${mark} & sleep 0.1`)
        assert.match(yield* said(TaskOutput, { task_id: id }), /completed[\s\S]*left processes running/)
        assert.isNotEmpty(living(mark))
        assert.match(yield* said(TaskStop, { task_id: id }), /was over .*what it had left running is ended/)
        assert.deepStrictEqual(living(mark), [])
      }),
    ),
  )
})

describe("Monitor", () => {
  it.live("waits for a line of a task, then for the next one, then for its end", () =>
    inWorkspace(({ at }) =>
      Effect.gen(function* () {
        const { id } = yield* launch(
          `echo boot; echo ready 1; until [ -e ${at("a")} ]; do sleep 0.01; done; echo noise; echo ready 2; ` +
            `until [ -e ${at("b")} ]; do sleep 0.01; done; echo bye`,
        )
        assert.match(yield* said(Monitor, { task_id: id, pattern: "^ready" }), /is running and has printed:\nready 1$/)
        const waiting = yield* Effect.forkChild(said(Monitor, { task_id: id, pattern: "^ready" }))
        fs.writeFileSync(at("a"), "")
        assert.match(yield* Fiber.join(waiting), /\nready 2$/)
        const late = yield* call(Monitor, { task_id: id, pattern: "never", timeout_ms: 50 })
        assert.match(String(late.content), /In 0\.05 s the task .* has printed no line that matches; it still runs\.$/)
        assert.deepStrictEqual(late.structured, { outcome: "timeout", taskId: id, status: "running", output: "" })
        fs.writeFileSync(at("b"), "")
        const end = yield* call(Monitor, { task_id: id, pattern: "never" })
        assert.match(String(end.content), /completed \(exit code 0\) without a line that matches\.\nbye$/)
        assert.deepInclude(end.structured, { outcome: "ended", status: "completed" })
        assert.isUndefined(yield* nextNotice)
        assert.match(yield* said(Monitor, { task_id: id }), /completed \(exit code 0\)\.$/)
      }),
    ),
  )

  it.live("finds a line far behind in a flood without an end of its own", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const { id } = yield* launch("head -c 5000000 /dev/zero | tr '\\0' x; echo; echo needle; seq 1 1000000")
        assert.match(yield* said(Monitor, { task_id: id, pattern: "^needle$" }), /\nneedle$/)
        assert.match(yield* said(Monitor, { task_id: id, pattern: "^999999$" }), /\n999999$/)
      }),
    ),
  )

  it.live("waits until a file appears, changes or goes", () =>
    inWorkspace(({ at, put }) =>
      Effect.gen(function* () {
        const change = Effect.fnUntraced(function* (change: () => void) {
          const looked = yield* Deferred.make<void>()
          const waiting = yield* Effect.forkChild(
            call(Monitor, { path: "a.txt" }, () => Deferred.doneUnsafe(looked, Effect.void)),
          )
          yield* Deferred.await(looked)
          change()
          return (yield* Fiber.join(waiting)).content
        })
        assert.strictEqual(yield* change(() => put("a.txt", "1")), `${at("a.txt")} has appeared.`)
        assert.strictEqual(yield* change(() => put("a.txt", "22")), `${at("a.txt")} has changed.`)
        assert.strictEqual(yield* change(() => fs.rmSync(at("a.txt"))), `${at("a.txt")} is gone.`)
        const late = yield* said(Monitor, { path: "a.txt", timeout_ms: 20 })
        assert.strictEqual(late, `In 0.02 s ${at("a.txt")} has not changed.`)
      }),
    ),
  )

  it.live("starts a script that tells what it prints, until its limit", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        const tasks = yield* Tasks
        const mark = marker()
        const output = yield* call(Monitor, { command: `echo event; sleep ${mark}`, description: "d", timeout_ms: 400 })
        const [task] = tasks.list()
        assert.match(String(output.content), /^Monitor started \(task monitor-\w+, expires in 0\.4 s\)/)
        assert.deepStrictEqual(output.structured, {
          taskId: task?.id,
          timeoutMs: 400,
          outputFile: task?.outputFile,
        })
        const [first, second] = yield* Stream.runCollect(Stream.take(tasks.notices, 2))
        assert.include(first?.text ?? "", "<event>event</event>")
        assert.include(second?.text ?? "", "was stopped; it had reached its time limit")
        assert.deepStrictEqual(living(mark), [])
      }),
    ),
  )

  it.live("asks permission for a script as Bash does, and reads otherwise", () =>
    inWorkspace(({ at }) =>
      Effect.gen(function* () {
        const script = yield* Monitor.decode({ command: "make", description: "build" })
        assert.isFalse(script.readOnly)
        assert.deepStrictEqual(yield* script.effects, { executes: "make" })
        const file = yield* Monitor.decode({ path: "x" })
        assert.isTrue(file.readOnly && file.concurrencySafe)
        assert.deepStrictEqual(yield* file.effects, { reads: [at("x")] })
      }),
    ),
  )

  it.live("refuses arguments that make no sense", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        assert.match(yield* refusal(Monitor, {}), /exactly one/)
        assert.match(yield* refusal(Monitor, { path: "a", command: "b" }), /exactly one/)
        assert.match(yield* refusal(Monitor, { path: "a", pattern: "b" }), /needs a task_id/)
        assert.match(yield* refusal(Monitor, { path: "a", timeout_ms: 600_001 }), /at most 600000/)
        assert.match(yield* refusal(Monitor, { command: "a", timeout_ms: 1_800_001 }), /at most 1800000/)
        assert.match(yield* refusal(Monitor, { command: "a\0" }), /NUL/)
        assert.match(yield* refusal(Monitor, { task_id: "none" }), /no background task none/)
        const { id } = yield* launch("true")
        assert.match(yield* refusal(Monitor, { task_id: id, pattern: "[" }), /not a valid regular expression/)
      }),
    ),
  )
})
