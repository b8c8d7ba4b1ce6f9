import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import type { SaveRules } from "../../src/permissions/Permissions.ts"
import * as SavedRules from "../../src/permissions/SavedRules.ts"
import { Host } from "../../src/platform/Host.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import * as Rules from "../../src/policy/Rules.ts"
import { Settings } from "../../src/settings/Settings.ts"

const node = Layer.mergeAll(NodeFiles.layer, NodeFileSystem.layer, NodePath.layer)

interface Place {
  readonly save: SaveRules
  readonly local: string
  /** The allow rules in force. */
  readonly inForce: Effect.Effect<ReadonlyArray<unknown>>
}

const inProject = <A, E>(before: string | undefined, use: (place: Place) => Effect.Effect<A, E, Settings>) =>
  Effect.gen(function* () {
    const root = fs.realpathSync(yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped())
    const project = path.join(root, "project")
    const local = path.join(project, ".claude", "settings.local.json")
    fs.mkdirSync(path.join(project, ".git"), { recursive: true })
    fs.mkdirSync(path.dirname(local))
    if (before !== undefined) fs.writeFileSync(local, before)
    const host = Host.layerTest({ cwd: project, home: path.join(root, "home") })
    return yield* Effect.gen(function* () {
      const settings = yield* Settings
      const save = yield* SavedRules.make
      const inForce = Effect.map(settings.current, ({ layers }) =>
        Rules.fromSettings(layers, project).flatMap(({ behavior, text }) => (behavior === "allow" ? [text] : [])),
      )
      return yield* use({ save, local, inForce })
    }).pipe(
      Effect.provide(Settings.layer({ managedDirectory: path.join(root, "policy") }).pipe(Layer.provideMerge(host))),
    )
  }).pipe(Effect.scoped, Effect.provide(node))

describe("rules that a person agreed to", () => {
  it.live("are kept in the project's local settings and in force at once, with all that was there", () =>
    inProject('{\n  // mine\n  "model": "opus"\n}\n', ({ inForce, local, save }) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* save(["Bash(npm test *)"], "local"), { saved: local })
        assert.deepStrictEqual(yield* save(["Bash(npm test *)", "Read(//etc/**)"], "local"), { saved: local })
        assert.deepStrictEqual(yield* inForce, ["Bash(npm test *)", "Read(//etc/**)"])
        const text = fs.readFileSync(local, "utf8")
        assert.include(text, "// mine")
        assert.include(text, '"model": "opus"')
      }),
    ),
  )

  it.live("do not put anything in force that waited for trust", () =>
    inProject('{"permissions":{"allow":["Bash"]}}', ({ inForce, local, save }) =>
      Effect.gen(function* () {
        const kept = yield* save(["Bash(npm test *)"], "local")
        assert.match("failed" in kept ? kept.failed : "", /waits for your agreement/)
        assert.deepStrictEqual(yield* inForce, [])
        assert.include(fs.readFileSync(local, "utf8"), "Bash(npm test *)")
      }),
    ),
  )

  it.live("are not lost without a word where the file is broken", () =>
    inProject("{ broken", ({ local, save }) =>
      Effect.gen(function* () {
        const kept = yield* save(["Read"], "local")
        assert.match("failed" in kept ? kept.failed : "", /settings\.local\.json/)
        assert.strictEqual(fs.readFileSync(local, "utf8"), "{ broken")
      }),
    ),
  )
})
