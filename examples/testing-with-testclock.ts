/**
 * A test of an agent in virtual time: the service is overloaded, the tool takes a day, and the test a moment.
 * Needs no key and no network: the model is scripted, files are in memory. Everything else is the product.
 *
 *   node testing-with-testclock.js
 */
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { strict as assert } from "node:assert"
import { Agents, Tool } from "troupe"
import { ScriptedModel, TestRuntime } from "troupe/testing"

const Bake = Tool.make({
  name: "Bake",
  description: "Bakes a cake. Takes a day.",
  input: Schema.Struct({ cake: Schema.String }),
  readOnly: true,
  run: ({ cake }) => Effect.as(Effect.sleep("24 hours"), { content: `${cake} is ready` }),
})

const world = TestRuntime.layer({
  rules: [
    { when: { tool: "Bake" }, reply: "Done: ${lastToolResult}." },
    {
      reply: [{ tool: "Bake", input: { cake: "the apple pie" } }],
      faults: [{ status: 529, times: 3 }],
    },
  ],
}).pipe(Layer.provideMerge(TestClock.layer()))

const test = Effect.gen(function* () {
  const agents = yield* Agents
  const agent = yield* agents.open({ tools: [Bake] })
  const startedAt = yield* Clock.currentTimeMillis
  const turn = yield* Effect.forkChild(Stream.runCollect(agent.prompt("Bake a pie")))
  // Time passes only when the test says so.
  while (turn.pollUnsafe() === undefined) yield* TestClock.adjust("10 minutes")
  const end = (yield* Fiber.join(turn)).at(-1)
  assert(end?._tag === "TurnEnded")
  assert.equal(end.result, "Done: the apple pie is ready.")
  assert.equal((yield* ScriptedModel.requests).length, 5) // three of them met the fault
  const hours = ((yield* Clock.currentTimeMillis) - startedAt) / 3_600_000
  assert(hours >= 24)
  yield* Console.log(`passed, ${Math.round(hours)} hours later`)
})

await Effect.runPromise(test.pipe(Effect.scoped, Effect.provide(world)))
