/** Owns a workspace without a disk: files, directories and the facts of a machine, all in memory. */
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { HostFacts } from "../platform/Host.ts"
import { MemoryDisk } from "../platform/MemoryDisk.ts"
import * as MemoryFileSystem from "../platform/MemoryFileSystem.ts"

/** Paths are absolute. The working directory (`/work`) and the home directory of the facts exist. */
export const layer = (
  files: Readonly<Record<string, string | Uint8Array>> = {},
  facts: HostFacts = {},
): Layer.Layer<Files | FileSystem.FileSystem | Host | MemoryDisk | Path.Path> =>
  Layer.mergeAll(Files.layerMemory, MemoryFileSystem.layer, Path.layer, directories).pipe(
    Layer.provideMerge(Layer.merge(MemoryDisk.layer(files), Host.layerTest(facts))),
  )

const directories = Layer.effectDiscard(
  Effect.gen(function* () {
    const disk = yield* MemoryDisk
    const host = yield* Host
    for (const path of [host.cwd, host.home, host.tmpDir]) disk.makeDirectory(path, 0, { recursive: true })
  }),
)
