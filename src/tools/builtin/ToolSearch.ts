/** Owns finding tools whose schemas the model has not been told: it names them or describes them, and may call them from then on. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Tool from "../Tool.ts"
import { finder, ToolCatalog } from "../ToolCatalog.ts"

const Input = Schema.Struct({
  query: Schema.String.check(Schema.isNonEmpty()).annotate({
    description: 'Words to look for (one with + must be there), or "select:Name,Other" for tools you know by name',
  }),
  max_results: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 })).annotate({ description: "Default 5" }),
  ),
})

const Output = Schema.Struct({
  query: Schema.String,
  matches: Schema.Array(Schema.String),
  total_deferred_tools: Schema.Int,
})

export const ToolSearch = Tool.make({
  name: finder,
  description:
    "Finds further tools. Many are available whose parameters are not listed here; once this has found one you can call it like any other.",
  input: Input,
  output: Output,
  readOnly: true,
  concurrencySafe: true,
  summary: ({ query }) => `${finder} ${query}`,
  run: Effect.fnUntraced(function* ({ max_results: most = 5, query }) {
    const catalog = yield* ToolCatalog
    const matches = catalog.search(query, most)
    const names = matches.map(({ name }) => name)
    const structured = {
      query,
      matches: names,
      total_deferred_tools: catalog.names().filter((name) => catalog.find(name)?.deferred === true).length,
    }
    if (matches.length === 0) {
      return { content: "No tool fits. Try fewer or other words.", structured }
    }
    if (catalog.deferral() === "api") {
      return { content: names.map((tool_name) => ({ type: "tool_reference", tool_name }) as const), structured }
    }
    const schemas = matches.map(({ description, inputSchema, name }) =>
      JSON.stringify({ name, description, parameters: inputSchema }),
    )
    return { content: ["You can call these now:", ...schemas].join("\n"), structured }
  }),
})
