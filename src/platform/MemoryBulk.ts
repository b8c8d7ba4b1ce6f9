/** Owns looking at many files at once on the memory disk. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { FileError, fromCause, tooLarge } from "./FileError.ts"
import type { FilesShape, Kept, Look, Stamp } from "./Files.ts"
import { content, type Disk, type FileNode, type Node, truncate, writeAt } from "./MemoryDisk.ts"
import * as Sha256 from "./Sha256.ts"
import * as Text from "./Text.ts"
import { walk } from "./Walk.ts"

export const make = (
  disk: Disk,
): Pick<FilesShape, "stamps" | "readTexts" | "walk" | "looks" | "differing" | "directories" | "keep"> => {
  const present = (path: string): Node | undefined => {
    try {
      return disk.lookup(path)
    } catch {
      return undefined
    }
  }
  const itself = (path: string): Node | undefined => {
    try {
      return disk.lookup(path, false)
    } catch {
      return undefined
    }
  }
  const keep = (path: string, directory: string, maxBytes: number): Result.Result<Kept, FileError> => {
    try {
      const file = disk.file(path)
      if (itself(path) !== file) return Result.fail(notRegular(path))
      if (file.length > maxBytes) return Result.fail(tooLarge(path, file.length, maxBytes))
      const hash = Sha256.hex(content(file))
      const copy = disk.open(`${directory}/${hash}`, file.mtime, { mode: 0o600 })
      truncate(copy, 0, file.mtime)
      writeAt(copy, 0, content(file), file.mtime)
      return Result.succeed({ hash, look: lookOf(file) })
    } catch (cause) {
      return Result.fail(fromCause("keep", path, cause))
    }
  }
  const read = (path: string, maxBytes: number) => {
    try {
      const file = disk.file(path)
      if (file.length <= maxBytes)
        return Result.map(Text.decode(path, content(file)), (text) => ({ ...text, stamp: stampOf(file) }))
      return Result.fail(tooLarge(path, file.length, maxBytes))
    } catch (cause) {
      return Result.fail(fromCause("read", path, cause))
    }
  }
  const children = (directory: string) => {
    const node = present(directory)
    if (node?.type !== "Directory") return []
    return [...node.children.keys()].sort().map((name) => ({ name, found: () => foundAt(`${directory}/${name}`) }))
  }
  const foundAt = (path: string) => {
    const node = present(path)
    if (node?.type === "File") return { path, type: "file" as const }
    return node?.type === "Directory"
      ? { path, type: "directory" as const, id: String(node.ino) }
      : { path, type: "other" as const }
  }
  return {
    stamps: (paths) =>
      Effect.sync(() =>
        paths.map((path) => {
          const node = present(path)
          return node?.type === "File" ? stampOf(node) : undefined
        }),
      ),
    looks: (paths) =>
      Effect.sync(() =>
        paths.map((path) => {
          const node = itself(path)
          return node === undefined ? undefined : lookOf(node)
        }),
      ),
    differing: (before, since) =>
      Effect.sync(() =>
        [...before].flatMap(([path, known]) => {
          const node = itself(path)
          const now = node === undefined ? undefined : lookOf(node)
          const isSame = JSON.stringify(now) === JSON.stringify(known)
          return isSame && (now === undefined || now.ctime < since) ? [] : [{ path, now }]
        }),
      ),
    directories: (paths) =>
      Effect.sync(() =>
        paths.map((path) =>
          children(path).flatMap(({ found }) => {
            const one = found()
            return itself(one.path)?.type === "Directory" ? [one.path] : []
          }),
        ),
      ),
    keep: (paths, directory, { maxBytes }) =>
      Effect.sync(() => {
        disk.makeDirectory(directory, 0, { recursive: true, mode: 0o700 })
        return paths.map((path) => keep(path, directory, maxBytes))
      }),
    readTexts: (paths, { maxBytes }) => Effect.sync(() => paths.map((path) => read(path, maxBytes))),
    walk: (directory, options) =>
      Effect.sync(() => walk({ path: directory, id: foundAt(directory).id ?? "" }, options, children)),
  }
}

const stampOf = ({ ino, length, mtime }: FileNode): Stamp => ({ size: length, mtime, ctime: mtime, ino })

const kinds = { File: "file", Directory: "directory", SymbolicLink: "link" } as const

const lookOf = (node: Node): Look => ({
  kind: kinds[node.type],
  size: node.type === "File" ? node.length : 0,
  mtime: node.mtime,
  ctime: node.mtime,
  ino: node.ino,
  mode: node.mode,
})

const notRegular = (path: string) => new FileError({ path, operation: "keep", reason: "NotRegular", detail: "" })
