/** A workspace, a home and a session's sandbox around them, outside the system's temporary directory (which a sandbox replaces). */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import type * as Path from "effect/Path"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Host } from "../../src/platform/Host.ts"
import { layerWith } from "../../src/platform/NodeEgress.ts"
import * as NodeProcess from "../../src/platform/NodeProcess.ts"
import { Process, type RunOptions } from "../../src/platform/Process.ts"
import { type Asked, Sandbox } from "../../src/security/Sandbox.ts"
import type { JsonObject } from "../../src/settings/Merge.ts"
import { Settings } from "../../src/settings/Settings.ts"

export interface Place {
  readonly temp: string
  readonly root: string
  readonly home: string
}

export const write = (at: string, text = "secret\n") => {
  fs.mkdirSync(path.dirname(at), { recursive: true })
  fs.writeFileSync(at, text)
}

export const boxed = <E>(
  sandbox: JsonObject,
  test: (place: Place) => Effect.Effect<void, E, Sandbox | Process | Host | FileSystem.FileSystem | Path.Path>,
  env: Readonly<Record<string, string>> = {},
) =>
  Effect.acquireUseRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.homedir(), ".troupe-test-")))),
    (temp) => {
      const [root, home] = [path.join(temp, "work"), path.join(temp, "home")]
      fs.mkdirSync(root)
      fs.mkdirSync(home)
      const host = Host.layerTest({
        env: { PATH: process.env.PATH, HOME: home, ...env },
        cwd: root,
        home,
        tmpDir: os.tmpdir(),
      })
      const platform = Layer.mergeAll(
        NodeFileSystem.layer,
        NodePath.layer,
        NodeProcess.layer,
        host,
        layerWith(async () => ["127.0.0.1"]),
        Settings.layerOf({ sandbox: { enabled: true, ...sandbox } }),
      )
      return Effect.provide(test({ temp, root, home }), Layer.provideMerge(Sandbox.layer({ roots: [root] }), platform))
    },
    (temp) => Effect.sync(() => fs.rmSync(temp, { recursive: true, force: true })),
  )

/** Runs a line of bash inside, the way a tool would. */
export const inside = (
  cwd: string,
  line: string,
  more: Partial<RunOptions> & { readonly writes?: ReadonlyArray<string>; readonly asked?: Asked } = {},
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sandbox = yield* Sandbox
      const processes = yield* Process
      const plan = yield* sandbox.plan(more.asked ?? { commands: [line] })
      if (plan._tag !== "Inside") throw new Error(`not inside: ${plan._tag}`)
      const env = more.env ?? { PATH: process.env.PATH, HOME: path.join(path.dirname(cwd), "home") }
      const wrapped = yield* sandbox.wrap(plan, {
        command: "bash",
        args: ["-c", line],
        cwd,
        env,
        ...(more.writes !== undefined && { writes: more.writes }),
      })
      const result = yield* processes.run({
        ...more,
        command: wrapped.command,
        args: wrapped.args,
        cwd: wrapped.cwd,
        env: wrapped.env,
        maxOutputBytes: 20_000,
      })
      return { ...result, notes: yield* wrapped.finish, refusals: wrapped.refusals() }
    }),
  )
