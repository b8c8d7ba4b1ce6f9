/** Owns the open file of the memory disk: a position, a mode, reads and writes against the shared node. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as PlatformError from "effect/PlatformError"
import { content, type Disk, type FileNode, type Node, truncate, writeAt } from "./MemoryDisk.ts"

const bad = (method: string, description: string) =>
  PlatformError.badArgument({ module: "FileSystem", method, description })

const nodeFor = (
  disk: Disk,
  path: string,
  flag: FileSystem.OpenFlag,
  mode: number | undefined,
  now: number,
): FileNode =>
  flag === "r" || flag === "r+"
    ? disk.file(path)
    : disk.open(path, now, { exclusive: flag.includes("x"), ...(mode !== undefined && { mode }) })

/** Throws `DiskFault` when the disk refuses. */
export const openFile = (
  disk: Disk,
  path: string,
  flag: FileSystem.OpenFlag,
  mode: number | undefined,
  now: number,
  clock: () => number,
  info: (node: Node) => FileSystem.File.Info,
): FileSystem.File => {
  const node = nodeFor(disk, path, flag, mode, now)
  if (flag.startsWith("w")) truncate(node, 0, now)
  const appends = flag.startsWith("a")
  const readable = flag.startsWith("r") || flag.endsWith("+")
  const writable = flag !== "r"
  let position = 0

  const readInto = (method: string, buffer: Uint8Array, from: bigint | undefined) =>
    Effect.suspend(() => {
      if (!readable) return Effect.fail(bad(method, `${path} was opened with "${flag}" and cannot be read`))
      if (from !== undefined && from < 0n) return Effect.fail(bad(method, "Cannot read before the start of the file"))
      const start = from === undefined ? position : Number(from)
      const bytes = content(node).subarray(start, start + buffer.length)
      buffer.set(bytes)
      if (from === undefined) position = start + bytes.length
      return Effect.succeed(bytes.length)
    })

  const write = (method: string, bytes: Uint8Array) =>
    Effect.suspend(() => {
      if (!writable) return Effect.fail(bad(method, `${path} was opened with "${flag}" and cannot be written`))
      const start = appends ? node.length : position
      writeAt(node, start, bytes, clock())
      if (!appends) position = start + bytes.length
      return Effect.succeed(bytes.length)
    })

  return {
    [FileSystem.FileTypeId]: FileSystem.FileTypeId,
    stat: Effect.sync(() => info(node)),
    seek: (offset, from) =>
      Effect.suspend(() => {
        const next = from === "start" ? Number(offset) : position + Number(offset)
        if (next < 0) return Effect.fail(bad("seek", "Cannot seek before the start of the file"))
        position = next
        return Effect.succeed(BigInt(next))
      }),
    sync: Effect.void,
    read: (buffer, options) => readInto("read", buffer, options?.position),
    readAlloc: (size, options) =>
      Effect.suspend(() => {
        const buffer = new Uint8Array(size)
        return Effect.map(readInto("readAlloc", buffer, options?.position), (count) =>
          count === 0 ? Option.none() : Option.some(buffer.subarray(0, count)),
        )
      }),
    truncate: (length) =>
      Effect.suspend(() => {
        if (!writable) return Effect.fail(bad("truncate", `${path} was opened with "${flag}" and cannot be written`))
        truncate(node, length ?? 0, clock())
        position = Math.min(position, length ?? 0)
        return Effect.void
      }),
    write: (buffer) => write("write", buffer),
    writeAll: (buffer) => Effect.asVoid(write("writeAll", buffer)),
  }
}
