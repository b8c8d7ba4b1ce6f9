import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as ContextSettings from "../../src/context/ContextSettings.ts"
import * as OutputStyles from "../../src/context/OutputStyles.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"

const settings = (outputStyle?: string): ContextSettings.ContextSettings => ({
  ...ContextSettings.none,
  scopes: ["user", "project", "local"],
  managedDirectory: "/etc/claude-code",
  outputStyle,
})

const cwd = "/repo/app"
const within = (files: Readonly<Record<string, string>> = {}) =>
  Effect.provide(MemoryWorkspace.layer({ "/repo/.git/HEAD": "", "/repo/app/x": "", ...files }))

const chosen = (name?: string, plugins: OutputStyles.StylesOptions["plugins"] = []) =>
  OutputStyles.choose({ cwd, settings: settings(name), plugins })

describe("output styles", () => {
  it.effect("that come with the product keep the instructions for programming", () =>
    Effect.gen(function* () {
      const { all } = yield* OutputStyles.list({ cwd, settings: settings() })
      assert.deepStrictEqual(
        all.map(({ name }) => name),
        ["default", "Proactive", "Concise", "Explanatory", "Learning"],
      )
      assert.isTrue(all.every(({ keepsCoding }) => keepsCoding))
      assert.include((yield* chosen("Learning")).style.body, "TODO(human)")
      assert.strictEqual((yield* chosen("explanatory")).style.name, "Explanatory")
    }).pipe(within()),
  )

  it.effect("that people write are found from the user's to the nearest, the machine's last", () =>
    Effect.gen(function* () {
      const { all, diagnostics } = yield* OutputStyles.list({ cwd, settings: settings() })
      assert.deepStrictEqual(diagnostics, [])
      assert.deepStrictEqual(
        all.slice(5).map(({ body, keepsCoding, name, source }) => [name, source, keepsCoding, body]),
        [
          ["mine", "user", false, "User."],
          ["Diagrams first", "project", true, "Near."],
          ["house", "managed", false, "House."],
        ],
      )
      assert.strictEqual((yield* chosen("Diagrams first")).style.body, "Near.")
    }).pipe(
      within({
        "/home/user/.claude/output-styles/mine.md": "User.",
        "/repo/.claude/output-styles/d.md": "---\nname: Diagrams first\n---\nFar.",
        "/repo/app/.claude/output-styles/d.md":
          "---\nname: Diagrams first\ndescription: Lead with a diagram\nkeep-coding-instructions: true\n---\n\nNear.\n",
        "/etc/claude-code/.claude/output-styles/house.md": "House.",
      }),
    ),
  )

  it.effect("of a folder that lead to a file which a rule hides are not read", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink("/repo/secrets.md", "/repo/.claude/output-styles/leak.md")
      const hides = (path: string) => path === "/repo/secrets.md"
      const { diagnostics, style } = yield* OutputStyles.choose({ cwd, settings: settings("leak"), hides })
      assert.strictEqual(style.name, "default")
      assert.match(diagnostics[0]?.message ?? "", /a permission rule denies reading it/)
    }).pipe(within({ "/repo/secrets.md": "Secret.", "/repo/.claude/output-styles/ok.md": "Fine." })),
  )

  it.effect("of a plugin apply by name, or always when they say so", () =>
    Effect.gen(function* () {
      const plugins = [{ plugin: "p", directory: "/plugins/p/output-styles" }]
      assert.strictEqual((yield* chosen("calm", plugins)).style.name, "p:loud")
      const quiet = [{ plugin: "q", directory: "/plugins/q/output-styles" }]
      assert.strictEqual((yield* chosen("calm", quiet)).style.name, "q:calm")
      assert.strictEqual((yield* chosen(undefined, quiet)).style.name, "default")
    }).pipe(
      within({
        "/plugins/p/output-styles/loud.md": "---\nforce-for-plugin: true\n---\nLoud.",
        "/plugins/q/output-styles/calm.md": "Calm.",
      }),
    ),
  )

  it.effect("force nothing from anywhere but a plugin", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* chosen("Concise")).style.name, "Concise")
    }).pipe(within({ "/repo/.claude/output-styles/a.md": "---\nforce-for-plugin: true\n---\nA." })),
  )

  it.effect("that do not exist are named, with the nearest that does", () =>
    Effect.gen(function* () {
      const { diagnostics, style } = yield* chosen("Concize")
      assert.strictEqual(style, OutputStyles.defaultStyle)
      assert.include(diagnostics[0]?.message, "Did you mean Concise?")
    }).pipe(within()),
  )

  it.effect("that are broken say where, and a link out of the project is not followed", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink("/opt/style.md", "/repo/.claude/output-styles/link.md")
      const { all, diagnostics } = yield* OutputStyles.list({ cwd, settings: settings() })
      assert.deepStrictEqual(
        all.slice(5).map(({ name }) => name),
        ["odd"],
      )
      assert.deepStrictEqual(
        diagnostics.map(({ line, path }) => `${path}:${line ?? ""}`),
        [
          "/repo/.claude/output-styles/empty.md:",
          "/repo/.claude/output-styles/link.md:",
          "/repo/.claude/output-styles/odd.md:2",
          "/repo/.claude/output-styles/odd.md:3",
        ],
      )
    }).pipe(
      within({
        "/opt/style.md": "Outside.",
        "/repo/.claude/output-styles/empty.md": "---\nname: x\n---\n",
        "/repo/.claude/output-styles/odd.md": "---\nname: {a: b}\nkeep-coding-instructions: maybe\n---\nOdd.",
      }),
    ),
  )
})
