import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Host } from "../../src/platform/Host.ts"
import * as NodeProcess from "../../src/platform/NodeProcess.ts"
import * as NodeRipgrep from "../../src/platform/NodeRipgrep.ts"
import { Process } from "../../src/platform/Process.ts"
import { Ripgrep } from "../../src/platform/Ripgrep.ts"

const temp = fs.mkdtempSync(path.join(os.tmpdir(), "troupe-ripgrep-"))
fs.writeFileSync(path.join(temp, "a.txt"), "one\ntwo\n")
afterAll(() => fs.rmSync(temp, { recursive: true, force: true }))

const host = Host.layerTest({ env: { PATH: "/nowhere" }, cwd: temp })
const real = NodeRipgrep.layer.pipe(Layer.provide(Layer.merge(NodeProcess.layer, host)))

describe("Ripgrep", () => {
  it.live("runs the packaged program, without one on PATH", () =>
    Effect.gen(function* () {
      const ripgrep = yield* Ripgrep
      const found = yield* ripgrep.run(["-n", "-e", "two", "."], temp)
      assert.deepStrictEqual(found, { lines: ["./a.txt:2:two"], truncated: false, problems: [] })
    }).pipe(Effect.provide(real)),
  )

  it.live("tells whole lines as they come, the same as at the end", () =>
    Effect.gen(function* () {
      const ripgrep = yield* Ripgrep
      const long = path.join(temp, "long")
      fs.writeFileSync(long, Array.from({ length: 5_000 }, (_, index) => `línea ${index} ${"x".repeat(40)}\n`).join(""))
      const told: Array<string> = []
      let times = 0
      const onLines = (lines: ReadonlyArray<string>) => {
        told.push(...lines)
        times++
      }
      const found = yield* ripgrep.run(["-e", "x", long], temp, { onLines })
      fs.rmSync(long)
      assert.deepStrictEqual(told, found.lines)
      assert.strictEqual(told.length, 5_000)
      assert.isAbove(times, 1)
    }).pipe(Effect.provide(real)),
  )

  it.live("says that nothing was found as a result", () =>
    Effect.gen(function* () {
      const ripgrep = yield* Ripgrep
      assert.deepStrictEqual((yield* ripgrep.run(["-e", "three", "."], temp)).lines, [])
    }).pipe(Effect.provide(real)),
  )

  it.live("names a bad pattern, glob or type for what it is", () =>
    Effect.gen(function* () {
      const ripgrep = yield* Ripgrep
      const reason = (...args: Array<string>) =>
        Effect.map(Effect.flip(ripgrep.run([...args, "."], temp)), (error) => error.reason)
      assert.strictEqual(yield* reason("-e", "a("), "BadPattern")
      assert.strictEqual(yield* reason("-e", "a\\nb"), "BadPattern")
      assert.strictEqual(yield* reason("-g", "{a", "-e", "x"), "BadGlob")
      assert.strictEqual(yield* reason("-t", "nope", "-e", "x"), "BadType")
    }).pipe(Effect.provide(real)),
  )

  it.live("keeps what it found when some places cannot be searched", () =>
    Effect.gen(function* () {
      const ripgrep = yield* Ripgrep
      const found = yield* ripgrep.run(["-l", "-e", "two", "a.txt", "missing"], temp)
      assert.deepStrictEqual(found.lines, ["a.txt"])
      assert.match(found.problems.join(), /missing: .*No such file/)
    }).pipe(Effect.provide(real)),
  )

  it.effect("takes the system's own program when asked to", () =>
    Effect.gen(function* () {
      const ripgrep = yield* Ripgrep
      assert.deepStrictEqual((yield* ripgrep.run(["x"], temp)).lines, ["rg --no-config --color=never x"])
    }).pipe(
      Effect.provide(
        NodeRipgrep.layer.pipe(
          Layer.provide(
            Layer.merge(
              Process.layerScripted(({ command, args }) =>
                Effect.succeed({ stdout: `${[command, ...args].join(" ")}\n` }),
              ),
              Host.layerTest({ env: { USE_BUILTIN_RIPGREP: "0" } }),
            ),
          ),
        ),
      ),
    ),
  )

  it.effect("gives up on a search that takes too long, and says how to narrow it", () =>
    Effect.gen(function* () {
      const ripgrep = yield* Ripgrep
      const error = yield* Effect.flip(ripgrep.run(["x"], temp))
      assert.strictEqual(error.reason, "TimedOut")
      assert.match(error.message, /narrow/)
    }).pipe(
      Effect.provide(
        Ripgrep.layerAt("rg").pipe(
          Layer.provide(
            Layer.merge(
              Process.layerScripted(() => Effect.succeed({ timedOut: true, exitCode: 143 })),
              Host.layerTest(),
            ),
          ),
        ),
      ),
    ),
  )

  it.effect("keeps only whole lines from before the cut when there were too many", () =>
    Effect.gen(function* () {
      const ripgrep = yield* Ripgrep
      const found = yield* ripgrep.run(["x"], temp)
      assert.isTrue(found.truncated)
      assert.isTrue(found.lines.every((line) => line === "漢".repeat(99)))
      assert.isAbove(found.lines.length, 10_000)
    }).pipe(
      Effect.provide(
        Ripgrep.layerAt("rg").pipe(
          Layer.provide(
            Layer.merge(
              Process.layerScripted(() => {
                const half = `${"漢".repeat(99)}\n`.repeat(28_000)
                return Effect.succeed({ stdout: `${half}\n[... 9 bytes omitted ...]\n${half}`, truncated: true })
              }),
              Host.layerTest(),
            ),
          ),
        ),
      ),
    ),
  )
})
