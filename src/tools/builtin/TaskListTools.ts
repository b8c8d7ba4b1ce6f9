/** Owns the four tools of the task list: create, get, update, list. The list itself is `TaskStore`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { HookEngine } from "../../hooks/HookEngine.ts"
import * as Tool from "../Tool.ts"
import { family } from "./ListTools.ts"
import { failure, type Services } from "./Source.ts"
import * as TaskStore from "./TaskStore.ts"

const Words = Schema.String.check(Schema.isNonEmpty())
const Metadata = Schema.Record(Schema.String, Schema.Unknown)
const Ids = Schema.Array(Schema.String)

/** They change a list of their own, nothing of the user's: nobody has to be asked. */
const common = { readOnly: true, deferred: true, enabled: Effect.map(family, (kind) => kind === "tasks") } as const

const unknown = (id: string) =>
  Effect.map(TaskStore.all, (tasks) => {
    const known = tasks.map((task) => `#${task.id}`).join(", ")
    return failure(`There is no task #${id}. ${known === "" ? "The list is empty." : `There are: ${known}.`}`)
  })

/** A hook may keep a task from being created or closed; the model is told why. */
const heard = Effect.fnUntraced(function* (
  event: "TaskCreated" | "TaskCompleted",
  { description, id, subject }: Pick<TaskStore.Task, "id" | "subject" | "description">,
) {
  const { concerns, fire } = yield* HookEngine
  if (!concerns(event)) return
  const { block } = yield* fire(event, { task_id: id, task_subject: subject, task_description: description })
  if (block !== undefined) return yield* failure(block.reason)
})

const CreateInput = Schema.Struct({
  subject: Words.annotate({ description: "Short title, as an order: Fix the login" }),
  description: Schema.String.annotate({ description: "What has to be done" }),
  activeForm: Schema.optionalKey(Schema.String.annotate({ description: "While it is done: Fixing the login" })),
  metadata: Schema.optionalKey(Metadata),
})
const Created = Schema.Struct({
  task: Schema.Struct({ id: Schema.String, subject: Schema.String, description: Schema.String }),
})

export const TaskCreate = Tool.make<typeof CreateInput.Type, Services, typeof Created.Type>({
  ...common,
  name: "TaskCreate",
  description:
    "Adds a task to the session's list, pending. For work of three or more steps, or when the user gives several tasks.",
  input: CreateInput,
  output: Created,
  idempotency: "once",
  summary: (input) => `TaskCreate ${input.subject}`,
  run: ({ subject, description, activeForm, metadata }) =>
    TaskStore.alone(
      Effect.gen(function* () {
        const id = yield* TaskStore.nextId
        yield* heard("TaskCreated", { id, subject, description })
        yield* TaskStore.save({
          id,
          subject,
          description,
          ...(activeForm !== undefined && { activeForm }),
          status: "pending",
          blocks: [],
          blockedBy: [],
          ...(metadata !== undefined && { metadata }),
        })
        return {
          content: `Task #${id} created successfully: ${subject}`,
          structured: { task: { id, subject, description } },
        }
      }),
    ),
})

const GetInput = Schema.Struct({ taskId: Schema.String })
const Got = Schema.Struct({
  task: Schema.NullOr(
    Schema.Struct({
      id: Schema.String,
      subject: Schema.String,
      description: Schema.String,
      status: TaskStore.Status,
      blocks: Ids,
      blockedBy: Ids,
    }),
  ),
})

export const TaskGet = Tool.make<typeof GetInput.Type, Services, typeof Got.Type>({
  ...common,
  name: "TaskGet",
  description: "Shows one task of the list with its description and what it waits for.",
  input: GetInput,
  output: Got,
  concurrencySafe: true,
  summary: (input) => `TaskGet #${input.taskId}`,
  run: Effect.fnUntraced(function* ({ taskId }) {
    const task = yield* TaskStore.find(taskId)
    if (task === undefined) return { content: "Task not found", structured: { task: null } }
    const { id, subject, description, status, blocks, blockedBy } = task
    const hashes = (ids: ReadonlyArray<string>) => ids.map((one) => `#${one}`).join(", ")
    return {
      content: [
        `Task #${id}: ${subject}`,
        `Status: ${status}`,
        ...(task.owner === undefined ? [] : [`Owner: ${task.owner}`]),
        `Description: ${description}`,
        ...(blockedBy.length === 0 ? [] : [`Blocked by: ${hashes(blockedBy)}`]),
        ...(blocks.length === 0 ? [] : [`Blocks: ${hashes(blocks)}`]),
      ].join("\n"),
      structured: { task: { id, subject, description, status, blocks, blockedBy } },
    }
  }),
})

const UpdateInput = Schema.Struct({
  taskId: Schema.String,
  subject: Schema.optionalKey(Words),
  description: Schema.optionalKey(Schema.String),
  activeForm: Schema.optionalKey(Schema.String),
  status: Schema.optionalKey(
    Schema.Literals(["pending", "in_progress", "completed", "deleted"]).annotate({
      description: "in_progress when you begin; completed only when it is fully done",
    }),
  ),
  addBlocks: Schema.optionalKey(Ids.annotate({ description: "Tasks that wait for this one" })),
  addBlockedBy: Schema.optionalKey(Ids.annotate({ description: "Tasks that this one waits for" })),
  owner: Schema.optionalKey(Schema.String),
  metadata: Schema.optionalKey(Metadata.annotate({ description: "Merged in; null removes a key" })),
})
type Update = typeof UpdateInput.Type
const Updated = Schema.Struct({
  success: Schema.Boolean,
  taskId: Schema.String,
  updatedFields: Schema.Array(Schema.String),
  error: Schema.optionalKey(Schema.String),
  statusChange: Schema.optionalKey(Schema.Struct({ from: Schema.String, to: Schema.String })),
})

export const TaskUpdate = Tool.make<Update, Services, typeof Updated.Type>({
  ...common,
  name: "TaskUpdate",
  description: "Changes a task of the list: its status, words, owner, or what it waits for. Status deleted removes it.",
  input: UpdateInput,
  output: Updated,
  idempotency: "idempotent",
  summary: (input) => `TaskUpdate #${input.taskId}${input.status === undefined ? "" : ` ${input.status}`}`,
  run: (input) => TaskStore.alone(update(input)),
})

const update = Effect.fnUntraced(function* (input: Update) {
  const { taskId } = input
  const task = yield* TaskStore.find(taskId)
  if (task === undefined) return yield* yield* unknown(taskId)
  if (input.status === "deleted") {
    yield* TaskStore.remove(taskId)
    const statusChange = { from: task.status, to: "deleted" }
    return {
      content: `Updated task #${taskId} deleted`,
      structured: { success: true, taskId, updatedFields: ["deleted"], statusChange },
    }
  }
  const { addBlocks = [], addBlockedBy = [], metadata, status } = input
  // Both sides of a dependency know of it, and nothing waits for itself.
  const others = yield* Effect.forEach([...new Set([...addBlocks, ...addBlockedBy])], (id) =>
    Effect.gen(function* () {
      if (id === taskId) return yield* failure(`Task #${id} cannot wait for itself.`)
      return (yield* TaskStore.find(id)) ?? (yield* yield* unknown(id))
    }),
  )
  const fields = (["subject", "description", "activeForm", "owner"] as const).filter(
    (field) => input[field] !== undefined && input[field] !== task[field],
  )
  const merged = Object.entries({ ...task.metadata, ...metadata }).filter(([, value]) => value !== null)
  const next: TaskStore.Task = {
    ...task,
    ...Object.fromEntries(fields.map((field) => [field, input[field]])),
    ...(status !== undefined && { status }),
    blocks: union(task.blocks, addBlocks),
    blockedBy: union(task.blockedBy, addBlockedBy),
    ...(metadata !== undefined && { metadata: Object.fromEntries(merged) }),
  }
  if (status === "completed" && task.status !== "completed") yield* heard("TaskCompleted", next)
  for (const other of others) {
    yield* TaskStore.save({
      ...other,
      blocks: addBlockedBy.includes(other.id) ? union(other.blocks, [taskId]) : other.blocks,
      blockedBy: addBlocks.includes(other.id) ? union(other.blockedBy, [taskId]) : other.blockedBy,
    })
  }
  yield* TaskStore.save(next)
  const changed = status !== undefined && status !== task.status
  const updatedFields = [
    ...fields,
    ...(metadata === undefined ? [] : ["metadata"]),
    ...(changed ? ["status"] : []),
    ...(next.blocks.length > task.blocks.length ? ["blocks"] : []),
    ...(next.blockedBy.length > task.blockedBy.length ? ["blockedBy"] : []),
  ]
  return {
    content:
      updatedFields.length === 0
        ? `Task #${taskId} was so already`
        : `Updated task #${taskId} ${updatedFields.join(", ")}`,
    structured: {
      success: true,
      taskId,
      updatedFields,
      ...(changed && { statusChange: { from: task.status, to: status } }),
    },
  }
})

const union = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set([...a, ...b])]

/** Nothing; as a record, because the service wants an object. */
const ListInput = Schema.Record(Schema.String, Schema.Unknown)
const Listed = Schema.Struct({
  tasks: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      subject: Schema.String,
      status: TaskStore.Status,
      owner: Schema.optionalKey(Schema.String),
      blockedBy: Ids,
    }),
  ),
})

export const TaskList = Tool.make<typeof ListInput.Type, Services, typeof Listed.Type>({
  ...common,
  name: "TaskList",
  description: "Lists all tasks with their status and the open tasks they wait for.",
  input: ListInput,
  output: Listed,
  concurrencySafe: true,
  maxResultChars: 100_000,
  run: Effect.fnUntraced(function* () {
    const tasks = yield* TaskStore.all
    const done = new Set(tasks.filter((task) => task.status === "completed").map((task) => task.id))
    const rows = tasks.map(({ id, subject, status, owner, blockedBy }) => ({
      id,
      subject,
      status,
      ...(owner !== undefined && { owner }),
      blockedBy: blockedBy.filter((other) => !done.has(other)),
    }))
    const line = (row: (typeof rows)[number]) =>
      `#${row.id} [${row.status}] ${row.subject}${row.owner === undefined ? "" : ` (${row.owner})`}` +
      (row.blockedBy.length === 0 ? "" : ` [blocked by ${row.blockedBy.map((id) => `#${id}`).join(", ")}]`)
    return { content: rows.length === 0 ? "No tasks found" : rows.map(line).join("\n"), structured: { tasks: rows } }
  }),
})
