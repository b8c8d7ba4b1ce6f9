import { assert, describe, it } from "@effect/vitest"
import { fullName, shortName } from "../../src/cost/ModelName.ts"

describe("the name of a model", () => {
  it.each([
    ["claude-opus-4-8", "Opus 4.8"],
    ["claude-sonnet-5", "Sonnet 5"],
    ["claude-haiku-4-5-20251001", "Haiku 4.5"],
    ["claude-3-5-sonnet-20241022", "Sonnet 3.5"],
    ["us.anthropic.claude-opus-5-v1:0", "Opus 5"],
    ["claude-opus-5@20260101", "Opus 5"],
    ["my-own-model", undefined],
  ] as const)("%s is %s", (model, expected) => {
    assert.strictEqual(shortName(model), expected)
  })

  it("is Claude alone where nothing is known", () => {
    assert.deepStrictEqual(["claude-sonnet-5", "secret"].map(fullName), ["Claude Sonnet 5", "Claude"])
  })
})
