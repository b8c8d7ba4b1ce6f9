/** Owns what a background task is: a command that goes on while the model does something else, and how it stands. */

export type TaskStatus = "running" | "completed" | "failed" | "killed"

/** `monitor`: what it prints is told to the model line by line. */
export type TaskType = "local_bash" | "monitor"

export interface Task {
  readonly id: string
  readonly type: TaskType
  readonly command: string
  /** What it does, in the model's words; the command where it gave none. */
  readonly description: string
  /** The call that started it. */
  readonly toolUseId: string
  readonly outputFile: string
  readonly status: TaskStatus
  /** Of an ended one; 128 + n when a signal ended it. */
  readonly exitCode?: number
  /** What else there is to say about its end or its output. */
  readonly notes: ReadonlyArray<string>
}

/** `completed (exit code 0)`: how a task stands, for the end of a sentence. */
export const ending = (task: Task): string => {
  const code = task.exitCode === undefined || task.status === "killed" ? "" : ` (exit code ${task.exitCode})`
  const said = task.status === "killed" ? "was stopped" : task.status === "running" ? "is running" : task.status
  return [`${said}${code}`, ...task.notes].join("; ")
}
