import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as PathFence from "../../src/security/PathFence.ts"

const services = Layer.mergeAll(NodeFileSystem.layer, NodePath.layer)

interface Place {
  readonly temp: string
  readonly root: string
  readonly fence: PathFence.PathFence
}

const withFence = (test: (place: Place) => Effect.Effect<void>, layer: typeof services = services) =>
  Effect.acquireUseRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-fence-")))),
    (temp) =>
      Effect.gen(function* () {
        const root = path.join(temp, "work")
        for (const name of ["work/src", "outside", "home/.ssh", "home/.claude"]) {
          fs.mkdirSync(path.join(temp, name), { recursive: true })
        }
        const home = path.join(temp, "home")
        const grounds = { roots: [root], home, configDir: path.join(home, ".claude"), cwd: () => root }
        yield* test({ temp, root, fence: yield* PathFence.make(grounds) })
      }).pipe(Effect.provide(layer)),
    (temp) => Effect.sync(() => fs.rmSync(temp, { recursive: true, force: true })),
  )

describe("PathFence.check", () => {
  it.live("has nothing against ordinary files of the workspace, there or not yet", () =>
    withFence(
      Effect.fnUntraced(function* ({ fence, root }) {
        fs.writeFileSync(path.join(root, "src/a b é ❤️.ts"), "")
        for (const given of ["src/a b é ❤️.ts", "src/new/deep.ts", root, ".", "src/../README", "...", "日本.md"]) {
          const verdict = yield* fence.check(given, "write")
          assert.isUndefined(verdict.problem, given)
          assert.isTrue(verdict.inside, given)
          assert.isFalse(verdict.protected, given)
        }
      }),
    ),
  )

  it.live("says where a link leads, also when nothing is there yet", () =>
    withFence(
      Effect.fnUntraced(function* ({ fence, root, temp }) {
        fs.symlinkSync("../outside", path.join(root, "out"))
        fs.symlinkSync("../outside/not-yet", path.join(root, "dangling"))
        fs.symlinkSync("loop", path.join(root, "loop"))
        const through = yield* fence.check("out/deep/new.ts", "write")
        assert.deepStrictEqual([through.real, through.inside], [path.join(temp, "outside/deep/new.ts"), false])
        assert.isFalse((yield* fence.check("dangling", "write")).inside)
        assert.match((yield* fence.check("loop", "read")).problem ?? "", /circle/)
        assert.match((yield* fence.check("out/../x", "write")).problem ?? "", /goes up/)
      }),
    ),
  )

  const letters: ReadonlyArray<readonly [string, string, RegExp]> = [
    ["a NUL byte", "a\0.ts", /NUL/],
    ["a line end", "a\n.ts", /U\+000A/],
    ["an escape", "a\u001b[2K.ts", /U\+001B/],
    ["a C1 control", "a\u009b.ts", /U\+009B/],
    ["a right-to-left override", "a\u202egpj.ts", /U\+202E/],
    ["an isolate", "a\u2066b", /U\+2066/],
    ["a zero-width space", "a\u200bb", /U\+200B/],
    ["a byte-order mark", "\ufeffa", /U\+FEFF/],
    ["a tag", "a\u{e0041}b", /U\+E0041/],
    ["half a pair", "a\ud800b", /half/],
    ["a name that is too long", "é".repeat(130), /255/],
    ["a path that is too long", "abc/".repeat(1100), /4095/],
    ["nothing", "", /empty/],
  ]
  it.live.each(letters)("refuses %s", ([, given, why]) =>
    withFence(
      Effect.fnUntraced(function* ({ fence }) {
        assert.match((yield* fence.check(given, "read")).problem ?? "", why)
      }),
    ),
  )

  it.live("refuses processes, descriptors and devices, directly and through links", () =>
    withFence(
      Effect.fnUntraced(function* ({ fence, root }) {
        fs.symlinkSync("/proc/self", path.join(root, "me"))
        fs.symlinkSync("/dev/zero", path.join(root, "zero"))
        const places = [
          "/proc/self/environ",
          "/proc/1/mem",
          "//proc/./self/fd/3",
          "/dev/fd/3",
          "/dev/mem",
          "/dev",
          "me/environ",
        ]
        for (const given of places.filter((one) => one !== "/dev")) {
          assert.isDefined((yield* fence.check(given, "read")).problem, given)
        }
        assert.match((yield* fence.check("zero", "read")).problem ?? "", /no regular file/)
        for (const given of ["/dev/null", "/dev/stderr", "/dev/shm/x", "/proc/cpuinfo"]) {
          assert.isUndefined((yield* fence.check(given, "write")).problem, given)
        }
      }),
    ),
  )

  it.live("refuses a named pipe, which would hold up whoever opens it", () =>
    withFence(
      Effect.fnUntraced(function* ({ fence, root }) {
        execFileSync("mkfifo", [path.join(root, "pipe")])
        assert.match((yield* fence.check("pipe", "read")).problem ?? "", /FIFO/)
      }),
    ),
  )

  it.live("refuses a name that differs from one that exists only in its normalisation", () =>
    withFence(
      Effect.fnUntraced(function* ({ fence, root }) {
        fs.writeFileSync(path.join(root, "caf\u00e9.ts"), "")
        fs.mkdirSync(path.join(root, "d\u00e9"))
        assert.match((yield* fence.check("cafe\u0301.ts", "write")).problem ?? "", /normalisation/)
        assert.match((yield* fence.check("de\u0301/new/file.ts", "write")).problem ?? "", /normalisation/)
        assert.isUndefined((yield* fence.check("caf\u00e9.ts", "write")).problem)
        assert.isUndefined((yield* fence.check("CAF\u00c9.ts", "write")).problem)
      }),
    ),
  )

  it.live("refuses another case of a name where the file system ignores it", () => {
    const folding = Layer.effect(
      FileSystem.FileSystem,
      Effect.map(FileSystem.FileSystem, (real) => ({
        ...real,
        exists: (at: string) => real.exists(path.join(path.dirname(at), path.basename(at).toLowerCase())),
      })),
    ).pipe(Layer.provide(NodeFileSystem.layer))
    return withFence(
      Effect.fnUntraced(function* ({ fence, root }) {
        fs.writeFileSync(path.join(root, "readme.md"), "")
        assert.match((yield* fence.check("README.md", "write")).problem ?? "", /ignores case/)
        assert.isUndefined((yield* fence.check("readme.md", "write")).problem)
      }),
      Layer.mergeAll(folding, NodePath.layer),
    )
  })

  it.live("knows what steers tools and what holds secrets, also behind a link and in another case", () =>
    withFence(
      Effect.fnUntraced(function* ({ fence, root, temp }) {
        fs.mkdirSync(path.join(root, ".git/hooks"), { recursive: true })
        fs.symlinkSync(".git/hooks", path.join(root, "h"))
        fs.symlinkSync(path.join(temp, "home/.ssh"), path.join(root, "s"))
        for (const given of [
          ".git/hooks/x",
          "h/x",
          ".GIT/config",
          ".mcp.json",
          "~/.bashrc",
          "~/.claude/x",
          "a/.envrc",
        ]) {
          assert.isTrue((yield* fence.check(given, "write")).protected, given)
        }
        for (const given of [".env", "a/.env.local", "~/.ssh/id", "s/id", "~/.claude/.credentials.json", "~/.npmrc"]) {
          assert.isTrue((yield* fence.check(given, "read")).secret, given)
        }
        for (const given of [".env.example", "src/env.ts", "~/notes"]) {
          assert.isFalse((yield* fence.check(given, "read")).secret, given)
        }
      }),
    ),
  )
})
