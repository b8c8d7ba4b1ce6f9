/** A runtime on the real files and processes of this machine, with a scripted model and no network. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Host } from "../../src/platform/Host.ts"
import { HttpFetch } from "../../src/platform/HttpFetch.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import * as NodeProcess from "../../src/platform/NodeProcess.ts"
import * as NodeRipgrep from "../../src/platform/NodeRipgrep.ts"
import * as Runtime from "../../src/Runtime.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"

export const realWorld = (book: Playbook, cwd: string, config = path.join(cwd, "config")) => {
  const env = { PATH: process.env.PATH }
  const platform = NodeRipgrep.layer.pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Host.layerTest({ env, cwd, home: cwd, configDir: config }),
        NodeFiles.layer,
        NodeFileSystem.layer,
        NodePath.layer,
        NodeProcess.layer,
        Layer.succeed(HttpFetch, () => Promise.reject(new Error("There is no network in this test."))),
      ),
    ),
  )
  const model = ScriptedModel.layer(book)
  return Layer.merge(Runtime.layer({ provider: model }), model).pipe(Layer.provideMerge(platform))
}

/** A directory of its own, gone afterwards. */
export const temporary = (name: string) =>
  Effect.acquireRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), `troupe-${name}-`)))),
    (at) => Effect.sync(() => fs.rmSync(at, { recursive: true, force: true })),
  )

/** A disk of one megabyte; `undefined` where nobody may mount one. */
export const smallDisk = Effect.acquireRelease(
  Effect.sync(() => {
    const at = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-full-")))
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", at], { stdio: "ignore" })
      return at
    } catch {
      fs.rmdirSync(at)
      return undefined
    }
  }),
  (at) => Effect.sync(() => at !== undefined && execFileSync("umount", ["-l", at]) && fs.rmdirSync(at)),
)
