/** Owns what a journal knows of background tasks: those that were started and whose end nobody was told. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { DurableEvent } from "../protocol/Event.ts"
import * as TaskNotice from "./TaskNotice.ts"

/** A task that ran when the journal broke off. */
export const Lost = Schema.Struct({
  id: Schema.String,
  type: Schema.Literals(["local_bash", "monitor"]),
  command: Schema.String,
  description: Schema.String,
  toolUseId: Schema.String,
  outputFile: Schema.String,
})
export type Lost = typeof Lost.Type

/** The arguments of a call that starts one. */
const Input = Schema.Struct({
  command: Schema.String,
  description: Schema.optionalKey(Schema.String),
})

const Started = Schema.Union([
  Schema.Struct({ backgroundTaskId: Schema.String, rawOutputPath: Schema.optionalKey(Schema.String) }),
  Schema.Struct({ taskId: Schema.String, timeoutMs: Schema.Finite, outputFile: Schema.optionalKey(Schema.String) }),
])

const Ending = Schema.Literals(["completed", "failed", "killed"])

/** Results that say how a task ended. */
const Told = Schema.Union([
  Schema.Struct({ task: Schema.Struct({ task_id: Schema.String, status: Ending }) }),
  Schema.Struct({ taskId: Schema.String, status: Ending }),
  Schema.Struct({ task_id: Schema.String, task_type: Schema.String, message: Schema.String }),
])

const input = Schema.decodeUnknownOption(Input)
const started = Schema.decodeUnknownOption(Started)
const told = Schema.decodeUnknownOption(Told)

export interface Found {
  readonly lost: ReadonlyArray<Lost>
  /** A task, or a command of a call that was cut off and has no name here, may run on. */
  readonly mayRunHere: boolean
}

export const State = Schema.Struct({
  running: Schema.Array(Lost),
  /** Calls that have not ended, by their ids. */
  calls: Schema.Array(Schema.Tuple([Schema.String, Input])),
  /** Tasks and calls that began before the session came here: where it came from they may go on. */
  elsewhere: Schema.Array(Schema.String),
})
export type State = typeof State.Type

export interface TaskRecords {
  readonly apply: (event: DurableEvent) => void
  readonly found: () => Found
  readonly state: () => State
}

export const make = (before: State = { running: [], calls: [], elsewhere: [] }): TaskRecords => {
  const running = new Map(before.running.map((lost) => [lost.id, lost]))
  const calls = new Map<string, typeof Input.Type>(before.calls)
  const elsewhere = new Set(before.elsewhere)
  return {
    apply: (event) => {
      switch (event._tag) {
        case "SessionStarted":
          if (event.arrived !== undefined) for (const id of [...running.keys(), ...calls.keys()]) elsewhere.add(id)
          return
        case "ToolStarted": {
          const given = Option.getOrUndefined(input(event.input))
          if (given !== undefined) calls.set(event.toolUseId, given)
          return
        }
        case "ToolEnded": {
          const { toolUseId, structured, outcome } = event
          const call = calls.get(toolUseId)
          if (outcome !== "unknown") calls.delete(toolUseId)
          if (structured === undefined) return
          const begun = Option.getOrUndefined(started(structured))
          if (begun !== undefined) {
            const lost = lostOf(begun, toolUseId, call)
            running.set(lost.id, lost)
          }
          const ended = Option.getOrUndefined(told(structured))
          if (ended !== undefined) running.delete(idIn(ended))
          return
        }
        case "PromptReceived": {
          const id = TaskNotice.reports(event.content)
          if (id !== undefined) running.delete(id)
        }
      }
    },
    found: () => ({
      lost: [...running.values()],
      mayRunHere: [...running.keys(), ...calls.keys()].some((id) => !elsewhere.has(id)),
    }),
    state: () => ({ running: [...running.values()], calls: [...calls], elsewhere: [...elsewhere] }),
  }
}

export const find = (events: Iterable<DurableEvent>): Found => {
  const records = make()
  for (const event of events) records.apply(event)
  return records.found()
}

const lostOf = (begun: typeof Started.Type, toolUseId: string, call: typeof Input.Type | undefined): Lost => {
  const command = call?.command ?? ""
  const shared = { command, description: call?.description ?? command, toolUseId }
  return "taskId" in begun
    ? { id: begun.taskId, type: "monitor", outputFile: begun.outputFile ?? "", ...shared }
    : { id: begun.backgroundTaskId, type: "local_bash", outputFile: begun.rawOutputPath ?? "", ...shared }
}

const idIn = (ended: typeof Told.Type): string =>
  "task" in ended ? ended.task.task_id : "taskId" in ended ? ended.taskId : ended.task_id
