import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Host } from "../../src/platform/Host.ts"
import { Workspace } from "../../src/tools/Workspace.ts"

const withWorkspace = (
  test: (place: { readonly temp: string; readonly root: string }) => Effect.Effect<void, never, Workspace>,
) =>
  Effect.acquireUseRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-workspace-")))),
    (temp) => {
      const root = path.join(temp, "work")
      fs.mkdirSync(path.join(root, "src"), { recursive: true })
      fs.mkdirSync(path.join(temp, "extra"))
      fs.mkdirSync(path.join(temp, "outside"))
      const layer = Workspace.layer({ cwd: root, addDirs: ["../extra"], sessionId: "s1" }).pipe(
        Layer.provide(
          Layer.mergeAll(
            NodeFileSystem.layer,
            NodePath.layer,
            Host.layerTest({ cwd: temp, home: path.join(temp, "home"), configDir: path.join(temp, "config") }),
          ),
        ),
      )
      return test({ temp, root }).pipe(Effect.provide(layer))
    },
    (temp) => Effect.sync(() => fs.rmSync(temp, { recursive: true, force: true })),
  )

describe("Workspace", () => {
  it.live("holds the session's directory and the added ones, also for files that do not exist yet", () =>
    withWorkspace(
      Effect.fnUntraced(function* ({ temp, root }) {
        const workspace = yield* Workspace
        assert.deepStrictEqual(workspace.roots, [root, path.join(temp, "extra")])
        for (const inside of ["src/new/deep.ts", root, ".", "../extra/x", path.join(temp, "extra")]) {
          assert.isTrue(yield* workspace.contains(inside), inside)
        }
        for (const outside of ["..", "../outside/x", "/etc/passwd", "~/x", `${root}-sibling/x`, "src/../../outside"]) {
          assert.isFalse(yield* workspace.contains(outside), outside)
        }
      }),
    ),
  )

  it.live("counts a link that leads out as outside: to a file, to a directory, and to nothing yet", () =>
    withWorkspace(
      Effect.fnUntraced(function* ({ temp, root }) {
        const workspace = yield* Workspace
        fs.writeFileSync(path.join(temp, "outside", "secret"), "")
        fs.symlinkSync(path.join(temp, "outside", "secret"), path.join(root, "file"))
        fs.symlinkSync(path.join(temp, "outside"), path.join(root, "directory"))
        fs.symlinkSync(path.join(temp, "outside", "not-yet"), path.join(root, "dangling"))
        fs.symlinkSync("../outside/also-not-yet", path.join(root, "relative"))
        fs.symlinkSync("src", path.join(root, "fine"))
        fs.symlinkSync("loop", path.join(root, "loop"))
        for (const name of ["file", "directory/x/y", "dangling", "relative"]) {
          assert.isFalse(yield* workspace.contains(name), name)
        }
        assert.isTrue(yield* workspace.contains("fine/x.ts"))
        assert.strictEqual(yield* workspace.real("dangling"), path.join(temp, "outside", "not-yet"))
        assert.isTrue(yield* workspace.contains("loop"))
      }),
    ),
  )

  it.live("lets the session read its own outputs, and treats writing there as sensitive", () =>
    withWorkspace(
      Effect.fnUntraced(function* ({ temp }) {
        const workspace = yield* Workspace
        assert.strictEqual(workspace.spillDir, path.join(temp, "config/troupe/sessions/s1/outputs"))
        assert.isTrue(yield* workspace.contains(path.join(workspace.spillDir, "a.txt")))
        assert.isFalse(yield* workspace.contains(path.join(temp, "config/settings.json")))
        assert.isTrue(workspace.isSensitive(path.join(workspace.spillDir, "a.txt")))
      }),
    ),
  )

  it.live("knows the files that change how tools behave, whatever the case of their names", () =>
    withWorkspace(
      Effect.fnUntraced(function* ({ temp }) {
        const workspace = yield* Workspace
        for (const name of [
          ".git/config",
          "a/.claude/settings.json",
          ".mcp.json",
          "x/.BashRC",
          ".GIT/hooks/x",
          ".vscode",
        ]) {
          assert.isTrue(workspace.isSensitive(name), name)
        }
        assert.isTrue(workspace.isSensitive(path.join(temp, "config", "settings.json")))
        for (const name of ["src/git.ts", "README.md", ".github/workflows/ci.yml", ".gitignore"]) {
          assert.isFalse(workspace.isSensitive(name), name)
        }
      }),
    ),
  )

  it.live("moves the shell's directory only inside the workspace, and resolves from it", () =>
    withWorkspace(
      Effect.fnUntraced(function* ({ temp, root }) {
        const workspace = yield* Workspace
        assert.isTrue(yield* workspace.enter("src"))
        assert.strictEqual(workspace.cwd(), path.join(root, "src"))
        assert.strictEqual(workspace.resolve("a.ts"), path.join(root, "src/a.ts"))
        assert.strictEqual(workspace.relative("a.ts"), "src/a.ts")
        assert.isFalse(yield* workspace.enter(path.join(temp, "outside")))
        assert.isFalse(yield* workspace.enter(path.join(root, "missing")))
        assert.strictEqual(workspace.cwd(), path.join(root, "src"))
        assert.strictEqual(workspace.resolve("~/x"), path.join(temp, "home/x"))
        assert.strictEqual(workspace.relative("/etc/hosts"), "/etc/hosts")
      }),
    ),
  )
})
