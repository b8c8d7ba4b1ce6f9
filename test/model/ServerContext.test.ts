import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Body from "../../src/model/AnthropicBody.ts"
import type { ProviderRequest } from "../../src/model/Provider.ts"
import * as ServerContext from "../../src/model/ServerContext.ts"
import { collect, layer, request, says, script } from "./ScriptedProvider.ts"

const bodyOf = (sent: ProviderRequest | undefined) => {
  assert(sent !== undefined)
  const body: unknown = JSON.parse(new TextDecoder().decode(Body.encode(sent, true)))
  return body
}

describe("what the service may take out of a conversation", () => {
  it("is nothing unless somebody wants it", () => {
    assert.isUndefined(ServerContext.asked([]))
  })

  it("is asked for in the service's order, each beta once", () => {
    assert.deepStrictEqual(ServerContext.asked(["compact", "clear_tool_uses", "clear_thinking"]), {
      contextManagement: {
        edits: [
          { type: "clear_thinking_20251015" },
          { type: "clear_tool_uses_20250919" },
          { type: "compact_20260112" },
        ],
      },
      betas: ["context-management-2025-06-27", "compact-2026-01-12"],
    })
  })

  it.effect("stands in the body of the request", () => {
    const provider = script(says("fine"))
    return Effect.gen(function* () {
      yield* collect(request())
      assert.deepNestedPropertyVal(bodyOf(provider.asked[0]), "context_management.edits[0].type", "compact_20260112")
      assert.deepStrictEqual(provider.asked[0]?.betas, ["compact-2026-01-12"])
    }).pipe(
      Effect.provide(
        layer(provider).pipe(Layer.provide(Layer.succeed(ServerContext.ServerContext, ["compact"] as const))),
      ),
    )
  })
})
