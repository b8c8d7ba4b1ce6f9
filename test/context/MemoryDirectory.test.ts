import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Result from "effect/Result"
import * as ContextSettings from "../../src/context/ContextSettings.ts"
import * as MemoryDirectory from "../../src/context/MemoryDirectory.ts"
import type { HostFacts } from "../../src/platform/Host.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"

const place = (located: Result.Result<MemoryDirectory.MemoryDirectory, string>) =>
  Result.match(located, { onSuccess: ({ path }) => path, onFailure: (why) => `refused: ${why}` })

const ofProject = (cwd: string, autoMemoryDirectory?: string) =>
  Effect.map(MemoryDirectory.ofProject(cwd, { ...ContextSettings.none, autoMemoryDirectory }), place)

const within = (files: Readonly<Record<string, string>>, facts: HostFacts = {}) =>
  Effect.provide(MemoryWorkspace.layer(files, facts))

describe("the directory of a project's memories", () => {
  it.effect("is one for the repository, its subdirectories and its worktrees", () =>
    Effect.gen(function* () {
      const main = "/home/user/.claude/projects/-repo/memory"
      assert.strictEqual(yield* ofProject("/repo"), main)
      assert.strictEqual(yield* ofProject("/repo/src/deep"), main)
      assert.strictEqual(yield* ofProject("/trees/feature"), main)
      assert.strictEqual(yield* ofProject("/elsewhere"), "/home/user/.claude/projects/-elsewhere/memory")
    }).pipe(
      within({
        "/repo/.git/HEAD": "",
        "/repo/src/deep/x": "",
        "/repo/.git/worktrees/feature/commondir": "../..\n",
        "/repo/.git/worktrees/feature/gitdir": "/trees/feature/.git\n",
        "/trees/feature/.git": "gitdir: /repo/.git/worktrees/feature\n",
        "/elsewhere/x": "",
      }),
    ),
  )

  it.effect("is not another project's because a file says so", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* ofProject("/evil"), "/home/user/.claude/projects/-evil/memory")
    }).pipe(
      within({
        "/repo/.git/HEAD": "",
        "/repo/.git/worktrees/feature/commondir": "../..\n",
        "/repo/.git/worktrees/feature/gitdir": "/trees/feature/.git\n",
        "/evil/.git": "gitdir: /repo/.git/worktrees/feature\n",
      }),
    ),
  )

  it.effect("is where settings say, if that is a directory of its own", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* ofProject("/repo", "~/notes"), "/home/user/notes")
      assert.strictEqual(yield* ofProject("/repo", "/data/memory"), "/data/memory")
      assert.include(yield* ofProject("/repo", "notes"), "must be absolute")
      for (const tooMuch of ["~/", "/", "/home", "/repo", "/dev/fd"]) {
        assert.include(yield* ofProject("/repo", tooMuch), "refused", tooMuch)
      }
    }).pipe(within({ "/repo/x": "" })),
  )

  it.effect("has the name that the environment gives it, beside a configuration directory", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* ofProject("/repo"), "/conf/projects/ours---x/memory")
    }).pipe(within({}, { env: { CLAUDE_CONFIG_DIR: "/conf", CLAUDE_CODE_PROJECT_DIR_NAME: "ours../x" } })),
  )

  it.effect("is refused when a link leads out of the configuration", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink("/tmp", "/home/user/.claude/projects")
      assert.include(yield* ofProject("/repo"), "leads out of /home/user/.claude, to /tmp/-repo/memory")
    }).pipe(within({ "/home/user/.claude/x": "" })),
  )
})

describe("the directory of an agent's memories", () => {
  it.effect("depends on whom it is for", () =>
    Effect.gen(function* () {
      const of = (scope: MemoryDirectory.AgentMemoryScope) =>
        Effect.map(MemoryDirectory.ofAgent("plugin:code reviewer", scope, "/repo/src"), place)
      assert.deepStrictEqual(yield* Effect.all([of("user"), of("project"), of("local")]), [
        "/home/user/.claude/agent-memory/plugin-code-reviewer",
        "/repo/.claude/agent-memory/plugin-code-reviewer",
        "/repo/.claude/agent-memory-local/plugin-code-reviewer",
      ])
    }).pipe(within({ "/repo/.git/HEAD": "", "/repo/src/x": "" })),
  )

  it.effect("does not leave the project by a name or a link", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      yield* fs.symlink("/home/user", "/repo/.claude/agent-memory")
      const of = (agent: string) => Effect.map(MemoryDirectory.ofAgent(agent, "project", "/repo"), place)
      assert.include(yield* of("x"), "leads out of /repo, to /home/user/x")
      assert.include(yield* of("../.."), "cannot be the name")
    }).pipe(within({ "/repo/.git/HEAD": "", "/repo/.claude/x": "" })),
  )
})
