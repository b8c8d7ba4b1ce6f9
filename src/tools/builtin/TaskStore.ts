/**
 * Owns a list of tasks on disk: a file each, in a directory that several processes may share. Who changes anything holds the list's
 * lock; who only reads sees whole files, because each is replaced at once.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { Files } from "../../platform/Files.ts"
import { Host } from "../../platform/Host.ts"
import type { ToolFailure } from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import { failure } from "./Source.ts"

export const Status = Schema.Literals(["pending", "in_progress", "completed"])

export const Task = Schema.Struct({
  id: Schema.String,
  subject: Schema.String,
  description: Schema.String,
  activeForm: Schema.optionalKey(Schema.String),
  owner: Schema.optionalKey(Schema.String),
  status: Status,
  blocks: Schema.Array(Schema.String),
  blockedBy: Schema.Array(Schema.String),
  metadata: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
})
export type Task = typeof Task.Type

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Task))

type Needs = Files | Host | Path.Path | Workspace

/** A task's file has its number; whatever else lies there is not ours. */
const isId = (id: string): boolean => /^[1-9]\d{0,8}$/.test(id)

const place = Effect.gen(function* () {
  const host = yield* Host
  const paths = yield* Path.Path
  const { sessionId } = yield* Workspace
  const list = host.env("CLAUDE_CODE_TASK_LIST_ID") ?? sessionId
  // A name from the environment must not lead out of the directory.
  const directory = paths.join(host.configDir, "tasks", list.replaceAll(/[^\w-]/g, "-"))
  return {
    directory,
    at: (id: string) => paths.join(directory, `${id}.json`),
    mark: paths.join(directory, ".highwatermark"),
  }
})

/** One task; nothing where there is none, or its file is damaged. */
export const find = Effect.fnUntraced(function* (id: string) {
  if (!isId(id)) return undefined
  const fs = yield* FileSystem.FileSystem
  const { at } = yield* place
  const text = yield* fs.readFileString(at(id)).pipe(Effect.orElseSucceed(() => ""))
  return Option.getOrUndefined(decode(text))
})

/** By number. */
export const all = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const { directory } = yield* place
  const names = yield* fs.readDirectory(directory).pipe(Effect.orElseSucceed((): Array<string> => []))
  const ids = names.flatMap((name) => (name.endsWith(".json") && isId(name.slice(0, -5)) ? [name.slice(0, -5)] : []))
  const tasks = yield* Effect.forEach(ids, find, { concurrency: 16 })
  return tasks.flatMap((task) => task ?? []).sort((a, b) => Number(a.id) - Number(b.id))
})

/** Whoever else changes the list waits; for a few seconds at most. */
export const alone = <A, R>(
  work: Effect.Effect<A, ToolFailure, R>,
): Effect.Effect<A, ToolFailure, Exclude<R, Scope.Scope> | Needs> =>
  Effect.scoped(
    Effect.gen(function* () {
      const files = yield* Files
      const { directory } = yield* place
      yield* files.lock(`tasks ${directory}`).pipe(
        Effect.retry({
          schedule: Schedule.spaced("20 millis"),
          times: 250,
          while: (error) => error._tag === "LockBusy",
        }),
        Effect.mapError((error) => failure(`The task list cannot be changed now: ${error.message}`)),
      )
      return yield* work
    }),
  )

/** Only inside `alone`. */
export const save = Effect.fnUntraced(function* (task: Task) {
  const files = yield* Files
  const { at } = yield* place
  yield* files
    .writeAtomic(at(task.id), `${JSON.stringify(task, undefined, 2)}\n`, { mode: 0o600, makeParents: true })
    .pipe(Effect.mapError((error) => failure(`The task list cannot be written: ${error.message}`)))
})

/** A number that no task has or had. Only inside `alone`. */
export const nextId = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const files = yield* Files
  const { mark } = yield* place
  const marked = Number(yield* fs.readFileString(mark).pipe(Effect.orElseSucceed(() => "0"))) || 0
  const highest = (yield* all).reduce((top, { id }) => Math.max(top, Number(id)), marked)
  const id = String(highest + 1)
  yield* files
    .writeAtomic(mark, id, { mode: 0o600, makeParents: true })
    .pipe(Effect.mapError((error) => failure(`The task list cannot be written: ${error.message}`)))
  return id
})

/** And every mention of it. Only inside `alone`. */
export const remove = Effect.fnUntraced(function* (id: string) {
  const fs = yield* FileSystem.FileSystem
  const { at } = yield* place
  for (const task of yield* all) {
    const blocks = task.blocks.filter((other) => other !== id)
    const blockedBy = task.blockedBy.filter((other) => other !== id)
    const mentions = blocks.length < task.blocks.length || blockedBy.length < task.blockedBy.length
    if (task.id !== id && mentions) yield* save({ ...task, blocks, blockedBy })
  }
  yield* fs.remove(at(id)).pipe(Effect.mapError((error) => failure(`Task ${id} cannot be deleted: ${error.message}`)))
})
