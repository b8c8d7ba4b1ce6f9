import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Tool from "../../src/tools/Tool.ts"
import { ToolCatalog } from "../../src/tools/ToolCatalog.ts"

const named = (name: string, description = "") =>
  Tool.make({
    name,
    description,
    input: Schema.Struct({ n: Schema.Finite }),
    run: () => Effect.succeed({ content: "" }),
  })

describe("ToolCatalog", () => {
  it.effect("lists by name, whatever the order of registration", () =>
    Effect.gen(function* () {
      const catalog = yield* ToolCatalog
      for (const name of ["Write", "Bash", "Read"]) yield* catalog.register(named(name))
      assert.deepStrictEqual(catalog.names(), ["Bash", "Read", "Write"])
      assert.deepStrictEqual(
        catalog.schemas().map(({ name }) => name),
        ["Bash", "Read", "Write"],
      )
    }).pipe(Effect.scoped, Effect.provide(ToolCatalog.layer())),
  )

  it.effect("covers a tool of the same name until the scope closes", () =>
    Effect.gen(function* () {
      const catalog = yield* ToolCatalog
      yield* catalog.register(named("Read", "first"))
      yield* Effect.scoped(
        Effect.andThen(
          catalog.register(named("Read", "second")),
          Effect.sync(() => assert.strictEqual(catalog.find("Read")?.description, "second")),
        ),
      )
      assert.strictEqual(catalog.find("Read")?.description, "first")
    }).pipe(Effect.scoped, Effect.provide(ToolCatalog.layer())),
  )

  /** A catalog whose model has been told its tools; `find` is deferred where schemas are. */
  const latched = Effect.fnUntraced(function* (above: number, toolSearch = true) {
    const catalog = yield* ToolCatalog
    for (const name of ["Read", "Write", "ToolSearch"]) yield* catalog.register(named(name))
    yield* catalog.register({ ...named("mcp__git__find"), deferred: true })
    catalog.latch({ contextWindow: 1_000_000, toolSearch }, above)
    return catalog
  })
  const told = (catalog: ToolCatalog["Service"]) =>
    catalog.schemas().map((tool) => (tool.defer_loading === true ? `(${tool.name})` : tool.name))

  it.effect("tells a tool that comes later behind all others, and goes on listing one that goes", () =>
    Effect.gen(function* () {
      const catalog = yield* latched(1)
      assert.deepStrictEqual(told(catalog), ["Read", "Write", "mcp__git__find"])
      assert.isUndefined(catalog.news())
      const scope = yield* Scope.make()
      yield* Scope.provide(catalog.register(named("Aardvark")), scope)
      assert.deepStrictEqual(told(catalog), ["Read", "Write", "mcp__git__find", "Aardvark"])
      assert.strictEqual(catalog.news(), "These tools are available from now on: Aardvark")
      const before = catalog.schemas()
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(catalog.schemas(), before)
      assert.isUndefined(catalog.find("Aardvark"))
      assert.match(catalog.news() ?? "", /no longer available, do not call them: Aardvark/)
      assert.isUndefined(catalog.news())
    }).pipe(Effect.scoped, Effect.provide(ToolCatalog.layer())),
  )

  it.effect("leaves a tool that comes later out of what is cached, where the service can", () =>
    Effect.gen(function* () {
      const catalog = yield* latched(0)
      yield* catalog.register(named("Aardvark"))
      assert.deepStrictEqual(told(catalog), ["Read", "ToolSearch", "Write", "(mcp__git__find)", "(Aardvark)"])
      assert.match(catalog.news() ?? "", /available from now on \(ToolSearch shows you their schemas\): Aardvark/)
      assert.deepStrictEqual(
        catalog.search("select:Aardvark", 5).map(({ name }) => name),
        ["Aardvark"],
      )
    }).pipe(Effect.scoped, Effect.provide(ToolCatalog.layer())),
  )

  it.effect("tells a tool that comes later only when it is asked for, where we leave schemas out ourselves", () =>
    Effect.gen(function* () {
      const catalog = yield* latched(0, false)
      yield* catalog.register(named("Aardvark"))
      assert.deepStrictEqual(told(catalog), ["Read", "ToolSearch", "Write"])
      assert.match(catalog.hint("Aardvark"), /select:Aardvark/)
      catalog.search("select:Aardvark", 5)
      assert.deepStrictEqual(told(catalog), ["Read", "ToolSearch", "Write", "Aardvark"])
    }).pipe(Effect.scoped, Effect.provide(ToolCatalog.layer())),
  )

  it.effect("says what a tool is now, instead of changing what was told", () =>
    Effect.gen(function* () {
      const catalog = yield* latched(1)
      yield* catalog.register(named("Read", "Reads better."))
      assert.strictEqual(catalog.schemas()[0]?.description, "")
      assert.match(catalog.news() ?? "", /The tool Read has changed, .*Reads better/)
    }).pipe(Effect.scoped, Effect.provide(ToolCatalog.layer())),
  )

  it.effect("gives a tool the services it was registered with", () =>
    Effect.gen(function* () {
      class Greeting extends Context.Service<Greeting, string>()("test/Greeting") {}
      const greet = Tool.make({
        name: "Greet",
        description: "",
        input: Schema.Struct({}),
        run: () => Effect.map(Effect.service(Greeting), (content) => ({ content })),
      })
      const catalog = yield* ToolCatalog
      yield* Effect.provideService(catalog.register(greet), Greeting, "hello")
      const invocation = yield* catalog.find("Greet")!.decode({})
      const output = yield* invocation.run({ toolUseId: "1", progress: () => Effect.void })
      assert.strictEqual(output.content, "hello")
    }).pipe(Effect.scoped, Effect.provide(ToolCatalog.layer())),
  )

  it("fails closed: a tool that says nothing of itself is neither read-only, nor safe, nor repeatable", () => {
    const invocation = Effect.runSync(named("X").decode({ n: 1 }))
    assert.deepStrictEqual(
      [invocation.readOnly, invocation.concurrencySafe, invocation.idempotency],
      [false, false, "once"],
    )
  })
})
