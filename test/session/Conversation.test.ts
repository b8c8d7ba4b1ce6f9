import { assert, describe, it } from "@effect/vitest"
import type { DurableEvent } from "../../src/protocol/Event.ts"
import * as Conversation from "../../src/session/Conversation.ts"
import { abandoned, aTurn, block, call, done, ended, imported, prompt, request } from "./events.ts"

const read = (events: ReadonlyArray<DurableEvent>) =>
  Conversation.of(events.map((event, at) => ({ seq: at + 1, time: 1000 + at, event }))).map((item) =>
    item.kind === "call" ? `call ${item.tool} ${item.outcome}: ${item.result}` : `${item.kind} ${item.text}`,
  )

describe("a conversation for people", () => {
  it("has what was said and what was done with what came of it, in order", () => {
    assert.deepStrictEqual(read(aTurn(1)), [
      "prompt question 1",
      "reply looking",
      "call Read completed: result of t1",
      "reply answer 1",
    ])
  })

  it("leaves out replies that broke off, what the harness said, and what was taken back", () => {
    const turns: ReadonlyArray<DurableEvent> = [
      ...aTurn(1),
      prompt("go on, says the harness", "prompt", true),
      request("r9"),
      block("r9", "a beginning without"),
      abandoned("r9"),
      request("r9b"),
      block("r9b", call("t9")),
      done("t9", "kept", "failed"),
      abandoned("r9b"),
    ]
    const kept = [...read(aTurn(1)), "call Read failed: kept"]
    assert.deepStrictEqual(read(turns), kept)
    const back: DurableEvent = { _tag: "Rewound", uuid: "u", promptId: "p", to: aTurn(1).length + 1 }
    assert.deepStrictEqual(read([...turns, back, ...aTurn(2)]), [...read(aTurn(1)), ...read(aTurn(2))])
  })

  it("puts the results of an imported transcript to their calls", () => {
    const result = { type: "tool_result", tool_use_id: "t1", content: "found", is_error: false } as const
    assert.deepStrictEqual(
      read([imported("user", "look"), imported("assistant", [call("t1")]), imported("user", [result]), ended("r1")]),
      ["prompt look", "call Read completed: found"],
    )
  })
})
