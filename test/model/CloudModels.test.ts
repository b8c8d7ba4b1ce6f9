import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ModelTable from "../../src/cost/ModelTable.ts"
import { knownModels } from "../../src/cost/KnownModels.ts"
import * as CloudModels from "../../src/model/CloudModels.ts"
import * as Fake from "./ScriptedProvider.ts"

const { resolve } = ModelTable.make()

describe("CloudModels", () => {
  it("spells models as Bedrock does, with the profile of the region", () => {
    const spelled = (id: string, region = "us-east-1", prefix?: string) => CloudModels.bedrock(id, region, prefix)
    assert.strictEqual(spelled("claude-sonnet-5-5"), "us.anthropic.claude-sonnet-5-5")
    assert.strictEqual(spelled("claude-opus-4-6", "eu-central-1"), "eu.anthropic.claude-opus-4-6-v1")
    assert.strictEqual(
      spelled("claude-sonnet-4-5", "ap-northeast-1"),
      "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
    )
    assert.strictEqual(
      spelled("claude-sonnet-4-5", "ap-northeast-1", "jp"),
      "jp.anthropic.claude-sonnet-4-5-20250929-v1:0",
    )
    assert.strictEqual(spelled("claude-opus-5", "us-gov-west-1"), "us-gov.anthropic.claude-opus-5")
    assert.strictEqual(spelled("anthropic.claude-opus-5"), "anthropic.claude-opus-5")
  })

  it("spells models as Vertex AI does", () => {
    assert.strictEqual(CloudModels.vertex("claude-sonnet-4-5"), "claude-sonnet-4-5@20250929")
    assert.strictEqual(CloudModels.vertex("claude-opus-4-5-20251101"), "claude-opus-4-5@20251101")
    assert.strictEqual(CloudModels.vertex("claude-opus-4-5@20251101"), "claude-opus-4-5@20251101")
    assert.strictEqual(CloudModels.vertex("claude-fable-5-1"), "claude-fable-5-1")
    assert.deepStrictEqual(CloudModels.vertexRegionSettings("claude-opus-5-5"), [
      "VERTEX_REGION_CLAUDE_5_5_OPUS",
      "VERTEX_REGION_CLAUDE_OPUS_5_5",
    ])
  })

  it("gives every known model a name in each cloud that leads back to its price", () => {
    for (const { id } of knownModels) {
      for (const name of [CloudModels.bedrock(id, "eu-west-1", undefined), CloudModels.vertex(id)]) {
        const found = resolve(name)
        assert.deepInclude(found, { id: name === id ? id : found.id, known: true }, name)
        assert.strictEqual(found.spec.id, id, name)
      }
    }
    const arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-opus-4-6-v1"
    assert.deepInclude(resolve(arn), { id: arn, known: true })
    assert.isFalse(resolve("arn:aws:bedrock:us-east-1:1:application-inference-profile/Abc1").known)
    assert.strictEqual(resolve("arn:aws:bedrock:us-east-1:1:application-inference-profile/Abc1").id.at(-4), "A")
  })

  it("lets the environment say what a family means in a cloud, with the price of the model", () => {
    const env: Record<string, string> = {
      ANTHROPIC_DEFAULT_SONNET_MODEL: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    }
    const found = ModelTable.make({}, (name) => env[name]).resolve("sonnet")
    assert.deepInclude(found, { id: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", known: true })
    assert.deepStrictEqual(found.spec.prices, [{ input: 3, output: 15 }])
  })

  it.effect("asks a server's own model only for what settings say it can do", () => {
    const fake = Fake.script(Fake.says("Hi"))
    const models = {
      "Qwen3-Coder:30b": { contextWindow: 32_768, maxOutput: 4_096, thinking: [], caching: false, efforts: [] },
    }
    return Effect.gen(function* () {
      const wishes = { thinking: { type: "adaptive" }, outputConfig: { effort: "high" } }
      yield* Fake.collect(Fake.request({ model: "qwen3-coder:30b", ...wishes }))
      const [asked] = fake.asked
      assert.deepInclude(asked, { model: "Qwen3-Coder:30b", maxTokens: 4_096, caching: false })
      assert.isUndefined(asked?.thinking)
      assert.isUndefined(asked?.outputConfig)
    }).pipe(Effect.provide(Fake.layer(fake, { models })))
  })
})
