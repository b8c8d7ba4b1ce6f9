import { assert, describe, it } from "@effect/vitest"
import * as Template from "../../src/testing/Template.ts"
import * as Told from "../../src/testing/Told.ts"
import { assistant, body, call, result, user } from "./conversation.ts"

const told = Told.make(
  body([
    user("say it"),
    assistant([call("a", "Read"), call("b", "Read")]),
    user([result("a", "one"), result("b", "two")]),
  ]),
  3,
)
const captures = { groups: ["first", "second"], named: { name: "Ada" } }

describe("Template", () => {
  it("fills captures and what the model was told", () => {
    assert.strictEqual(
      Template.fillText("${1} ${2} ${name} ${lastUser} ${lastToolResult} ${request} ${turn} ${model}", told, captures),
      "first second Ada say it two 3 2 claude-test-1",
    )
  })

  it("prefers the result that satisfied the rule", () => {
    const picked = told.results[0]
    assert.isDefined(picked)
    assert.strictEqual(Template.fillText("${lastToolResult}", told, { ...captures, result: picked! }), "one")
  })

  it("keeps a doubled dollar as text and leaves holes without a value empty", () => {
    assert.strictEqual(Template.fillText("$${name} costs $5 [${9}]", told, captures), "${name} costs $5 []")
  })

  it("does not fill what was filled in", () => {
    assert.strictEqual(Template.fillText("${name}", told, { groups: [], named: { name: "${model}" } }), "${model}")
  })

  it("fills strings anywhere inside a value and keeps the rest", () => {
    const value = { a: ["${name}", 1, null, { b: "${1}" }], c: true }
    assert.deepStrictEqual(Template.fillValue(value, told, captures), {
      a: ["Ada", 1, null, { b: "first" }],
      c: true,
    })
  })

  it("names the first hole that nothing defines", () => {
    assert.strictEqual(Template.unknownName("${lastUser} ${1} ${cwd} $${x}", new Set(["cwd"])), undefined)
    assert.strictEqual(Template.unknownName("${lastUsr}", new Set()), "lastUsr")
    assert.deepStrictEqual(Template.groupNames("(?<cwd>.*) (?:x) (?<=y) (?<z>a)"), ["cwd", "z"])
  })
})
