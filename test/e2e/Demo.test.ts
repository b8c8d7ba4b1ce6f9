/** `troupe demo` as a newcomer runs it: no key, no network, no git configuration, and nothing left behind but what it says. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { endedWith, place, survivors } from "./world.ts"

describe("troupe demo", () => {
  it.live("fixes the failing test with real tools, says that the model is scripted, and tidies up", () =>
    Effect.gen(function* () {
      // Variables of somebody's real set-up must play no part in it.
      const { run, directory, config, work } = yield* place({
        ANTHROPIC_API_KEY: "sk-real",
        ANTHROPIC_BASE_URL: "http://127.0.0.1:9",
      })
      const ended = yield* run(["demo"])
      endedWith(ended, 0)
      assert.strictEqual(ended.err, "")
      const { out } = ended
      assert.match(out, /the model is scripted/)
      for (const shown of ["● Grep", "● Read", "● Bash", "● Edit"]) assert.include(out, shown)
      assert.match(out, /# fail 1[^]*# fail 0[^]*All tests pass/, "the test fails first and passes then")
      assert.include(out, "-export const add = (a, b) => a - b\n+export const add = (a, b) => a + b\n")
      assert.match(out, /6 turns · .* tokens in .* · \$0\.0\d+/)
      assert.match(out, /this one charges nothing/)
      assert.match(out, /With a real model:\n.*ANTHROPIC_API_KEY/)

      const left = /To remove them: rm -r (\S+)/.exec(out)?.[1] ?? ""
      assert.strictEqual(path.dirname(left), directory)
      const files = (under: string) =>
        fs
          .readdirSync(under, { recursive: true, withFileTypes: true })
          .flatMap((entry) => (entry.isFile() ? [path.join(entry.parentPath, entry.name)] : []))
      const named = ["transcript", "journal"].map((what) => new RegExp(`^${what} +(\\S+)$`, "m").exec(out)?.[1] ?? "")
      assert.sameMembers(files(left), named)
      assert.isFalse(fs.existsSync(path.join(left, "workspace")))
      assert.deepStrictEqual(files(work), [])
      assert.isFalse(fs.existsSync(config), "the person's own configuration is untouched")
      assert.sameMembers(fs.readdirSync(directory), ["work", "home", path.basename(left)])
      if (process.platform === "linux") assert.deepStrictEqual(survivors(directory), [])
    }),
  )

  it.live("stops on SIGINT and takes its workspace with it", () =>
    Effect.gen(function* () {
      const { start, directory } = yield* place()
      const child = yield* start(["demo"])
      yield* child.until((out) => out.includes("I am a scripted model"))
      yield* child.signal("SIGINT")
      endedWith(yield* child.ended, 130)
      const left = fs.readdirSync(directory).find((name) => name.startsWith("troupe-demo-")) ?? ""
      assert.isFalse(fs.existsSync(path.join(directory, left, "workspace")))
    }),
  )
})
