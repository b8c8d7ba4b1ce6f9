import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as StrictApi from "../../src/testing/StrictApi.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import { latency } from "../../src/testing/Timing.ts"
import * as Tool from "../../src/tools/Tool.ts"
import { begin, hurried, only, open } from "./session.ts"

/** As slow as the seed says. */
const look = Tool.make({
  name: "Look",
  description: "Looks something up.",
  input: Schema.Struct({ at: Schema.String }),
  readOnly: true,
  concurrencySafe: true,
  run: ({ at }) => Effect.as(latency("10ms", "3s"), { content: `seen ${at}` }),
})

const book = {
  rules: [
    {
      when: { tool: "Look", turn: 2 },
      reply: [{ tool: "Look", input: { at: "d" } }],
      faults: [{ status: 529, times: 1 }],
    },
    { when: { user: "again" }, reply: "All seen." },
    { reply: ["a", "b", "c"].map((at) => ({ tool: "Look", input: { at } })) },
  ],
}

/** Three calls at once, a retry, an interrupt in the middle of a call, and a second prompt. */
const session = (seed: string) =>
  Effect.gen(function* () {
    const agent = yield* open({ tools: [look] })
    const turn = yield* begin(agent, "Look around")
    yield* hurried(turn.until("RetryWaiting"))
    yield* hurried(turn.until("ToolStarted"))
    yield* agent.interrupt()
    const first = yield* turn.end
    const second = yield* hurried(Stream.runCollect(agent.prompt("again")))
    const fs = yield* FileSystem.FileSystem
    const requests = yield* ScriptedModel.requests
    return { journal: yield* fs.readFileString(agent.journalPath), events: [...first, ...second], requests }
  }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(TestRuntime.layer(book, { seed }), TestClock.layer())))

describe("a session under TestClock", () => {
  it.effect("gives byte-identical journals for a seed, and another valid one for another seed", () =>
    Effect.gen(function* () {
      const one = yield* session("one")
      const same = yield* session("one")
      const other = yield* session("two")
      assert.strictEqual(one.journal, same.journal)
      assert.notStrictEqual(one.journal, other.journal)
      for (const { events, requests } of [one, other]) {
        assert.deepStrictEqual(
          only(events, "TurnEnded").map((event) => event.terminal.reason),
          ["aborted_tools", "completed"],
        )
        for (const { body } of requests) assert.isUndefined(StrictApi.problem(body, { mayContinue: false }))
      }
      const order = (run: typeof one) => only(run.events, "ToolEnded").map((event) => event.content)
      assert.notDeepEqual(order(one), order(other))
    }),
  )
})
