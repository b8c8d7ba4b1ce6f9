import { assert, describe, it } from "@effect/vitest"
import type { DurableEvent, EventOf } from "../../src/protocol/Event.ts"
import type { Message } from "../../src/protocol/Message.ts"
import * as CacheLog from "../../src/session/CacheLog.ts"

const minutes = 60_000
const hash = (word: string) => word.padEnd(16, "0")

interface Asked {
  readonly at?: number
  readonly model?: string
  readonly layers?: Readonly<Record<string, string>>
  /** Where requests end: how many messages, and a word for what they are. */
  readonly ends: ReadonlyArray<readonly [messages: number, word: string]>
  readonly read: number
  readonly written: number
}

const usual = { tools: "tools", "static system": "static", "session system": "session", controls: "controls" }

/** Feeds a log, and gives what it found for each request. */
const feed = () => {
  const log = new CacheLog.CacheLog()
  const records: Array<CacheLog.Timed> = []
  let count = 0
  const apply = (event: DurableEvent, time = 0) => {
    records.push({ event, time })
    log.apply(event, time)
  }
  const ask = ({ at = 0, ends, layers = {}, model = "sonnet", read, written }: Asked) => {
    const requestId = `r${++count}`
    apply(
      {
        _tag: "RequestSent",
        requestId,
        attempt: 1,
        model,
        maxTokens: 1,
        streaming: true,
        messages: ends.at(-1)?.[0] ?? 0,
        cacheTtl: { head: "5m", messages: "5m" },
        ledger: [
          ...Object.entries({ ...usual, ...layers }).map(([layer, word]) => `${layer} ${hash(word)}`),
          ...ends.map(([messages, word]) => `messages/${messages} ${hash(word)}`),
        ],
      },
      at,
    )
    apply({
      _tag: "ReplyEnded",
      messageId: "m",
      requestId,
      model,
      stopReason: "end_turn",
      usage: {
        input_tokens: 10,
        output_tokens: 1,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: written,
      },
      costUsd: 0,
      durationMs: 1,
    })
    return log.takeFindings()
  }
  return { log, records, apply, ask }
}

const missOf = (found: ReturnType<ReturnType<typeof feed>["ask"]>) =>
  found.find((event): event is EventOf<"CacheMissed"> => event._tag === "CacheMissed")
const first: Asked = { ends: [[1, "a"]], read: 0, written: 10_000 }
const second: Asked = {
  ends: [
    [1, "a"],
    [3, "b"],
  ],
  read: 10_000,
  written: 500,
}

describe("CacheLog", () => {
  it("has nothing to say about what is read as it should be", () => {
    const { ask } = feed()
    assert.deepStrictEqual(ask(first), [])
    assert.deepStrictEqual(ask(second), [])
    assert.deepStrictEqual(ask({ ...second, read: 9_700 }), [])
  })

  it("names the layer that is another one, and the first bytes that are", () => {
    const { apply, ask } = feed()
    apply({
      _tag: "SegmentKept",
      layer: "session system",
      hash: hash("session"),
      text: "You are in /work on main today",
    })
    apply({
      _tag: "SegmentKept",
      layer: "session system",
      hash: hash("moved"),
      text: "You are in /work on topic today",
    })
    ask(first)
    const miss = missOf(ask({ ...second, layers: { "session system": "moved" }, read: 4_000 }))
    assert.deepInclude(miss, {
      cause: "system changed",
      layer: "session system",
      expectedTokens: 10_000,
      readTokens: 4_000,
      detail:
        'The layer "session system" differs from character 20: it was «You are in /work on main today», it is «You are in /work on topic today».',
    })
  })

  it("tells other reasons from each other: tools, controls, messages, the model, time, the service itself", () => {
    const cause = (more: Partial<Asked>) => {
      const { ask } = feed()
      ask(first)
      return missOf(ask({ ...second, read: 0, ...more }))?.cause
    }
    assert.strictEqual(cause({ layers: { tools: "others" } }), "tools changed")
    assert.strictEqual(cause({ layers: { "mcp tools": "new" } }), "tools changed")
    assert.strictEqual(cause({ layers: { controls: "effort" } }), "controls changed")
    assert.strictEqual(
      cause({
        ends: [
          [1, "x"],
          [3, "b"],
        ],
      }),
      "messages changed",
    )
    assert.strictEqual(cause({ model: "opus" }), "model changed")
    assert.strictEqual(cause({ at: 6 * minutes }), "expired")
    assert.strictEqual(cause({ at: 4 * minutes }), "evicted")
  })

  it("says which message is another one, while it still knows them", () => {
    const { ask, log } = feed()
    const say = (content: string): Message => ({ role: "user", content })
    log.sees([say("one"), say("two"), say("three")])
    ask({ ...first, ends: [[3, "a"]] })
    log.sees([say("one"), say("TWO"), say("three"), say("four")])
    const miss = missOf(
      ask({
        ...second,
        ends: [
          [3, "x"],
          [4, "y"],
        ],
        read: 0,
      }),
    )
    assert.match(miss?.detail ?? "", /^Message 2 differs from character \d+: it was «.*two.*», it is «.*TWO/)
  })

  it("does not expect what was compacted, and expects what a session that went back shares", () => {
    const compacted = feed()
    compacted.ask(first)
    compacted.ask(second)
    compacted.apply({
      _tag: "Compacted",
      uuid: "u",
      trigger: "auto",
      layer: "summary",
      preTokens: 10_500,
      postTokens: 500,
      results: {},
      spans: [],
    })
    assert.strictEqual(missOf(compacted.ask({ ...first, ends: [[1, "s"]], read: 3_000 }))?.cause, "compacted")
    const back = (read: number) => {
      const { apply, ask } = feed()
      ask(first)
      ask(second)
      apply({ _tag: "Rewound", uuid: "u", promptId: "p", to: 5 })
      return missOf(
        ask({
          ends: [
            [1, "a"],
            [3, "other"],
          ],
          read,
          written: 100,
        }),
      )
    }
    assert.isUndefined(back(10_000))
    assert.deepInclude(back(0), { expectedTokens: 10_000, cause: "evicted" })
  })

  it("warns once for each cause when less than 70 % of what is repeated comes from the cache, and not of what was wanted", () => {
    const warnings = (requests: ReadonlyArray<Partial<Asked>>) => {
      const { ask } = feed()
      return requests
        .flatMap((more, n) =>
          ask({
            ends: [
              [n + 1, `${n}`],
              [n + 2, `${n + 1}`],
            ],
            read: 0,
            written: 10_000,
            ...more,
          }),
        )
        .flatMap((event) => (event._tag === "Diagnosed" ? [event.message] : []))
    }
    const lost = warnings(Array.from({ length: 12 }, () => ({})))
    assert.strictEqual(lost.length, 1)
    assert.match(lost[0] ?? "", /Only 0 % of what the last 5 requests repeated .*evicted.*troupe context cache/)
    assert.deepStrictEqual(
      warnings(Array.from({ length: 12 }, (_, n) => (n % 4 === 0 ? {} : { read: 10_000, written: 0 }))),
      [],
    )
    assert.deepStrictEqual(warnings(Array.from({ length: 12 }, (_, n) => ({ at: n * 10 * minutes }))), [])
  })

  it("reads a session back from its records, with what was seen at the time", () => {
    const { ask, records } = feed()
    ask(first)
    ask({ ...second, read: 0 })
    const seen = {
      _tag: "CacheMissed",
      requestId: "r2",
      cause: "evicted",
      layer: "none",
      expectedTokens: 1,
      readTokens: 0,
      detail: "seen",
    } as const
    const rows = CacheLog.requests([...records, { event: seen, time: 0 }], new Map())
    assert.deepStrictEqual(
      rows.map(({ miss }) => miss?.detail),
      [undefined, "seen"],
    )
    assert.strictEqual(CacheLog.requests(records, new Map())[1]?.miss?.cause, "evicted")
  })

  it("says nothing about ledgers of a time when their lines had no names", () => {
    const { apply, ask } = feed()
    const old = {
      attempt: 1,
      model: "sonnet",
      maxTokens: 1,
      streaming: true,
      messages: 1,
      ledger: [hash("a"), hash("b")],
    }
    apply({ _tag: "RequestSent", requestId: "old", ...old })
    assert.deepStrictEqual(ask(first), [])
  })
})
