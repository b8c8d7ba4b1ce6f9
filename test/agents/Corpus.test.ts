/** Agent files in the many ways people write them: each loads as it says in `corpus/expected.json`, or is refused at the line it says. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as NodePath from "@effect/platform-node/NodePath"
import { readFileSync } from "node:fs"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { inspect } from "../../src/agents/Definitions.ts"
import { Host } from "../../src/platform/Host.ts"
import { MarkdownIndex } from "../../src/platform/MarkdownIndex.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import * as NodeFileSystem from "../../src/platform/NodeFileSystem.ts"

const corpus = join(import.meta.dirname, "corpus")

const Expected = Schema.fromJsonString(
  Schema.Record(
    Schema.String,
    Schema.Union([
      Schema.Struct({ loaded: Schema.Record(Schema.String, Schema.Unknown) }),
      Schema.Struct({ failed: Schema.Finite, says: Schema.String }),
      Schema.Struct({ skipped: Schema.String }),
    ]),
  ),
)
const expected = Schema.decodeUnknownSync(Expected)(readFileSync(join(corpus, "expected.json"), "utf8"))

const config = mkdtempSync(join(tmpdir(), "troupe-corpus-"))
const layer = MarkdownIndex.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(NodeFiles.layer, NodeFileSystem.layer, NodePath.layer, Host.layerTest({ configDir: config })),
  ),
)

const look = (at: string, isDirectory = true) => inspect(at, isDirectory).pipe(Effect.provide(layer))

describe("the corpus of agent files", () => {
  it.live("has at least forty of them, and an expectation for each", () =>
    Effect.gen(function* () {
      const { all, failed, skipped } = yield* look(corpus)
      const seen = [
        ...all.map(({ definition }) => definition.origin.file ?? ""),
        ...failed.map(({ file }) => file),
        ...skipped.map(({ file }) => file),
      ].map((file) => basename(file))
      assert.isAtLeast(seen.length, 40)
      assert.deepStrictEqual(seen.sort(), Object.keys(expected).sort())
    }),
  )

  for (const [name, expectation] of Object.entries(expected)) {
    it.live(
      `${name} ${"loaded" in expectation ? "loads" : "failed" in expectation ? `is refused at line ${expectation.failed}` : "is no agent"}`,
      () =>
        Effect.gen(function* () {
          const { all, diagnostics, failed, skipped } = yield* look(join(corpus, name), false)
          if ("skipped" in expectation) {
            assert.deepStrictEqual(skipped, [{ file: join(corpus, name), why: `it has ${expectation.skipped}` }])
            return
          }
          if ("failed" in expectation) {
            const errors = failed.flatMap((one) => one.diagnostics)
            const fitting = errors.filter(
              ({ line, message, about }) =>
                line === expectation.failed && `${about}: ${message}`.includes(expectation.says),
            )
            assert.isNotEmpty(fitting, JSON.stringify(errors))
            assert.deepStrictEqual(all, [])
            return
          }
          assert.deepStrictEqual(failed, [])
          const [row] = all
          const { describes, warnings, ...fields } = expectation.loaded
          for (const [field, value] of Object.entries(fields)) {
            const found: unknown = Reflect.get(row?.definition ?? {}, field)
            assert.deepStrictEqual(found ?? null, value, field)
          }
          if (typeof describes === "string") assert.include(row?.definition.description ?? "", describes)
          const lines = [...new Set(diagnostics.map(({ line }) => line ?? 0))].sort((a, b) => a - b)
          assert.deepStrictEqual(lines, warnings, JSON.stringify(diagnostics))
          assert.deepStrictEqual(
            [...new Set(diagnostics.map(({ severity }) => severity))],
            lines.length === 0 ? [] : ["warning"],
          )
        }),
    )
  }

  it.live("a body of half a megabyte loads, one of more than a megabyte is refused by its size", () =>
    Effect.gen(function* () {
      const file = join(config, "huge.md")
      const head = "---\nname: huge\ndescription: Talks a lot\n---\n"
      writeFileSync(file, head + "words and words\n".repeat(32 * 1024))
      assert.deepStrictEqual(
        (yield* look(file, false)).active.map(({ name }) => name),
        ["huge"],
      )
      writeFileSync(file, head + "words and words\n".repeat(70 * 1024))
      const { failed } = yield* look(file, false)
      assert.match(failed[0]?.diagnostics[0]?.message ?? "", /larger than the limit/)
      rmSync(config, { recursive: true, force: true })
    }),
  )
})
