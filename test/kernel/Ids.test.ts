import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Ids from "../../src/kernel/Ids.ts"

const some = Effect.all([Ids.uuid, Ids.short("agent"), Ids.uuid])
const seeded = (seed: string) => some.pipe(Effect.provide(Ids.seeded), Random.withSeed(seed))

describe("Ids", () => {
  it.effect("draws version 4 UUIDs and short ids with their prefix", () =>
    Effect.gen(function* () {
      const [uuid, short, other] = yield* some
      assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      assert.match(short, /^agent-[0-9a-f]{12}$/)
      assert.notStrictEqual(uuid, other)
    }),
  )

  it.effect("lets the seed decide every id", () =>
    Effect.gen(function* () {
      const first = yield* seeded("a")
      assert.deepStrictEqual(yield* seeded("a"), first)
      assert.notDeepEqual(yield* seeded("b"), first)
      assert.notStrictEqual(first[0], first[2])
      assert.match(first[0], /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    }),
  )
})
