/**
 * Owns what a session's tools know of what happened before, as a fold that is kept beside the history: tasks whose end nobody was told, the
 * files that were seen, the tools that were found.
 */
import * as Schema from "effect/Schema"
import type { DurableEvent } from "../protocol/Event.ts"
import * as FileMemory from "./FileMemory.ts"
import * as TaskRecords from "./TaskRecords.ts"
import { finder } from "./ToolCatalog.ts"

export interface PastWork {
  /** What was taken back did run all the same, but the model does not know of it any more. */
  readonly apply: (event: DurableEvent, isUndone?: boolean) => void
  readonly tasks: () => TaskRecords.Found
  readonly sightings: () => FileMemory.Sightings
  readonly foundTools: () => ReadonlyArray<string>
  readonly save: () => Iterable<unknown>
}

const Saved = Schema.Struct({
  tasks: TaskRecords.State,
  files: FileMemory.Sightings,
  tools: Schema.Array(Schema.String),
})
const isSaved = Schema.is(Saved)

const wasFound = Schema.is(Schema.Struct({ matches: Schema.Array(Schema.String) }))

const from = ({ files, tasks, tools }: typeof Saved.Type): PastWork => {
  const records = TaskRecords.make(tasks)
  const memory = FileMemory.make(files)
  const found = new Set(tools)
  return {
    apply: (event, isUndone = false) => {
      records.apply(event)
      if (event._tag !== "ToolEnded" || isUndone) return
      memory.learn(event.structured)
      if (event.tool === finder && wasFound(event.structured))
        for (const name of event.structured.matches) found.add(name)
    },
    tasks: records.found,
    sightings: memory.sightings,
    foundTools: () => [...found],
    *save() {
      yield { tasks: records.state(), files: memory.sightings(), tools: [...found] } satisfies typeof Saved.Type
    },
  }
}

export const make = (): PastWork => from({ tasks: { running: [], calls: [], elsewhere: [] }, files: [], tools: [] })

/** What was saved, unless it is of another version. */
export const restore = (lines: ReadonlyArray<unknown>): PastWork | undefined => {
  const [saved] = lines
  return isSaved(saved) ? from(saved) : undefined
}

/** What the events of another life left. */
export const of = (events: Iterable<DurableEvent>): PastWork => {
  const past = make()
  for (const event of events) past.apply(event)
  return past
}
