/** Owns the reading of journaled events: which kinds this version knows, and whether a value is one. */
import * as Schema from "effect/Schema"
import { DurableEvent } from "../protocol/Event.ts"

const isEvent = Schema.is(DurableEvent)
const known = new Set<string>(Object.keys(DurableEvent.cases))

/** The event, or what is wrong with it. */
export const decode = (kind: string, raw: unknown): DurableEvent | string => {
  if (isEvent(raw)) return raw
  return known.has(kind) ? `its ${kind} is not readable` : `"${kind}" is of a newer version`
}
