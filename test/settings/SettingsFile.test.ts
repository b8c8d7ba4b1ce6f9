import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { parse, type Parsed } from "../../src/settings/SettingsFile.ts"

const good = (text: string): Parsed => Result.getOrThrow(parse(text))
const broken = (text: string) => Result.getOrThrow(Result.flip(parse(text)))
const toJson = (value: unknown): string => JSON.stringify(value)

describe("SettingsFile", () => {
  it("allows comments and trailing commas", () => {
    const text = '// mine\n{\n  "model": "opus", /* best */\n  "permissions": { "allow": ["Read",], },\n}\n'
    assert.deepStrictEqual(good(text).value, { model: "opus", permissions: { allow: ["Read"] } })
  })

  it("names the line and column where a key is written", () => {
    const { locate } = good('{\n  "a": 1,\n  "b": {\n      "c": ["x",\n "y"]\n  }\n}')
    assert.deepStrictEqual(locate(["a"]), { line: 2, column: 3 })
    assert.deepStrictEqual(locate(["b", "c"]), { line: 4, column: 7 })
    assert.deepStrictEqual(locate(["b", "c", "1"]), { line: 5, column: 2 })
    assert.isUndefined(locate(["b", "d"]))
  })

  it.each([
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, /comma/],
    ['{\n  "a": \n}', 3, 1, /value/],
    ['{ "a": tru }', 1, 8, /true, false/],
    ['{ "a": "x }', 1, 8, /quote/],
    ["{ a: 1 }", 1, 3, /quotes/],
    ['{ "a": [1, 2 ', 1, 14, /bracket/],
    ["[1, 2]", 1, 1, /one object/],
    ['{ "a": 1 } x', 1, 12, /after the end|in quotes/],
  ])("says where %j is broken", (text, line, column, says) => {
    const problem = broken(text)
    assert.deepStrictEqual([problem.line, problem.column], [line, column])
    assert.match(problem.message, says)
  })

  it("takes an empty file for no settings", () => {
    for (const text of ["", " \n\t "]) assert.deepStrictEqual(good(text).value, {})
  })

  it("doubts a key written twice, and the last one counts", () => {
    const { doubts, value } = good('{ "model": "a",\n "model": "b" }')
    assert.deepStrictEqual(value, { model: "b" })
    assert.deepStrictEqual(
      doubts.map(({ column, line }) => [line, column]),
      [[2, 2]],
    )
  })

  it("keeps a key named __proto__ a key", () => {
    const { value } = good('{ "__proto__": { "polluted": true } }')
    assert.deepStrictEqual(Object.keys(value), ["__proto__"])
    assert.isUndefined(Reflect.get({}, "polluted"))
  })

  it.prop("reads whatever JSON says", [Schema.Record(Schema.String, Schema.Unknown)], ([value]) => {
    const text = toJson(value)
    assert.strictEqual(toJson(good(text).value), text)
  })
})
