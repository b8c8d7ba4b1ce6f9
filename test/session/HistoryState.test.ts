import { assert, describe, it } from "@effect/vitest"
import type { DurableEvent } from "../../src/protocol/Event.ts"
import * as History from "../../src/session/History.ts"
import * as HistoryState from "../../src/session/HistoryState.ts"
import { aTurn, begun, block, call, ended, prompt, request, started } from "./events.ts"

const compacted: DurableEvent = {
  _tag: "Compacted",
  uuid: "00000000-0000-4000-8000-000000000077",
  trigger: "auto",
  layer: "summary",
  preTokens: 9,
  postTokens: 3,
  results: { t2: "shorter" },
  spans: [{ from: 0, to: 2, content: "What came before." }],
  facts: { acceptanceCriteria: ["green"], decisions: [], failedApproaches: [], identifiers: [] },
}

/** Everything that a history keeps in mind: compacted parts, a call under way, words nobody has been shown. */
const events: ReadonlyArray<DurableEvent> = [
  started(),
  { _tag: "SessionTitled", title: "On parts", by: "person" },
  { _tag: "SessionTagged", tags: ["a", "b"], by: "person" },
  { _tag: "ContextAdded", uuid: "u1", origin: "skills", content: "There are skills." },
  { _tag: "PromptLatched", system: [{ type: "text", text: "Be good." }], listings: { Agent: "- Explore" } },
  ...aTurn(1),
  ...aTurn(2),
  compacted,
  ...aTurn(3),
  prompt("and this?"),
  request("r4"),
  block("r4", { type: "thinking", thinking: "Hm.", signature: "s" }),
  block("r4", call("t4", { $map: [["not", "ours"]] })),
  ended("r4", "tool_use"),
  begun("t4", "once"),
  prompt("one more thing", "between_rounds"),
]

const seen = (history: History.History) => ({
  fields: Object.entries(history).filter(
    ([name, value]) => name !== "built" && !(value instanceof WeakMap) && !(value instanceof WeakSet),
  ),
  messages: history.messages(),
  authors: history.messages().map((message) => history.authorOf(message)),
  rebased: history.messages().map((message) => history.isRebased(message)),
  pending: history.pending(),
  unasked: history.unasked(),
})

const fold = (history: History.History, some: ReadonlyArray<DurableEvent>): History.History => {
  for (const event of some) history.apply(event)
  return history
}

describe("the state of a history", () => {
  it("is the same when it was saved after any event, and goes on in the same way", () => {
    const whole = seen(fold(History.make(), events))
    for (let cut = 0; cut <= events.length; cut++) {
      const lines: unknown = JSON.parse(
        JSON.stringify([...HistoryState.save(fold(History.make(), events.slice(0, cut)))]),
      )
      assert(Array.isArray(lines))
      const restored = HistoryState.restore(lines)
      assert(restored !== undefined, `after ${cut} events`)
      assert.deepStrictEqual(seen(restored), seen(fold(History.make(), events.slice(0, cut))), `after ${cut} events`)
      assert.deepStrictEqual(seen(fold(restored, events.slice(cut))), whole, `from ${cut} events on`)
    }
  })

  it("is refused when it has other fields, or lines that are no messages", () => {
    const [head, ...rest] = HistoryState.save(fold(History.make(), events))
    assert.isDefined(HistoryState.restore([head, ...rest]))
    assert.isUndefined(HistoryState.restore([]))
    assert.isUndefined(HistoryState.restore([{ ...Object(head), fields: ["frozen"] }, ...rest]))
    assert.isUndefined(HistoryState.restore([head, ...rest, { message: { role: "nobody", content: "x" } }]))
  })
})
