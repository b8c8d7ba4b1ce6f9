/** Two processes write one settings file in a loop and are killed at any moment, a thousand times: nothing is lost, nothing is torn. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Result from "effect/Result"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { rolldown } from "rolldown"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import { get, type JsonObject } from "../../src/settings/Merge.ts"
import { set } from "../../src/settings/SettingsEdit.ts"
import { parse } from "../../src/settings/SettingsFile.ts"
import { write } from "../../src/settings/SettingsWriter.ts"

const rounds = 1000

const beginning = `{
  // kept through everything
  "fromTheFuture": { "x": [1, 2,], }, // this too
  "lives": {}
}
`

const bundle = (directory: string) =>
  Effect.promise(async () => {
    const file = path.join(directory, "writer.mjs")
    const input = path.join(import.meta.dirname, "writer.ts")
    const resolve = { mainFields: ["module", "main"] }
    const bundle = await rolldown({ input, resolve, platform: "node", transform: { target: "node20" } })
    await bundle.write({ file, format: "esm", codeSplitting: false })
    return file
  })

/** One life: from the start over some acknowledged writes to a SIGKILL a random while later. Answers the last acknowledged count. */
const live = Effect.fnUntraced(function* (program: string, file: string, key: string) {
  // Some die before they have written anything.
  const enough = yield* Random.nextIntBetween(0, 4)
  const pause = enough === 0 ? yield* Random.nextBetween(50, 200) : yield* Random.nextBetween(0, 20)
  const child = spawn(process.execPath, [program, file, key], { stdio: ["ignore", "pipe", "pipe"] })
  let said = ""
  let complaint = ""
  child.stderr.on("data", (data) => (complaint += String(data)))
  const closed = Effect.callback<void>((resume) => {
    child.once("close", (_code, signal) =>
      resume(signal === "SIGKILL" ? Effect.void : Effect.die(new Error(`it ended by itself: ${complaint}`))),
    )
  })
  const wrote = Effect.callback<void>((resume) => {
    child.stdout.on("data", (data) => {
      said += String(data)
      if (said.split("\n").length > enough) resume(Effect.void)
    })
    if (enough === 0) resume(Effect.void)
  })
  const kill = wrote.pipe(
    Effect.andThen(Effect.sleep(pause)),
    Effect.andThen(Effect.sync(() => child.kill("SIGKILL"))),
    Effect.andThen(Effect.never),
  )
  yield* Effect.raceFirst(closed, kill).pipe(Effect.ensuring(Effect.sync(() => child.kill("SIGKILL"))))
  return Number(said.trimEnd().split("\n").at(-1) ?? 0)
})

const read = (file: string): JsonObject => {
  const text = fs.readFileSync(file, "utf8")
  const parsed = parse(text)
  if (Result.isFailure(parsed)) return assert.fail(`torn: ${JSON.stringify(parsed.failure)} in ${text}`)
  return parsed.success.value
}

describe("settings that two processes write", () => {
  it.live(`survive ${rounds} kills without a lost key or a torn file`, () =>
    Effect.gen(function* () {
      const directory = yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped()
      const file = path.join(directory, "settings.json")
      fs.writeFileSync(file, beginning)
      const program = yield* bundle(directory)
      /** What the file had for a life when it ended; nobody writes that key again. */
      const final = new Map<string, number>()
      let round = 0
      let acknowledged = 0
      let reads = 0

      const writer = Effect.fnUntraced(function* (name: string) {
        while (round < rounds) {
          const key = `${name}${round++}`
          const last = yield* live(program, file, key)
          const there = Number(get(read(file), ["lives", key]) ?? 0)
          // The kill may come between the write and the word of it, never the other way round.
          assert.include([last, last + 1], there, `${key} said ${last}`)
          final.set(key, there)
          acknowledged += last
        }
      })
      const look = Effect.gen(function* () {
        const known = [...final]
        const value = read(file)
        reads++
        for (const [key, count] of known) assert.strictEqual(get(value, ["lives", key]) ?? 0, count, key)
        assert.deepStrictEqual(value["fromTheFuture"], { x: [1, 2] })
        yield* Effect.sleep(3)
      })
      yield* Effect.raceFirst(
        Effect.all([writer("a"), writer("b")], { concurrency: 2, discard: true }),
        Effect.forever(look),
      )
      yield* look
      const text = fs.readFileSync(file, "utf8")
      assert.include(text, "// kept through everything\n")
      assert.include(text, '{ "x": [1, 2,], }, // this too\n')
      const written = [...final].flatMap(([key, count]) => (count > 0 ? [key] : []))
      assert.isAbove(written.length, rounds / 2)
      const listed = get(read(file), ["writers"])
      assert.sameMembers(Array.isArray(listed) ? [...listed] : [], written)

      // What the dead left behind goes with the first write after a minute.
      const leftovers = () => fs.readdirSync(directory).filter((name) => name.endsWith(".tmp"))
      const left = leftovers()
      const old = (yield* Clock.currentTimeMillis) / 1000 - 61
      for (const name of left) fs.utimesSync(path.join(directory, name), old, old)
      yield* write(file, [set(["done"], true)])
      assert.deepStrictEqual(leftovers(), [])
      yield* Console.log(
        `${rounds} kills, ${acknowledged} acknowledged writes, ${reads} reads, ${left.length} leftovers`,
      )
    }).pipe(Effect.scoped, Effect.provide(Layer.mergeAll(NodeFiles.layer, NodeFileSystem.layer, NodePath.layer))),
  )
})
