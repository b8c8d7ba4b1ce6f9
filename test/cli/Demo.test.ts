import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { runDemo } from "../../src/cli/Demo.ts"
import { demoPlaybook } from "../../src/cli/PackageRoot.ts"
import * as Events from "./events.ts"
import * as Stage from "./stage.ts"

describe("the demo", () => {
  it.live("works in a throw-away workspace, tells what is scripted, and leaves only what it names", () =>
    Effect.gen(function* () {
      const seen = { cwd: "", config: "" }
      const stage = yield* Stage.make(() =>
        Stream.suspend(() => {
          writeFileSync(join(seen.cwd, "math.js"), "after\n")
          return Stream.make(Events.ended({ result: "fixed" }))
        }),
      )
      const edges = yield* Stage.stdio()
      const code = yield* runDemo(
        {
          stdio: edges.stdio,
          serve: (playbook) => {
            assert.strictEqual(playbook, demoPlaybook())
            return Effect.succeed({ url: "http://127.0.0.1:1", workspace: { "math.js": "before\n" } })
          },
          agentsAt: (cwd, env) => {
            Object.assign(seen, { cwd, config: env["CLAUDE_CONFIG_DIR"] })
            assert.strictEqual(env["ANTHROPIC_BASE_URL"], "http://127.0.0.1:1")
            assert.strictEqual(readFileSync(join(cwd, "math.js"), "utf8"), "before\n")
            return Effect.succeed(stage.agents)
          },
        },
        { color: false },
      )
      const out = edges.out()
      assert.strictEqual(code, 0)
      for (const part of [
        "the model is scripted",
        "-before",
        "+after",
        "$0.25",
        "/c/transcript",
        "ANTHROPIC_API_KEY",
      ]) {
        assert.include(out, part)
      }
      assert.isFalse(existsSync(seen.cwd))
      assert.isTrue(existsSync(seen.config))
      assert.include(out, `rm -r ${dirname(seen.config)}`)
      rmSync(dirname(seen.config), { recursive: true })
    }),
  )

  it("finds its playbook in the package", () => assert.isTrue(existsSync(demoPlaybook())))
})
