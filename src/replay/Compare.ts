/**
 * Owns the comparison of what was worked out again with what was recorded. Ids, times and prices are the recording's: they are drawn or
 * measured, not decided, and are taken over before anything is compared.
 */
import type { DurableEvent } from "../protocol/Event.ts"

/** A place where the two say something else. */
export interface FieldChange {
  /** `terminal.reason`, `content`, `ledger messages`. */
  readonly field: string
  readonly expected: unknown
  readonly actual: unknown
}

/** What was worked out, with what only the recording can know. */
export const adopt = (
  actual: DurableEvent,
  recorded: DurableEvent,
  { system }: { readonly system: boolean },
): DurableEvent => {
  switch (actual._tag) {
    case "RequestSent": {
      if (recorded._tag !== actual._tag) return actual
      const { cacheTtl: _taken, ...request } = actual
      const ledger = adoptLedger(actual.ledger, recorded.ledger, system)
      return { ...request, ...pick(recorded, ["requestId", "cacheTtl"]), ledger }
    }
    case "RetryWaiting":
      return recorded._tag === actual._tag ? { ...actual, ...pick(recorded, ["requestId", "delayMs"]) } : actual
    case "BlockReceived":
      return recorded._tag === actual._tag
        ? { ...actual, ...pick(recorded, ["uuid", "requestId", "messageId", "malformedInput"]) }
        : actual
    case "ReplyAbandoned":
      return recorded._tag === actual._tag
        ? { ...actual, ...pick(recorded, ["requestId", "usage", "costUsd"]) }
        : actual
    case "ReplyEnded": {
      if (recorded._tag !== actual._tag) return actual
      // Of a reply that broke off the service has not said everything.
      const usage = recorded.stopReason === null ? pick(recorded, ["usage"]) : {}
      return { ...actual, ...usage, ...pick(recorded, ["requestId", "messageId", "costUsd", "durationMs"]) }
    }
    case "PermissionDecided":
      // Rules and modes were judged where the files are.
      return recorded._tag === actual._tag
        ? { ...actual, ...pick(recorded, ["tool", "by", "step", "rules", "effects"]) }
        : actual
    case "ToolStarted":
      return recorded._tag === actual._tag ? { ...actual, ...pick(recorded, ["tool"]) } : actual
    case "ToolEnded":
      return recorded._tag === actual._tag
        ? { ...actual, ...pick(recorded, ["uuid", "tool", "display", "durationMs"]) }
        : actual
    case "SubagentEnded":
      return recorded._tag === actual._tag
        ? { ...actual, ...pick(recorded, ["durationMs", "costUsd", "usage"]) }
        : actual
    case "TurnEnded":
      return recorded._tag === actual._tag
        ? { ...actual, ...pick(recorded, ["durationMs", "apiDurationMs", "costUsd", "usage"]) }
        : actual
    case "PromptReceived":
      return recorded._tag === actual._tag ? { ...actual, ...pick(recorded, ["uuid"]) } : actual
    default:
      return actual
  }
}

const pick = <A extends object, K extends keyof A>(from: A, keys: ReadonlyArray<K>): Partial<Pick<A, K>> => {
  const taken: Partial<Pick<A, K>> = {}
  for (const key of keys) if (key in from) taken[key] = from[key]
  return taken
}

/** Only messages and, where it is known, the system text are built again: tools and controls of a request came from elsewhere. */
const isRebuilt = (name: string, system: boolean): boolean =>
  name.startsWith("messages") || (system && /^(?:static|session) system$/.test(name))

/** A line begins with the name of its layer. Where it does not, an older version hashed it, otherwise than we do. */
const nameOf = (line: string): string => line.slice(0, Math.max(0, line.lastIndexOf(" ")))

/** Keeps the recording's word for what is not built again. */
const adoptLedger = (
  actual: ReadonlyArray<string>,
  recorded: ReadonlyArray<string>,
  system: boolean,
): ReadonlyArray<string> => {
  const mine = new Map(actual.map((line) => [nameOf(line), line]))
  return recorded.map((line) => {
    const name = nameOf(line)
    return isRebuilt(name, system) ? (mine.get(name) ?? "") : line
  })
}

/** Whether it is the same thing that happened, whatever its details: otherwise nothing behind it can be compared. */
export const isSameStep = (actual: DurableEvent, recorded: DurableEvent): boolean => {
  if (actual._tag !== recorded._tag) return false
  if (actual._tag === "TransitionTaken")
    return recorded._tag === actual._tag && recorded.transition === actual.transition
  if (actual._tag === "PromptReceived") return recorded._tag === actual._tag && recorded.harness === actual.harness
  if ("toolUseId" in actual && "toolUseId" in recorded) return actual.toolUseId === recorded.toolUseId
  return true
}

/** Field by field, as deep as both are objects. */
export const changes = (expected: DurableEvent, actual: DurableEvent): ReadonlyArray<FieldChange> =>
  differing(expected, actual, "")

const differing = (expected: unknown, actual: unknown, path: string): ReadonlyArray<FieldChange> => {
  if (Object.is(expected, actual)) return []
  if (isRecord(expected) && isRecord(actual)) {
    const keys = [...new Set([...Object.keys(expected), ...Object.keys(actual)])]
    return keys.flatMap((key) => differing(expected[key], actual[key], path === "" ? key : `${path}.${key}`))
  }
  if (JSON.stringify(expected) === JSON.stringify(actual)) return []
  return [{ field: path, expected, actual }]
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** One line for people: what a record says, without what only machines need. */
export const brief = (event: DurableEvent): string => {
  switch (event._tag) {
    case "RequestSent":
      return `request to ${event.model}, ${event.messages} messages, attempt ${event.attempt}`
    case "BlockReceived":
      return event.block.type === "tool_use"
        ? `call ${event.block.name} ${shortly(event.block.input)}`
        : event.block.type
    case "ToolStarted":
      return `${event.tool} starts ${shortly(event.input)}`
    case "ToolEnded":
      return `${event.tool} ${event.outcome}: ${shortly(event.content)}`
    case "PermissionDecided":
      return `${event.tool} ${event.behavior}: ${event.reason}`
    case "TransitionTaken":
      return event.detail === undefined ? event.transition : `${event.transition} (${event.detail})`
    case "TurnEnded":
      return event.terminal.detail === undefined
        ? event.terminal.reason
        : `${event.terminal.reason} (${event.terminal.detail})`
    case "ReplyEnded":
      return `reply ends, ${event.stopReason ?? event.stopDetail ?? "broken off"}`
    case "ReplyAbandoned":
      return `reply is void: ${event.reason}`
    case "RetryWaiting":
      return `waits ${event.delayMs} ms: ${event.reason}`
    case "SubagentStarted":
      return `${event.agentType} is sent out`
    case "SubagentEnded":
      return `${event.agentType} ends, ${event.terminal.reason}`
    case "PromptReceived":
      return `${event.harness === true ? "the harness" : "a person"} says ${shortly(event.content)}`
    default:
      return ""
  }
}

/** On one line, and not too long. */
export const shortly = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "")
  const line = text.replaceAll(/\s+/g, " ")
  return line.length <= 100 ? line : `${line.slice(0, 99)}…`
}

/** Two values beside each other, as far as they are not the same. */
export const diff = ({ actual, expected, field }: FieldChange): ReadonlyArray<string> => {
  const before = linesOf(expected)
  const after = linesOf(actual)
  let head = 0
  while (head < before.length && head < after.length && before[head] === after[head]) head++
  let tail = 0
  while (tail < before.length - head && tail < after.length - head && before.at(-1 - tail) === after.at(-1 - tail))
    tail++
  const lines = [
    ...before.slice(head, before.length - tail).map((line) => `- ${line}`),
    ...after.slice(head, after.length - tail).map((line) => `+ ${line}`),
  ]
  const shown = lines.slice(0, mostLines)
  return [
    `${field}:`,
    ...shown,
    ...(lines.length > shown.length ? [`  … ${lines.length - shown.length} more lines`] : []),
  ]
}

const mostLines = 12

const linesOf = (value: unknown): ReadonlyArray<string> => {
  if (value === undefined) return []
  const text = typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? "")
  return text.split("\n").map((line) => (line.length <= 200 ? line : `${line.slice(0, 199)}…`))
}
