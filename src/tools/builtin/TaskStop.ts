/** Owns ending a background task, with everything it started. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ending } from "../Task.ts"
import * as Tasks from "../Tasks.ts"
import * as Tool from "../Tool.ts"
import { failure, type Services } from "./Source.ts"
import { taskOf } from "./TaskLookup.ts"

const Input = Schema.Struct({
  task_id: Schema.optionalKey(Schema.String.annotate({ description: "The id of the task" })),
  shell_id: Schema.optionalKey(Schema.String.annotate({ description: "Deprecated: use task_id" })),
})
type Input = typeof Input.Type

const Output = Schema.Struct({
  message: Schema.String,
  task_id: Schema.String,
  task_type: Schema.Literals(["local_bash", "monitor"]),
  command: Schema.String,
})

const idOf = (input: Input): string => input.task_id ?? input.shell_id ?? ""

const leftSomething = (notes: ReadonlyArray<string>): boolean => notes.some((note) => note.includes("left processes"))

export const TaskStop = Tool.make<Input, Services, typeof Output.Type>({
  name: "TaskStop",
  aliases: ["KillShell", "KillBash"],
  description:
    "Stops a background task by its id, with everything it started: politely first, by force two seconds later. Also ends what a task that is over has left running.",
  input: Input,
  output: Output,
  // Stopping twice is stopping once.
  idempotency: "idempotent",
  enabled: Tasks.allowed,
  opinion: () => Effect.succeed({ behavior: "allow", reason: "it ends only what this session has started" }),
  summary: (input) => `TaskStop ${idOf(input)}`,
  validate: Effect.fnUntraced(function* (input) {
    if (idOf(input) === "") return yield* failure("task_id is missing: name the task.")
    yield* taskOf(idOf(input))
  }),
  run: Effect.fnUntraced(function* (input) {
    const tasks = yield* Tasks.Tasks
    const id = idOf(input)
    const before = yield* taskOf(id)
    if (before.status !== "running" && !leftSomething(before.notes)) {
      return yield* failure(
        `The task ${id} is over already: it ${ending(before)}. Its output is in ${before.outputFile}`,
      )
    }
    yield* tasks.stop(id)
    const task = yield* taskOf(id)
    tasks.told(id)
    const message =
      before.status === "running" && task.status === "killed"
        ? `Successfully stopped task: ${id} (${task.command})`
        : `The task ${id} was over (it ${ending(task)}); what it had left running is ended.`
    return { content: message, structured: { message, task_id: id, task_type: task.type, command: task.command } }
  }),
  show: { result: ({ message }) => message },
})
