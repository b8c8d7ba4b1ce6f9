/**
 * Many small jobs at once, and one limit for all of them: what does not fit any more is not begun, and nothing is overspent.
 * Needs ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL for a gateway).
 *
 *   node budgeted-batch.js "The parcel is late again!" "Lovely shop." "Where is my invoice?"
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agents, Budget, CostGovernor, Output, Runtime } from "troupe"
import { TroupeNode } from "troupe/node"

const letters = process.argv.length > 2 ? process.argv.slice(2) : ["The parcel is late again!", "Lovely shop."]

const Mood = Output.make(Schema.Struct({ mood: Schema.Literals(["happy", "neutral", "angry"]) }))

// Each letter gets a session of its own, which ends with its scope.
const judge = (letter: string) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const agent = yield* agents.open({ model: "haiku", jsonSchema: Mood.jsonSchema, systemPrompt: "You sort letters." })
    const { mood } = yield* Mood.ask(agent, `How does the writer of this letter feel?\n\n${letter}`)
    return `${mood}: ${letter}`
  }).pipe(
    Effect.scoped,
    // One letter more or less: the batch goes on, and says which one is missing and why.
    Effect.catchTag("NoOutput", (error) => Effect.succeed(`${error.terminal.reason}: ${letter} (${error.message})`)),
  )

const program = Effect.gen(function* () {
  const lines = yield* Effect.forEach(letters, judge, { concurrency: 3 }).pipe(
    // Money is reserved before each request, so jobs that run at once cannot overspend together.
    Budget.within({ name: "letters", usd: 0.1, wall: "2 minutes" }),
  )
  yield* Effect.forEach(lines, (line) => Console.log(line), { discard: true })
  const cost = yield* CostGovernor
  const { total } = yield* cost.ask.Report()
  yield* Console.log(`${total.requests} requests, ${total.costUsd.toFixed(4)} USD`)
}).pipe(
  Effect.catchTag("BudgetExceeded", (error) => Console.error(error.message)),
  Effect.provide(Runtime.layer().pipe(Layer.provide(TroupeNode.layer))),
)

await Effect.runPromise(program)
