import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { parse } from "../../src/cli/Argv.ts"
import { instructionsShown } from "../../src/cli/InstructionsView.ts"
import { memoryShown } from "../../src/cli/MemoryView.ts"
import { Settings } from "../../src/settings/Settings.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"
import * as Stage from "./stage.ts"

const within = (files: Readonly<Record<string, string>>) =>
  Effect.provide(
    Settings.layer({ managedDirectory: "/etc/claude-code", trusted: () => false }).pipe(
      Layer.provideMerge(MemoryWorkspace.layer({ "/work/.git/HEAD": "", ...files })),
    ),
  )

const directory = "/home/user/.claude/projects/-work/memory"
const memories = {
  [`${directory}/feedback_tabs.md`]: "---\nname: Tabs\ndescription: indent with tabs\ntype: feedback\n---\nUse tabs.",
  [`${directory}/MEMORY.md`]: "- [Tabs](feedback_tabs.md) — indent with tabs",
}
const Json = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
const json = Schema.decodeUnknownSync(Json)

describe("troupe memory", () => {
  it.effect("lists what is remembered, shows one, and says where it is", () =>
    Effect.gen(function* () {
      const list = yield* Stage.stdio()
      assert.strictEqual(yield* memoryShown({ what: "list", json: false }, list.stdio), 0)
      assert.include(list.out(), "feedback_tabs.md  (feedback, written")
      const path = yield* Stage.stdio()
      yield* memoryShown({ what: "path", json: false }, path.stdio)
      assert.strictEqual(path.out(), `${directory}\n`)
      const one = yield* Stage.stdio()
      yield* memoryShown({ what: { file: "feedback_tabs.md" }, json: false }, one.stdio)
      assert.include(one.out(), "Use tabs.\n")
      const asJson = yield* Stage.stdio()
      yield* memoryShown({ what: "list", json: true }, asJson.stdio)
      assert.strictEqual(json(asJson.out())["directory"], directory)
    }).pipe(within(memories)),
  )

  it.effect("names the nearest memory when there is none of that name, and reads nothing else", () =>
    Effect.gen(function* () {
      const edges = yield* Stage.stdio()
      assert.strictEqual(yield* memoryShown({ what: { file: "feedback_tab.md" }, json: false }, edges.stdio), 1)
      assert.include(edges.err(), "Did you mean feedback_tabs.md?")
      assert.strictEqual(yield* memoryShown({ what: { file: "../../../x.md" }, json: false }, edges.stdio), 1)
    }).pipe(within({ ...memories, "/home/user/.claude/x.md": "secret" })),
  )

  it.effect("says when memory is switched off", () =>
    Effect.gen(function* () {
      const edges = yield* Stage.stdio()
      yield* memoryShown({ what: "list", json: false }, edges.stdio)
      assert.include(edges.err(), "autoMemoryEnabled")
      assert.include(edges.out(), "Nothing is remembered")
    }).pipe(within({ "/home/user/.claude/settings.json": '{"autoMemoryEnabled":false}' })),
  )
})

describe("troupe instructions list", () => {
  const files = {
    "/work/CLAUDE.md": "Use tabs. @gone.md @/opt/x.md @CLAUDE.md",
    "/work/AGENTS.md": "not read",
    "/work/.claude/rules/ts.md": "---\npaths: '**/*.ts'\n---\nTypes.",
    "/work/CLAUDE.local.md": "mine",
    "/opt/x.md": "outside",
    "/home/user/.claude/settings.json": '{"claudeMdExcludes":["**/CLAUDE.local.md"]}',
  }

  it.effect("shows what is told, what later, what not, and why", () =>
    Effect.gen(function* () {
      const { out, stdio } = yield* Stage.stdio()
      assert.strictEqual(yield* instructionsShown({ addDirs: [], json: false }, stdio), 0)
      for (const part of [
        "project  /work/CLAUDE.md",
        "waits     /work/.claude/rules/ts.md  (for files that match **/*.ts)",
        "excluded  /work/CLAUDE.local.md",
        "duplicate /work/CLAUDE.md",
        "outside   /opt/x.md",
        "/work/CLAUDE.md:1: @/work/gone.md is not read",
      ]) {
        assert.include(out(), part)
      }
      assert.notInclude(out(), "AGENTS.md")
    }).pipe(within(files)),
  )

  it.effect("is JSON for a program", () =>
    Effect.gen(function* () {
      const { out, stdio } = yield* Stage.stdio()
      yield* instructionsShown({ addDirs: [], json: true }, stdio)
      const shown = json(out())
      assert.deepStrictEqual(Object.keys(shown), ["loaded", "others", "diagnostics", "waiting"])
      assert.notInclude(out(), "Use tabs.")
    }).pipe(within(files)),
  )

  it.effect("says so when there is nothing", () =>
    Effect.gen(function* () {
      const { out, stdio } = yield* Stage.stdio()
      yield* instructionsShown({ addDirs: [], json: false }, stdio)
      assert.include(out(), "No file tells the model")
    }).pipe(within({})),
  )
})

describe("their command lines", () => {
  const job = (...argv: ReadonlyArray<string>) => {
    const parsed = parse(argv, { version: "0", stdinIsTerminal: false, stdoutIsTerminal: true })
    return parsed._tag === "Do" ? parsed.job : parsed
  }

  it("are understood", () => {
    assert.include(job("memory", "list", "--json"), { _tag: "MemoryView", what: "list", json: true })
    assert.deepInclude(job("memory", "show", "a.md"), { _tag: "MemoryView", what: { file: "a.md" } })
    assert.include(job("memory", "path"), { _tag: "MemoryView", what: "path" })
    assert.deepInclude(job("instructions", "list", "--add-dir", "x"), { _tag: "InstructionsList", addDirs: ["x"] })
    assert.include(job("memory", "show"), { _tag: "Wrong" })
  })
})
