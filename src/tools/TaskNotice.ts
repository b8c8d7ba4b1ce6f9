/**
 * Owns what the model is told about a background task between two rounds, in the form that readers of transcripts know: a
 * `<task-notification>` with the task's id. The same form tells after a crash which tasks it has been told about.
 */
import { type Content, plainText } from "../protocol/Content.ts"
import { ending, type Task } from "./Task.ts"

/** Something to tell the model, once. */
export interface Notice {
  readonly taskId: string
  readonly text: string
}

/** A task has come to its end. */
export const ended = (task: Task): Notice =>
  notice(
    task,
    [tag("status", task.status), tag("summary", `${name(task)} ${ending(task)}`)],
    task.status === "killed" ? undefined : `Its output is in ${task.outputFile}`,
  )

/** A monitor's script has printed something. */
export const happened = (task: Task, lines: ReadonlyArray<string>, more: number): Notice => {
  const rest = more === 0 ? "" : `\n[${more} more lines are in ${task.outputFile}]`
  return notice(task, [tag("summary", `Monitor event: "${task.description}"`), tag("event", lines.join("\n") + rest)])
}

/** The task whose end these words report. */
export const reports = (content: Content): string | undefined => {
  const text = plainText(content)
  if (!text.startsWith("<task-notification>") || !/^<status>/m.test(text)) return undefined
  return /^<task-id>([^<]+)<\/task-id>$/m.exec(text)?.[1]
}

const name = (task: Task): string =>
  `${task.type === "monitor" ? "Monitor" : "Background command"} "${task.description}"`

const notice = (task: Task, facts: ReadonlyArray<string>, after?: string): Notice => ({
  taskId: task.id,
  text: [
    "<task-notification>",
    tag("task-id", task.id),
    ...(task.toolUseId === "" ? [] : [tag("tool-use-id", task.toolUseId)]),
    tag("output-file", task.outputFile),
    ...facts,
    "</task-notification>",
    ...(after === undefined ? [] : [after]),
  ].join("\n"),
})

/** What a command prints must not be able to end a notice and begin another. */
const tag = (of: string, text: string): string =>
  `<${of}>${text.replaceAll(/<(?=\/?(?:task-|tool-use-id|output-file|status|summary|event))/g, "&lt;")}</${of}>`
