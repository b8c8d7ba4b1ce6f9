/** Owns looking at a background task: what it has printed since the last look, and how it stands. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ending, type Task } from "../Task.ts"
import * as Tasks from "../Tasks.ts"
import * as Tool from "../Tool.ts"
import { failure, type Services } from "./Source.ts"
import { checkPattern, matching, remarks, taskOf } from "./TaskLookup.ts"

const longest = 600_000

const Input = Schema.Struct({
  task_id: Schema.optionalKey(Schema.String.annotate({ description: "The id of the task" })),
  bash_id: Schema.optionalKey(Schema.String.annotate({ description: "Deprecated: use task_id" })),
  block: Schema.optionalKey(Schema.Boolean.annotate({ description: "Wait for its end (default true)" })),
  timeout: Schema.optionalKey(
    Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: longest })).annotate({
      description: `How long to wait at most, in milliseconds (default 30000, at most ${longest})`,
    }),
  ),
  filter: Schema.optionalKey(
    Schema.String.annotate({
      description: "A regular expression: only lines that match are returned, the others are passed over for good",
    }),
  ),
})
type Input = typeof Input.Type

const Output = Schema.Struct({
  retrieval_status: Schema.Literals(["success", "timeout", "not_ready"]),
  task: Schema.Struct({
    task_id: Schema.String,
    task_type: Schema.Literals(["local_bash", "monitor"]),
    status: Schema.Literals(["running", "completed", "failed", "killed"]),
    description: Schema.String,
    output: Schema.String,
    exitCode: Schema.optionalKey(Schema.Finite),
  }),
})

const description = `Returns what a background task has printed since the last time, and whether it still runs.
- By default it waits for the task's end, up to timeout. block: false only looks.
- What was returned once is not returned again; the whole output is in the file that was named when the task was started.
- To wait for a certain line rather than for the end, use Monitor.`

/** Kept of new output; with the facts around it the answer stays below the usual limit of a result. */
const maxBytes = 28_000
/** Looked at when only some lines are wanted. */
const maxFilteredBytes = 4 * 1024 * 1024

const idOf = (input: Input): string => input.task_id ?? input.bash_id ?? ""

export const TaskOutput = Tool.make<Input, Services, typeof Output.Type>({
  name: "TaskOutput",
  aliases: ["BashOutput", "BashOutputTool", "AgentOutputTool"],
  description,
  input: Input,
  output: Output,
  readOnly: true,
  concurrencySafe: true,
  enabled: Tasks.allowed,
  summary: (input) => `TaskOutput ${idOf(input)}`,
  validate: Effect.fnUntraced(function* (input) {
    if (idOf(input) === "") return yield* failure("task_id is missing: name the task.")
    yield* taskOf(idOf(input))
    if (input.filter !== undefined) yield* checkPattern(input.filter)
  }),
  run: Effect.fnUntraced(function* (input) {
    const tasks = yield* Tasks.Tasks
    const id = idOf(input)
    const waits = input.block ?? true
    yield* taskOf(id)
    if (waits) yield* Effect.timeoutOption(tasks.ended(id), input.timeout ?? 30_000)

    // How it stands comes first: what is printed between the two looks is news for the next one, not lost.
    const task = yield* taskOf(id)
    const news = yield* tasks.read(id, input.filter === undefined ? maxBytes : maxFilteredBytes)
    const shown = input.filter === undefined ? news.text : yield* filtered(input.filter, news.text)
    const isOver = task.status !== "running"
    if (isOver) tasks.told(id)
    const retrieval = isOver ? "success" : waits ? "timeout" : "not_ready"
    const output = [...remarks(task, news), shown.trimEnd()].filter((part) => part !== "").join("\n")
    return { content: said(retrieval, task, output), structured: structured(retrieval, task, shown) }
  }),
  show: { result: ({ task }) => task.output.trimEnd() || `(no new output, ${task.status})` },
})

const filtered = Effect.fnUntraced(function* (filter: string, text: string) {
  const lines = yield* matching(filter, text)
  const kept = lines.join("\n")
  return kept.length <= maxBytes ? kept : `[… matching lines before this are not shown]\n${kept.slice(-maxBytes)}`
})

const structured = (
  retrieval_status: typeof Output.Type.retrieval_status,
  { id, type, status, description, exitCode }: Task,
  output: string,
): typeof Output.Type => ({
  retrieval_status,
  task: {
    task_id: id,
    task_type: type,
    status,
    description,
    output,
    ...(exitCode !== undefined && { exitCode }),
  },
})

const said = (retrieval: string, task: Task, output: string): string =>
  [
    `<retrieval_status>${retrieval}</retrieval_status>`,
    `<task_id>${task.id}</task_id>`,
    `<task_type>${task.type}</task_type>`,
    `<status>${task.status}</status>`,
    ...(task.exitCode === undefined ? [] : [`<exit_code>${task.exitCode}</exit_code>`]),
    ...(task.notes.length === 0 ? [] : [`<note>It ${ending(task)}</note>`]),
    ...(output === "" ? ["(no new output)"] : [`<output>\n${output}\n</output>`]),
  ].join("\n\n")
