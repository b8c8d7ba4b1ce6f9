import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { decode, encode, type Encoding, lineEndingOf, type NotText, plain } from "../../src/platform/Text.ts"

const bytes = (...values: ReadonlyArray<number>) => Uint8Array.from(values)
const read = (data: Uint8Array) => Result.getOrThrow(decode("/f", data))
const refused = (data: Uint8Array): NotText => Result.getOrThrow(Result.flip(decode("/f", data)))

/** Text a file can hold: no lone surrogates, no NUL, no second byte-order mark at its start. */
const Line = Arbitrary.map(Arbitrary.schema(Schema.String), (text) => text.replaceAll(/[\p{Cs}\0\uFEFF\r\n]/gu, ""))
const Lines = Arbitrary.array(Line, { maxLength: 6 })
const Ending = Schema.Literals(["\n", "\r\n", "\r", "\r\r\n"])
const Format = Schema.Struct({ encoding: Schema.Literals(["utf8", "utf16le", "utf16be"]), bom: Schema.Boolean })

const marked = (text: string, encoding: Encoding, bom: boolean) =>
  encode(text, { encoding, bom: bom || encoding !== "utf8", lineEnding: "mixed" })

describe("Text", () => {
  it.prop("gives back the very bytes it read", [Lines, Schema.Array(Ending), Format], ([lines, endings, format]) => {
    const text = lines.map((line, index) => line + (endings[index % Math.max(1, endings.length)] ?? "\n")).join("")
    const data = marked(text, format.encoding, format.bom)
    const file = read(data)
    assert.deepStrictEqual(encode(file.text, file), data)
  })

  it.prop("shows a uniform file with plain line feeds, and an edit keeps its endings", [Lines], ([lines]) => {
    const file = read(encode(["", ...lines, ""].join("\r\n"), plain))
    assert.strictEqual(file.lineEnding, "crlf")
    assert.notInclude(file.text, "\r")
    const edited = read(encode(`${file.text}more\nlines\n`, file))
    assert.strictEqual(edited.lineEnding, "crlf")
    assert.strictEqual(edited.text, `${file.text}more\nlines\n`)
  })

  it("leaves a file with mixed endings as it is", () => {
    const file = read(encode("a\r\nb\nc", plain))
    assert.deepStrictEqual([file.lineEnding, file.text], ["mixed", "a\r\nb\nc"])
  })

  it("knows the line endings of a text", () => {
    assert.deepStrictEqual(["", "a", "a\n", "a\r\nb\r\n", "a\r\nb\n"].map(lineEndingOf), [
      "none",
      "none",
      "lf",
      "crlf",
      "mixed",
    ])
  })

  it("keeps a byte-order mark out of the text and puts it back", () => {
    const data = bytes(0xef, 0xbb, 0xbf, 0x61)
    const file = read(data)
    assert.deepStrictEqual([file.text, file.bom], ["a", true])
    assert.deepStrictEqual(encode(file.text, file), data)
  })

  it("refuses binary and invalid text, and says at which byte", () => {
    const cases = [
      [bytes(0x61, 0, 0x62), "binary", 1],
      [bytes(0x61, 0x62, 0xff), "invalid-utf8", 2],
      [bytes(0xef, 0xbb, 0xbf, 0x61, 0xc3, 0x28), "invalid-utf8", 5],
      [bytes(0xff, 0xfe, 0x00, 0xd8, 0x41, 0x00), "invalid-utf16", 5],
    ] as const
    for (const [data, why, offset] of cases) {
      const error = refused(data)
      assert.strictEqual(error.why, why)
      assert.isAtMost(Math.abs(error.offset - offset), 2)
      assert.include(error.message, "/f")
    }
  })

  it("finds the bad byte of a long file", () => {
    const data = new Uint8Array(10_000).fill(0x61)
    data[9_000] = 0xff
    assert.strictEqual(refused(data).offset, 9_000)
  })
})
