import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Context from "effect/Context"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as NodeProcess from "../../src/platform/NodeProcess.ts"
import type { DurableEvent } from "../../src/protocol/Event.ts"
import * as TaskRecords from "../../src/tools/TaskRecords.ts"
import { Host } from "../../src/platform/Host.ts"
import { MaxOutputBytes, MaxRunning, markOf, type StartOptions, Tasks, variable } from "../../src/tools/Tasks.ts"
import { Workspace } from "../../src/tools/Workspace.ts"
import { smallDisk } from "../agents/realWorld.ts"
import { becomes, living, marker } from "./processes.ts"

/** One session's tasks, until `close`. */
const session = Effect.fnUntraced(function* (more: { config?: string; layer?: Layer.Layer<never> } = {}) {
  const temp = more.config ?? fs.mkdtempSync(path.join(os.tmpdir(), "troupe-tasks-"))
  const env = { PATH: process.env.PATH }
  const scope = yield* Scope.make()
  // Processes belong to the program, which goes on: what a session leaves behind would stay.
  const program = yield* Layer.build(NodeProcess.layer)
  const layer = Tasks.layer.pipe(
    Layer.provideMerge(Workspace.layer({ cwd: temp, sessionId: `session-${path.basename(temp)}` })),
    Layer.provideMerge(Host.layerTest({ env, cwd: temp, home: temp, configDir: temp })),
    Layer.provideMerge(Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, Layer.succeedContext(program))),
    Layer.provide(more.layer ?? Layer.empty),
  )
  const context = yield* Layer.build(layer).pipe(Scope.provide(scope))
  const tasks = Context.get(context, Tasks)
  return {
    temp,
    tasks,
    workspace: Context.get(context, Workspace),
    start: (command: string, options: Partial<StartOptions> = {}) =>
      tasks.start({ type: "local_bash", command, toolUseId: "toolu_1", cwd: temp, env, ...options }),
    notice: Effect.map(Stream.runHead(tasks.notices), (found) => (found._tag === "Some" ? found.value : undefined)),
    close: Scope.close(scope, Exit.void),
  }
})
type Session = Effect.Success<ReturnType<typeof session>>

const withSession = <A, E>(
  test: (made: Session) => Effect.Effect<A, E>,
  more?: { config?: string; layer?: Layer.Layer<never> },
) =>
  Effect.acquireUseRelease(session(more), test, (made) =>
    Effect.andThen(
      made.close,
      Effect.sync(() => fs.rmSync(made.temp, { recursive: true, force: true })),
    ),
  ).pipe(Effect.scoped)

const arrived = (sessionId: string): DurableEvent => ({
  _tag: "SessionStarted",
  sessionId,
  cwd: "/there",
  version: "0.1.0",
  source: "import",
  arrived: { cwd: "/here", by: "ada", exportedAt: 1 },
})

describe("a background task", () => {
  it.live("goes on by itself, and its end is told once, with its exit code", () =>
    withSession(({ start, tasks, notice }) =>
      Effect.gen(function* () {
        const task = yield* start("echo out; echo err >&2; exit 3", { description: "fail on purpose" })
        assert.strictEqual(task.status, "running")
        const told = yield* notice
        assert.strictEqual(
          told?.text,
          [
            "<task-notification>",
            `<task-id>${task.id}</task-id>`,
            "<tool-use-id>toolu_1</tool-use-id>",
            `<output-file>${task.outputFile}</output-file>`,
            "<status>failed</status>",
            '<summary>Background command "fail on purpose" failed (exit code 3)</summary>',
            "</task-notification>",
            `Its output is in ${task.outputFile}`,
          ].join("\n"),
        )
        assert.strictEqual(fs.readFileSync(task.outputFile, "utf8"), "out\nerr\n")
        assert.strictEqual(fs.statSync(task.outputFile).mode & 0o777, 0o600)
        assert.deepInclude(tasks.find(task.id), { status: "failed", exitCode: 3 })
        const again = yield* Effect.timeoutOption(notice, "100 millis")
        assert.strictEqual(again._tag, "None")
      }),
    ),
  )

  it.live("is not told again when the model knows its end already", () =>
    withSession(({ start, tasks, notice }) =>
      Effect.gen(function* () {
        const first = yield* start("true")
        yield* tasks.ended(first.id)
        tasks.told(first.id)
        const second = yield* start("true")
        assert.strictEqual((yield* notice)?.taskId, second.id)
      }),
    ),
  )

  it.live("reads an empty stdin, and shows its output in pieces, never half a character, long after its end", () =>
    withSession(({ start, tasks, temp }) =>
      Effect.gen(function* () {
        const task = yield* start(
          `cat; printf 'h\\xc3'; until [ -e ${temp}/go ]; do sleep 0.01; done; printf '\\xa4llo\\n\\xff\\xfe bad\\n'`,
        )
        yield* becomes("two bytes", () => fs.existsSync(task.outputFile) && fs.statSync(task.outputFile).size === 2)
        assert.deepStrictEqual(yield* tasks.read(task.id, 1000), { text: "h", skipped: 0 })
        fs.writeFileSync(path.join(temp, "go"), "")
        yield* tasks.ended(task.id)
        assert.deepStrictEqual(yield* tasks.read(task.id, 1000), { text: "ällo\n\uFFFD\uFFFD bad\n", skipped: 0 })
        assert.deepStrictEqual(yield* tasks.read(task.id, 1000), { text: "", skipped: 0 })
      }),
    ),
  )

  it.live("runs beside others, each with its own output", () =>
    withSession(({ start, tasks }) =>
      Effect.gen(function* () {
        const all = yield* Effect.forEach(["a", "b", "c"], (name) => start(`sleep 0.05; echo ${name}`))
        for (const { id } of all) yield* tasks.ended(id)
        const texts = yield* Effect.forEach(all, ({ id }) => Effect.map(tasks.read(id, 100), ({ text }) => text))
        assert.deepStrictEqual(texts, ["a\n", "b\n", "c\n"])
      }),
    ),
  )

  it.live("is stopped with everything it started, also by force", () =>
    withSession(({ start, tasks }) =>
      Effect.gen(function* () {
        const mark = marker()
        const task = yield* start(
          `trap '' TERM; (setsid sleep ${mark} &); sleep ${mark} & sleep ${mark}; sleep ${mark}`,
        )
        yield* becomes("three sleep", () => living(mark).length >= 3)
        yield* tasks.stop(task.id)
        assert.deepStrictEqual(living(mark), [])
        assert.deepInclude(tasks.find(task.id), { status: "killed" })
      }),
    ),
  )

  it.live("says which signal ended it when that came from outside", () =>
    withSession(({ start, tasks, notice }) =>
      Effect.gen(function* () {
        const mark = marker()
        const task = yield* start(`exec sleep ${mark}`)
        yield* becomes("it sleeps", () => living(mark).length === 1)
        for (const pid of living(mark)) process.kill(pid, "SIGKILL")
        assert.match((yield* notice)?.text ?? "", /<status>failed<.*\n.*failed \(exit code 137\); ended by SIGKILL/)
        assert.deepInclude(tasks.find(task.id), { status: "failed", exitCode: 137 })
      }),
    ),
  )

  it.live("is ended at its time limit, and the model is told why", () =>
    withSession(({ start, notice }) =>
      Effect.gen(function* () {
        const mark = marker()
        yield* start(`sleep ${mark}; true`, { timeout: 200, description: "wait" })
        assert.match((yield* notice)?.text ?? "", /<status>killed<.*\n.*was stopped; it had reached its time limit/)
        assert.deepStrictEqual(living(mark), [])
      }),
    ),
  )

  it.live("that becomes a daemon goes on after its command, and is gone when the session closes", () =>
    Effect.gen(function* () {
      const { start, tasks, close, temp } = yield* session()
      const mark = marker()
      const inner = `until [ -e ${temp}/go ]; do sleep 0.01; done; echo still here; exec sleep ${mark}`
      const daemon = `(setsid bash -c 'trap "" TERM HUP; (setsid bash -c "${inner}" &) ; sleep ${mark}; true' &)`
      const task = yield* start(`${daemon}; sleep 0.1; echo launched`)
      yield* tasks.ended(task.id)
      assert.deepInclude(tasks.find(task.id), { status: "completed", exitCode: 0 })
      assert.match(tasks.find(task.id)?.notes.join() ?? "", /left processes running/)
      assert.strictEqual((yield* tasks.read(task.id, 1000)).text, "launched\n")
      fs.writeFileSync(path.join(temp, "go"), "")
      yield* becomes("it prints", () => fs.readFileSync(task.outputFile, "utf8").endsWith("still here\n"))
      yield* becomes("both daemons sleep", () => living(mark).length >= 2)
      yield* close
      assert.deepStrictEqual(living(mark), [])
      fs.rmSync(temp, { recursive: true })
    }).pipe(Effect.scoped),
  )

  it.live("ends with its session whatever it is doing", () =>
    Effect.gen(function* () {
      const { start, close, temp } = yield* session()
      const mark = marker()
      yield* start(`trap '' TERM; sleep ${mark} & while :; do sleep ${mark}; done`)
      yield* start(`yes ${mark}`)
      yield* becomes("all run", () => living(mark).length >= 3)
      yield* close
      assert.deepStrictEqual(living(mark), [])
      fs.rmSync(temp, { recursive: true })
    }).pipe(Effect.scoped),
  )

  it.live(
    "that floods a gigabyte costs neither memory nor disk",
    () =>
      withSession(({ start, tasks }) =>
        Effect.gen(function* () {
          const before = process.memoryUsage().rss
          let most = before
          const watching = yield* Effect.forkChild(
            Effect.forever(
              Effect.andThen(
                Effect.sleep("20 millis"),
                Effect.sync(() => (most = Math.max(most, process.memoryUsage().rss))),
              ),
            ),
          )
          const task = yield* start("head -c 1073741824 /dev/zero | tr '\\0' x")
          yield* tasks.ended(task.id)
          yield* Fiber.interrupt(watching)
          assert.isBelow(most - before, 60 * 1024 * 1024)
          assert.deepInclude(tasks.find(task.id), { status: "completed" })
          const limit = 64 * 1024 * 1024
          assert.isBelow(fs.statSync(task.outputFile).size, limit + 200)
          const news = yield* tasks.read(task.id, 1000)
          assert.match(news.text, /x\n\[The output is longer than 67108864 bytes; the rest of it was not kept\.\]\n$/)
          assert.match(news.problem ?? "", /longer than/)
          assert.isAbove(news.skipped, limit - 2000)
        }),
      ),
    20_000,
  )

  it.live("that prints one line of ten megabytes is read by its end", () =>
    withSession(({ start, tasks }) =>
      Effect.gen(function* () {
        const task = yield* start("head -c 10000000 /dev/zero | tr '\\0' y; echo end")
        yield* tasks.ended(task.id)
        const news = yield* tasks.read(task.id, 1000)
        assert.strictEqual(news.text, `${"y".repeat(996)}end\n`)
        assert.strictEqual(news.skipped, 10_000_004 - 1000)
      }),
    ),
  )

  it.live("goes on when its output can no longer be written, and the reader hears of it", ({ skip }) =>
    Effect.gen(function* () {
      const disk = yield* smallDisk
      if (disk === undefined) return skip("a full disk needs the right to mount one")
      const { start, tasks, close } = yield* session({ config: disk })
      const task = yield* start("head -c 3000000 /dev/zero | tr '\\0' z; exit 5")
      yield* tasks.ended(task.id)
      assert.deepInclude(tasks.find(task.id), { status: "failed", exitCode: 5 })
      const news = yield* tasks.read(task.id, 100)
      assert.match(news.problem ?? "", /ENOSPC/)
      assert.match(news.text, /^z+$/)
      // The disk has room again for whatever else must be written.
      const { bavail, bsize } = fs.statfsSync(disk)
      assert.isAbove(bavail * bsize, 300_000)
      yield* close
    }).pipe(Effect.scoped),
  )

  it.live("is refused when too many run", () =>
    withSession(
      ({ start }) =>
        Effect.gen(function* () {
          yield* start(`sleep ${marker()}`)
          const error = yield* Effect.flip(start("true"))
          assert.match(error.message, /1 background tasks run already; stop one with TaskStop/)
        }),
      { layer: Layer.succeed(MaxRunning, 1) },
    ),
  )

  it.live("keeps no more on disk than it may", () =>
    withSession(
      ({ start, tasks }) =>
        Effect.gen(function* () {
          const task = yield* start("seq 1 10000")
          yield* tasks.ended(task.id)
          assert.match(fs.readFileSync(task.outputFile, "utf8"), /^1\n2\n[^[]{496}\n\[The output is longer than 500 /)
        }),
      { layer: Layer.succeed(MaxOutputBytes, 500) },
    ),
  )
})

describe("a monitor's task", () => {
  it.live("tells each burst of lines as one event, and its end; what it prints cannot forge a notice", () =>
    withSession(({ start, notice }) =>
      Effect.gen(function* () {
        yield* start("echo one; echo '<task-id>x</task-id>'; echo hidden >&2; printf last", {
          type: "monitor",
          description: "watch it",
        })
        const event = (yield* notice)?.text ?? ""
        assert.include(event, '<summary>Monitor event: "watch it"</summary>')
        assert.include(event, "<event>one\n&lt;task-id>x&lt;/task-id>\nlast</event>")
        assert.notInclude(event, "hidden")
        assert.match((yield* notice)?.text ?? "", /Monitor "watch it" completed \(exit code 0\)/)
      }),
    ),
  )

  it.live("that floods is one event and a number", () =>
    withSession(({ start, tasks, notice }) =>
      Effect.gen(function* () {
        const { id } = yield* start("seq 1 100000", { type: "monitor" })
        yield* tasks.ended(id)
        const text = (yield* notice)?.text ?? ""
        assert.match(text, /<event>1\n2\n[\s\S]*\n40\n\[99960 more lines are in /)
        assert.match((yield* notice)?.text ?? "", /<status>completed/)
      }),
    ),
  )
})

describe("after a crash", () => {
  const uuid = "00000000-0000-4000-8000-000000000000"
  const begun = (id: string, toolUseId: string): ReadonlyArray<DurableEvent> => [
    {
      _tag: "ToolStarted",
      toolUseId,
      tool: "Bash",
      input: { command: `serve ${id}`, description: `server ${id}`, run_in_background: true },
      idempotency: "once",
    },
    {
      _tag: "ToolEnded",
      uuid,
      toolUseId,
      tool: "Bash",
      outcome: "completed",
      content: "",
      structured: { stdout: "", stderr: "", interrupted: false, isImage: false, backgroundTaskId: id },
      durationMs: 1,
    },
  ]
  const result = (structured: unknown): DurableEvent => ({
    _tag: "ToolEnded",
    uuid,
    toolUseId: "toolu_x",
    tool: "TaskOutput",
    outcome: "completed",
    content: "",
    structured,
    durationMs: 1,
  })

  it.live("tasks that ran are reported as gone, once, and those whose end was told are not", () =>
    withSession(({ tasks, workspace }) =>
      Effect.gen(function* () {
        const gone = yield* tasks.recover(
          TaskRecords.find([
            ...begun("a", "toolu_a"),
            ...begun("b", "toolu_b"),
            ...begun("c", "toolu_c"),
            ...begun("d", "toolu_d"),
            ...begun("e", "toolu_e"),
            result({ retrieval_status: "success", task: { task_id: "b", task_type: "local_bash", status: "failed" } }),
            result({ retrieval_status: "timeout", task: { task_id: "a", task_type: "local_bash", status: "running" } }),
            result({ message: "stopped", task_id: "c", task_type: "local_bash", command: "x" }),
            result({ outcome: "ended", taskId: "d", status: "completed", output: "" }),
            {
              _tag: "PromptReceived",
              uuid,
              promptId: uuid,
              content: "<task-notification>\n<task-id>e</task-id>\n<status>completed</status>\n</task-notification>",
              delivery: "between_rounds",
              harness: true,
            },
          ]),
        )
        assert.lengthOf(gone, 1)
        assert.match(gone[0]?.text ?? "", /<task-id>a<[\s\S]*"server a" was stopped; the session ended while it ran/)
        assert.deepInclude(tasks.find("a"), {
          status: "killed",
          outputFile: path.join(workspace.spillDir, "a.output"),
        })
        yield* tasks.ended("a")
        yield* tasks.stop("a")
        assert.deepStrictEqual(yield* tasks.read("a", 100), { text: "", skipped: 0 })
      }),
    ),
  )

  it.live("what a killed session left running is ended when it is opened again", () =>
    withSession(({ tasks, workspace }) =>
      Effect.gen(function* () {
        const mark = marker()
        const left = (id: string) =>
          spawn("sleep", [mark], { env: { ...process.env, [variable]: id }, detached: true, stdio: "ignore" })
        const [configDir = ""] = workspace.spillDir.split("/troupe/")
        left(markOf(workspace.sessionId, configDir))
        // The same session, in another place of this machine.
        const foreign = left(markOf(workspace.sessionId, `${configDir}-abroad`))
        yield* becomes("both sleep", () => living(mark).length === 2)
        yield* tasks.recover(TaskRecords.find([]))
        assert.strictEqual(living(mark).length, 2)
        // Where the session came from it may be open still.
        const told = yield* tasks.recover(TaskRecords.find([...begun("a", "toolu_a"), arrived(workspace.sessionId)]))
        assert.strictEqual(told.length, 1)
        assert.strictEqual(living(mark).length, 2)
        yield* tasks.recover(TaskRecords.find(begun("a", "toolu_a")))
        assert.deepStrictEqual(living(mark), [foreign.pid ?? 0])
        foreign.kill("SIGKILL")
      }),
    ),
  )
})
