import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import { fromCause } from "../../../src/platform/FileError.ts"
import { Files } from "../../../src/platform/Files.ts"
import { judge } from "../../../src/tools/builtin/Change.ts"
import { Edit } from "../../../src/tools/builtin/Edit.ts"
import { Read } from "../../../src/tools/builtin/Read.ts"
import { Write } from "../../../src/tools/builtin/Write.ts"
import { call, inWorkspace, refusal } from "./kit.ts"

describe("Write", () => {
  it.live("creates a file with the directories it needs", () =>
    inWorkspace(({ text, at }) =>
      Effect.gen(function* () {
        const output = yield* call(Write, { file_path: "a/b/c.txt", content: "hello\n" })
        assert.strictEqual(text("a/b/c.txt"), "hello\n")
        assert.strictEqual(output.content, `Created ${at("a/b/c.txt")}.`)
        assert.deepInclude(output.structured, {
          type: "create",
          filePath: at("a/b/c.txt"),
          content: "hello\n",
          structuredPatch: [],
          originalFile: null,
        })
      }),
    ),
  )

  it.live("replaces only what was read, all of it, and has not changed since", () =>
    inWorkspace(({ put, text }) =>
      Effect.gen(function* () {
        const file_path = put("a.txt", "1\n2\n3\n")
        const write = { file_path, content: "new\n" }
        assert.match(yield* refusal(Write, write), /has not been read yet/)
        yield* call(Read, { file_path, limit: 2 })
        assert.match(yield* refusal(Write, write), /Only a part .* up to line 2/)
        yield* call(Read, { file_path, offset: 3 })
        put("a.txt", "1\n2\n3\n4\n")
        assert.match(yield* refusal(Write, write), /has changed since/)
        yield* call(Read, { file_path })
        const output = yield* call(Write, write)
        assert.strictEqual(text("a.txt"), "new\n")
        assert.deepInclude(output.structured, { type: "update", originalFile: "1\n2\n3\n4\n" })
        yield* call(Write, { file_path, content: "newer\n" })
        assert.strictEqual(text("a.txt"), "newer\n")
      }),
    ),
  )

  it.live("keeps encoding, line endings and mode of what it replaces", () =>
    inWorkspace(({ put, bytes, at }) =>
      Effect.gen(function* () {
        const original = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("a\r\nb\r\n", "utf16le")])
        const file_path = put("a.txt", original, 0o640)
        yield* call(Read, { file_path })
        yield* call(Write, { file_path, content: "c\nd\n" })
        assert.deepStrictEqual(
          bytes("a.txt"),
          Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("c\r\nd\r\n", "utf16le")]),
        )
        assert.strictEqual(fs.statSync(at("a.txt")).mode & 0o777, 0o640)
      }),
    ),
  )

  it.live("can be repeated after a crash, and leaves evidence of whether it happened", () =>
    inWorkspace(({ text }) =>
      Effect.gen(function* () {
        const input = { file_path: "a.txt", content: "x" }
        const invocation = yield* Write.decode(input)
        assert.strictEqual(invocation.idempotency, "idempotent")
        const evidence = yield* invocation.evidence
        assert.match((yield* judge(evidence)) ?? "", /did not happen/)
        fs.writeFileSync(evidence["path"] ?? "", "x")
        assert.match((yield* judge(evidence)) ?? "", /it happened/)
        yield* call(Write, input)
        assert.strictEqual(text("a.txt"), "x")
      }),
    ),
  )

  it.live("says why a place cannot be written, and leaves nothing behind", () =>
    inWorkspace(({ put, root, at }) =>
      Effect.gen(function* () {
        assert.match(yield* refusal(Write, { file_path: root, content: "" }), /is a directory/)
        put("file", "x")
        assert.match(yield* refusal(Write, { file_path: "file/below", content: "" }), /a file, not a directory/)
        put("photo.bin", Buffer.from([0, 1]))
        assert.match(yield* refusal(Write, { file_path: "photo.bin", content: "x" }), /binary file/)
        assert.match(yield* refusal(Write, { file_path: "a" }), /content/)
        assert.match(yield* refusal(Write, { file_path: "a", content: { json: true } }), /content/)
        assert.deepStrictEqual(fs.readdirSync(at()).sort(), ["file", "photo.bin"])
      }),
    ),
  )

  it.live("says that the disk is full, and knows that the file is still the old one", () =>
    inWorkspace(({ put, text }) =>
      Effect.gen(function* () {
        const file_path = put("a.txt", "old\n")
        yield* call(Read, { file_path })
        const full = (_: string, relative: string) =>
          Effect.fail(fromCause("write", relative, Object.assign(new Error("no space left"), { code: "ENOSPC" })))
        const onFullDisk = Effect.updateService(Files, (files) => ({ ...files, writeInside: full }))
        const failed = yield* Effect.flip(onFullDisk(call(Write, { file_path, content: "new\n" })))
        assert.match(failed.message, /a\.txt.*(?:no space left|disk is full)/i)
        assert.strictEqual(text("a.txt"), "old\n")
        yield* call(Edit, { file_path, old_string: "old", new_string: "new" })
        assert.strictEqual(text("a.txt"), "new\n")
      }),
    ),
  )
})
