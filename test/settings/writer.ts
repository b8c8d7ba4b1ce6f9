/** A process that writes settings until it is killed, and says after each write that it is done: `node writer.js <file> <key>`. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import process from "node:process"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import { append, set } from "../../src/settings/SettingsEdit.ts"
import { write } from "../../src/settings/SettingsWriter.ts"

const [, , file = "", key = ""] = process.argv

const loop = Effect.gen(function* () {
  for (let count = 1; ; count++) {
    yield* write(file, [set(["lives", key], count), append(["writers"], key)])
    // Synchronously: what was said to be written must have been.
    fs.writeSync(1, `${count}\n`)
  }
})

Effect.runPromise(Effect.provide(loop, Layer.mergeAll(NodeFiles.layer, NodeFileSystem.layer, NodePath.layer))).catch(
  (error: unknown) => {
    fs.writeSync(2, `${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  },
)
