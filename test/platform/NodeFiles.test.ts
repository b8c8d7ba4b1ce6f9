import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { rolldown } from "rolldown"
import { Files } from "../../src/platform/Files.ts"
import { layer } from "../../src/platform/NodeFiles.ts"
import { lock } from "../../src/platform/NodeLock.ts"

const temp = fs.mkdtempSync(path.join(os.tmpdir(), "troupe-crash-"))
const script = path.join(temp, "writeForever.mjs")

const build = Effect.promise(async () => {
  const input = path.join(import.meta.dirname, "writeForever.ts")
  const bundle = await rolldown({ input, platform: "node", logLevel: "silent" })
  await bundle.write({ file: script })
  await bundle.close()
})

/** Starts the writer and kills it, without mercy, a moment after it has said its n-th word. */
const killAfter = (file: string, name: string, words: number) =>
  Effect.callback<string>((resume) => {
    const child = spawn(process.execPath, [script, file, name], { stdio: ["ignore", "pipe", "inherit"] })
    let said = ""
    child.stdout.on("data", (data: Buffer) => {
      said += data.toString()
      if (said.split("\n").length > words) child.kill("SIGKILL")
    })
    child.once("close", (_, signal) => resume(Effect.succeed(String(signal))))
  })

describe("Looking when many files were changed", () => {
  it.live("goes on without holding up the process where the disk is slow, to the same answer", () =>
    Effect.gen(function* () {
      const files = yield* Files
      const many = fs.mkdtempSync(path.join(os.tmpdir(), "troupe-aged-"))
      const paths = Array.from({ length: 600 }, (_, index) => path.join(many, `aged-${index % 20}`))
      for (const [index, file] of paths.slice(0, 20).entries()) {
        fs.writeFileSync(file, "")
        fs.utimesSync(file, 1_700_000_000 + index, 1_700_000_000 + index)
      }
      const clock = yield* Clock.Clock
      let nanos = 0n
      const slow: Clock.Clock = { ...clock, currentTimeNanosUnsafe: () => (nanos += 1_000_000_000n) }
      const times = yield* Effect.provideService(files.changedAt([...paths, "/none"]), Clock.Clock, slow)
      assert.deepStrictEqual(times, yield* files.changedAt([...paths, "/none"]))
      assert.deepStrictEqual(times.slice(580), [
        ...Array.from({ length: 20 }, (_, index) => (1_700_000_000 + index) * 1000),
        0,
      ])
    }).pipe(Effect.provide(layer)),
  )
})

describe("A process that is killed", () => {
  it.live("leaves a whole file, and its lock free", () =>
    Effect.gen(function* () {
      yield* build
      const files = yield* Files
      const file = path.join(temp, "state")
      fs.writeFileSync(file, "0".repeat(200_000))
      for (let words = 1; words <= 8; words++) {
        assert.strictEqual(yield* killAfter(file, file, words), "SIGKILL")
        const { text } = yield* files.readText(file)
        assert.strictEqual(text, text.charAt(0).repeat(200_000))
        yield* Effect.scoped(files.lock(file))
      }
      // What a kill can leave is a hidden temporary file beside it, never more than one for each kill.
      const left = fs.readdirSync(temp).filter((name) => name !== "state" && name !== "writeForever.mjs")
      assert.isAtMost(left.length, 8)
      for (const name of left) assert.match(name, /^\.state\..*\.tmp$/)
    }).pipe(Effect.provide(layer)),
  )
})

describe("Locks by socket file", () => {
  it.live("refuse a second holder, name the first, and outlive a dead one's file", () =>
    Effect.gen(function* () {
      const name = `${temp}/lock`
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* lock(name, "file")
          const busy = yield* Effect.flip(Effect.scoped(lock(name, "file")))
          assert.include(busy.message, `process ${process.pid}`)
        }),
      )
      yield* Effect.scoped(lock(name, "file"))
    }),
  )
})

describe("A file that is none", () => {
  it.live("is never appended to, replaced or waited for", () =>
    Effect.gen(function* () {
      const files = yield* Files
      const pipe = path.join(temp, "pipe")
      execFileSync("mkfifo", [pipe])
      const link = path.join(temp, "link")
      fs.symlinkSync(pipe, link)
      for (const at of [pipe, link]) {
        for (const attempt of [files.openAppend(at), files.writeAtomic(at, "x"), files.readText(at)]) {
          const error = yield* Effect.flip(Effect.asVoid(attempt))
          assert.include(error.message, "not a regular file")
        }
      }
      assert.isTrue(fs.statSync(pipe).isFIFO())
      assert.include((yield* Effect.flip(Effect.asVoid(files.readText("/dev/zero")))).message, "not a regular file")
    }).pipe(Effect.scoped, Effect.timeout("5 seconds"), Effect.provide(layer)),
  )
})
