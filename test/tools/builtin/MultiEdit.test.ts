import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { MultiEdit } from "../../../src/tools/builtin/MultiEdit.ts"
import { Read } from "../../../src/tools/builtin/Read.ts"
import { call, inWorkspace, refusal } from "./kit.ts"

describe("MultiEdit", () => {
  it.live("makes the edits one after the other, each on what the one before left", () =>
    inWorkspace(({ put, bytes }) =>
      Effect.gen(function* () {
        const file_path = put("a.txt", "one\r\ntwo\r\none\r\n")
        yield* call(Read, { file_path })
        const edits = [
          { old_string: "one", new_string: "1", replace_all: true },
          { old_string: "1\ntwo", new_string: "1\n2" },
        ]
        const output = yield* call(MultiEdit, { file_path, edits })
        assert.strictEqual(bytes("a.txt").toString(), "1\r\n2\r\n1\r\n")
        assert.strictEqual(output.content, `Made 2 edits in ${file_path}.`)
        assert.deepInclude(output.structured, { filePath: file_path, edits, originalFile: "one\ntwo\none\n" })
      }),
    ),
  )

  it.live("changes nothing when one of them does not fit, and says which", () =>
    inWorkspace(({ put, text }) =>
      Effect.gen(function* () {
        const file_path = put("a.txt", "a b\n")
        const fits = { old_string: "a", new_string: "x" }
        const edit = (...edits: ReadonlyArray<object>) => refusal(MultiEdit, { file_path, edits })
        assert.match(yield* edit(fits), /has not been read yet/)
        yield* call(Read, { file_path })
        assert.match(
          yield* edit(fits, { old_string: "a", new_string: "y" }),
          /^Edit 2 of 2 does not fit.*old_string is not in/,
        )
        assert.match(yield* edit(fits, { old_string: "b", new_string: "b" }), /Edit 2 .* are the same/)
        assert.match(yield* edit(fits, { old_string: "", new_string: "b" }), /Edit 2 .* names no place/)
        assert.match(yield* edit(fits, { old_string: "x", new_string: "a" }), /nothing to change/)
        assert.match(yield* edit(), /edits/)
        assert.strictEqual(text("a.txt"), "a b\n")
        put("a.txt", "a c\n")
        assert.match(yield* edit(fits), /has changed since it was last read/)
        assert.strictEqual(text("a.txt"), "a c\n")
      }),
    ),
  )

  it.live("creates a file when the first edit has nothing to replace", () =>
    inWorkspace(({ text }) =>
      Effect.gen(function* () {
        const edits = [
          { old_string: "", new_string: "a\n" },
          { old_string: "a", new_string: "b" },
        ]
        yield* call(MultiEdit, { file_path: "new.txt", edits })
        assert.strictEqual(text("new.txt"), "b\n")
        assert.match(
          yield* refusal(MultiEdit, { file_path: "none.txt", edits: [{ old_string: "a", new_string: "b" }] }),
          /no file/,
        )
      }),
    ),
  )
})
