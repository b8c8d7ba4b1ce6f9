/** Owns which tools a session has: registered in a scope, looked up by name or alias, listed in an order that never moves. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { ToolSchema } from "../model/Provider.ts"
import type { Tool } from "./Tool.ts"

export class ToolCatalog extends Context.Service<
  ToolCatalog,
  {
    /** Adds a tool until the scope closes; closing reveals a tool of the same name that it covered. */
    readonly register: <R>(tool: Tool<R>) => Effect.Effect<void, never, R | Scope.Scope>
    readonly find: (name: string) => Tool<never> | undefined
    readonly names: () => ReadonlyArray<string>
    /** What the model is told, sorted by name: adding a tool never moves another. */
    readonly schemas: () => ReadonlyArray<ToolSchema>
  }
>()("troupe/tools/ToolCatalog") {
  static readonly layer = (options?: { readonly hidden?: ReadonlySet<string> }): Layer.Layer<ToolCatalog> =>
    Layer.sync(ToolCatalog, () => make(options?.hidden ?? new Set()))
}

const make = (hidden: ReadonlySet<string>): ToolCatalog["Service"] => {
  const registered: Array<Tool<never>> = []
  /** What the model is told, kept until a tool comes or goes: the same value each turn, so that nothing is encoded anew. */
  let told: ReadonlyArray<ToolSchema> | undefined
  /** The newest registration of a name wins. */
  const visible = () => {
    const byName = new Map<string, Tool<never>>()
    for (const tool of registered) if (!hidden.has(tool.name)) byName.set(tool.name, tool)
    return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }
  return {
    register: Effect.fnUntraced(function* <R>(tool: Tool<R>) {
      const context = yield* Effect.context<R>()
      const ready = provided(tool, context)
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          registered.push(ready)
          told = undefined
        }),
        () =>
          Effect.sync(() => {
            registered.splice(registered.indexOf(ready), 1)
            told = undefined
          }),
      )
    }),
    find: (name) => {
      const tools = visible()
      return tools.find((tool) => tool.name === name) ?? tools.find((tool) => tool.aliases.includes(name))
    },
    names: () => visible().map((tool) => tool.name),
    schemas: () =>
      (told ??= visible().map((tool) => ({
        name: tool.name,
        description: tool.description,
        input_schema: tool.inputSchema,
      }))),
  }
}

/** A tool that carries the services it was registered with. */
const provided = <R>(tool: Tool<R>, context: Context.Context<R>): Tool<never> => ({
  name: tool.name,
  aliases: tool.aliases,
  description: tool.description,
  get inputSchema() {
    return tool.inputSchema
  },
  interruptBehavior: tool.interruptBehavior,
  maxResultChars: tool.maxResultChars,
  decode: (input) =>
    Effect.map(tool.decode(input), (invocation) => ({
      ...invocation,
      effects: Effect.provideContext(invocation.effects, context),
      validate: Effect.provideContext(invocation.validate, context),
      evidence: Effect.provideContext(invocation.evidence, context),
      judge: (evidence) => Effect.provideContext(invocation.judge(evidence), context),
      run: (call) => Effect.provideContext(invocation.run(call), context),
    })),
})
