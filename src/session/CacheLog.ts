/**
 * Owns what one agent's requests found in the service's cache, as a fold over its records: what each should have read, what it read, and
 * where that is much less, why. The service tells only figures; the reasons come from the ledgers of the requests.
 */
import type { DurableEvent, EventOf, MissCause } from "../protocol/Event.ts"
import type { Message } from "../protocol/Message.ts"
import * as LedgerLine from "../protocol/LedgerLine.ts"
import { promptTokens, type Usage } from "../protocol/Usage.ts"
import * as Difference from "./Difference.ts"

/** One request that was answered. */
export interface Answered {
  readonly requestId: string
  readonly model: string
  /** When it was sent. */
  readonly at: number
  readonly ttl: EventOf<"RequestSent">["cacheTtl"]
  readonly usage: Usage
  readonly miss: EventOf<"CacheMissed"> | undefined
}

interface Asked {
  readonly requestId: string
  readonly model: string
  readonly at: number
  readonly ttl: EventOf<"RequestSent">["cacheTtl"]
  readonly lines: LedgerLine.Lines | undefined
  readonly messages: number
}

/** A request that the service has the beginning of. */
interface Past extends Asked {
  /** How much of it is in the cache. */
  readonly cached: number
}

/** So many requests are looked at for the alert, once there are a few of them. */
const window = 10
const few = 5
const alarming = 0.7
/** The service counts a little differently each time. */
const slackOf = (tokens: number): number => Math.max(256, tokens * 0.1)
const lifetimes = { "5m": 5 * 60_000, "1h": 60 * 60_000 } as const
/** Enough to go back to. */
const mostPasts = 500

/** What somebody wanted, or what is over by itself: no reason to alarm anybody. */
const intended: ReadonlySet<MissCause> = new Set(["model changed", "compacted", "rewound", "expired"])

export class CacheLog {
  private open: Asked | undefined
  private last: Past | undefined
  private pasts: Array<Past> = []
  /** What requests contain was changed since the last one. */
  private edited: "compacted" | "rewound" | undefined
  private found: Array<EventOf<"CacheMissed"> | EventOf<"Diagnosed">> = []
  private readonly recent: Array<{ readonly wanted: number; readonly read: number }> = []
  private readonly alarmed = new Set<MissCause>()
  private before: ReadonlyArray<Message> | undefined
  private now: ReadonlyArray<Message> | undefined

  /** What layers said, by their hash; the agents of a session share them. */
  readonly texts: Map<string, string>
  private readonly onAnswered: (answered: Answered) => void

  constructor(texts: Map<string, string> = new Map(), onAnswered: (answered: Answered) => void = () => {}) {
    this.texts = texts
    this.onAnswered = onAnswered
  }

  apply(event: DurableEvent, time: number): void {
    switch (event._tag) {
      case "SegmentKept":
        this.texts.set(event.hash, event.text)
        return
      case "Compacted":
        this.edited = "compacted"
        return
      case "Rewound":
        this.edited = "rewound"
        return
      case "RequestSent": {
        const { cacheTtl: ttl, ledger, messages, model, requestId } = event
        this.open = { requestId, model, messages, ttl, at: time, lines: LedgerLine.read(ledger) }
        return
      }
      case "ReplyEnded":
        if (this.open?.requestId === event.requestId) this.answered(this.open, event.usage)
        return
    }
  }

  /** The messages of the request that is about to be sent: what they say is not kept, so it is compared here. */
  sees(messages: ReadonlyArray<Message>): void {
    if (messages === this.now) return
    this.before = this.now
    this.now = messages
  }

  /** What the last reply gave reason to record. Each is told once. */
  takeFindings(): ReadonlyArray<EventOf<"CacheMissed"> | EventOf<"Diagnosed">> {
    return this.found.splice(0)
  }

  private answered(asked: Asked, usage: Usage): void {
    this.open = undefined
    if (promptTokens(usage) === 0) return
    const wanted = this.wanted(asked)
    const read = usage.cache_read_input_tokens
    const miss = wanted !== undefined && read < wanted - slackOf(wanted) ? this.explain(asked, wanted, read) : undefined
    if (miss !== undefined) this.found.push(miss)
    if (wanted !== undefined && wanted > 0) this.watch(wanted, read, miss)
    this.onAnswered({ ...asked, usage, miss })
    const past = { ...asked, cached: read + usage.cache_creation_input_tokens }
    this.last = past
    this.pasts = [...this.pasts.slice(1 - mostPasts), past]
    this.edited = undefined
  }

  /** How much of it the service should have; `undefined` where nobody can know. */
  private wanted(asked: Asked): number | undefined {
    if (this.last === undefined || asked.ttl === undefined) return undefined
    // Gone back: what it shares with requests before is to be read, and nothing else can be.
    return this.edited === "rewound" ? (this.sharedWith(asked)?.cached ?? 0) : this.last.cached
  }

  /** The request that ended where this one, or the one before it, does. */
  private sharedWith(asked: Asked): Past | undefined {
    const ends = new Set((asked.lines?.ends ?? []).map(LedgerLine.ofEnd))
    return this.pasts.findLast(({ lines, model }) => {
      const end = lines?.ends.at(-1)
      return model === asked.model && end !== undefined && ends.has(LedgerLine.ofEnd(end))
    })
  }

  private explain(asked: Asked, expectedTokens: number, readTokens: number): EventOf<"CacheMissed"> {
    const { cause, detail, layer } = this.reason(asked)
    const { requestId } = asked
    return { _tag: "CacheMissed", requestId, expectedTokens, readTokens, layer, cause, detail }
  }

  private reason(asked: Asked): Pick<EventOf<"CacheMissed">, "cause" | "detail" | "layer"> {
    const past = this.pasts.findLast(({ model }) => model === asked.model)
    if (past === undefined) {
      const detail = `${this.last?.model} has been asked before, and now ${asked.model}: each model has a cache of its own.`
      return { layer: "model", cause: "model changed", detail }
    }
    if (this.edited === "compacted") {
      return {
        layer: "messages",
        cause: "compacted",
        detail: "What requests contain was compacted since the last one.",
      }
    }
    const changed = LedgerLine.layers.find(
      (layer) => past.lines !== undefined && past.lines.layers.get(layer) !== asked.lines?.layers.get(layer),
    )
    if (changed !== undefined) {
      const text = ({ lines }: Asked) => this.texts.get(lines?.layers.get(changed) ?? "")
      const detail = Difference.between(text(past) ?? "", text(asked) ?? "")
      return { layer: changed, cause: causes[changed], detail: `The layer "${changed}" ${detail}` }
    }
    if (this.edited !== "rewound" && isRewritten(past, asked)) {
      return { layer: "messages", cause: "messages changed", detail: this.messageDetail() }
    }
    const since = this.edited === "rewound" ? (this.sharedWith(asked) ?? past) : past
    const kept = lifetimes[asked.ttl?.messages ?? "5m"]
    const age = asked.at - since.at
    const minutes = Math.round(age / 60_000)
    if (age > kept) {
      const detail = `${minutes} minutes since the request before; the service keeps messages for ${kept / 60_000}.`
      return { layer: "none", cause: "expired", detail }
    }
    const detail = `The same bytes were sent ${minutes} minutes before; the service did not have them any more.`
    return { layer: "none", cause: "evicted", detail }
  }

  private messageDetail(): string {
    const difference = Difference.ofMessages(this.before ?? [], this.now ?? [])
    return (
      difference ??
      "What the model is shown of an earlier message is not what it was: thinking that was left out, for instance."
    )
  }

  /** Of what should have been read. The rate of everything says little: a large file that is new is no miss. */
  private watch(wanted: number, read: number, miss: EventOf<"CacheMissed"> | undefined): void {
    if (miss !== undefined && intended.has(miss.cause)) return
    this.recent.push({ wanted, read: Math.min(wanted, read) })
    if (this.recent.length > window) this.recent.shift()
    if (miss === undefined || this.recent.length < few || this.alarmed.has(miss.cause)) return
    const sum = (of: "wanted" | "read") => this.recent.reduce((total, one) => total + one[of], 0)
    const rate = sum("read") / sum("wanted")
    if (rate >= alarming) return
    this.alarmed.add(miss.cause)
    const message = `Only ${Math.round(rate * 100)} % of what the last ${this.recent.length} requests repeated came from the prompt cache; the rest is paid in full (${miss.cause}: ${miss.detail}). \`troupe context cache\` shows every request.`
    this.found.push({ _tag: "Diagnosed", level: "warning", message })
  }
}

/** The earlier request is not how this one begins. */
const isRewritten = (past: Asked, asked: Asked): boolean => {
  const end = past.lines?.ends.at(-1)
  if (end === undefined || asked.lines === undefined) return false
  if (asked.messages < end.messages) return true
  const same = asked.lines.ends.find(({ messages }) => messages === end.messages)
  return same !== undefined && same.hash !== end.hash
}

const causes: Readonly<Record<LedgerLine.Layer, MissCause>> = {
  tools: "tools changed",
  "mcp tools": "tools changed",
  "server tools": "tools changed",
  "static system": "system changed",
  "session system": "system changed",
  controls: "controls changed",
}

export interface Timed {
  readonly event: DurableEvent
  readonly time: number
}

/** The log of records that are already there; what it finds in them has been recorded or was never wanted. */
export const from = (records: Iterable<Timed>, texts: Map<string, string> = new Map()): CacheLog => {
  const log = new CacheLog(texts)
  for (const { event, time } of records) log.apply(event, time)
  log.takeFindings()
  return log
}

/** Every answered request of one agent, in order. */
export const requests = (records: Iterable<Timed>, texts: Map<string, string>): ReadonlyArray<Answered> => {
  const rows = new Map<string, Answered>()
  const log = new CacheLog(texts, (answered) => rows.set(answered.requestId, answered))
  for (const { event, time } of records) {
    log.apply(event, time)
    // It was seen from nearer then.
    const row = event._tag === "CacheMissed" ? rows.get(event.requestId) : undefined
    if (row !== undefined && event._tag === "CacheMissed") rows.set(row.requestId, { ...row, miss: event })
  }
  return [...rows.values()]
}
