import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { Files } from "../../src/platform/Files.ts"
import { MemoryDisk } from "../../src/platform/MemoryDisk.ts"
import * as MemoryFileSystem from "../../src/platform/MemoryFileSystem.ts"

const layer = Layer.mergeAll(MemoryFileSystem.layer, Files.layerMemory).pipe(
  Layer.provide(MemoryDisk.layer({ "/work/a.ts": "a", "/work/sub/b.ts": "b" })),
)

describe("MemoryFileSystem", () => {
  it.effect("takes its times from the clock of the test", () =>
    Effect.gen(function* () {
      const system = yield* FileSystem.FileSystem
      yield* TestClock.adjust("5 seconds")
      yield* system.writeFileString("/work/a.ts", "changed")
      const { mtime } = yield* system.stat("/work/a.ts")
      assert.strictEqual(Option.getOrThrow(mtime).getTime(), 5_000)
    }).pipe(Effect.provide(layer)),
  )

  it.effect("shares its disk with Files", () =>
    Effect.gen(function* () {
      const system = yield* FileSystem.FileSystem
      const files = yield* Files
      yield* files.writeAtomic("/work/c", "one")
      assert.strictEqual(yield* system.readFileString("/work/c"), "one")
      const handle = yield* files.openAppend("/work/c")
      handle.appendUnsafe(" two")
      assert.strictEqual(yield* system.readFileString("/work/c"), "one two")
    }).pipe(Effect.scoped, Effect.provide(layer)),
  )

  it.effect("hands out copies: what a reader does to its bytes stays with the reader", () =>
    Effect.gen(function* () {
      const system = yield* FileSystem.FileSystem
      const bytes = yield* system.readFile("/work/a.ts")
      bytes.fill(0)
      assert.strictEqual(yield* system.readFileString("/work/a.ts"), "a")
    }).pipe(Effect.provide(layer)),
  )

  it.effect("finds files by pattern and streams them", () =>
    Effect.gen(function* () {
      const system = yield* FileSystem.FileSystem
      const found = yield* system.glob("**/*.ts", { root: "/work" })
      assert.lengthOf(found, 2)
      const chunks = yield* Stream.runCollect(system.stream("/work/sub/b.ts"))
      assert.deepStrictEqual(
        chunks.map((chunk) => new TextDecoder().decode(chunk)),
        ["b"],
      )
    }).pipe(Effect.provide(layer)),
  )

  it.effect("says that it cannot watch", () =>
    Effect.gen(function* () {
      const system = yield* FileSystem.FileSystem
      const error = yield* Effect.flip(Stream.runDrain(system.watch("/work")))
      assert.match(error.message, /not supported on the memory disk/)
    }).pipe(Effect.provide(layer)),
  )
})
