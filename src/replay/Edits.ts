/** Owns putting another observation in the place of a recorded one: what would have happened if a tool had answered something else. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { DurableEvent } from "../protocol/Event.ts"
import * as JournalEvents from "../session/JournalEvents.ts"
import type { JournalRecord } from "../session/JournalRecord.ts"
import { isObservation } from "./Roles.ts"

/** A record that cannot be another one. */
export class BadEdit extends Schema.TaggedError<BadEdit>()("BadEdit", { seq: Schema.Finite, why: Schema.String }) {
  override get message(): string {
    return `Record ${this.seq} cannot be edited: ${this.why}.`
  }
}

/** The record's event with another value. Text replaces what was said; an object replaces single fields. */
export const apply = Effect.fnUntraced(function* (
  records: ReadonlyArray<JournalRecord>,
  seq: number,
  value: unknown,
): Effect.fn.Return<DurableEvent, BadEdit> {
  const record = records.find((one) => one.seq === seq)
  if (record === undefined) return yield* new BadEdit({ seq, why: "there is none of that number" })
  const { event } = record
  if (!isObservation(event)) {
    const why = `a ${event._tag} is worked out, not observed; edit what the model, a tool or a person said`
    return yield* new BadEdit({ seq, why })
  }
  const fields = typeof value === "string" ? said(event, value) : value
  if (typeof fields !== "object" || fields === null) {
    return yield* new BadEdit({ seq, why: `a ${event._tag} has no text; give an object with its fields` })
  }
  const edited = JournalEvents.decode(event._tag, { ...event, ...fields, _tag: event._tag })
  return typeof edited === "string" ? yield* new BadEdit({ seq, why: edited }) : edited
})

const said = (event: DurableEvent, text: string): object | undefined => {
  switch (event._tag) {
    case "ToolEnded":
    case "PromptReceived":
    case "ContextAdded":
    case "PromptExpanded":
      return { content: text }
    case "BlockReceived":
      return event.block.type === "text" ? { block: { type: "text", text } } : undefined
    default:
      return undefined
  }
}
