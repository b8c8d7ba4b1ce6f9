/**
 * Owns which tools a session has: registered in a scope, looked up by name or alias, listed in an order that never moves. Our own come
 * first and those of servers behind them, so that a server's tools never move ours.
 *
 * Tools are what a prompt begins with, so what was told once stays as it is: one that comes later is told behind all others, and left out
 * until it is asked for where schemas can be; one that goes stays listed. Whoever tells the model what changed asks for `news`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Account } from "../cost/Account.ts"
import * as Budget from "../kernel/Budget.ts"
import type { ToolSchema } from "../model/Provider.ts"
import * as Deferral from "./Deferral.ts"
import type { Tool } from "./Tool.ts"

/** The tool that finds the schemas of deferred ones; it is offered only where there are any. */
export const finder = "ToolSearch"

export class ToolCatalog extends Context.Service<
  ToolCatalog,
  {
    /** Adds a tool until the scope closes; closing reveals a tool of the same name that it covered. */
    readonly register: <R>(tool: Tool<R>) => Effect.Effect<void, never, R | Scope.Scope>
    readonly find: (name: string) => Tool<never> | undefined
    readonly names: () => ReadonlyArray<string>
    /** What the model is told, sorted: adding a tool never moves another. */
    readonly schemas: () => ReadonlyArray<ToolSchema>
    /** What has come, gone or changed since this was last asked, for the model; nothing before the latch. */
    readonly news: () => string | undefined
    /** Decides, once, whether schemas are deferred. From here on what is told only grows. */
    readonly latch: (capacity: Deferral.Capacity, above: number) => Deferral.Plan
    readonly deferral: () => Deferral.Deferral
    /** Deferred tools that a query means; from now on the model may be told their schemas. */
    readonly search: (query: string, most: number) => ReadonlyArray<Tool<never>>
    /** What to add to a complaint about arguments: where the model has not seen the tool's schema, how to see it. */
    readonly hint: (name: string) => string
  }
>()("troupe/tools/ToolCatalog") {
  static readonly layer = (options?: {
    /** Tools that no call may use anyway, and the model need not see. */
    readonly isHidden?: (name: string) => boolean
  }): Layer.Layer<ToolCatalog> => Layer.sync(ToolCatalog, () => make(options?.isHidden ?? (() => false)))
}

const make = (isHidden: (name: string) => boolean): ToolCatalog["Service"] => {
  const registered: Array<Tool<never>> = []
  /** What the model is told, kept until something changes it: the same value each turn, so that nothing is encoded anew. */
  let told: ReadonlyArray<ToolSchema> | undefined
  let deferral: Deferral.Deferral = "none"
  /** Deferred tools whose schema the model has asked for, in the order it did. */
  const found = new Set<string>()

  /** The newest registration of a name wins. */
  const visible = () => {
    const byName = new Map<string, Tool<never>>()
    for (const tool of registered) if (!isHidden(tool.name)) byName.set(tool.name, tool)
    if (deferral === "none") byName.delete(finder)
    return [...byName.values()].sort(order)
  }
  /** Registered when the model had been told its tools already. */
  const late = new Set<string>()
  const isDeferred = (tool: Tool<never>) => deferral !== "none" && (tool.deferred || late.has(tool.name))
  const present = () => {
    const tools = visible().filter((tool) => tool.listed)
    const direct = tools.filter((tool) => !isDeferred(tool)).map(schemaOf)
    const deferred = tools.filter(isDeferred)
    if (deferral === "api") return [...direct, ...deferred.map((tool) => ({ ...schemaOf(tool), defer_loading: true }))]
    const asked = [...found].flatMap((name) => deferred.find((tool) => tool.name === name) ?? [])
    return [...direct, ...asked.map(schemaOf)]
  }
  /** What the model has been told, in that order. */
  let latched: Map<string, ToolSchema> | undefined
  const schemas = () => {
    const now = present()
    if (latched === undefined) return now
    for (const schema of now) if (!latched.has(schema.name)) latched.set(schema.name, schema)
    return [...latched.values()]
  }
  /** The tools of which the model knows, and whether others have come or gone since. */
  let known: ReadonlyArray<Tool<never>> | undefined
  let moved = false
  const listed = () => visible().filter((tool) => tool.listed)

  return {
    register: Effect.fnUntraced(function* <R>(tool: Tool<R>) {
      // Who pays for a call is known when it is made.
      const context = Context.omit(Budget.Current, Account)(yield* Effect.context<R>())
      const ready = provided(tool, context)
      if (!(yield* ready.enabled)) return
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          registered.push(ready)
          moved = true
          if (latched?.has(ready.name) === false) late.add(ready.name)
          told = undefined
        }),
        () =>
          Effect.sync(() => {
            registered.splice(registered.indexOf(ready), 1)
            moved = true
            told = undefined
          }),
      )
    }),
    find: (name) => {
      const tools = visible()
      return tools.find((tool) => tool.name === name) ?? tools.find((tool) => tool.aliases.includes(name))
    },
    names: () => visible().flatMap((tool) => (tool.listed ? [tool.name] : [])),
    schemas: () => (told ??= schemas()),
    news: () => {
      if (known === undefined || !moved) return undefined
      const before = spelled(known)
      known = listed()
      moved = false
      return newsOf(before, spelled(known), deferral)
    },
    latch: (capacity, above) => {
      const plan = Deferral.plan(visible(), capacity, above)
      deferral = plan.deferral
      latched = new Map(present().map((schema) => [schema.name, schema]))
      known = listed()
      moved = false
      told = undefined
      return plan
    },
    deferral: () => deferral,
    search: (query, most) => {
      const matches = Deferral.search(query, visible().filter(isDeferred), most)
      const before = found.size
      for (const { name } of matches) found.add(name)
      if (deferral === "client" && found.size > before) told = undefined
      return matches
    },
    hint: (name) => {
      const isUnseen = registered.some((tool) => tool.name === name && isDeferred(tool)) && !found.has(name)
      return deferral === "none" || !isUnseen
        ? ""
        : `\nYou have not seen its schema: call ${finder} with the query "select:${name}" first, then make the call again.`
    },
  }
}

const spelled = (tools: ReadonlyArray<Tool<never>>): ReadonlyMap<string, string> =>
  new Map(tools.map((tool) => [tool.name, JSON.stringify(schemaOf(tool))]))

/** For a message to the model; nothing when nothing changed. */
const newsOf = (
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
  deferral: Deferral.Deferral,
): string | undefined => {
  const added = [...after.keys()].filter((name) => !before.has(name))
  const gone = [...before.keys()].filter((name) => !after.has(name))
  const changed = [...after].filter(([name, schema]) => before.has(name) && before.get(name) !== schema)
  const how = deferral === "none" ? "" : ` (${finder} shows you their schemas)`
  const lines = [
    ...(added.length > 0 ? [`These tools are available from now on${how}: ${added.join(", ")}`] : []),
    ...(gone.length > 0 ? [`These tools are no longer available, do not call them: ${gone.join(", ")}`] : []),
    ...changed.map(([name, schema]) => `The tool ${name} has changed, and is from now on: ${schema}`),
  ]
  return lines.length === 0 ? undefined : lines.join("\n")
}

const isServers = ({ name }: Tool<never>): boolean => name.startsWith("mcp__")

const order = (a: Tool<never>, b: Tool<never>): number => {
  if (isServers(a) !== isServers(b)) return isServers(a) ? 1 : -1
  return a.name < b.name ? -1 : 1
}

const schemaOf = (tool: Tool<never>): ToolSchema => ({
  name: tool.name,
  description: tool.description,
  input_schema: tool.inputSchema,
})

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
  deferred: tool.deferred,
  listed: tool.listed,
  cascades: tool.cascades,
  enabled: Effect.provideContext(tool.enabled, context),
  decode: (input) =>
    Effect.map(tool.decode(input), (invocation) => ({
      ...invocation,
      effects: Effect.provideContext(invocation.effects, context),
      opinion: Effect.provideContext(invocation.opinion, context),
      validate: Effect.provideContext(invocation.validate, context),
      evidence: Effect.provideContext(invocation.evidence, context),
      judge: (evidence) => Effect.provideContext(invocation.judge(evidence), context),
      run: (call) => Effect.provideContext(invocation.run(call), context),
    })),
})
