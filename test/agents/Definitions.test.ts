import { assert, describe, it } from "@effect/vitest"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Definitions, type DefinitionsOptions, follow, type Snapshot } from "../../src/agents/Definitions.ts"
import { Files } from "../../src/platform/Files.ts"
import { Host } from "../../src/platform/Host.ts"
import { MarkdownIndex } from "../../src/platform/MarkdownIndex.ts"
import { MemoryDisk } from "../../src/platform/MemoryDisk.ts"
import * as MemoryFileSystem from "../../src/platform/MemoryFileSystem.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import * as NodeFileSystem from "../../src/platform/NodeFileSystem.ts"
import * as NodeWatch from "../../src/platform/NodeWatch.ts"
import { type Change, Watch } from "../../src/platform/Watch.ts"
import { Settings } from "../../src/settings/Settings.ts"
import type * as Trust from "../../src/settings/Trust.ts"

const agent = (name: string, says: string, more = "") =>
  `---\nname: ${name}\ndescription: ${says}\n${more}---\nYou are ${name}, ${says}.\n`

const home = "/home/user/.claude"

interface World {
  readonly files?: Readonly<Record<string, string>>
  readonly options?: DefinitionsOptions
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

const world = ({ cwd = "/repo/app", env = {}, files = {}, options = {} }: World) =>
  Definitions.layer({ managedDirectory: "/etc/managed", ...options }).pipe(
    Layer.provideMerge(MarkdownIndex.layer),
    Layer.provideMerge(Settings.layer({ managedDirectory: "/etc/managed" })),
    Layer.provideMerge(
      Layer.mergeAll(Files.layerMemory, MemoryFileSystem.layer, Path.layer, Host.layerTest({ cwd, env })),
    ),
    Layer.provideMerge(MemoryDisk.layer({ "/repo/.git/HEAD": "ref: refs/heads/main", [`${cwd}/x`]: "", ...files })),
  )

const snapshot = Effect.flatMap(Definitions, ({ current }) => current)
const given = ({ active }: Snapshot, name: string) => active.find((one) => one.name === name)

describe("Definitions", () => {
  it.effect("says of fields that need what does not exist yet that they have no effect", () =>
    Effect.gen(function* () {
      const { diagnostics } = yield* snapshot
      assert.deepStrictEqual(
        diagnostics.map(({ about, line }) => [about, line]),
        [
          ["background", 4],
          ["forkContext", 5],
        ],
      )
      assert.match(diagnostics[1]?.message ?? "", /no effect in this version: the agent starts with its prompt alone/)
    }).pipe(
      Effect.provide(
        world({
          files: {
            "/repo/app/.claude/agents/a.md": agent("a", "b", "background: true\nforkContext: true\n"),
          },
        }),
      ),
    ),
  )

  it.effect("says of hooks what will not run", () =>
    Effect.gen(function* () {
      const { active, diagnostics } = yield* snapshot
      assert.isDefined(active.find(({ name }) => name === "guard"))
      assert.deepStrictEqual(
        diagnostics.flatMap(({ about, line, message }) => (about === "hooks" && line === 4 ? [message] : [])),
        ['PreToolUs: there is no event "PreToolUs"; did you mean "PreToolUse"? It is ignored.'],
      )
    }).pipe(
      Effect.provide(
        world({
          files: { "/repo/app/.claude/agents/guard.md": agent("guard", "guards", "hooks:\n  PreToolUs: []\n") },
        }),
      ),
    ),
  )

  it.effect("has the built-in agents where there is nothing else", () =>
    Effect.gen(function* () {
      const { active, failed } = yield* snapshot
      assert.deepStrictEqual(
        active.map(({ name }) => name),
        [
          "Bash",
          "Explore",
          "Plan",
          "Verification",
          "auditor",
          "debugger",
          "documenter",
          "general-purpose",
          "guide",
          "reviewer",
          "statusline-setup",
          "test-writer",
        ],
      )
      assert.deepStrictEqual(failed, [])
      const { find } = yield* Definitions
      assert.strictEqual((yield* find("claude-code-guide"))?.name, "guide")
      assert.strictEqual((yield* find("claude"))?.name, "general-purpose")
      assert.isUndefined(yield* find("nobody"))
    }).pipe(Effect.provide(world({}))),
  )

  it.effect("keeps the guide from programs, and leaves out what the environment does not want", () =>
    Effect.gen(function* () {
      const of = (env: Readonly<Record<string, string>>) =>
        snapshot.pipe(
          Effect.map(({ active }) => active.map(({ name }) => name)),
          Effect.provide(world({ env })),
        )
      for (const entry of ["sdk-ts", "sdk-py", "sdk-cli"])
        assert.notInclude(yield* of({ CLAUDE_CODE_ENTRYPOINT: entry }), "guide")
      assert.include(yield* of({ CLAUDE_CODE_ENTRYPOINT: "cli" }), "guide")
      const without = yield* of({ CLAUDE_CODE_DISABLE_EXPLORE_PLAN_AGENTS: "1" })
      assert.notIncludeMembers(without, ["Explore", "Plan"])
      assert.include(without, "general-purpose")
      assert.deepStrictEqual(yield* of({ CLAUDE_AGENT_SDK_DISABLE_BUILTIN_AGENTS: "1" }), [])
    }),
  )

  it.effect("lets the strongest of a name count: managed, flag, nearest folder, user, plugin, built-in", () =>
    Effect.gen(function* () {
      const winners: Array<string> = []
      const files: Record<string, string> = {
        "/etc/managed/.claude/agents/a.md": agent("Explore", "managed"),
        "/repo/app/.claude/agents/deep/er/a.md": agent("Explore", "near"),
        "/repo/.claude/agents/a.md": agent("Explore", "far"),
        [`${home}/agents/x/a.md`]: agent("Explore", "user"),
      }
      const agents = '{"Explore":{"description":"flag","prompt":"x"}}'
      const look = (options: DefinitionsOptions) =>
        Effect.map(snapshot, (now) => given(now, "Explore")?.description ?? "").pipe(
          Effect.provide(world({ files: { ...files }, options })),
        )
      winners.push(yield* look({ agents }))
      delete files["/etc/managed/.claude/agents/a.md"]
      winners.push(yield* look({ agents }), yield* look({}))
      delete files["/repo/app/.claude/agents/deep/er/a.md"]
      winners.push(yield* look({}))
      delete files["/repo/.claude/agents/a.md"]
      winners.push(yield* look({}))
      assert.deepStrictEqual(winners, ["managed", "flag", "near", "far", "user"])
      delete files[`${home}/agents/x/a.md`]
      assert.match(yield* look({}), /Finds its way/)
    }),
  )

  it.effect("shows every definition with what overrides it, and warns of twins in one directory", () =>
    Effect.gen(function* () {
      const { all, diagnostics } = yield* snapshot
      const rows = all.filter(({ definition }) => definition.name === "twin")
      assert.deepStrictEqual(
        rows.map(({ definition, overriddenBy }) => [definition.origin.file, overriddenBy?.origin.file]),
        [
          ["/repo/.claude/agents/a/one.md", undefined],
          ["/repo/.claude/agents/b/two.md", "/repo/.claude/agents/a/one.md"],
          [`${home}/agents/three.md`, "/repo/.claude/agents/a/one.md"],
        ],
      )
      assert.deepStrictEqual(
        diagnostics.map(({ file }) => file),
        ["/repo/.claude/agents/b/two.md"],
      )
    }).pipe(
      Effect.provide(
        world({
          files: {
            "/repo/.claude/agents/a/one.md": agent("twin", "one"),
            "/repo/.claude/agents/b/two.md": agent("twin", "two"),
            [`${home}/agents/three.md`]: agent("twin", "three"),
          },
        }),
      ),
    ),
  )

  it.effect("takes agents from settings with the rank of their file, behind agent files of that rank", () =>
    Effect.gen(function* () {
      const now = yield* snapshot
      const of = (name: string) => [given(now, name)?.description, given(now, name)?.origin.kind]
      assert.deepStrictEqual(of("mine"), ["user settings", "user"])
      assert.deepStrictEqual(of("ours"), ["local settings", "project"])
      assert.deepStrictEqual(of("both"), ["a file", "project"])
      assert.deepStrictEqual(
        now.failed.map(({ file, kind, name, diagnostics }) => [file, kind, name, diagnostics[0]?.line]),
        [[`${home}/settings.json`, "user", "broken", 2]],
      )
    }).pipe(
      Effect.provide(
        world({
          files: {
            [`${home}/settings.json`]:
              '{"agents":{"mine":{"description":"user settings","prompt":"p"},\n"broken":{"description":"no prompt"},\n"ours":{"description":"user","prompt":"p"}}}',
            "/repo/app/.claude/settings.json":
              '{"agents":{"ours":{"description":"project settings","prompt":"p"},"both":{"description":"settings","prompt":"p"}}}',
            "/repo/app/.claude/settings.local.json":
              '{"agents":{"ours":{"description":"local settings","prompt":"p"}}}',
            "/repo/.claude/agents/both.md": agent("both", "a file"),
          },
        }),
      ),
    ),
  )

  it.effect("says where --agents is wrong, and loads the rest of it", () =>
    Effect.gen(function* () {
      const broken = yield* snapshot.pipe(Effect.provide(world({ options: { agents: '{"a": {' } })))
      assert.match(broken.failed[0]?.diagnostics[0]?.message ?? "", /not JSON/)
      assert.strictEqual(broken.failed[0]?.diagnostics[0]?.line, 1)
      const agents = '{"a":{"description":"x","prompt":"do"},\n"b":{"prompt":"do"},\n"c":7}'
      const now = yield* snapshot.pipe(Effect.provide(world({ options: { agents } })))
      assert.deepStrictEqual(given(now, "a")?.prompt, { _tag: "Text", text: "do" })
      assert.deepStrictEqual(
        now.failed.map(({ diagnostics, name }) => [name, diagnostics[0]?.file, diagnostics[0]?.line]),
        [
          ["c", "--agents", 3],
          ["b", "--agents", 2],
        ],
      )
    }),
  )

  const dangerous =
    "permissionMode: bypassPermissions\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          command: rm\nmcpServers:\n  - github\n  - evil:\n      command: sh\n"

  it.effect("withholds what executes in a folder's agent until a person agreed to exactly that", () =>
    Effect.gen(function* () {
      const files = {
        "/repo/.claude/agents/a.md": agent("a", "project", dangerous),
        [`${home}/agents/b.md`]: agent("b", "user", dangerous),
        "/etc/managed/.claude/agents/c.md": agent("c", "managed", dangerous),
      }
      const reviews: Array<Trust.Review> = []
      const before = yield* snapshot.pipe(Effect.provide(world({ files })))
      reviews.push(...before.reviews)
      assert.deepStrictEqual(
        reviews.map(({ keys, source }) => [source, keys]),
        [[{ kind: "project", name: "/repo/.claude/agents/a.md" }, ["hooks", "mcpServers", "permissionMode"]]],
      )
      const a = given(before, "a")
      assert.deepStrictEqual([a?.hooks, a?.permissionMode, a?.mcpServers], [undefined, undefined, [{ name: "github" }]])
      assert.strictEqual(a?.description, "project")
      assert.match(before.diagnostics.map(({ message }) => message).join(), /not in force until you agree/)
      for (const name of ["b", "c"]) {
        assert.deepStrictEqual(
          [given(before, name)?.permissionMode, given(before, name)?.mcpServers.length],
          ["bypassPermissions", 2],
        )
      }
      const trusted = (review: Trust.Review) => reviews.some(({ hash }) => hash === review.hash)
      const after = yield* snapshot.pipe(Effect.provide(world({ files, options: { trusted } })))
      assert.deepStrictEqual([given(after, "a")?.permissionMode, after.reviews], ["bypassPermissions", []])
      // The words around it may change; what runs may not.
      const reworded = { ...files, "/repo/.claude/agents/a.md": agent("a", "other words", dangerous) }
      const same = yield* snapshot.pipe(Effect.provide(world({ files: reworded, options: { trusted } })))
      assert.deepStrictEqual(same.reviews, [])
      const worse = { ...files, "/repo/.claude/agents/a.md": agent("a", "project", dangerous.replace("rm", "rm -rf")) }
      const changed = yield* snapshot.pipe(Effect.provide(world({ files: worse, options: { trusted } })))
      assert.strictEqual(changed.reviews.length, 1)
      assert.isUndefined(given(changed, "a")?.hooks)
    }),
  )

  it.effect(
    "lets a folder's agent write memories only where a person agreed, for the user's agent may have the same name",
    () =>
      Effect.gen(function* () {
        const files = {
          "/repo/.claude/agents/a.md": agent("a", "project", "memory: user\n"),
          [`${home}/agents/b.md`]: agent("b", "user", "memory: user\n"),
        }
        const before = yield* snapshot.pipe(Effect.provide(world({ files })))
        assert.deepStrictEqual([given(before, "a")?.memory, given(before, "b")?.memory], [undefined, "user"])
        assert.deepStrictEqual(
          before.reviews.map(({ keys }) => keys),
          [["memory"]],
        )
        const after = yield* snapshot.pipe(Effect.provide(world({ files, options: { trusted: () => true } })))
        assert.strictEqual(given(after, "a")?.memory, "user")
      }),
  )

  it.effect("does not let a folder's settings slip in what their review does not know", () =>
    Effect.gen(function* () {
      const now = yield* snapshot
      for (const name of ["kebab", "spaces", "snake"]) {
        const one = given(now, name)
        assert.deepStrictEqual([one?.permissionMode, one?.hooks, one?.mcpServers], [undefined, undefined, []], name)
        assert.isUndefined(one?.memory, name)
      }
    }).pipe(
      Effect.provide(
        world({
          files: {
            "/repo/app/.claude/settings.json": JSON.stringify({
              agents: {
                kebab: { description: "d", prompt: "p", "permission-mode": "bypassPermissions" },
                spaces: { description: "d", prompt: "p", permissionMode: " AcceptEdits " },
                snake: {
                  description: "d",
                  prompt: "p",
                  mcp_servers: { x: { command: "sh" } },
                  Hooks: { Stop: [] },
                  Memory: "user",
                },
              },
            }),
          },
        }),
      ),
    ),
  )

  it.effect("gives a plugin's agents the plugin's name and none of its powers, while it is registered", () =>
    Effect.gen(function* () {
      const { current, find, register } = yield* Definitions
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* register({ name: "tools", directory: "/plugins/tools/agents" })
          const now = yield* current
          const security = given(now, "tools:review:security")
          assert.deepStrictEqual(
            [security?.hooks, security?.permissionMode, security?.mcpServers],
            [undefined, undefined, []],
          )
          assert.deepStrictEqual(security?.withheld, ["hooks", "mcpServers", "permissionMode"])
          assert.strictEqual(given(now, "tools:bare")?.description, "Agent of the plugin tools")
          assert.strictEqual((yield* find("security"))?.name, "tools:review:security")
        }),
      )
      assert.isUndefined(yield* find("security"))
    }).pipe(
      Effect.provide(
        world({
          files: {
            "/plugins/tools/agents/review/security.md": agent("security", "of a plugin", dangerous),
            "/plugins/tools/agents/bare.md": "Just a prompt.",
          },
        }),
      ),
    ),
  )

  it.effect("finds an agent of the library only when it is asked for by name", () =>
    Effect.gen(function* () {
      const { find } = yield* Definitions
      assert.isUndefined(given(yield* snapshot, "rare"))
      assert.strictEqual((yield* find("rare"))?.description, "seldom")
      for (const name of ["../agents/a", "a/b", "", ".."]) assert.isUndefined(yield* find(name))
    }).pipe(Effect.provide(world({ files: { [`${home}/agents-library/rare.md`]: agent("rare", "seldom") } }))),
  )

  it.effect("obeys an organisation that allows only its own and plugins' agents", () =>
    Effect.gen(function* () {
      const files = {
        [`${home}/agents/a.md`]: agent("a", "user", dangerous),
        "/repo/.claude/agents/b.md": agent("b", "project"),
        "/etc/managed/.claude/agents/c.md": agent("c", "managed"),
      }
      const of = (strictPluginOnlyCustomization: unknown) =>
        snapshot.pipe(
          Effect.provide(
            world({
              files: {
                ...files,
                "/etc/managed/managed-settings.json": JSON.stringify({ strictPluginOnlyCustomization }),
              },
            }),
          ),
        )
      const locked = yield* of(true)
      assert.deepStrictEqual([given(locked, "a"), given(locked, "b")], [undefined, undefined])
      assert.isDefined(given(locked, "c"))
      const some = yield* of(["hooks", "mcp"])
      const a = given(some, "a")
      assert.deepStrictEqual(
        [a?.hooks, a?.mcpServers, a?.permissionMode],
        [undefined, [{ name: "github" }], "bypassPermissions"],
      )
    }),
  )

  it.effect("counts only the folders whose settings count", () =>
    Effect.gen(function* () {
      const files = {
        [`${home}/agents/a.md`]: agent("a", "user"),
        "/repo/.claude/agents/b.md": agent("b", "project"),
        "/more/.claude/agents/c.md": agent("c", "added"),
        "/.claude/agents/d.md": agent("d", "above the repository"),
      }
      const now = yield* snapshot.pipe(Effect.provide(world({ files, options: { addDirs: ["/more"] } })))
      const names = ["a", "b", "c", "d"].map((name) => given(now, name)?.description)
      assert.deepStrictEqual(names, ["user", "project", "added", undefined])
      const nobodys = Definitions.layer({}).pipe(
        Layer.provideMerge(Settings.layerOf({})),
        Layer.provideMerge(world({ files })),
      )
      const none = yield* Effect.provide(snapshot, nobodys)
      assert.deepStrictEqual([given(none, "a"), given(none, "b")], [undefined, undefined])
    }),
  )

  it.effect("reads the prompt when it is needed", () =>
    Effect.gen(function* () {
      const { prompt } = yield* Definitions
      const one = given(yield* snapshot, "a")
      if (one === undefined) return assert.fail("it is not there")
      assert.strictEqual(yield* prompt(one), "You are a, user.")
      yield* (yield* Files).writeAtomic(`${home}/agents/a.md`, "---\nname: a\ndescription: d\n---\nNew words.\n")
      assert.strictEqual(yield* prompt(one), "New words.")
    }).pipe(Effect.provide(world({ files: { [`${home}/agents/a.md`]: agent("a", "user") } }))),
  )

  it.effect("follows its files while the session runs, and says nothing when nothing changed", () =>
    Effect.gen(function* () {
      const changed = yield* PubSub.unbounded<ReadonlyArray<Change>>()
      const { changes, current } = yield* Definitions
      const files = yield* Files
      const seen: Array<ReadonlyArray<string>> = []
      const mine = (now: Snapshot) =>
        now.active.filter(({ origin }) => origin.kind !== "built-in").map(({ name }) => name)
      yield* changes.pipe(
        Stream.runForEach((now) => Effect.sync(() => seen.push(mine(now)))),
        Effect.forkScoped({ startImmediately: true }),
      )
      yield* follow.pipe(Effect.provide(Watch.layerOf(changed)), Effect.forkScoped({ startImmediately: true }))
      const touched = (directory: string) => PubSub.publish(changed, [{ type: "changed", path: directory }])
      const settle = TestClock.adjust("1 second")
      yield* settle
      yield* files.writeAtomic(`${home}/agents/b.md`, agent("b", "user"), { makeParents: true })
      yield* touched(`${home}/agents`)
      yield* settle
      yield* touched(`${home}/agents`)
      yield* settle
      yield* files.writeAtomic("/repo/app/.claude/agents/c.md", agent("c", "project"), { makeParents: true })
      yield* touched("/repo/app/.claude/agents")
      yield* settle
      yield* files.writeAtomic(`${home}/agents/b.md`, "---\nname: b\ntools: [\n---\n")
      yield* touched(`${home}/agents`)
      yield* settle
      assert.deepStrictEqual(seen, [["a"], ["a", "b"], ["a", "b", "c"], ["a", "c"]])
      assert.strictEqual((yield* current).failed.length, 1)
    }).pipe(Effect.scoped, Effect.provide(world({ files: { [`${home}/agents/a.md`]: agent("a", "user") } }))),
  )

  it.live("sees a new directory of agents and a change in it, on a real disk", () =>
    Effect.gen(function* () {
      const root = yield* Effect.acquireRelease(
        Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-agents-")))),
        (at) => Effect.sync(() => fs.rmSync(at, { recursive: true })),
      )
      const real = Definitions.layer({ managedDirectory: path.join(root, "managed") }).pipe(
        Layer.provideMerge(MarkdownIndex.layer),
        Layer.provideMerge(Settings.layer({ managedDirectory: path.join(root, "managed") })),
        Layer.provideMerge(
          Layer.mergeAll(
            NodeFiles.layer,
            NodeFileSystem.layer,
            NodePath.layer,
            NodeWatch.layer,
            Host.layerTest({ cwd: root, configDir: path.join(root, "config") }),
          ),
        ),
      )
      yield* Effect.gen(function* () {
        const { changes } = yield* Definitions
        const until = (wanted: string) =>
          changes.pipe(
            Stream.takeUntil(({ active }) => active.some(({ description }) => description === wanted)),
            Stream.runDrain,
          )
        const file = path.join(root, ".claude", "agents", "team", "a.md")
        yield* Effect.forkScoped(follow)
        fs.mkdirSync(path.dirname(file), { recursive: true })
        fs.writeFileSync(file, agent("a", "first"))
        yield* until("first")
        // Whoever saw the first has begun to watch.
        fs.writeFileSync(file, agent("a", "second"))
        yield* until("second")
      }).pipe(Effect.provide(real))
    }).pipe(Effect.scoped),
  )
})
