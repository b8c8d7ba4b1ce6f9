/** A process that adds ten tasks to the list of a session: `node taskWriter.js <config> <name>`. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import process from "node:process"
import { Host } from "../../../src/platform/Host.ts"
import * as NodeFiles from "../../../src/platform/NodeFiles.ts"
import * as TaskStore from "../../../src/tools/builtin/TaskStore.ts"
import { Workspace } from "../../../src/tools/Workspace.ts"

const [, , configDir = "", name = ""] = process.argv

const add = (n: number) =>
  TaskStore.alone(
    Effect.gen(function* () {
      const id = yield* TaskStore.nextId
      const subject = `${name} ${n}`
      yield* TaskStore.save({ id, subject, description: "", status: "pending", blocks: [], blockedBy: [] })
    }),
  )

const layer = Workspace.layer({ cwd: configDir, sessionId: "shared" }).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      NodeFiles.layer,
      NodeFileSystem.layer,
      NodePath.layer,
      Host.layerTest({ configDir, home: configDir }),
    ),
  ),
)
const all = Effect.forEach(
  Array.from({ length: 10 }, (_, n) => n),
  add,
  { discard: true },
)
Effect.runPromise(Effect.provide(all, layer)).catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`)
  process.exit(1)
})
