import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { judge } from "../../../src/tools/builtin/Change.ts"
import { Edit } from "../../../src/tools/builtin/Edit.ts"
import { Read } from "../../../src/tools/builtin/Read.ts"
import { FileMemory } from "../../../src/tools/FileMemory.ts"
import { call, inWorkspace, refusal, said } from "./kit.ts"

describe("Edit", () => {
  it.live("replaces the one passage and reports the change as a patch", () =>
    inWorkspace(({ put, text }) =>
      Effect.gen(function* () {
        const file_path = put("a.ts", "const a = 1\nconst b = 2\n")
        yield* call(Read, { file_path })
        const output = yield* call(Edit, { file_path, old_string: "b = 2", new_string: "b = 3" })
        assert.strictEqual(text("a.ts"), "const a = 1\nconst b = 3\n")
        assert.strictEqual(output.content, `Edited ${file_path} at line 2.`)
        assert.deepInclude(output.structured, {
          filePath: file_path,
          oldString: "b = 2",
          newString: "b = 3",
          originalFile: "const a = 1\nconst b = 2\n",
          replaceAll: false,
          userModified: false,
          structuredPatch: [
            {
              oldStart: 1,
              oldLines: 2,
              newStart: 1,
              newLines: 2,
              lines: [" const a = 1", "-const b = 2", "+const b = 3"],
            },
          ],
        })
        // Its own result counts as seen.
        yield* call(Edit, { file_path, old_string: "b = 3", new_string: "b = 4" })
        assert.strictEqual(text("a.ts"), "const a = 1\nconst b = 4\n")
      }),
    ),
  )

  it.live("refuses an ambiguous passage with its lines, and changes all of them when asked", () =>
    inWorkspace(({ put, text }) =>
      Effect.gen(function* () {
        const file_path = put("a.ts", "x\ny\nx x\n")
        yield* call(Read, { file_path })
        const why = yield* refusal(Edit, { file_path, old_string: "x", new_string: "$&z" })
        assert.match(why, /occurs 3 times .*\(lines 1, 3, 3\).*replace_all/)
        assert.strictEqual(text("a.ts"), "x\ny\nx x\n")
        const did = yield* said(Edit, { file_path, old_string: "x", new_string: "$&z", replace_all: true })
        assert.match(did, /in 3 places/)
        assert.strictEqual(text("a.ts"), "$&z\ny\n$&z $&z\n")
      }),
    ),
  )

  it.live("hints at the closest passage when there is none", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const file_path = put("a.ts", "function one() {\n\treturn 1\n}\nfunction two() {\n\treturn 2\n}\n")
        yield* call(Read, { file_path })
        const edit = (old_string: string) => refusal(Edit, { file_path, old_string, new_string: "new" })
        assert.match(yield* edit("function two() {\n  return 2"), /Only white space differs from line 4:\nfunction two/)
        assert.match(yield* edit("function tvo() {\n\treturn 3"), /closest passage begins at line 4:/)
        assert.match(yield* edit("     4\tfunction two() {"), /line numbers.*leave them out/)
        assert.match(yield* edit("nothing at all like any line in there"), /Read the file again/)
      }),
    ),
  )

  it.live("refuses to change what was never read, changed meanwhile, or would stay the same", () =>
    inWorkspace(({ put, text, root }) =>
      Effect.gen(function* () {
        const file_path = put("a.ts", "a\n")
        const edit = { file_path, old_string: "a", new_string: "b" }
        assert.match(yield* refusal(Edit, edit), /has not been read yet/)
        yield* call(Read, { file_path })
        put("a.ts", "a\nsomebody else\n")
        assert.match(yield* refusal(Edit, edit), /has changed since it was last read/)
        put("a.ts", "a\n")
        fs.utimesSync(file_path, 1_900_000_000, 1_900_000_000)
        yield* call(Edit, edit)
        assert.strictEqual(text("a.ts"), "b\n")
        assert.match(yield* refusal(Edit, { ...edit, old_string: "b" }), /the same: there is nothing to change/)
        assert.match(yield* refusal(Edit, { ...edit, file_path: root }), /is a directory/)
        assert.match(yield* refusal(Edit, { ...edit, file_path: "b.ts" }), /There is no file .*Did you mean .*a\.ts/)
        assert.match(yield* refusal(Edit, { file_path, old_string: "a" }), /new_string/)
      }),
    ),
  )

  it.live("creates a file from an empty old_string, but does not guess in one that has text", () =>
    inWorkspace(({ put, text }) =>
      Effect.gen(function* () {
        yield* call(Edit, { file_path: "new/deep.txt", old_string: "", new_string: "hello\n" })
        assert.strictEqual(text("new/deep.txt"), "hello\n")
        const again = { file_path: "new/deep.txt", old_string: "", new_string: "x" }
        assert.match(yield* refusal(Edit, again), /exists and is not empty/)
        const file_path = put("empty.txt", "")
        yield* call(Read, { file_path })
        yield* call(Edit, { file_path, old_string: "", new_string: "now" })
        assert.strictEqual(text("empty.txt"), "now")
      }),
    ),
  )

  it.live("keeps CRLF, BOM, UTF-16 and the file's mode", () =>
    inWorkspace(({ put, bytes, at }) =>
      Effect.gen(function* () {
        const change = Effect.fnUntraced(function* (name: string, content: string | Uint8Array, mode?: number) {
          const file_path = put(name, content, mode)
          yield* call(Read, { file_path })
          yield* call(Edit, { file_path, old_string: "b\nc", new_string: "B\nand\nC" })
          return bytes(name)
        })
        assert.strictEqual((yield* change("crlf.txt", "a\r\nb\r\nc\r\n")).toString(), "a\r\nB\r\nand\r\nC\r\n")
        assert.strictEqual((yield* change("bom.txt", "\uFEFFa\nb\nc")).toString(), "\uFEFFa\nB\nand\nC")
        const little = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("a\r\nb\r\nc", "utf16le")])
        const wanted = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("a\r\nB\r\nand\r\nC", "utf16le")])
        assert.deepStrictEqual(yield* change("16le.txt", little), wanted)
        assert.deepStrictEqual(yield* change("16be.txt", Buffer.from(little).swap16()), Buffer.from(wanted).swap16())
        yield* change("run.sh", "a\nb\nc\n", 0o755)
        assert.strictEqual(fs.statSync(at("run.sh")).mode & 0o777, 0o755)
        // Each line of a mixed file keeps its own ending; new ones take that of the passage.
        assert.strictEqual((yield* change("mixed.txt", "a\nb\r\nc\r\nd\n")).toString(), "a\nB\r\nand\r\nC\r\nd\n")
      }),
    ),
  )

  it.live("writes through a link without replacing it, and states where the link leads", () =>
    inWorkspace(({ put, text, at }) =>
      Effect.gen(function* () {
        put("real.txt", "a\n")
        fs.symlinkSync("real.txt", at("link.txt"))
        const input = { file_path: at("link.txt"), old_string: "a", new_string: "b" }
        const invocation = yield* Edit.decode(input)
        assert.deepStrictEqual(yield* invocation.effects, { writes: [at("link.txt"), at("real.txt")] })
        yield* call(Read, { file_path: at("link.txt") })
        yield* call(Edit, input)
        assert.strictEqual(text("real.txt"), "b\n")
        assert.isTrue(fs.lstatSync(at("link.txt")).isSymbolicLink())
      }),
    ),
  )

  it.live("leaves evidence that tells after a crash whether it happened", () =>
    inWorkspace(({ put }) =>
      Effect.gen(function* () {
        const file_path = put("a.txt", "a\n")
        yield* call(Read, { file_path })
        const input = { file_path, old_string: "a", new_string: "aa" }
        const invocation = yield* Edit.decode(input)
        assert.strictEqual(invocation.idempotency, "once")
        const evidence = yield* invocation.evidence
        assert.match((yield* judge(evidence)) ?? "", /did not happen/)
        yield* call(Edit, input)
        assert.match((yield* judge(evidence)) ?? "", /it happened/)
        put("a.txt", "something else")
        assert.match((yield* judge(evidence)) ?? "", /neither/)
        assert.deepStrictEqual(yield* (yield* Edit.decode({ ...input, file_path: "none" })).evidence, {})
      }),
    ),
  )

  it.live("goes on after a resume with files that earlier results had shown", () =>
    inWorkspace(({ put, text }) =>
      Effect.gen(function* () {
        const memory = yield* FileMemory
        const file_path = put("a.txt", "a\n")
        const { structured } = yield* call(Read, { file_path })
        memory.forget(file_path)
        assert.match(yield* refusal(Edit, { file_path, old_string: "a", new_string: "b" }), /has not been read/)
        memory.learn({ unrelated: true })
        memory.learn(JSON.parse(JSON.stringify(structured)))
        yield* call(Edit, { file_path, old_string: "a", new_string: "b" })
        assert.strictEqual(text("a.txt"), "b\n")
      }),
    ),
  )
})
