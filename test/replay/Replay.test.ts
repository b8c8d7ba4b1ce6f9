import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Agents } from "../../src/agents/Agents.ts"
import * as Replay from "../../src/replay/Replay.ts"
import * as Journal from "../../src/session/Journal.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import { echo, hurried, note, open } from "../agents/session.ts"

const book = {
  rules: [
    {
      when: { tool: "Echo", turn: 2 },
      reply: [{ tool: "Note", input: { text: "x" } }],
      faults: [{ status: 529, times: 1 }],
    },
    { when: { user: "again" }, reply: "All done." },
    { when: { turn: 1 }, reply: ["a", "b", "c"].map((text) => ({ tool: "Echo", input: { text } })) },
    { reply: "Done." },
  ],
}

const recorded = Effect.gen(function* () {
  const agent = yield* open({ tools: [echo, note] })
  yield* hurried(Stream.runCollect(agent.prompt("Look around")))
  yield* hurried(Stream.runCollect(agent.prompt("again")))
  return yield* Journal.read(agent.sessionId)
}).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book)))

describe("a replay", () => {
  it.effect("does what was recorded", () =>
    Effect.gen(function* () {
      const { records } = yield* recorded
      const report = yield* Replay.run(records)
      assert.deepStrictEqual(report.differences, [])
      assert.deepStrictEqual(report.journal, records)
    }),
  )

  it.effect("of a copy goes by the copy's name", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const agent = yield* open({ tools: [echo, note] })
      yield* hurried(Stream.runCollect(agent.prompt("again")))
      const copy = yield* agents.fork(agent.sessionId, { tools: [echo, note] })
      yield* hurried(Stream.runCollect(copy.prompt("again")))
      const report = yield* Replay.run((yield* Journal.read(copy.sessionId)).records)
      assert.deepStrictEqual(report.differences, [])
      assert.strictEqual(report.sessionId, copy.sessionId)
    }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
  )
})
