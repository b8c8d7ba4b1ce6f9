import { assert, describe, it } from "@effect/vitest"
import * as ControlLines from "../../src/cli/ControlLines.ts"

const cut = (pieces: ReadonlyArray<string>, limit?: number) => {
  const lines = ControlLines.make(limit)
  return [...pieces.flatMap((piece) => lines.push(piece)), ...lines.end()]
}

describe("lines of stdin", () => {
  it("are the same however they arrive", () => {
    const text = "one\n\ntwo\nthree"
    const whole = cut([text])
    assert.deepStrictEqual(whole, [
      { _tag: "Line", number: 1, text: "one" },
      { _tag: "Line", number: 2, text: "" },
      { _tag: "Line", number: 3, text: "two" },
      { _tag: "Line", number: 4, text: "three" },
    ])
    for (let at = 0; at <= text.length; at++) assert.deepStrictEqual(cut([text.slice(0, at), text.slice(at)]), whole)
    assert.deepStrictEqual(cut(text.split("")), whole)
  })

  it("end with the last line break, if there is one", () => {
    assert.deepStrictEqual(cut(["one\n"]), [{ _tag: "Line", number: 1, text: "one" }])
    assert.deepStrictEqual(cut([]), [])
  })

  it("that are too long are passed over, and the next one is read", () => {
    assert.deepStrictEqual(cut(["12345\n", "123456\nab", "cdefg", "hij\n", "x"], 5), [
      { _tag: "Line", number: 1, text: "12345" },
      { _tag: "TooLong", number: 2, start: "123456" },
      { _tag: "TooLong", number: 3, start: "abcdefg" },
      { _tag: "Line", number: 4, text: "x" },
    ])
  })

  it("that are too long at the very end are told too", () => {
    assert.deepStrictEqual(cut(["123456"], 5), [{ _tag: "TooLong", number: 1, start: "123456" }])
  })
})
