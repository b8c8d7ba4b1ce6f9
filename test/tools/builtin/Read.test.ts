import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as Pdf from "../../../src/platform/Pdf.ts"
import { Read } from "../../../src/tools/builtin/Read.ts"
import { FileMemory } from "../../../src/tools/FileMemory.ts"
import { encryptedPdf, pdf } from "./pdf.ts"
import { call, inWorkspace, refusal, said } from "./kit.ts"

const png = (width: number, height: number): Buffer => {
  const bytes = Buffer.alloc(64)
  bytes.write("\x89PNG\r\n\x1a\n", "latin1")
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return bytes
}

describe("Read", () => {
  it.live("numbers the lines as cat -n does, and reports what it read", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const path = put("a.txt", "one\ntwo\n")
        const output = yield* call(Read, { file_path: path })
        assert.strictEqual(output.content, "     1\tone\n     2\ttwo")
        assert.deepInclude(output.structured, { type: "text" })
        const { file } = output.structured as { file: Record<string, unknown> }
        assert.deepInclude(file, { filePath: path, content: "one\ntwo", numLines: 2, startLine: 1, totalLines: 2 })
      }),
    ),
  )

  it.live("reads a part, says where to go on, and refuses to start past the end", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const file_path = put("long.txt", Array.from({ length: 2500 }, (_, i) => `line ${i + 1}`).join("\n"))
        const whole = yield* said(Read, { file_path })
        assert.match(whole, /\n {2}2000\tline 2000\n\[Lines 1 to 2000 of 2500\. Read on with offset 2001\.\]$/)
        const part = yield* said(Read, { file_path, offset: 2499, limit: 10 })
        assert.strictEqual(part, "  2499\tline 2499\n  2500\tline 2500")
        assert.match(yield* refusal(Read, { file_path, offset: 2501 }), /has 2500 lines; offset 2501 is past its end/)
      }),
    ),
  )

  it.live("cuts long lines and stays within its budget of tokens", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const one = yield* said(Read, { file_path: put("one.json", "x".repeat(50_000)) })
        assert.isBelow(one.length, 2300)
        assert.match(one, /… \[48000 more characters\]/)
        const many = yield* said(Read, { file_path: put("many.txt", `${"x".repeat(1900)}\n`.repeat(1900)) })
        assert.isBelow(many.length, 80_000)
        assert.match(many, /\[Lines 1 to \d+ of 1900\. Read on with offset \d+\.\]$/)
        const dense = yield* said(Read, { file_path: put("dense.txt", `${"漢".repeat(1000)}\n`.repeat(100)) })
        assert.isBelow(dense.length, 26_000)
      }),
    ),
  )

  it.live("adds up the parts of a file until all of it was seen", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const memory = yield* FileMemory
        const file_path = put("a.txt", "1\n2\n3\n4\n")
        yield* call(Read, { file_path, limit: 2 })
        assert.strictEqual(memory.known(file_path)?.seenTo, 2)
        yield* call(Read, { file_path, offset: 4 })
        assert.strictEqual(memory.known(file_path)?.seenTo, 2)
        yield* call(Read, { file_path, offset: 3 })
        assert.strictEqual(memory.known(file_path)?.seenTo, Number.POSITIVE_INFINITY)
      }),
    ),
  )

  it.live("shows an empty file as empty, and UTF-16, BOM and CRLF as text", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* said(Read, { file_path: put("empty", "") }), "[The file exists but is empty.]")
        const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("héllo\r\nyou", "utf16le")])
        assert.strictEqual(yield* said(Read, { file_path: put("16.txt", utf16) }), "     1\théllo\n     2\tyou")
        assert.strictEqual(yield* said(Read, { file_path: put("bom.txt", "\uFEFFa\r\nb\r\n") }), "     1\ta\n     2\tb")
      }),
    ),
  )

  it.live("refuses what is not text in words that say why", () =>
    inWorkspace(({ put, at, root }) =>
      Effect.gen(function* () {
        assert.match(
          yield* refusal(Read, { file_path: put("b.bin", Buffer.from([1, 0, 2])) }),
          /binary file .*offset 1/,
        )
        const bad = put("bad.txt", Buffer.from([0x61, 0xff, 0x61]))
        assert.match(yield* refusal(Read, { file_path: bad }), /not valid UTF-8 .*offset 1/)
        assert.match(yield* refusal(Read, { file_path: root }), /is a directory, not a file/)
        assert.match(yield* refusal(Read, { file_path: "/dev/zero" }), /not a regular file/)
        execFileSync("mkfifo", [at("pipe")])
        assert.match(yield* refusal(Read, { file_path: at("pipe") }), /not a regular file/)
        fs.closeSync(fs.openSync(at("huge.log"), "w"))
        fs.truncateSync(at("huge.log"), 33 * 1024 * 1024)
        assert.match(yield* refusal(Read, { file_path: at("huge.log") }), /too large to load \(33\.0 MB.*Grep/)
        assert.match(yield* refusal(Read, { file_path: `${root}/a\0b` }), /a\0b/)
      }),
    ),
  )

  it.live("names near matches of a missing file or directory", () =>
    inWorkspace(({ put, at }) =>
      Effect.gen(function* () {
        put("src/server.ts", "")
        put("src/README.md", "")
        assert.include(yield* refusal(Read, { file_path: "src/sevrer.ts" }), `Did you mean ${at("src/server.ts")}?`)
        assert.include(yield* refusal(Read, { file_path: "src/server.js" }), `Did you mean ${at("src/server.ts")}?`)
        assert.include(yield* refusal(Read, { file_path: "src/readme.md" }), `Did you mean ${at("src/README.md")}?`)
        const gone = yield* refusal(Read, { file_path: "scr/deep/server.ts" })
        assert.include(gone, `Its directory ${at("scr")} does not exist either. Did you mean ${at("src")}?`)
        assert.notInclude(yield* refusal(Read, { file_path: "src/unrelated-name.py" }), "Did you mean")
        assert.match(yield* refusal(Read, { file_path: "src/server.ts/x" }), /server\.ts\/x/)
      }),
    ),
  )

  it.live("says what is wrong with arguments that do not fit", () =>
    inWorkspace(() =>
      Effect.gen(function* () {
        assert.match(yield* refusal(Read, {}), /do not fit Read: .*[\s\S]*file_path/)
        assert.match(yield* refusal(Read, { file_path: 3 }), /Expected string/)
        assert.match(yield* refusal(Read, { file_path: "a", limit: "ten" }), /limit/)
        assert.match(yield* refusal(Read, { file_path: "a", offset: -1 }), /offset/)
      }),
    ),
  )

  it.live("shows an image by what its bytes are, and refuses one that the API would not take", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const output = yield* call(Read, { file_path: put("a.jpg", png(10, 20)) })
        assert.deepStrictEqual(output.content, [
          { type: "image", source: { type: "base64", media_type: "image/png", data: png(10, 20).toString("base64") } },
        ])
        assert.deepInclude((output.structured as { file: object }).file, {
          dimensions: { originalWidth: 10, originalHeight: 20 },
        })
        assert.match(yield* refusal(Read, { file_path: put("fake.png", "not an image") }), /is not a PNG/)
        assert.match(yield* refusal(Read, { file_path: put("wide.png", png(9000, 1)) }), /9000×1 pixels/)
        const heavy = Buffer.concat([png(10, 10), Buffer.alloc(4 * 1024 * 1024)])
        assert.match(yield* refusal(Read, { file_path: put("heavy.png", heavy) }), /make a smaller copy/)
      }),
    ),
  )

  it.live("finds the size of JPEG, GIF and WebP images in their headers", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const jpeg = Buffer.from(
          "ffd8ffe000104a46494600010100000100010000ffc0001108270f000a03012200021101031101ffd9",
          "hex",
        )
        assert.match(yield* refusal(Read, { file_path: put("a.jpg", jpeg) }), /10×9999 pixels/)
        const gif = Buffer.concat([Buffer.from("GIF89a"), Buffer.from([0x0f, 0x27, 5, 0]), Buffer.alloc(20)])
        assert.match(yield* refusal(Read, { file_path: put("a.gif", gif) }), /9999×5 pixels/)
        const webp = Buffer.alloc(40)
        webp.write("RIFF", 0)
        webp.write("WEBPVP8X", 8)
        webp.writeUIntLE(9998, 24, 3)
        webp.writeUIntLE(4, 27, 3)
        assert.match(yield* refusal(Read, { file_path: put("a.webp", webp) }), /9999×5 pixels/)
      }),
    ),
  )

  it.live("hands a short PDF over as a document, if it is one", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const output = yield* call(Read, { file_path: put("a.pdf", pdf(["Hello"])) })
        const [block] = output.content as ReadonlyArray<{ type: string; title: string }>
        assert.strictEqual(block?.type, "document")
        assert.strictEqual(block?.title, "a.pdf")
        assert.match(yield* refusal(Read, { file_path: put("b.pdf", "hello") }), /is not a PDF/)
        // The API would refuse it with every later request.
        assert.match(yield* refusal(Read, { file_path: put("c.pdf", "%PDF-1.7 and no more") }), /damaged or no PDF/)
      }),
    ),
  )

  it.live("shows up to ten pages of a longer PDF as they look, as a document of their own", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const file_path = put("long.pdf", pdf(Array.from({ length: 25 }, (_, index) => `Words of page ${index + 1}`)))
        const shown = Effect.fnUntraced(function* (pages: string) {
          const output = yield* call(Read, { file_path, pages })
          const [block] = output.content as ReadonlyArray<{ type: string; title: string; source: { data: string } }>
          assert.strictEqual(block?.type, "document")
          const part = yield* Pdf.open(Buffer.from(block?.source.data ?? "", "base64"))
          const words = yield* Effect.forEach(
            Array.from({ length: part.pages }, (_, index) => index + 1),
            part.text,
          )
          return { title: block?.title, words, structured: output.structured }
        })
        const one = yield* shown("2")
        assert.deepStrictEqual(one.words, ["Words of page 2"])
        assert.strictEqual(one.title, "long.pdf, page 2 of 25")
        const originalSize = fs.statSync(file_path).size
        assert.deepStrictEqual(one.structured, {
          type: "parts",
          file: { filePath: file_path, originalSize, count: 1 },
          firstPage: 2,
        })
        const last = yield* shown("24-")
        assert.deepStrictEqual(last.words, ["Words of page 24", "Words of page 25"])
        assert.strictEqual(last.title, "long.pdf, pages 24 to 25 of 25")
        assert.strictEqual((yield* shown("20-99")).words.length, 6)
        assert.strictEqual((yield* shown("1-10")).words.length, 10)
      }).pipe(Effect.scoped),
    ),
  )

  it.live("reads more pages of a PDF as text, at most twenty at once, and says that it did", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const names = Array.from({ length: 25 }, (_, index) => (index === 3 ? "" : `Words of page ${index + 1}`))
        const file_path = put("long.pdf", pdf(names))
        const refused = (pages?: string) => refusal(Read, pages === undefined ? { file_path } : { file_path, pages })
        assert.match(yield* refused(), /has 25 pages, too many .* pages: "1-20"/)
        const text = yield* said(Read, { file_path, pages: "3-13" })
        assert.match(
          text,
          /^\[page 3 of 25\]\nWords of page 3\n.*page 4 of 25\]\n\[This page has no text.*\]\n\[page 5/s,
        )
        assert.match(
          text,
          /Words of page 13\n\[Only the words .* without pictures: at most 10 pages are shown at once\.\]$/,
        )
        assert.match(yield* refused("1-25"), /25 pages are too many at once.*"1-20"/)
        assert.match(yield* refused("26"), /has 25 pages; there is no page 26/)
        for (const bad of ["0", "5-2", "a", "1,2", "-3", "1 2"])
          assert.match(yield* refused(bad), /pages must look like/)
        const output = yield* call(Read, { file_path, pages: "1-11" })
        assert.deepInclude(output.structured, { type: "parts", firstPage: 1 })
      }),
    ),
  )

  it.live("reads pages that are too large to show as text", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const ballast = randomBytes(4 * 1024 * 1024).toString("base64")
        const file_path = put("heavy.pdf", pdf(["First", "Second"], { ballast }))
        const one = yield* said(Read, { file_path, pages: "2" })
        assert.match(one, /^\[page 2 of 2\]\nSecond\n.* they have 4\.\d MB, the limit is 4\.0 MB\.\]$/)
        const both = yield* said(Read, { file_path, pages: "1-2" })
        assert.match(both, /^\[page 1 of 2\]\nFirst\n.*the limit is 4\.0 MB; ask for fewer\.\]$/s)
      }),
    ),
  )

  it.live("reads an encrypted PDF that needs no password as text, since the service would refuse it", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const file_path = put("locked.pdf", encryptedPdf(["Hidden words"]))
        for (const input of [{ file_path }, { file_path, pages: "1" }]) {
          const text = yield* said(Read, input)
          assert.match(text, /^\[page 1 of 1\]\nHidden words\n\[Only the words .*: the document is encrypted\.\]$/)
        }
      }),
    ),
  )

  it.live("keeps pages of a PDF within its budget of tokens", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const dense = Array.from({ length: 11 }, () => `${"word ".repeat(20)}\n`.repeat(600))
        const text = yield* said(Read, { file_path: put("dense.pdf", pdf(dense)), pages: "1-11" })
        assert.match(text, /\n\[Pages 1 to 1. Read on with pages: "2-11".\]\n\[Only the words/)
        assert.isBelow(text.length, 80_000)
      }),
    ),
  )

  it.live("renders a notebook as cells with their outputs, and broken ones as text", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const notebook = {
          cells: [
            { cell_type: "markdown", id: "m1", source: ["# Title\n", "words"] },
            {
              cell_type: "code",
              source: "1/0",
              outputs: [
                { output_type: "stream", text: ["printed\n"] },
                { output_type: "error", ename: "ZeroDivisionError", evalue: "division by zero", traceback: [] },
                {
                  output_type: "display_data",
                  data: { "image/png": png(4, 4).toString("base64"), "text/plain": "<Figure>" },
                },
              ],
            },
          ],
        }
        const output = yield* call(Read, { file_path: put("n.ipynb", JSON.stringify(notebook)) })
        const blocks = output.content as ReadonlyArray<{ type: string; text?: string }>
        assert.deepStrictEqual(
          blocks.map((block) => block.type),
          ["text", "image"],
        )
        const text = blocks[0]?.text ?? ""
        assert.include(text, "[cell 1 (m1), markdown]\n# Title\nwords")
        assert.include(text, "[cell 2 (cell-1), code]\n1/0\n[output]\nprinted\n")
        assert.include(text, "ZeroDivisionError: division by zero")
        assert.include(yield* said(Read, { file_path: put("broken.ipynb", "{") }), "     1\t{")
      }),
    ),
  )

  it.live("states the path it would read and, behind a link, the real one", () =>
    inWorkspace(({ at }) =>
      Effect.gen(function* () {
        fs.symlinkSync("/etc/hostname", at("link"))
        const invocation = yield* Read.decode({ file_path: "link" })
        assert.deepStrictEqual(yield* invocation.effects, { reads: [at("link"), fs.realpathSync("/etc/hostname")] })
        assert.isTrue(invocation.readOnly && invocation.concurrencySafe)
        assert.strictEqual(invocation.idempotency, "read_only")
      }),
    ),
  )
})
