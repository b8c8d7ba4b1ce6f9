/** Every line of a hand-over as the last one, for either side. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { cutAt, lines } from "./handOver.ts"

describe("a hand-over", () => {
  for (const [at, line] of lines.entries()) {
    for (const victim of ["sender", "receiver"] as const) {
      it.live(`with the ${victim} killed before "${line}" arrives has one owner`, () =>
        Effect.gen(function* () {
          const owner = yield* cutAt(line, victim)
          assert.strictEqual(owner, at < lines.indexOf("decided") ? "home" : "away")
        }),
      )
    }
  }
})
