import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { Files } from "../../src/platform/Files.ts"
import { Host } from "../../src/platform/Host.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"

describe("MemoryWorkspace", () => {
  it.effect("shares one disk between Files and FileSystem, with the directories of the host on it", () =>
    Effect.gen(function* () {
      const files = yield* Files
      const fs = yield* FileSystem.FileSystem
      const host = yield* Host
      assert.isTrue(yield* fs.exists(host.cwd))
      assert.isTrue(yield* fs.exists(host.home))
      yield* files.writeAtomic(`${host.cwd}/b.txt`, "two")
      assert.strictEqual(yield* fs.readFileString("/repo/a.txt"), "one")
      assert.strictEqual(yield* fs.readFileString("/repo/b.txt"), "two")
    }).pipe(Effect.provide(MemoryWorkspace.layer({ "/repo/a.txt": "one" }, { cwd: "/repo" }))),
  )
})
