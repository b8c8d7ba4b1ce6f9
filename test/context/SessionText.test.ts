import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import * as ContextSettings from "../../src/context/ContextSettings.ts"
import * as GitText from "../../src/context/GitText.ts"
import * as SessionText from "../../src/context/SessionText.ts"
import * as SystemPrompt from "../../src/context/SystemPrompt.ts"
import { boundary } from "../../src/model/CachePlan.ts"
import { Git } from "../../src/platform/Git.ts"
import type { HostFacts } from "../../src/platform/Host.ts"
import { Process, ProcessError, type RunOptions } from "../../src/platform/Process.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"

const git = ({ args, command, cwd }: RunOptions) => {
  if (args.includes("status")) {
    return Effect.succeed({ stdout: "# branch.head main\0? new.ts\x001 .M N... 1 1 1 a b src/a.ts\0" })
  }
  if (args.includes("log")) return Effect.succeed({ stdout: "abc123 fix: it\n" })
  if (args.includes("config")) return Effect.succeed({ exitCode: 1 })
  return Effect.fail(new ProcessError({ command, cwd, reason: "NotFound", detail: "" }))
}

const world = (files: Readonly<Record<string, string>> = {}, facts: HostFacts = {}, answer: typeof git = git) =>
  Git.layer.pipe(
    Layer.provideMerge(Process.layerScripted(answer)),
    Layer.provideMerge(MemoryWorkspace.layer({ "/repo/.git/HEAD": "ref: refs/heads/main\n", ...files }, facts)),
  )

const settingsFrom = (files: Readonly<Record<string, string>>, env: HostFacts["env"] = {}) =>
  ContextSettings.read.pipe(
    Effect.provide(
      Settings.layer({ cwd: "/repo", managedDirectory: "/etc/claude-code" }).pipe(
        Layer.provideMerge(MemoryWorkspace.layer(files, { env: { ...env } })),
      ),
    ),
  )

const place = { cwd: "/repo", addDirs: [] }
const everything: ContextSettings.ContextSettings = {
  ...ContextSettings.none,
  scopes: ["user", "project", "local"],
  autoMemory: true,
  gitInstructions: true,
}
const texts = ({ system }: SessionText.SessionText) => system.map(({ text }) => text)

describe("the text a session begins with", () => {
  it.effect("is what everybody shares and the facts, when nobody's files count", () =>
    Effect.gen(function* () {
      const made = yield* SessionText.make(place)
      assert.deepStrictEqual(made.system, yield* SystemPrompt.make(place))
      assert.deepStrictEqual(texts(made).slice(0, 2), [SystemPrompt.everyone, SystemPrompt.coding])
      assert.isUndefined(made.memory)
      assert.deepStrictEqual(made.diagnostics, [])
    }).pipe(Effect.provide(world({ "/repo/CLAUDE.md": "not read" }))),
  )

  it.effect("has its parts in one order, and changes nothing before the boundary", () =>
    Effect.gen(function* () {
      const settings = { ...everything, language: "french", outputStyle: "Concise" }
      const options = { ...place, appendSystemPrompt: "APPENDED", model: "claude-opus-5", settings }
      const made = yield* SessionText.make(options)
      const [everyone, coding, session = "", asked = ""] = texts(made)
      assert.deepStrictEqual([everyone, coding], [SystemPrompt.everyone, SystemPrompt.coding])
      const order = [
        boundary,
        "Working directory: /repo",
        "1 modified, 1 untracked",
        "new.ts",
        "abc123 fix: it",
        "Co-Authored-By: Claude Opus 5 <noreply@anthropic.com>",
        "/home/user/.claude/projects/-repo/memory",
        "- [a](a.md) — remembered",
        "always answer in french",
        "APPENDED",
        "Output style: Concise",
      ]
      const places = order.map((part) => session.indexOf(part))
      assert.deepStrictEqual(
        places,
        places.toSorted((a, b) => a - b),
        JSON.stringify(places),
      )
      assert.notInclude(places, -1)
      assert.include(asked, "Contents of /repo/CLAUDE.md")
      assert.deepStrictEqual(texts(yield* SessionText.make(options)), texts(made))
    }).pipe(
      Effect.provide(
        world({
          "/repo/CLAUDE.md": "Be kind.",
          "/home/user/.claude/projects/-repo/memory/MEMORY.md": "- [a](a.md) — remembered\n",
        }),
      ),
    ),
  )

  it.effect("has a custom style in the place of how to program, unless it keeps that", () =>
    Effect.gen(function* () {
      const style = (outputStyle: string) => SessionText.make({ ...place, settings: { ...everything, outputStyle } })
      const writer = texts(yield* style("writer"))
      assert.strictEqual(writer[0], SystemPrompt.everyone)
      assert.notInclude(writer, SystemPrompt.coding)
      assert.include(writer[1], "Write novels.")
      assert.include(texts(yield* style("keeper")), SystemPrompt.coding)
    }).pipe(
      Effect.provide(
        world({
          "/repo/.claude/output-styles/writer.md": "Write novels.",
          "/repo/.claude/output-styles/keeper.md": "---\nkeep-coding-instructions: true\n---\nKeep.",
        }),
      ),
    ),
  )

  it.effect("is the given system prompt where one is given", () =>
    Effect.gen(function* () {
      const made = texts(yield* SessionText.make({ ...place, systemPrompt: "You are a poet.", settings: everything }))
      assert.strictEqual(made[0], "You are a poet.")
      assert.isFalse(made.some((text) => text === SystemPrompt.everyone || text === SystemPrompt.coding))
    }).pipe(Effect.provide(world())),
  )

  it.effect("says what is wrong, and comes all the same", () =>
    Effect.gen(function* () {
      const settings = {
        ...everything,
        outputStyle: "nope",
        autoMemoryDirectory: "relative",
        problems: ["bad setting"],
      }
      const { diagnostics, memory } = yield* SessionText.make({ ...place, settings })
      assert.isUndefined(memory)
      assert.lengthOf(diagnostics, 4)
      assert.include(diagnostics[2], "/repo/CLAUDE.md:1: @/repo/gone.md is not read")
    }).pipe(Effect.provide(world({ "/repo/CLAUDE.md": "@gone.md" }))),
  )

  it.effect("does not wait for a git that is silent", () =>
    Effect.gen(function* () {
      const making = yield* Effect.forkChild(SessionText.make({ ...place, settings: everything }))
      yield* TestClock.adjust("1 second")
      const made = yield* Fiber.join(making)
      assert.notInclude(made.parts.facts, "when the session began")
    }).pipe(Effect.provide(world({}, {}, () => Effect.never))),
  )

  it.effect("of an agent with a memory has its own", () =>
    Effect.gen(function* () {
      const found = yield* SessionText.agentMemory("reviewer", "project", "/repo")
      const text = Result.isSuccess(found) ? found.success.text : found.failure
      assert.include(text, "/repo/.claude/agent-memory/reviewer")
      assert.include(text, "learned")
    }).pipe(Effect.provide(world({ "/repo/.claude/agent-memory/reviewer/MEMORY.md": "- learned" }))),
  )
})

describe("what settings say about it", () => {
  it.effect("is read from every source, and the environment decides about memory and git", () =>
    Effect.gen(function* () {
      const files = {
        "/home/user/.claude/settings.json": '{"language":"ger\\nman","claudeMdExcludes":["/a"],"claudeMd":"not mine"}',
        "/repo/.claude/settings.json":
          '{"outputStyle":"Concise","claudeMdExcludes":["/b"],"autoMemoryEnabled":false,"includeGitInstructions":7}',
        "/etc/claude-code/managed-settings.json": '{"claudeMd":"Policy."}',
      }
      const read = yield* settingsFrom(files)
      assert.deepInclude(read, {
        scopes: ["user", "project", "local"],
        managedDirectory: "/etc/claude-code",
        managedText: "Policy.",
        claudeMdExcludes: ["/a", "/b"],
        language: "ger man",
        outputStyle: "Concise",
        autoMemory: false,
        gitInstructions: true,
      })
      assert.lengthOf(read.problems, 1)
      const forced = yield* settingsFrom(files, {
        CLAUDE_CODE_DISABLE_AUTO_MEMORY: "0",
        CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS: "1",
        CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: "1",
      })
      assert.deepInclude(forced, { autoMemory: true, gitInstructions: false, fromAddedDirectories: true })
    }),
  )

  it.effect("decides what stands under commits and pull requests", () =>
    Effect.gen(function* () {
      const of = (json: string) =>
        Effect.map(settingsFrom({ "/home/user/.claude/settings.json": json }), ({ attribution }) =>
          GitText.instructions(attribution, "claude-sonnet-5"),
        )
      const usual = yield* of("{}")
      assert.include(usual, "Co-Authored-By: Claude Sonnet 5 <noreply@anthropic.com>")
      assert.include(usual, "Generated with Troupe")
      const legacy = yield* of('{"includeCoAuthoredBy":false}')
      assert.notInclude(legacy, "Co-Authored-By")
      assert.notInclude(legacy, "Generated with")
      const own = yield* of(
        '{"includeCoAuthoredBy":false,"attribution":{"commit":"By AI\\n\\nCo-Authored-By: AI <a@b>"}}',
      )
      assert.include(own, "    By AI\n    \n    Co-Authored-By: AI <a@b>")
      assert.include(own, "Generated with Troupe")
      assert.notInclude(yield* of('{"attribution":{"pr":""}}'), "Generated with")
    }),
  )

  it.effect("is nothing for settings without files", () =>
    Effect.gen(function* () {
      const read = yield* ContextSettings.read.pipe(
        Effect.provide(Layer.merge(Settings.layerOf({ language: "french" }), MemoryWorkspace.layer())),
      )
      assert.deepInclude(read, { scopes: [], autoMemory: false, gitInstructions: false, language: "french" })
    }),
  )
})
