import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
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
