/**
 * Owns turning a recorded session into a fixture: records that anybody may keep, without secrets and without this machine's paths, and the
 * playbook of a scripted model that says what the model said.
 *
 * What is changed for that changes requests too, so their hashes are worked out anew: a fixture replays identically.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { DurableEvent } from "../protocol/Event.ts"
import * as JournalEvents from "../session/JournalEvents.ts"
import type { JournalRecord } from "../session/JournalRecord.ts"
import * as SecretText from "../security/SecretText.ts"
import { NotReplayable, run } from "./Replay.ts"

const Stored = Schema.Struct({
  seq: Schema.Int,
  time: Schema.Finite,
  agent: Schema.String,
  event: Schema.Unknown,
})

/** As it stands in a file. */
export interface Fixture {
  readonly troupe: "recording"
  readonly version: 1
  readonly records: ReadonlyArray<JournalRecord>
}

const Shape = Schema.Struct({
  troupe: Schema.Literal("recording"),
  version: Schema.Literal(1),
  records: Schema.Array(Stored),
})
const decodeShape = Schema.decodeUnknownEffect(Shape)

/** The records of a fixture, from the JSON in its file. */
export const records = Effect.fnUntraced(function* (
  fixture: unknown,
): Effect.fn.Return<ReadonlyArray<JournalRecord>, NotReplayable> {
  const stored = yield* Effect.mapError(
    decodeShape(fixture),
    (error) => new NotReplayable({ why: `it is no recording: ${error.message}` }),
  )
  const found: Array<JournalRecord> = []
  for (const { agent, event: raw, seq, time } of stored.records) {
    const kind = typeof raw === "object" && raw !== null && "_tag" in raw ? String(raw._tag) : ""
    const event = JournalEvents.decode(kind, raw)
    if (typeof event === "string") return yield* new NotReplayable({ why: `record ${seq}: ${event}` })
    found.push({ seq, time, agent, event })
  }
  return found
})

/** Where a machine shows, and what stands for it in a fixture. */
export interface Places {
  readonly cwd: string
  readonly home: string
}

/** A recording that may leave the machine. */
export const make = Effect.fnUntraced(function* (recorded: ReadonlyArray<JournalRecord>, places: Places) {
  const cleaned = recorded.map((record) => ({ ...record, event: clean(record.event, places) }))
  const decoded = yield* records({ troupe: "recording", version: 1, records: cleaned })
  const replayed = yield* run(decoded)
  const broken = replayed.differences.find(({ what }) => what !== "changed")
  if (broken !== undefined) {
    const why = `it does not replay as it is (at #${broken.seq}); look at it with \`troupe replay\` first`
    return yield* new NotReplayable({ why })
  }
  const fixture: Fixture = { troupe: "recording", version: 1, records: replayed.journal }
  return fixture
})

const clean = (value: unknown, places: Places): unknown => {
  if (typeof value === "string") return cleanText(value, places)
  if (Array.isArray(value)) return value.map((part) => clean(part, places))
  if (typeof value !== "object" || value === null) return value
  // An image or a signature is no text, and would be another one.
  if ("type" in value && (value.type === "image" || value.type === "redacted_thinking")) return value
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, clean(part, places)]))
}

/** The workspace becomes `/work` and the home `/home/user`; a line with a secret says so instead. */
const cleanText = (text: string, { cwd, home }: Places): string => {
  const moved = [
    [cwd, "/work"],
    [home, "/home/user"],
  ].reduce((moving, [from = "", to = ""]) => (from.length > 1 ? moving.replaceAll(from, to) : moving), text)
  if (SecretText.find(moved) === undefined) return moved
  return moved
    .split("\n")
    .map((line) => {
      const what = SecretText.find(line)
      return what === undefined ? line : `[redacted: ${what}]`
    })
    .join("\n")
}

/** A step of a scripted reply. */
interface Step {
  readonly text?: string
  readonly thinking?: string
  readonly signature?: string
  readonly tool?: string
  readonly input?: unknown
  readonly raw?: string
  readonly id?: string
}

/** What the model said, request by request: the turns of a playbook. Failures on the way are left out. */
export const playbook = (recorded: ReadonlyArray<JournalRecord>, name: string) => {
  const replies = new Map<string, Array<Step>>()
  const turns: Array<{ readonly reply: ReadonlyArray<Step>; readonly stop_reason: string }> = []
  for (const { event } of recorded) {
    if (event._tag === "RequestSent") replies.set(event.requestId, [])
    if (event._tag === "BlockReceived") replies.get(event.requestId)?.push(...stepsOf(event))
    if (event._tag === "ReplyEnded" && event.stopReason !== null) {
      const reply = replies.get(event.requestId) ?? []
      if (reply.length > 0) turns.push({ reply, stop_reason: event.stopReason })
    }
  }
  return { name, description: "What a model said in a recorded session, reply by reply.", turns }
}

const stepsOf = ({
  block,
  malformedInput,
}: Extract<DurableEvent, { readonly _tag: "BlockReceived" }>): ReadonlyArray<Step> => {
  switch (block.type) {
    case "text":
      return [{ text: block.text }]
    case "thinking":
      return [{ thinking: block.thinking, signature: block.signature }]
    case "tool_use": {
      const args = malformedInput === undefined ? { input: block.input } : { raw: malformedInput }
      return [{ tool: block.name, id: block.id, ...args }]
    }
    default:
      return []
  }
}
