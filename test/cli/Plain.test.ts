import { assert, describe, it } from "@effect/vitest"
import { filter, oneLine, plain } from "../../src/cli/Plain.ts"

const ESC = "\u001b"

describe("text for a terminal", () => {
  const table: ReadonlyArray<[string, string, string]> = [
    ["plain text stays", "a\tb\nc é 漢 🎉", "a\tb\nc é 漢 🎉"],
    ["colours go", `${ESC}[31mred${ESC}[0m`, "red"],
    ["cursor moves go", `a${ESC}[2A${ESC}[1;1Hb`, "ab"],
    ["window titles go, ended by BEL", `a${ESC}]0;title\u0007b`, "ab"],
    ["links go, ended by ST", `${ESC}]8;;http://x${ESC}\\text${ESC}]8;;${ESC}\\`, "text"],
    ["device strings go", `a${ESC}P1$r0m${ESC}\\b`, "ab"],
    ["one-letter sequences go", `a${ESC}7b${ESC}(0c`, "abc"],
    ["C1 forms go", "a\u009b31mb\u009d0;t\u009cc", "abc"],
    ["control characters go", "a\u0000\u0008\u0007b\u007f", "ab"],
    ["reversed writing goes", "a\u202eb\u2066c\u061c", "abc"],
    ["an unfinished sequence ends at the line", `a${ESC}[31\nb`, "a\nb"],
    ["so does an unfinished string, and one that is about to end", `a${ESC}]0;x\nb\u009dy${ESC}\nc`, "a\nb\nc"],
    ["carriage returns are line ends", "10%\r20%\r\n", "10%\n20%\n"],
  ]
  for (const [name, text, expected] of table) it(name, () => assert.strictEqual(plain(text), expected))

  it("sees through any cut in a stream", () => {
    const text = `one ${ESC}[1;31mtwo${ESC}]0;title${ESC}\\ three\u009b0m four`
    for (let cut = 0; cut <= text.length; cut++) {
      const { push } = filter()
      assert.strictEqual(push(text.slice(0, cut)) + push(text.slice(cut)), "one two three four")
    }
  })

  it("is not swallowed by a sequence that never ends", () => {
    assert.include(plain(`${ESC}]0;${"x".repeat(5000)} end`), "end")
  })

  it("becomes one line", () => assert.strictEqual(oneLine(` a\n\t b${ESC}[2K\r\nc `), "a b c"))
})
