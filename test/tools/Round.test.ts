import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { batches } from "../../src/tools/Round.ts"
import type { Prepared } from "../../src/tools/ToolRunner.ts"
import * as Tool from "../../src/tools/Tool.ts"

const tool = Tool.make({
  name: "Any",
  description: "",
  input: Schema.Struct({ safe: Schema.Boolean }),
  concurrencySafe: ({ safe }) => safe,
  run: () => Effect.succeed({ content: "" }),
})
const nothing = {
  toolUseId: "",
  tool: "",
  input: {},
  summary: "",
  readOnly: false,
  reads: [],
  writes: [],
  executes: undefined,
  outside: [],
  sensitive: [],
  call: { tool: "", input: {}, readOnly: false, touches: [] },
}

const prepare = (safe: boolean | "rejected", index: number) =>
  Effect.gen(function* () {
    const call = { id: String(index), name: "Any", input: {} }
    if (safe === "rejected") return { _tag: "Rejected", call, why: "" } satisfies Prepared
    const invocation = yield* tool.decode({ safe })
    return { _tag: "Ready", call, tool, invocation, ask: nothing, asOf: 0 } satisfies Prepared
  })

describe("batches", () => {
  it.effect("puts safe neighbours together and leaves the order as it is", () =>
    Effect.gen(function* () {
      const calls = yield* Effect.forEach(
        [true, true, false, true, "rejected" as const, true, true, false, false],
        prepare,
      )
      assert.deepStrictEqual(
        batches(calls).map((batch) => batch.map(({ call }) => call.id).join("")),
        ["01", "2", "3", "4", "56", "7", "8"],
      )
    }),
  )

  it.effect.prop(
    "loses nothing and never puts an unsafe call beside another",
    [Schema.Array(Schema.Boolean)],
    ([safety]) =>
      Effect.gen(function* () {
        const calls = yield* Effect.forEach(safety, prepare)
        const found = batches(calls)
        assert.deepStrictEqual(found.flat(), calls)
        for (const batch of found) {
          assert.isTrue(
            batch.length === 1 || batch.every((one) => one._tag === "Ready" && one.invocation.concurrencySafe),
          )
        }
      }),
  )
})
