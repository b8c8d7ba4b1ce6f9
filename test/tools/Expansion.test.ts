import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as NodeHost from "../../src/platform/NodeHost.ts"
import * as NodeProcess from "../../src/platform/NodeProcess.ts"
import * as NodeRipgrep from "../../src/platform/NodeRipgrep.ts"
import { expand } from "../../src/tools/Expansion.ts"

const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-expansion-")))
fs.mkdirSync(path.join(root, "a", ".deep"), { recursive: true })
for (const name of [".env", "x.js", "yy.js", "a/.deep/.env", "a/b"]) fs.writeFileSync(path.join(root, name), "")

const layer = NodeRipgrep.layer.pipe(
  Layer.provideMerge(NodeProcess.layer),
  Layer.provideMerge(Layer.mergeAll(NodeFileSystem.layer, NodeHost.layer)),
)

const filesOf = (pattern: string) =>
  Effect.map(expand(path.join(root, pattern)), (files) => files?.map((file) => path.relative(root, file)).toSorted())

describe("Expansion", () => {
  it.live("finds what a shell would find", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* filesOf("*"), ["a", "x.js", "yy.js"])
      assert.deepStrictEqual(yield* filesOf("?.js"), ["x.js"])
      assert.deepStrictEqual(yield* filesOf(".e*"), [".env"])
      assert.deepStrictEqual(yield* filesOf("a/**"), ["a/.deep/.env", "a/b"])
      assert.deepStrictEqual(yield* filesOf("none/*"), [])
      assert.deepStrictEqual(yield* filesOf("x.js/*"), [])
      assert.deepStrictEqual(yield* filesOf("none/**"), undefined)
      assert.deepStrictEqual(yield* filesOf("*/b"), undefined)
      assert.deepStrictEqual(yield* filesOf("[xy].js"), undefined)
    }).pipe(Effect.provide(layer)),
  )
})
