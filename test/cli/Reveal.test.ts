import { assert, describe, it } from "@effect/vitest"
import { reveal, unseen, visible, visibleJson } from "../../src/cli/Reveal.ts"

describe("text that a person has to judge", () => {
  const table: ReadonlyArray<[string, string, string]> = [
    ["plain text stays", "a\tb\nc é 漢 шрифт 🎉", "a\tb\nc é 漢 шрифт 🎉"],
    ["an escape sequence is written out", "ls\u001b]0; touch PWNED #\u0007 -l", "ls\\x1b]0; touch PWNED #\\x07 -l"],
    ["C1 controls", "a\u009b31m\u009d\u0085", "a\\x9b31m\\x9d\\x85"],
    ["carriage return, backspace and delete", "a\rb\bc\u007f", "a\\x0db\\x08c\\x7f"],
    ["writing order", "\u202e\u2066\u200e\u200f\u061c", "\\u202e\\u2066\\u200e\\u200f\\u061c"],
    ["zero width", "r\u200bm\u200c\u2060\ufeff\u00ad", "r\\u200bm\\u200c\\u2060\\ufeff\\xad"],
    ["line separators", "a\u2028b\u2029c\u000bd\u000c", "a\\u2028b\\u2029c\\x0bd\\x0c"],
    ["spaces that are none", "a\u00a0b\u3000c\u2800d\u3164", "a\\xa0b\\u3000c\\u2800d\\u3164"],
    ["tags and selectors", "a\u{e0041}\ufe01\u{e0100}", "a\\u{e0041}\\ufe01\\u{e0100}"],
    ["half a character", "a\ud800b", "a\\ud800b"],
    ["the joints of an emoji are part of it", "👩‍👩‍👧 ♻️ 👍🏽", "👩‍👩‍👧 ♻️ 👍🏽"],
    ["but not where they join nothing", "a\u200db\ufe0f", "a\\u200db\\ufe0f"],
  ]
  for (const [name, text, expected] of table) it(name, () => assert.strictEqual(visible(text), expected))

  it("is told apart from an escape that was typed", () => {
    assert.deepStrictEqual(reveal("\\x1b\u001b"), [
      { text: "\\x1b", escaped: false },
      { text: "\\x1b", escaped: true },
    ])
  })

  it("names each thing that cannot be seen once", () => {
    assert.deepStrictEqual(unseen(reveal("a\u001bb\u001b\u202e\n")), ["\\x1b", "\\u202e"])
    assert.deepStrictEqual(unseen(reveal("npm test\n👩‍👩‍👧")), [])
  })

  it("stays the same value as JSON", () => {
    const value = "a\u009d\u202e\u{e0041}\u001b\u2028 é 👩‍👩‍👧\n"
    const json = visibleJson(JSON.stringify({ value }))
    assert.deepStrictEqual(JSON.parse(json), { value })
    assert.notMatch(json, /[\u009d\u202e\u{e0041}\u2028]/u)
  })
})
