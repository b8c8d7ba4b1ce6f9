/** A few points of the crash matrix; `npm run test:deep` kills at all of them. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { crash, type Cut, length } from "./crash.ts"

describe("a session that is killed", () => {
  it.live("before, inside and after a record goes on to its end, and the step that must happen once does", () =>
    Effect.gen(function* () {
      const { kinds } = yield* length
      // The fifth tool to start is the one that must not happen twice.
      const begins = kinds.flatMap((kind, index) => (kind === "ToolStarted" ? [index + 1] : []))[4] ?? 0
      const cuts: ReadonlyArray<Cut> = [
        { where: "before", write: begins },
        { where: "inside", write: begins },
        { where: "after", write: begins },
        { where: "before", write: begins + 1 },
        { where: "inside", write: begins + 1 },
        { where: "after", write: begins + 1 },
      ]
      const ends = yield* Effect.forEach(cuts, (cut) => crash([cut]), { concurrency: 2 })
      assert.isTrue(ends.every((end) => end.reached))
      // Begun and not ended: nobody knows whether it happened.
      assert.deepStrictEqual(
        ends.map((end) => end.doubtful),
        [false, false, true, true, true, false],
      )
    }),
  )
})
