/**
 * Owns the one table of all events at which hooks run. Everything else reads it: the engine, the configuration, `docs/hooks.md` and
 * the tests. An event that is not here does not exist.
 */
import type * as Schema from "effect/Schema"
import { sessionEvents } from "./events/SessionEvents.ts"
import { toolEvents } from "./events/ToolEvents.ts"
import { turnEvents } from "./events/TurnEvents.ts"
import type { EventSpec } from "./HookEvent.ts"

export const hookEvents = { ...sessionEvents, ...turnEvents, ...toolEvents } as const

export type HookEventName = keyof typeof hookEvents

/** What an event says about itself. */
export type InputOf<E extends HookEventName> = Schema.Struct.Type<(typeof hookEvents)[E]["input"]>

export const eventNames: ReadonlyArray<HookEventName> = Object.keys(hookEvents).filter(isEventName)

export function isEventName(name: string): name is HookEventName {
  return Object.hasOwn(hookEvents, name)
}

export const specOf = (event: HookEventName): EventSpec => hookEvents[event]

/** Events about a tool call: only those know `if`. */
export const isToolEvent = (event: HookEventName): boolean => specOf(event).matcher?.field === "tool_name"

/** What a matcher is compared with: the value of the event's field, or nothing where the event has none. */
export const subjectOf = (event: HookEventName, fields: object): string | undefined => {
  const { matcher } = specOf(event)
  if (matcher === undefined) return undefined
  const value: unknown = Reflect.get(fields, matcher.field)
  if (typeof value !== "string") return undefined
  return matcher.basename === true ? value.slice(value.lastIndexOf("/") + 1) : value
}
