/**
 * Owns waiting without sleeping: for a line or the end of a background task, for a file to change, or, with a script of its own
 * that goes on in the background, for whatever that prints.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Host } from "../../platform/Host.ts"
import { ending } from "../Task.ts"
import * as Tasks from "../Tasks.ts"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import { failure, type Services, touched } from "./Source.ts"
import { checkPattern, matching, remarks, taskOf } from "./TaskLookup.ts"

const usual = 300_000
const longestWait = 600_000
const longestWatch = 1_800_000

const Input = Schema.Struct({
  description: Schema.optionalKey(Schema.String.annotate({ description: "What is waited for, in a few words" })),
  task_id: Schema.optionalKey(Schema.String.annotate({ description: "Wait for this background task" })),
  pattern: Schema.optionalKey(
    Schema.String.check(Schema.isNonEmpty()).annotate({
      description: "With task_id: until it prints a line that matches this regular expression, or ends",
    }),
  ),
  path: Schema.optionalKey(
    Schema.String.annotate({ description: "Wait until this file or directory appears, changes or goes" }),
  ),
  command: Schema.optionalKey(
    Schema.String.check(Schema.isNonEmpty()).annotate({
      description: "A script for bash that goes on in the background; each line it prints on stdout is told to you",
    }),
  ),
  timeout_ms: Schema.optionalKey(
    Schema.Finite.check(Schema.isGreaterThan(0)).annotate({
      description: `The limit in milliseconds (default ${usual}; at most ${longestWait} to wait, ${longestWatch} for a command)`,
    }),
  ),
  persistent: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "With command: no limit, until TaskStop or the end of the session" }),
  ),
})
type Input = typeof Input.Type

/** A watch that goes on, or a wait that is over. */
const Output = Schema.Union([
  Schema.Struct({
    taskId: Schema.String,
    timeoutMs: Schema.Finite,
    persistent: Schema.optionalKey(Schema.Boolean),
    outputFile: Schema.String,
  }),
  Schema.Struct({
    outcome: Schema.Literals(["matched", "ended", "timeout"]),
    taskId: Schema.String,
    status: Schema.Literals(["running", "completed", "failed", "killed"]),
    output: Schema.String,
  }),
  Schema.Struct({ outcome: Schema.Literals(["changed", "timeout"]), filePath: Schema.String }),
])
type Answer = Tool.ToolOutput<typeof Output.Type>

const description = `Waits for something instead of sleeping. Name exactly one of task_id, path and command.
- task_id waits for a background task: with pattern until it prints a matching line, else until it ends. Only output that was not returned before counts.
- path waits until a file or directory appears, changes or goes.
- command starts a script in the background and returns at once; each line it prints on stdout is told to you between your steps, and so is its end. Let it print only what matters, as in: tail -n0 -F app.log | grep --line-buffered ERROR. To wait for a condition: until <check>; do sleep 2; done; echo ready
- When the limit passes, you are told so; call again if it still matters.`

const limitOf = (input: Input): number => input.timeout_ms ?? usual

const validate = Effect.fnUntraced(function* (input: Input) {
  const given = [input.task_id, input.path, input.command].filter((one) => one !== undefined).length
  if (given !== 1) return yield* failure("Name exactly one of task_id, path and command.")
  if (input.pattern !== undefined && input.task_id === undefined) {
    return yield* failure("pattern needs a task_id: it is looked for in the output of a background task.")
  }
  if (input.command?.includes("\0")) {
    return yield* failure("The command contains a NUL character, which no shell can take.")
  }
  const most = input.command === undefined ? longestWait : longestWatch
  if (limitOf(input) > most) {
    return yield* failure(
      `timeout_ms is ${input.timeout_ms} and may be at most ${most}. Wait again when it has passed.`,
    )
  }
  if (input.task_id !== undefined) yield* taskOf(input.task_id)
  if (input.pattern !== undefined) yield* checkPattern(input.pattern)
})

export const Monitor = Tool.make<Input, Services, typeof Output.Type>({
  name: "Monitor",
  description,
  input: Input,
  output: Output,
  enabled: Tasks.allowed,
  readOnly: (input) => input.command === undefined,
  concurrencySafe: (input) => input.command === undefined,
  summary: (input) => `Monitor ${input.description ?? input.command ?? input.path ?? input.task_id ?? ""}`,
  effects: Effect.fnUntraced(function* (input) {
    if (input.command !== undefined) return { executes: input.command }
    return input.path === undefined ? {} : { reads: yield* touched(input.path) }
  }),
  validate,
  run: Effect.fnUntraced(function* (input, call) {
    yield* validate(input)
    if (input.command !== undefined) return yield* watch(input, input.command, call.toolUseId)
    if (input.path !== undefined) return yield* untilChanged(input.path, limitOf(input), call)
    return yield* untilTask(input.task_id ?? "", input.pattern, limitOf(input))
  }),
  show: {
    result: (output) =>
      "timeoutMs" in output
        ? `Monitor started (task ${output.taskId})`
        : "filePath" in output
          ? `${output.filePath}: ${output.outcome}`
          : `${output.outcome}${output.output === "" ? "" : `\n${output.output.trimEnd()}`}`,
  },
})

const watch = Effect.fnUntraced(function* (input: Input, command: string, toolUseId: string) {
  const tasks = yield* Tasks.Tasks
  const workspace = yield* Workspace
  const host = yield* Host
  const persistent = input.persistent ?? false
  const task = yield* tasks
    .start({
      type: "monitor",
      command,
      description: input.description,
      toolUseId,
      cwd: workspace.cwd(),
      env: { ...host.allEnv, CLAUDECODE: "1", GIT_EDITOR: "true" },
      timeout: persistent ? undefined : limitOf(input),
    })
    .pipe(Effect.mapError((error) => failure(error.message)))
  const until = persistent ? "persistent, until TaskStop" : `expires in ${limitOf(input) / 1000} s`
  const answer: Answer = {
    content: `Monitor started (task ${task.id}, ${until}). What it prints is told to you as it comes; go on meanwhile.`,
    structured: {
      taskId: task.id,
      timeoutMs: persistent ? 0 : limitOf(input),
      ...(persistent && { persistent }),
      outputFile: task.outputFile,
    },
  }
  return answer
})

const often = "100 millis"
const pieceBytes = 1024 * 1024
const maxBytes = 28_000

const untilTask = Effect.fnUntraced(function* (id: string, pattern: string | undefined, limit: number) {
  const tasks = yield* Tasks.Tasks
  const found = yield* Effect.timeoutOption(
    pattern === undefined ? Effect.as(tasks.ended(id), undefined) : firstMatch(id, pattern),
    limit,
  )
  const task = yield* taskOf(id)
  const isOver = task.status !== "running"
  if (isOver) tasks.told(id)
  const line = Option.getOrUndefined(found)
  if (line !== undefined) {
    return taskAnswer("matched", id, task.status, `The task ${id} ${ending(task)} and has printed:`, line)
  }
  const news = yield* tasks.read(id, maxBytes)
  const output = [...remarks(task, news), news.text.trimEnd()].filter((part) => part !== "").join("\n")
  if (isOver) {
    const without = pattern === undefined ? "" : " without a line that matches"
    return taskAnswer("ended", id, task.status, `The task ${id} ${ending(task)}${without}.`, output)
  }
  const what = pattern === undefined ? "has not ended" : "has printed no line that matches"
  return taskAnswer("timeout", id, task.status, `In ${limit / 1000} s the task ${id} ${what}; it still runs.`, output)
})

const taskAnswer = (
  outcome: "matched" | "ended" | "timeout",
  taskId: string,
  status: "running" | "completed" | "failed" | "killed",
  first: string,
  output: string,
): Answer => ({
  content: output === "" ? first : `${first}\n${output}`,
  structured: { outcome, taskId, status, output },
})

/** The first line since the last look that matches; `undefined` when the task ended without one. */
const firstMatch = Effect.fnUntraced(function* (id: string, pattern: string) {
  const tasks = yield* Tasks.Tasks
  let from: number | undefined
  while (true) {
    // Asked first: what it printed last must still be looked at.
    const isOver = tasks.find(id)?.status !== "running"
    const piece = yield* tasks.lines(id, pieceBytes, from)
    const [line] = piece.text === "" ? [] : yield* matching(pattern, piece.text)
    if (line !== undefined) {
      tasks.seen(id, endOf(piece.text, line, piece.from))
      return line.length > maxBytes ? `${line.slice(0, maxBytes)}…` : line
    }
    from = piece.to
    if (piece.more) continue
    if (isOver) return undefined
    yield* Effect.sleep(often)
  }
})

/** Behind a line of a text that begins at a place in a file. */
const endOf = (text: string, line: string, from: number): number => {
  const before = text.slice(0, text.indexOf(line) + line.length + 1)
  return from + new TextEncoder().encode(before).length
}

const untilChanged = Effect.fnUntraced(function* (given: string, limit: number, call: Tool.ToolCall) {
  const workspace = yield* Workspace
  const path = workspace.resolve(given)
  const first = yield* looks(path)
  yield* call.progress(`Waiting for a change of ${workspace.relative(path)}`)
  const deadline = (yield* Clock.currentTimeMillis) + limit
  while ((yield* Clock.currentTimeMillis) < deadline) {
    const now = yield* looks(path)
    if (now !== first) {
      const how = first === "" ? "has appeared" : now === "" ? "is gone" : "has changed"
      return fileAnswer("changed", path, `${path} ${how}.`)
    }
    yield* Effect.sleep(often)
  }
  return fileAnswer("timeout", path, `In ${limit / 1000} s ${path} has not changed.`)
})

const fileAnswer = (outcome: "changed" | "timeout", filePath: string, content: string): Answer => ({
  content,
  structured: { outcome, filePath },
})

/** What tells one state of a file from another; empty when nothing is there. */
const looks = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* Effect.option(fs.stat(path))
  if (info._tag === "None") return ""
  const { mtime, size, ino, type } = info.value
  const time = Option.match(mtime, { onNone: () => 0, onSome: (date) => date.getTime() })
  return [type, time, Number(size), Option.getOrElse(ino, () => 0n)].join(" ")
})
