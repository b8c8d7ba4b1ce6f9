// Measures the look at a workspace of 10,000 files: the first one, one after which nothing has changed, and one that finds a change.
// Sends the figures to whoever started it, or prints them.
import * as Effect from "effect/Effect"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { TroupeNode } from "../../dist/lib/node/index.js"
import * as WorkTree from "../../dist/lib/session/WorkTree.js"
import { now } from "./clock.mjs"
import { median } from "./median.mjs"

const times = process.argv.includes("--quick") ? 7 : 21
const root = realpathSync(mkdtempSync(join(tmpdir(), "troupe-bench-tree-")))
process.on("exit", () => rmSync(root, { recursive: true, force: true }))
for (let directory = 0; directory < 500; directory++) {
  const at = join(root, `packages/p${directory % 20}/src/d${directory}`)
  mkdirSync(at, { recursive: true })
  for (let file = 0; file < 20; file++) writeFileSync(join(at, `file${file}.ts`), `export const a = ${file}\n`)
}

const program = Effect.gen(function* () {
  const tree = yield* WorkTree.make({ roots: () => [root], without: "/nowhere" })
  const timed = Effect.fnUntraced(function* (before) {
    before()
    // What was written within the grain of the clock is looked at again: let it pass, as it has between two calls of a model.
    yield* Effect.sleep("120 millis")
    const from = now()
    const found = yield* tree.look
    return { ms: now() - from, found: found.length }
  })
  const first = yield* timed(() => {})
  yield* timed(() => {})
  const same = []
  const edited = []
  const added = []
  for (let i = 0; i < times; i++) {
    same.push(yield* timed(() => {}))
    edited.push(yield* timed(() => writeFileSync(join(root, "packages/p0/src/d0/file0.ts"), `${"x".repeat(i + 50)}\n`)))
    yield* timed(() => {})
    added.push(yield* timed(() => writeFileSync(join(root, `packages/p0/src/d0/new${i}.ts`), "x\n")))
    yield* timed(() => {})
  }
  const of = (all) => median(all.map(({ ms }) => ms))
  const least = (all) => Math.min(...all.map(({ ms }) => ms))
  return {
    files: 10_000,
    firstMs: first.ms,
    sameMs: of(same),
    sameLeastMs: least(same),
    editedMs: of(edited),
    addedMs: of(added),
    addedLeastMs: least(added),
  }
})

const figures = await Effect.runPromise(Effect.provide(Effect.scoped(program), TroupeNode.layer))
if (process.send !== undefined) process.send(figures)
else console.log(JSON.stringify(figures, undefined, 2))
