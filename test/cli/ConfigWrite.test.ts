import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { parse } from "../../src/cli/Argv.ts"
import { configWrite } from "../../src/cli/ConfigWrite.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"
import * as Stage from "./stage.ts"

const mine = "/home/user/.claude/settings.json"
const shared = "/work/.claude/settings.json"
const local = "/work/.claude/settings.local.json"

const facts = { version: "0", stdinIsTerminal: false, stdoutIsTerminal: false }

/** Types `troupe config …` and looks at what came of it. */
const config = Effect.fnUntraced(function* (...argv: ReadonlyArray<string>) {
  const parsed = parse(["config", ...argv], facts)
  assert(parsed._tag === "Do" && parsed.job._tag === "ConfigSet", JSON.stringify(parsed))
  const { err, out, stdio } = yield* Stage.stdio()
  const code = yield* Effect.provide(configWrite(parsed.job, stdio), Settings.layer(), { local: true })
  return { code, err: err(), out: out() }
})

const text = (file: string) => Effect.flatMap(FileSystem.FileSystem, (fs) => fs.readFileString(file))
const world = (files: Readonly<Record<string, string>> = {}) =>
  Effect.provide(MemoryWorkspace.layer({ "/work/.git/HEAD": "", ...files }))

describe("troupe config set", () => {
  it.effect("writes JSON as JSON and the rest as text, to the user's file unless told", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* config("set", "model", "opus"), {
        code: 0,
        err: "",
        out: `Set model in ${mine}.\n`,
      })
      yield* config("set", "permissions.deny", '["Bash(rm *)"]')
      yield* config("set", "cleanupPeriodDays", "7")
      yield* config("set", "env.PORT", "8080")
      yield* config("set", 'enabledPlugins."fmt@team.example"', "true")
      assert.deepStrictEqual(JSON.parse(yield* text(mine)), {
        model: "opus",
        permissions: { deny: ["Bash(rm *)"] },
        cleanupPeriodDays: 7,
        env: { PORT: "8080" },
        enabledPlugins: { "fmt@team.example": true },
      })
      yield* config("set", "verbose", "true", "--scope", "local")
      assert.strictEqual(yield* text(local), '{\n  "verbose": true\n}\n')
    }).pipe(world()),
  )

  it.effect("warns of a key it does not know, with the one that was meant", () =>
    Effect.gen(function* () {
      const { code, err } = yield* config("set", "modle", "opus")
      assert.strictEqual(code, 0)
      assert.match(err, /modle: unknown setting, kept but not used; did you mean "model"\?/)
    }).pipe(world()),
  )

  it.effect("refuses a value that does not fit, and changes nothing", () =>
    Effect.gen(function* () {
      for (const [key, value, why] of [
        ["verbose", "yes", "verbose must be true or false"],
        ["permissions.defaultMode", "paln", "must be one of default, acceptEdits, plan"],
        ["permissions", '{"allow": "Bash"}', 'permissions.allow must be a list of text: ["…"]'],
        ["cleanupPeriodDays", '7, "model": "x"', "cleanupPeriodDays must be a number"],
        ["a..b", "1", "is no key"],
      ] as const) {
        const { code, err } = yield* config("set", key, value)
        assert.strictEqual(code, 2, key)
        assert.include(err, why)
      }
      const { exists } = yield* FileSystem.FileSystem
      assert.isFalse(yield* exists(mine))
    }).pipe(world()),
  )

  it.effect("says when another source counts more, and when it waits for trust", () =>
    Effect.gen(function* () {
      const { out } = yield* config("set", "model", "opus")
      assert.include(out, `${shared}:1:2 sets it too, and counts: the project file overrides the user's.`)
      const waiting = yield* config("set", "permissions.allow", '["Bash"]', "--scope", "project")
      assert.include(waiting.out, "not in force until you agree to it: troupe config trust")
    }).pipe(world({ [shared]: '{"model": "haiku"}' })),
  )

  it.effect("refuses a broken file", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(config("set", "model", "opus"))
      assert.deepInclude(error, { _tag: "SettingsWriteError", file: mine, line: 1, column: 11 })
    }).pipe(world({ [mine]: '{"model": ' })),
  )
})

describe("troupe config unset", () => {
  it.effect("removes the key and says what counts now", () =>
    Effect.gen(function* () {
      const { out } = yield* config("unset", "model", "--scope", "project")
      assert.strictEqual(
        out,
        `Removed model from ${shared}.
Now ${mine}:1:2 counts.
`,
      )
      assert.strictEqual(yield* text(shared), "{\n  // ours\n}")
      assert.include((yield* config("unset", "model", "--scope", "project")).out, "model is not set in")
    }).pipe(world({ [mine]: '{"model": "opus"}', [shared]: '{\n  // ours\n  "model": "haiku"\n}' })),
  )
})
