import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { parse, split } from "../../src/platform/Frontmatter.ts"

describe("Frontmatter", () => {
  it.effect("reads keys and values, and leaves the body alone", () =>
    Effect.gen(function* () {
      const file = yield* parse("---\nname: reviewer\ntools: [Read, Grep]\nmax: 3\n---\n# Title\n\n---\nbody\n")
      assert.deepStrictEqual(file.data, { name: "reviewer", tools: ["Read", "Grep"], max: 3 })
      assert.strictEqual(file.body, "# Title\n\n---\nbody\n")
      assert.deepStrictEqual([file.bodyLine, file.lineOf("tools"), file.lineOf("none")], [6, 3, undefined])
      assert.deepStrictEqual(file.problems, [])
    }),
  )

  it.effect("accepts a byte-order mark and Windows line endings", () =>
    Effect.gen(function* () {
      const file = yield* parse("\uFEFF---\r\nname: a\r\ntext: |\r\n  one\r\n  two\r\n---\r\nbody\r\n")
      assert.deepStrictEqual(file.data, { name: "a", text: "one\ntwo\n" })
      assert.strictEqual(file.body, "body\n")
    }),
  )

  it.effect("reads a description with a colon as the text it is, and says so", () =>
    Effect.gen(function* () {
      const file = yield* parse("---\nname: a\ndescription: Use when: the build is red # now\nmodel: opus\n---\n")
      assert.deepStrictEqual(file.data, {
        name: "a",
        description: "Use when: the build is red # now",
        model: "opus",
      })
      assert.deepStrictEqual(
        file.problems.map(({ line }) => line),
        [3],
      )
      assert.match(file.problems[0]?.message ?? "", /quotes/)
    }),
  )

  it.effect("keeps the good keys beside a broken one, and names its line", () =>
    Effect.gen(function* () {
      const file = yield* parse("---\nname: a\ntools: [Read,\nmodel: opus\nhooks:\n  Stop:\n    - x\n---\nbody")
      assert.deepStrictEqual(file.data, { name: "a", model: "opus", hooks: { Stop: ["x"] } })
      assert.isNotEmpty(file.problems)
      for (const problem of file.problems) assert.strictEqual(problem.line, 3)
      assert.strictEqual(file.body, "body")
    }),
  )

  it.effect("takes a text without fences for body", () =>
    Effect.gen(function* () {
      for (const text of ["", "# Title\n", "----\nname: a\n----\n", " ---\na: 1\n---\n", "text\n---\na: 1\n---\n"]) {
        assert.deepStrictEqual([(yield* parse(text)).data, (yield* parse(text)).body], [{}, text])
      }
    }),
  )

  it.effect("says that the fence is not closed", () =>
    Effect.gen(function* () {
      const file = yield* parse("---\nname: a\n\n# Title\n")
      assert.deepStrictEqual([file.data, file.body], [{}, "---\nname: a\n\n# Title\n"])
      assert.match(file.problems[0]?.message ?? "", /not closed/)
    }),
  )

  it.effect("refuses an alias bomb, a list and a duplicate", () =>
    Effect.gen(function* () {
      const bomb = [
        "a: &a [x,x,x,x,x,x,x,x,x]",
        ..."bcdefgh".split("").map((key, index) => {
          const before = `*${"abcdefgh"[index]}`
          return `${key}: &${key} [${Array.from({ length: 9 }, () => before).join(",")}]`
        }),
      ]
      const bombed = yield* parse(`---\n${bomb.join("\n")}\n---\n`)
      assert.isNotEmpty(bombed.problems)
      const listed = yield* parse("---\n- a\n- b\n---\n")
      assert.match(listed.problems[0]?.message ?? "", /keys and values/)
      const twice = yield* parse("---\na: 1\na: 2\n---\n")
      assert.isNotEmpty(twice.problems)
    }),
  )

  it.effect("takes nothing from front matter that is made to exhaust its reader, however large", () =>
    Effect.gen(function* () {
      const lists = ["a: &a [x, x, x, x, x, x, x, x, x]"]
      for (const key of "bcdefghij") lists.push(`${key}: &${key} [${`*${lists.at(-1)?.[0]}, `.repeat(9)}x]`)
      const bombed = yield* parse(`---\nname: bomb\n${lists.join("\n")}\n---\n`)
      assert.deepStrictEqual(bombed.data, {})
      assert.match(bombed.problems[0]?.message ?? "", /aliases .* ignored/)
      for (const open of ["[", "{a: ", "- ", "? "]) {
        const deep = yield* parse(`---\na: x\nb: ${open.repeat(100_000)}\n---\n`)
        assert.isNotEmpty(deep.problems, open)
        assert.deepStrictEqual(Object.keys(deep.data), [], open)
      }
      const large = yield* parse(`---\nname: a\nb: |\n${"  x\n".repeat(256 * 1024)}\n---\nbody`)
      assert.deepStrictEqual([large.data, large.body], [{}, "body"])
      assert.match(large.problems[0]?.message ?? "", /larger than/)
    }),
  )

  it.effect("reads tabs as the indentation they were meant to be", () =>
    Effect.gen(function* () {
      const file = yield* parse("---\nname:\ta\ntools:\n\t- Read\n\t- Grep\n---\n")
      assert.deepStrictEqual(file.data, { name: "a", tools: ["Read", "Grep"] })
      assert.match(file.problems[0]?.message ?? "", /tabs were read as spaces/)
      assert.strictEqual(file.problems[0]?.line, 4)
    }),
  )

  it.effect("takes a line for the text it was meant to be, whatever YAML makes of its first sign", () =>
    Effect.gen(function* () {
      for (const [line, text] of [
        ["*Important* reviews", "*Important* reviews"],
        ["*Important*", "*Important*"],
        ["*", "*"],
        ["[Beta] Reviews code", "[Beta] Reviews code"],
        ['"Use "this" one"', 'Use "this" one'],
        ["'It's fine'", "It's fine"],
        ["`npm test` runner", "`npm test` runner"],
        ["@team reviews: all", "@team reviews: all"],
        ["%done", "%done"],
        ["! careful: now", "! careful: now"],
      ]) {
        const file = yield* parse(`---\nname: a\ndescription: ${line}\n---\n`)
        assert.deepStrictEqual(file.data, { name: "a", description: text })
        assert.deepStrictEqual(
          file.problems.map((problem) => problem.line),
          file.problems.map(() => 3),
        )
      }
    }),
  )

  it.effect("names the key that it had to leave out", () =>
    Effect.gen(function* () {
      const file = yield* parse("---\nname: a\ntools: [Read\n---\n")
      assert.deepStrictEqual(file.data, { name: "a" })
      assert.deepStrictEqual([...new Set(file.problems.map(({ ignored }) => ignored))], ["tools"])
    }),
  )

  it.effect("gives only values that survive being stored", () =>
    Effect.gen(function* () {
      const { data } = yield* parse("---\na: .inf\nb: {c: .nan, d: [1.5, ~]}\n---\n")
      assert.deepStrictEqual(data, JSON.parse(JSON.stringify(data)))
    }),
  )

  it.effect("executes nothing", () =>
    Effect.gen(function* () {
      const file = yield* parse("---js\nmodule.exports = { x: process.exit(9) }\n---\nbody")
      assert.deepStrictEqual(file.data, {})
      const tagged = yield* parse('---\na: !!js/function "function () { return 1 }"\n---\n')
      assert.notStrictEqual(typeof tagged.data["a"], "function")
    }),
  )

  it.effect("cannot be made to pollute prototypes", () =>
    Effect.gen(function* () {
      yield* parse("---\n__proto__:\n  polluted: true\n---\n")
      assert.isUndefined(Reflect.get({}, "polluted"))
    }),
  )

  it.prop("loses no line of any text", [Schema.String], ([text]) => {
    const file = split(`---\na: 1\n---\n${text}`)
    assert.strictEqual(file.body, text.replaceAll("\r\n", "\n"))
  })
})
