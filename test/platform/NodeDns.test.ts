import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Dns } from "../../src/platform/Dns.ts"
import * as NodeDns from "../../src/platform/NodeDns.ts"

describe("NodeDns", () => {
  it.live("finds the addresses of a name, and says which name has none", () =>
    Effect.gen(function* () {
      const resolve = yield* Dns
      assert.includeMembers(["127.0.0.1", "::1"], [...(yield* resolve("localhost"))])
      const error = yield* Effect.flip(resolve("no-such-name.invalid"))
      assert.match(error.message, /The name no-such-name\.invalid cannot be resolved/)
    }).pipe(Effect.provide(NodeDns.layer)),
  )

  it.effect("is not there where a platform brings none", () =>
    Effect.gen(function* () {
      const resolve = yield* Dns
      assert.match((yield* Effect.flip(resolve("example.com"))).message, /resolves no names/)
    }),
  )
})
