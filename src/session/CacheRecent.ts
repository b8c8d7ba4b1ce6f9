/**
 * Owns what has to be read again for the cache log to know what it knew: the last requests and their answers, and what layers said. So a long
 * session is opened without all of its requests.
 */
import type { DurableEvent, EventOf } from "../protocol/Event.ts"
import * as CacheLog from "./CacheLog.ts"
import * as JournalEvents from "./JournalEvents.ts"
import type { JournalRecord } from "./JournalRecord.ts"

/** As many requests as anybody may want to go back to. */
const mostRequests = 200

export class CacheRecent {
  private readonly segments = new Map<string, EventOf<"SegmentKept">>()
  private recent: Array<CacheLog.Timed> = []
  private requests = 0
  private readonly agent: string

  constructor(agent: string) {
    this.agent = agent
  }

  take({ agent, event, time }: Pick<JournalRecord, "agent" | "event" | "time">): void {
    // Agents of a session keep each text once.
    if (event._tag === "SegmentKept") this.segments.set(event.hash, event)
    const counted = agent === this.agent ? countedIn(event) : undefined
    if (counted === undefined) return
    this.recent.push({ event: counted, time })
    if (counted._tag !== "RequestSent" || ++this.requests < 2 * mostRequests) return
    let seen = 0
    const from = this.recent.findLastIndex((one) => one.event._tag === "RequestSent" && ++seen === mostRequests)
    this.recent = this.recent.slice(from)
    this.requests = mostRequests
  }

  log(texts: Map<string, string>): CacheLog.CacheLog {
    const kept = Array.from(this.segments.values(), (event) => ({ event, time: 0 }))
    return CacheLog.from([...kept, ...this.recent], texts)
  }

  *save(): Generator<unknown> {
    for (const event of this.segments.values()) yield [0, event]
    for (const { event, time } of this.recent) yield [time, event]
  }
}

/** Of a compaction it counts only that there was one. */
const countedIn = (event: DurableEvent): DurableEvent | undefined => {
  switch (event._tag) {
    case "Compacted":
      return { ...event, results: {}, spans: [] }
    case "RequestSent":
    case "ReplyEnded":
    case "Rewound":
      return event
    default:
      return undefined
  }
}

/** What was saved, unless it is of another version. */
export const restore = (agent: string, lines: ReadonlyArray<unknown>): CacheRecent | undefined => {
  const recent = new CacheRecent(agent)
  for (const line of lines) {
    if (!Array.isArray(line)) return undefined
    const [time, raw]: ReadonlyArray<unknown> = line
    const kind = typeof raw === "object" && raw !== null && "_tag" in raw ? String(raw._tag) : ""
    const event = JournalEvents.decode(kind, raw)
    if (typeof event === "string" || typeof time !== "number") return undefined
    recent.take({ agent, event, time })
  }
  return recent
}
