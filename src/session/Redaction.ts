/**
 * Owns striking secrets out of records that leave the machine. Only texts change: ids, kinds and places stay, so that every call keeps its
 * result and what comes out is as readable as what went in.
 */
import * as SecretText from "../security/SecretText.ts"
import type { RawRecord } from "./Journal.ts"

/** Strikes out what the machine itself knows to be secret: its keys, for instance. */
export type KnownSecrets = (text: string) => string

export interface Redaction {
  readonly value: <A>(value: A) => unknown
  readonly record: (record: RawRecord) => RawRecord
  /** How many of each kind were struck out so far. */
  readonly counts: () => Readonly<Record<string, number>>
}

/** What ties records together, and what says how to read them. */
const structural = new Set(
  (
    "_tag type role uuid id promptId toolUseId tool_use_id requestId messageId agentId hookId handOver sessionId traceId media_type " +
    "ledger signature model tool name stopReason outcome"
  ).split(" "),
)

export const make = (known: KnownSecrets): Redaction => {
  const counts = new Map<string, number>()
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)

  const text = (given: string): string => {
    const own = known(given)
    if (own !== given) count("a key of this machine")
    const { found, text } = SecretText.redact(own)
    found.forEach(count)
    return text
  }

  const walk = (value: unknown, key: string): unknown => {
    if (typeof value === "string") {
      if (structural.has(key)) return value
      if (!SecretText.isNamedSecret(key, value)) return text(value)
      count("a secret with its name")
      return "[redacted: a secret with its name]"
    }
    if (Array.isArray(value)) return value.map((part) => walk(part, key))
    if (typeof value !== "object" || value === null) return value
    if (isOpaque(value)) return value
    const next = Object.fromEntries(Object.entries(value).map(([name, part]) => [text(name), walk(part, name)]))
    // It is signed: with other words the service refuses it.
    const isChanged = "type" in value && value.type === "thinking" && JSON.stringify(next) !== JSON.stringify(value)
    return isChanged ? { type: "text", text: "[thinking that named a secret was left out]" } : next
  }

  return {
    value: (value) => walk(value, ""),
    record: (record) => {
      const event = walk(record.event, "")
      return isEvent(event) ? { ...record, event } : record
    },
    counts: () => Object.fromEntries(counts),
  }
}

/** Pictures, and thinking that only the service can read. */
const isOpaque = (value: object): boolean =>
  "type" in value && (value.type === "base64" || value.type === "redacted_thinking") && "data" in value

const isEvent = (value: unknown): value is RawRecord["event"] =>
  typeof value === "object" && value !== null && "_tag" in value && typeof value._tag === "string"
