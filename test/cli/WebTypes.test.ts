import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Headers as OurHeaders, Response as OurResponse } from "../../src/cli/WebTypes.ts"

describe("our headers", () => {
  it("are what the standard's are, for what a request does with them", () => {
    for (const Kind of [Headers, OurHeaders]) {
      const headers = new Kind({ "X-B": " two ", Accept: "a" })
      headers.append("x-b", "three")
      headers.set("ACCEPT", "b")
      assert.deepStrictEqual(
        [...headers],
        [
          ["accept", "b"],
          ["x-b", "two, three"],
        ],
      )
      assert.isNull(headers.get("absent"))
      headers.delete("Accept")
      assert.isFalse(headers.has("accept"))
      assert.deepStrictEqual([...new Kind(new Headers({ a: "1" }))], [["a", "1"]])
      assert.deepStrictEqual([...new Kind([["a", "1"]])], [["a", "1"]])
      assert.throws(() => headers.set("a b", "x"), TypeError)
      assert.throws(() => headers.set("a", "x\r\nevil: y"), TypeError)
    }
  })
})

describe("our response", () => {
  it.live("is read like the standard's, once", () =>
    Effect.gen(function* () {
      for (const Kind of [Response, OurResponse]) {
        const response = new Kind('{"a":"é"}', { status: 404, headers: { "content-type": "application/json" } })
        assert.deepStrictEqual(
          [response.ok, response.status, response.headers.get("Content-Type")],
          [false, 404, "application/json"],
        )
        assert.deepStrictEqual(yield* Effect.promise(() => response.json()), { a: "é" })
        assert.isTrue(response.bodyUsed)
        const again = yield* Effect.exit(Effect.tryPromise(() => response.text()))
        assert.strictEqual(again._tag, "Failure")
        assert.strictEqual(yield* Effect.promise(() => new Kind(null).text()), "")
      }
    }),
  )
})
