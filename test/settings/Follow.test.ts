/** Settings files on a real disk, watched as a person or another process changes them. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { Host } from "../../src/platform/Host.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import * as NodeWatch from "../../src/platform/NodeWatch.ts"
import { follow, Settings } from "../../src/settings/Settings.ts"
import { set } from "../../src/settings/SettingsEdit.ts"
import { write } from "../../src/settings/SettingsWriter.ts"

const node = Layer.mergeAll(NodeFiles.layer, NodeFileSystem.layer, NodePath.layer, NodeWatch.layer)

/** Follows the settings of a new home and project, which the test may prepare. */
const following = <A, E, R>(
  prepare: (home: string, project: string) => void,
  use: (home: string, project: string) => Effect.Effect<A, E, R>,
) =>
  Effect.gen(function* () {
    const root = fs.realpathSync(yield* (yield* FileSystem.FileSystem).makeTempDirectoryScoped())
    const [home, project] = [path.join(root, "home", ".claude"), path.join(root, "project")]
    fs.mkdirSync(home, { recursive: true })
    fs.mkdirSync(path.join(project, ".git"), { recursive: true })
    prepare(home, project)
    const host = Host.layerTest({ cwd: project, home: path.dirname(home) })
    const settings = Settings.layer({ managedDirectory: path.join(root, "policy") })
    return yield* Effect.gen(function* () {
      yield* Effect.forkScoped(follow)
      return yield* use(home, project)
    }).pipe(Effect.provide(settings.pipe(Layer.provideMerge(host))))
  }).pipe(Effect.scoped, Effect.provide(node))

const until = (model: string) =>
  Effect.flatMap(Settings, ({ changes }) =>
    Stream.runHead(Stream.filter(changes, ({ value }) => value["model"] === model)),
  ).pipe(Effect.timeout("10 seconds"))

describe("settings on a disk", () => {
  it.live("are read again when a file comes, changes by any way of writing, and goes", () =>
    following(
      (home) => fs.writeFileSync(path.join(home, "settings.json"), '{"model": "mine"}'),
      Effect.fnUntraced(function* (home, project) {
        yield* until("mine")
        yield* write(path.join(project, ".claude", "settings.json"), [set(["model"], "theirs")])
        yield* until("theirs")
        fs.writeFileSync(path.join(project, ".claude", "settings.json"), '{"model": "in place"}')
        yield* until("in place")
        fs.rmSync(path.join(project, ".claude"), { recursive: true })
        yield* until("mine")
        yield* write(path.join(home, "settings.json"), [set(["model"], "again")])
        yield* until("again")
      }),
    ),
  )

  it.live("are followed through a link, however often what it leads to is replaced", () =>
    following(
      (home) => {
        const dotfiles = path.join(home, "..", "..", "dotfiles")
        fs.mkdirSync(dotfiles)
        fs.writeFileSync(path.join(dotfiles, "mine.json"), '{"model": "0"}')
        fs.symlinkSync(path.join("..", "..", "dotfiles", "mine.json"), path.join(home, "settings.json"))
      },
      Effect.fnUntraced(function* (home) {
        yield* until("0")
        for (const model of ["1", "2", "3"]) {
          yield* write(path.join(home, "settings.json"), [set(["model"], model)])
          yield* until(model)
        }
        assert.isTrue(fs.lstatSync(path.join(home, "settings.json")).isSymbolicLink())
      }),
    ),
  )
})
