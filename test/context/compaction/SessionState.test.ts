import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as SessionState from "../../../src/context/compaction/SessionState.ts"
import { temporary } from "../../agents/realWorld.ts"

describe("the facts in a project's file", () => {
  it.live("are not waited for where a repository has put a pipe there, or a device without an end", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary("state")
      const file = path.join(cwd, ".claude/session-state.json")
      fs.mkdirSync(path.dirname(file))
      execFileSync("mkfifo", [file])
      assert.isUndefined(yield* SessionState.load(cwd, "any"))
      fs.rmSync(file)
      fs.symlinkSync("/dev/zero", file)
      assert.isUndefined(yield* SessionState.load(cwd, "any"))
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(NodeFileSystem.layer, NodePath.layer))),
  )
})
