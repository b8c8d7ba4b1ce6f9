import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as SseWriter from "../../src/testing/SseWriter.ts"

describe("SseWriter", () => {
  it.prop("tearing loses nothing and cuts every longer character", [Schema.String], ([text]) => {
    const bytes = Buffer.from(`${text}é漢🙂${text}`)
    const pieces = SseWriter.tear(bytes)
    assert.isTrue(Buffer.concat(pieces).equals(bytes))
    for (const piece of pieces.slice(0, -1)) {
      const lead = piece.findIndex((byte) => byte >= 0xc0)
      assert.isTrue(piece.length > 0 && (lead < 0 || lead === piece.length - 1))
    }
  })
})
