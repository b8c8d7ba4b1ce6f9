import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { knownModels } from "../../src/cost/KnownModels.ts"
import * as ModelTable from "../../src/cost/ModelTable.ts"
import { Host } from "../../src/platform/Host.ts"

const { resolve } = ModelTable.make()

describe("ModelTable", () => {
  it.each([
    ["opus", "claude-opus-5-5"],
    ["Sonnet", "claude-sonnet-5-5"],
    ["haiku", "claude-haiku-5-5"],
    ["fable", "claude-fable-5-1"],
    ["sonnet[1m]", "claude-sonnet-5-5"],
    ["claude-haiku-4-5", "claude-haiku-4-5-20251001"],
    ["opus-4.8", "claude-opus-4-8"],
    [" claude-opus-5 ", "claude-opus-5"],
  ])("understands %s as %s", (name, id) => {
    assert.deepInclude(resolve(name), { id, known: true })
  })

  it("sends a dated snapshot as it was asked for, with the facts of its model", () => {
    const found = resolve("claude-sonnet-4-5-20250929")
    assert.strictEqual(found.id, "claude-sonnet-4-5-20250929")
    assert.strictEqual(found.spec.id, "claude-sonnet-4-5")
    assert.isTrue(found.known)
  })

  it("suggests the nearest name for one it does not know, but only a near one", () => {
    assert.deepInclude(resolve("claude-opus-55"), { known: false, suggestion: "claude-opus-5-5" })
    assert.strictEqual(resolve("sonet").suggestion, "sonnet")
    assert.isUndefined(resolve("llama-70b-instruct-quantized").suggestion)
    assert.deepStrictEqual(resolve("llama").spec.prices, [])
  })

  it("lets the environment say what a family's name and the default mean", () => {
    const env: Record<string, string> = { ANTHROPIC_DEFAULT_OPUS_MODEL: "claude-opus-4-8", ANTHROPIC_MODEL: "opus" }
    const table = ModelTable.make({}, (name) => env[name])
    assert.strictEqual(table.defaultModel, "opus")
    assert.strictEqual(table.resolve(table.defaultModel).id, "claude-opus-4-8")
    assert.strictEqual(ModelTable.make().defaultModel, "sonnet")
  })

  it("lets settings correct a model and describe a new one after a known one", () => {
    const table = ModelTable.make({
      "claude-opus-5-5": { maxOutput: 1_000 },
      "gateway/opus": { basedOn: "claude-opus-5-5", aliases: ["go"] },
    })
    assert.strictEqual(table.resolve("opus").spec.maxOutput, 1_000)
    assert.deepInclude(table.resolve("go"), { id: "gateway/opus", known: true })
    assert.deepStrictEqual(table.resolve("go").spec.prices, knownModels.find((m) => m.id === "claude-opus-5-5")?.prices)
    assert.strictEqual(table.resolve("claude-opus-5-5").id, "claude-opus-5-5")
  })

  it("has facts that fit together", () => {
    const names = knownModels.flatMap((model) => [model.id, ...model.aliases])
    assert.strictEqual(new Set(names).size, names.length)
    for (const model of knownModels) {
      assert.isBelow(model.maxOutput, model.contextWindow)
      assert.isNotEmpty(model.prices)
      assert.strictEqual(model.defaultEffort === null, model.efforts.length === 0, model.id)
      if (model.defaultEffort !== null) assert.include(model.efforts, model.defaultEffort)
    }
  })

  it.effect("reads the environment of the host", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ModelTable.ModelTable).defaultModel, "haiku")
    }).pipe(
      Effect.provide(
        Layer.provide(ModelTable.ModelTable.layer(), Host.layerTest({ env: { ANTHROPIC_MODEL: "haiku" } })),
      ),
    ),
  )
})
