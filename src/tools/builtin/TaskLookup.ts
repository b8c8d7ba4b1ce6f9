/** Owns what the tools for background tasks share: finding one by its id, its output in words, lines that match a pattern. */
import * as Effect from "effect/Effect"
import { Ripgrep } from "../../platform/Ripgrep.ts"
import type { Task } from "../Task.ts"
import * as Tasks from "../Tasks.ts"
import { Workspace } from "../Workspace.ts"
import { failure } from "./Source.ts"

export const taskOf = Effect.fnUntraced(function* (id: string) {
  const tasks = yield* Tasks.Tasks
  const task = tasks.find(id)
  if (task !== undefined) return task
  const running = tasks.list().filter(({ status }) => status === "running")
  const known =
    running.length === 0
      ? "No background task is running."
      : `Running are:\n${running.map((one) => `${one.id}: ${one.description}`).join("\n")}`
  return yield* failure(`There is no background task ${id} in this session. ${known}`)
})

/** What is not in the text, and where to find it. */
export const remarks = (task: Task, news: Tasks.News): ReadonlyArray<string> => [
  ...(news.skipped === 0
    ? []
    : [`[${news.skipped} bytes before this are not shown. The whole output is in ${task.outputFile}]`]),
  ...(news.problem === undefined ? [] : [`[The output file has not everything: ${news.problem}]`]),
]

/**
 * The lines that match, in order. By ripgrep: a pattern of the model must not be able to take for ever, and its engine needs time
 * in proportion to the text whatever the pattern is.
 */
export const matching = Effect.fnUntraced(function* (pattern: string, text: string) {
  const ripgrep = yield* Ripgrep
  const workspace = yield* Workspace
  const args = ["--text", "--no-line-number", "--no-filename", "-e", pattern, "-"]
  const found = yield* ripgrep
    .run(args, workspace.root, { stdin: text.endsWith("\n") || text === "" ? text : `${text}\n` })
    .pipe(Effect.mapError((error) => failure(`Cannot look for ${pattern}: ${error.message}`)))
  return found.lines
})

/** Finds a bad pattern before anything is waited for. */
export const checkPattern = (pattern: string) => Effect.asVoid(matching(pattern, ""))
