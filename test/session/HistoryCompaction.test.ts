import { assert, describe, it } from "@effect/vitest"
import type { Content, ContentBlock } from "../../src/protocol/Content.ts"
import { toBlocks } from "../../src/protocol/Content.ts"
import type { DurableEvent, EventOf } from "../../src/protocol/Event.ts"
import * as History from "../../src/session/History.ts"
import { aTurn, begun, block, call, done, ended, id, prompt, request, turnEnded } from "./events.ts"

const words = (one: ContentBlock): string => {
  switch (one.type) {
    case "text":
      return one.text
    case "tool_use":
      return `call ${one.id}`
    case "tool_result":
      return `${one.tool_use_id} said ${typeof one.content === "string" ? one.content : "blocks"}`
    default:
      return one.type
  }
}
const outline = (history: History.History) =>
  history.messages().map(({ role, content }) => `${role}: ${toBlocks(content).map(words).join(", ")}`)

const compacted = (
  spans: ReadonlyArray<{ readonly from: number; readonly to: number; readonly content: Content }>,
  results: EventOf<"Compacted">["results"] = {},
): EventOf<"Compacted"> => ({
  _tag: "Compacted",
  uuid: id(77),
  trigger: "auto",
  layer: "summary",
  preTokens: 10,
  postTokens: 5,
  results,
  spans,
})

const aRound: ReadonlyArray<DurableEvent> = [
  prompt("go"),
  request("r"),
  block("r", { type: "thinking", thinking: "hm", signature: "s" }),
  block("r", call("a")),
  ended("r", "tool_use"),
  begun("a"),
  done("a", "a long text"),
]

describe("a history that is compacted", () => {
  it("says a stretch of messages in one of the user's, and goes on behind it", () => {
    const history = History.from([...aTurn(1), ...aTurn(2)])
    const before = history.messages().length
    history.apply(compacted([{ from: 0, to: before, content: "what happened" }]))
    history.apply(prompt("and now"))
    assert.deepStrictEqual(outline(history), ["user: what happened", "user: and now"])
  })

  it("puts a result shorter, of the newest reply as well", () => {
    const history = History.from([...aRound, compacted([], { a: "short" })])
    assert.include(outline(history).at(-1), "a said short")
    history.apply(request("r2"))
    history.apply(compacted([], { a: "shorter" }))
    assert.include(outline(history).join("\n"), "a said shorter")
  })

  it("leaves a stretch alone that would part a call from its result", () => {
    const history = History.from([...aRound, request("r2"), block("r2", "done"), ended("r2"), turnEnded()])
    const before = outline(history)
    history.apply(compacted([{ from: 0, to: 2, content: "half of it" }]))
    assert.deepStrictEqual(outline(history), before)
  })

  it("knows which replies stand behind something that has changed", () => {
    const history = History.from([...aTurn(1), ...aRound, request("r2"), block("r2", "done"), ended("r2"), turnEnded()])
    history.apply(request("r3"))
    history.apply(compacted([], { a: "short" }))
    const replies = history.messages().filter(({ role }) => role === "assistant")
    assert.deepStrictEqual(
      replies.map((message) => history.isRebased(message)),
      [false, false, false, true],
    )
  })

  it("forgets what the service has counted", () => {
    const history = History.from(aTurn(1))
    assert.isDefined(history.measured)
    history.apply(compacted([]))
    assert.isUndefined(history.measured)
  })
})

const numbered = (events: ReadonlyArray<DurableEvent>) => events.map((event, at) => ({ seq: at + 1, event }))
const rewound = (to: number): DurableEvent => ({ _tag: "Rewound", uuid: id(88), promptId: id(1), to })

describe("a history that goes back", () => {
  const first = aTurn(1)
  const second = aTurn(2)

  it("goes on from before a prompt, and has spent what it has spent", () => {
    const all = [...first, ...second, rewound(first.length + 1), prompt("otherwise")]
    const history = History.fold(numbered(all))
    assert.deepStrictEqual(outline(history), outline(History.from([...first, prompt("otherwise")])))
    assert.strictEqual(history.totals.turns, History.from([...first, ...second]).totals.turns)
  })

  it("takes a going back back", () => {
    const went = [...first, ...second, rewound(1)]
    const history = History.fold(numbered([...went, prompt("no"), rewound(went.length)]))
    assert.deepStrictEqual(outline(history), outline(History.from([...first, ...second])))
  })

  it("has the whole conversation again when it goes back to before a compaction", () => {
    const all = [...first, ...second]
    const history = History.fold(
      numbered([...all, compacted([{ from: 0, to: 4, content: "sum" }]), prompt("x"), rewound(all.length + 1)]),
    )
    assert.deepStrictEqual(outline(history), outline(History.from(all)))
  })
})
