import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Yaml from "yaml"
import { read } from "../../src/platform/PlainYaml.ts"

const library = (lines: ReadonlyArray<string>): unknown => {
  const document = Yaml.parseDocument(lines.join("\n"), { schema: "core", logLevel: "silent" })
  return document.errors.length > 0 ? "an error" : document.toJS()
}

/** What is read without the library is what the library reads; null is how an empty document is. */
const agrees = (lines: ReadonlyArray<string>): void => {
  const plain = read(lines)
  if (plain !== undefined) assert.deepStrictEqual(plain, library(lines) ?? {}, JSON.stringify(lines))
}

const words = [
  ..."abz09_-:#'\"[]{},&*!|>%@`?~.()/\\ ",
  "  ",
  ": ",
  " #",
  "- ",
  "name",
  "tools",
  "Read",
  "Bash(git diff *)",
  "true",
  "null",
  "~",
  "12",
  "0x1f",
  "1e3",
  ".inf",
  "é",
  "日本語",
  "🙂",
  "\t",
  "\u00a0",
  "\u2028",
  "\uFEFF",
  "key:",
  "key: ",
]
const Text = Schema.Array(Schema.Literals(words)).pipe(Schema.check(Schema.isMaxLength(8)))
const Line = Schema.Struct({
  form: Schema.Literals(["key: ", "tools: ", "a:", "- ", "  - ", "    ", "", "# ", "name: ", "b: [", 'c: "', "d: '"]),
  text: Text,
  end: Schema.Literals(["", "]", '"', "'", " ", ":"]),
})

describe("PlainYaml", () => {
  it("reads what nearly everybody writes", () => {
    const lines = [
      "# who",
      "name: reviewer",
      "description: Reviews code, then (if needed) fixes it. Use it proactively!",
      "tools: Read, Grep, Bash(git diff *)",
      "",
      'quoted: "a: b # c"',
      "single: 'it is'",
      "list: [Read, \"Bash(git *)\", 'x y']",
      "none: []",
      "skills:",
      "  - one",
      "  - two words",
      "maxTurns: 12",
      "background: true",
      "empty:",
      "naïve: über",
    ]
    // A key is ASCII; one that is not is the library's business.
    assert.isUndefined(read(lines))
    const plain = lines.slice(0, -1)
    assert.deepStrictEqual(read(plain), {
      name: "reviewer",
      description: "Reviews code, then (if needed) fixes it. Use it proactively!",
      tools: "Read, Grep, Bash(git diff *)",
      quoted: "a: b # c",
      single: "it is",
      list: ["Read", "Bash(git *)", "x y"],
      none: [],
      skills: ["one", "two words"],
      maxTurns: 12,
      background: true,
      empty: null,
    })
    agrees(plain)
  })

  it("leaves everything else to the library", () => {
    for (const line of [
      "a: b: c",
      "a: b #c",
      "a: |",
      "a: >-",
      "a: *x",
      "a: &x y",
      "a: !!str 1",
      "a: 0x10",
      "a: 1.5",
      "a: -1",
      "a: .inf",
      "a: 2026-01-01",
      'a: "x\\n"',
      "a: 'it''s'",
      "a: {b: c}",
      "a: [b: c]",
      "a: [[b]]",
      "a: [b,]",
      "a:\tb",
      "  a: b",
      "? a",
      "null: 1",
      "__proto__: 1",
      "a b: c",
      "a: @x",
    ]) {
      assert.isUndefined(read([line]), line)
    }
    assert.isUndefined(read(["a: b", "  c"]))
    assert.isUndefined(read(["a: 1", "a: 2"]))
    assert.isUndefined(read(["a:", "  b: c"]))
    assert.isUndefined(read(["a:", "  - b", " - c"]))
    assert.isUndefined(read(["a:", "- b: c"]))
  })

  it.prop(
    "never disagrees with the library",
    [Schema.Array(Line).pipe(Schema.check(Schema.isMaxLength(5)))],
    ([lines]) => agrees(lines.map(({ end, form, text }) => form + text.join("") + end)),
    { arbitrary: { runs: 3_000 } },
  )

  it.prop(
    "never disagrees about one value",
    [Text],
    ([text]) => {
      for (const lines of [[`a: ${text.join("")}`], ["a:", `  - ${text.join("")}`], [`a: [${text.join("")}, b]`]])
        agrees(lines)
    },
    { arbitrary: { runs: 3_000 } },
  )
})
