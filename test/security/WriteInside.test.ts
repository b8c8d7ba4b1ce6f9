import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Files } from "../../src/platform/Files.ts"
import { layer } from "../../src/platform/NodeFiles.ts"
import { withVerification } from "../../src/platform/NodeInside.ts"

interface Place {
  readonly root: string
  readonly outside: string
}

const withPlace = <E>(test: (place: Place) => Effect.Effect<void, E, Files>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-inside-")))),
    (temp) => {
      const [root, outside] = [path.join(temp, "root"), path.join(temp, "outside")]
      fs.mkdirSync(path.join(root, "sub"), { recursive: true })
      fs.mkdirSync(outside)
      return Effect.provide(test({ root, outside }), layer)
    },
    (temp) => Effect.sync(() => fs.rmSync(temp, { recursive: true, force: true, maxRetries: 5 })),
  )

const reasonOf = (root: string, relative: string, options?: { readonly makeParents?: boolean }) =>
  Effect.gen(function* () {
    const files = yield* Files
    const done = yield* Effect.result(files.writeInside(root, relative, "x", options))
    return Result.isFailure(done) ? done.failure.reason : "written"
  })

describe("Files.writeInside", () => {
  it.live("writes, replaces, keeps the mode, makes parents, and leaves nothing else behind", () =>
    withPlace(
      Effect.fnUntraced(function* ({ root }) {
        const files = yield* Files
        yield* files.writeInside(root, "sub/a.sh", "one", { mode: 0o755 })
        yield* files.writeInside(root, "sub/a.sh", "two")
        yield* files.writeInside(root, "new/deep/b", "three", { makeParents: true })
        assert.strictEqual(fs.readFileSync(path.join(root, "sub/a.sh"), "utf8"), "two")
        assert.strictEqual(fs.statSync(path.join(root, "sub/a.sh")).mode & 0o777, 0o755)
        assert.strictEqual(fs.readFileSync(path.join(root, "new/deep/b"), "utf8"), "three")
        assert.deepStrictEqual(fs.readdirSync(path.join(root, "sub")), ["a.sh"])
      }),
    ),
  )

  it.live("refuses links on the way and at the end, and whatever leaves the root", () =>
    withPlace(
      Effect.fnUntraced(function* ({ root, outside }) {
        fs.writeFileSync(path.join(outside, "file"), "theirs")
        fs.symlinkSync(outside, path.join(root, "out"))
        fs.symlinkSync(path.join(outside, "file"), path.join(root, "link"))
        fs.symlinkSync(root, path.join(outside, "root"))
        for (const relative of ["out/a", "link", "../outside/a", "/etc/x", "sub/../../outside/a", "", "a\0"]) {
          assert.strictEqual(yield* reasonOf(root, relative, { makeParents: true }), "Swapped", relative)
        }
        assert.isTrue(["Swapped", "NotDirectory"].includes(yield* reasonOf(path.join(outside, "root"), "a")))
        assert.strictEqual(yield* reasonOf(root, "sub"), "IsDirectory")
        assert.strictEqual(yield* reasonOf(root, "none/a"), "NotFound")
        assert.deepStrictEqual(fs.readdirSync(outside).sort(), ["file", "root"])
        assert.strictEqual(fs.readFileSync(path.join(outside, "file"), "utf8"), "theirs")
      }),
    ),
  )

  it.live("never writes outside while another process swaps the directory for a link, in 2,000 attempts", () =>
    withPlace(
      Effect.fnUntraced(function* ({ root, outside }) {
        const script = path.join(import.meta.dirname, "swapForever.sh")
        const swapper = spawn("bash", [script, root, outside], { stdio: ["ignore", "pipe", "ignore"], detached: true })
        yield* Effect.promise(() => once(swapper.stdout, "data"))
        const seen = new Map<string, number>()
        for (let n = 0; n < 2000; n++) {
          const outcome = yield* reasonOf(root, `sub/${n % 50}`)
          seen.set(outcome, (seen.get(outcome) ?? 0) + 1)
        }
        // With what it is just running.
        process.kill(-(swapper.pid ?? 0), "SIGKILL")
        yield* Effect.promise(() => once(swapper, "exit"))
        assert.deepStrictEqual(fs.readdirSync(outside), [])
        // The race was real: it was lost and won.
        assert.isAbove(seen.get("written") ?? 0, 0)
        assert.isAbove(2000 - (seen.get("written") ?? 0), 0)
      }),
    ),
  )

  it.live("verifies before and after where directories cannot be walked by descriptor", () =>
    withPlace(
      Effect.fnUntraced(function* ({ root, outside }) {
        fs.symlinkSync(outside, path.join(root, "out"))
        yield* Effect.promise(() => withVerification(root, ["sub", "a"], Buffer.from("x"), {}))
        assert.strictEqual(fs.readFileSync(path.join(root, "sub/a"), "utf8"), "x")
        const refused = yield* Effect.result(
          Effect.tryPromise(() => withVerification(root, ["out", "a"], Buffer.from("x"), {})),
        )
        assert.isTrue(Result.isFailure(refused))
        assert.deepStrictEqual(fs.readdirSync(outside), [])
      }),
    ),
  )
})
