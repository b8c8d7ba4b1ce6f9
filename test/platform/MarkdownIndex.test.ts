import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as TestClock from "effect/testing/TestClock"
import { Files } from "../../src/platform/Files.ts"
import { Host } from "../../src/platform/Host.ts"
import { MarkdownIndex } from "../../src/platform/MarkdownIndex.ts"
import * as MarkdownStore from "../../src/platform/MarkdownStore.ts"
import { MemoryDisk } from "../../src/platform/MemoryDisk.ts"
import * as MemoryFileSystem from "../../src/platform/MemoryFileSystem.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import * as NodeFileSystem from "../../src/platform/NodeFileSystem.ts"

const agent = (name: string, more = "") =>
  `---\nname: ${name}\ndescription: Does ${name}\n${more}---\nYou are ${name}.\n`

const memory = (files: Readonly<Record<string, string>>) =>
  Layer.mergeAll(Files.layerMemory, MemoryFileSystem.layer, Host.layerTest({ configDir: "/home/user/.claude" })).pipe(
    Layer.provideMerge(MemoryDisk.layer(files)),
  )

/** One process: its index lives as long as the effect. */
const inProcess = <A, E, R>(effect: Effect.Effect<A, E, R | MarkdownIndex>) =>
  Effect.provide(effect, Layer.fresh(MarkdownIndex.layer))

const settled = TestClock.adjust("1 second")

describe("MarkdownIndex", () => {
  it.effect("reads front matter and leaves bodies where they are", () =>
    Effect.gen(function* () {
      yield* settled
      yield* inProcess(
        Effect.gen(function* () {
          const index = yield* MarkdownIndex
          const [one, ...rest] = yield* index.entries(["/r/.claude/agents/a.md", "/r/.claude/agents/none.md"])
          assert.deepStrictEqual(rest, [])
          assert.deepStrictEqual(one?.data, { name: "a", description: "Does a" })
          assert.deepStrictEqual([one?.bodyLine, one?.bodyChars, one?.lineOf("description")], [5, 11, 3])
          assert.deepStrictEqual([one?.lineOf("toString"), one?.lineOf("tools")], [undefined, undefined])
          const body = yield* index.body("/r/.claude/agents/a.md")
          assert.deepStrictEqual(body, { text: "You are a.\n", line: 5, hash: one?.hash ?? "" })
        }),
      )
    }).pipe(Effect.provide(memory({ "/r/.claude/agents/a.md": agent("a") }))),
  )

  it.effect("remembers for the next process, and parses again only what changed", () =>
    Effect.gen(function* () {
      const disk = yield* MemoryDisk
      const files = yield* Files
      const paths = ["/r/.claude/agents/a.md", "/r/.claude/agents/b.md"]
      yield* settled
      const read: Array<string> = []
      const counted = Layer.succeed(Files, {
        ...files,
        readTexts: (wanted, options) => {
          read.push(...wanted.filter((one) => one.endsWith(".md")))
          return files.readTexts(wanted, options)
        },
      })
      const look = Effect.flatMap(MarkdownIndex, (index) => index.entries(paths)).pipe(
        Effect.map((found) => found.map(({ lineOf, ...rest }) => [rest, lineOf("name")])),
        inProcess,
        Effect.provide(counted),
      )
      const first = yield* look
      assert.deepStrictEqual(read.splice(0), paths)
      assert.deepStrictEqual(yield* look, first)
      assert.deepStrictEqual(read, [])
      yield* files.writeAtomic(paths[1] ?? "", agent("c"))
      yield* settled
      const third = yield* look
      assert.deepStrictEqual(read.splice(0), [paths[1]])
      assert.notDeepEqual(third, first)
      disk.remove(paths[0] ?? "")
      assert.strictEqual((yield* look).length, 1)
      assert.deepStrictEqual(read, [])
    }).pipe(Effect.provide(memory({ "/r/.claude/agents/a.md": agent("a"), "/r/.claude/agents/b.md": agent("b") }))),
  )

  it.effect("does not remember a file that changed a moment ago", () =>
    Effect.gen(function* () {
      const files = yield* Files
      const look = Effect.flatMap(MarkdownIndex, (index) => index.entries(["/r/.claude/agents/a.md"])).pipe(
        Effect.map((found) => found[0]?.data["name"]),
        inProcess,
      )
      assert.strictEqual(yield* look, "a")
      // The same size within the same tick of the clock.
      yield* files.writeAtomic("/r/.claude/agents/a.md", agent("b"))
      assert.strictEqual(yield* look, "b")
    }).pipe(Effect.provide(memory({ "/r/.claude/agents/a.md": agent("a") }))),
  )

  it.effect("is as good without its memory: torn, foreign, of another version", () =>
    Effect.gen(function* () {
      const files = yield* Files
      yield* settled
      const look = Effect.flatMap(MarkdownIndex, (index) => index.entries(["/r/.claude/agents/a.md"])).pipe(
        Effect.map((found) => found[0]?.data["name"]),
        inProcess,
      )
      assert.strictEqual(yield* look, "a")
      const { files: stored } = yield* files.walk("/home/user/.claude/troupe/index", { depth: 0, limit: 10 })
      assert.strictEqual(stored.length, 1)
      const file = stored[0] ?? ""
      assert.strictEqual((yield* MemoryDisk).file(file).mode, 0o600)
      const { text } = yield* files.readText(file)
      const content = text.slice(text.indexOf("\n") + 1)
      const seal = (other: string) => `${files.hash(other)}\n${other}`
      assert.strictEqual(seal(content), text)
      const lies = content.replace(`"name":"a"`, `"name":"z"`)
      for (const bad of [
        "",
        text.slice(0, -20),
        text.replace(`"name":"a"`, `"name":"z"`),
        seal(lies.replace(`"version":1`, `"version":2`)),
        seal(lies.replace(`"of":"/r/`, `"of":"/s/`)),
        seal(lies.replace(`"hash":`, `"hush":`)),
        seal("[]"),
      ]) {
        yield* files.writeAtomic(file, bad)
        assert.strictEqual(yield* look, "a", bad.slice(0, 80))
      }
      // Sealed, fitting and of this very file: this is what is believed, and why the file is the user's alone.
      yield* files.writeAtomic(file, seal(lies))
      assert.strictEqual(yield* look, "z")
    }).pipe(Effect.provide(memory({ "/r/.claude/agents/a.md": agent("a") }))),
  )

  it.effect("says what is wrong with a file that cannot be read", () =>
    inProcess(
      Effect.gen(function* () {
        const index = yield* MarkdownIndex
        const [large, binary] = yield* index.entries(["/r/large.md", "/r/binary.md"])
        assert.match(large?.problems[0]?.message ?? "", /larger than the limit/)
        assert.match(binary?.problems[0]?.message ?? "", /binary/)
        assert.deepStrictEqual([large?.hash, binary?.hash], [undefined, undefined])
      }),
    ).pipe(Effect.provide(memory({ "/r/large.md": "x".repeat(1024 * 1024 + 1), "/r/binary.md": "a\0b" }))),
  )

  it.live("finds Markdown files through links and loops, and skills by their directory", () =>
    Effect.gen(function* () {
      const root = yield* Effect.acquireRelease(
        Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "troupe-index-"))),
        (at) => Effect.sync(() => fs.rmSync(at, { recursive: true })),
      )
      const put = (name: string, text = "x") => {
        fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true })
        fs.writeFileSync(path.join(root, name), text)
      }
      for (const name of ["b.md", "a/one.md", "a/note.txt", "c/SKILL.md", "node_modules/x/y.md", "elsewhere/two.MD"]) {
        put(`agents/${name}`)
      }
      put("other/three.md")
      fs.symlinkSync(path.join(root, "other"), path.join(root, "agents/linked"))
      fs.symlinkSync(path.join(root, "agents"), path.join(root, "agents/a/loop"))
      fs.symlinkSync(path.join(root, "nowhere"), path.join(root, "agents/dangling.md"))
      fs.symlinkSync(path.join(root, "agents/b.md"), path.join(root, "agents/z.md"))
      yield* inProcess(
        Effect.gen(function* () {
          const index = yield* MarkdownIndex
          const found = yield* index.find(path.join(root, "agents"), "*.md")
          assert.deepStrictEqual(
            found.map((one) => path.relative(path.join(root, "agents"), one)),
            ["a/one.md", "b.md", "c/SKILL.md", "elsewhere/two.MD", "linked/three.md", "z.md"],
          )
          assert.deepStrictEqual(yield* index.find(path.join(root, "agents"), "SKILL.md"), [
            path.join(root, "agents/c/SKILL.md"),
          ])
          assert.deepStrictEqual(yield* index.find(path.join(root, "nowhere"), "*.md"), [])
          const entries = yield* index.entries(found)
          assert.deepStrictEqual(
            entries.map(({ bodyChars }) => bodyChars),
            [1, 1, 1, 1, 1, 1],
          )
        }),
      ).pipe(Effect.provide([NodeFiles.layer, NodeFileSystem.layer, Host.layerTest({ configDir: `${root}/config` })]))
    }).pipe(Effect.scoped),
  )

  it("keeps what belongs together in one file", () => {
    const shard = (at: string) => MarkdownStore.shardOf(at, "/conf")
    assert.strictEqual(shard("/r/.claude/agents/x/y.md"), "/r/.claude/agents")
    assert.strictEqual(shard("/r/.claude/skills/a/SKILL.md"), "/r/.claude/skills")
    assert.strictEqual(shard("/conf/agents/a.md"), "/conf/agents")
    assert.strictEqual(shard("/conf/projects/p/memory/a.md"), "/conf/projects/p")
    assert.strictEqual(shard("/config/a.md"), "/config")
    assert.strictEqual(shard("/r/.claude/CLAUDE.md"), "/r/.claude")
  })
})
