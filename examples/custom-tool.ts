/**
 * A tool of one's own that needs a service of one's own, and an answer that is a value.
 * Needs ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL for a gateway).
 *
 *   node custom-tool.js
 */
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agents, Output, Runtime, Tool } from "troupe"
import { TroupeNode } from "troupe/node"

class Stock extends Context.Service<Stock, { readonly count: (item: string) => Effect.Effect<number | undefined> }>()(
  "example/Stock",
) {
  static readonly layer = Layer.succeed(Stock, {
    count: (item) =>
      Effect.succeed(
        new Map([
          ["apples", 3],
          ["pears", 40],
        ]).get(item),
      ),
  })
}

// The requirement is in the tool's type: an agent with this tool cannot be opened where there is no Stock.
const CountStock = Tool.make({
  name: "CountStock",
  description: "How many pieces of an item are in stock.",
  input: Schema.Struct({ item: Schema.String }),
  readOnly: true,
  run: Effect.fn(function* ({ item }) {
    const stock = yield* Stock
    const count = yield* stock.count(item)
    // A failure is told to the model, which may correct itself.
    if (count === undefined) return yield* new Tool.ToolFailure({ message: `There is no ${item}; try apples, pears.` })
    return { content: String(count) }
  }),
})

const Order = Output.make(Schema.Struct({ item: Schema.String, pieces: Schema.Int }))

const program = Effect.gen(function* () {
  const agents = yield* Agents
  const agent = yield* agents.open({ tools: [CountStock], jsonSchema: Order.jsonSchema })
  const order = yield* Order.ask(agent, "We want 10 pieces of each fruit. Look at the stock, then say what to order.")
  yield* Console.log(`order ${order.pieces} ${order.item}`)
}).pipe(
  Effect.catchTag("NoOutput", (error) => Console.error(error.message)),
  Effect.scoped,
  Effect.provide(Layer.merge(Stock.layer, Runtime.layer().pipe(Layer.provide(TroupeNode.layer)))),
)

await Effect.runPromise(program)
