// Measures the look at a workspace of 10,000 files: one after which nothing has changed, and ones that find a changed and a new file,
// beside the least a program can do, an lstat of each. Sends the figures to whoever started it, or prints them.
import * as Effect from "effect/Effect"
import { lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { TroupeNode } from "../../dist/lib/node/index.js"
import * as WorkTree from "../../dist/lib/session/WorkTree.js"
import { now } from "./clock.mjs"
import { median } from "./median.mjs"

const times = process.argv.includes("--quick") ? 7 : 21
const root = realpathSync(mkdtempSync(join(tmpdir(), "troupe-bench-tree-")))
process.on("exit", () => rmSync(root, { recursive: true, force: true }))
const files = []
for (let directory = 0; directory < 500; directory++) {
  const at = join(root, `packages/p${directory % 20}/src/d${directory}`)
  mkdirSync(at, { recursive: true })
  for (let file = 0; file < 20; file++) files.push(join(at, `file${file}.ts`))
}
for (const [index, file] of files.entries()) writeFileSync(file, `export const a = ${index}\n`)
// What was written within the grain of the clock is looked at again: let it pass, as it has between two calls of a model.
const pause = () => new Promise((resolve) => setTimeout(resolve, 120))
const bare = () => {
  const from = now()
  for (const file of files) lstatSync(file, { throwIfNoEntry: false })
  return now() - from
}

const program = Effect.gen(function* () {
  const tree = yield* WorkTree.make({ roots: () => [root], without: "/nowhere" })
  const looked = Effect.gen(function* () {
    yield* Effect.promise(pause)
    const from = now()
    yield* tree.look
    return now() - from
  })
  const first = yield* looked
  const seen = { bare: [], same: [], edited: [], added: [] }
  for (let i = 0; i < times; i++) {
    yield* looked
    seen.same.push(yield* looked)
    yield* Effect.promise(pause)
    seen.bare.push(bare())
    writeFileSync(files[0], `${"x".repeat(i + 50)}\n`)
    seen.edited.push(yield* looked)
    writeFileSync(`${files[0]}.${i}`, "x\n")
    seen.added.push(yield* looked)
  }
  const of = (all) => median(all)
  return {
    files: files.length,
    firstMs: first,
    bareMs: of(seen.bare),
    sameMs: of(seen.same),
    editedMs: of(seen.edited),
    addedMs: of(seen.added),
  }
})

const figures = await Effect.runPromise(Effect.provide(Effect.scoped(program), TroupeNode.layer))
if (process.send !== undefined) process.send(figures)
else console.log(JSON.stringify(figures, undefined, 2))
