/** Owns looking at many files at once on the memory disk. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { fromCause, tooLarge } from "./FileError.ts"
import type { FilesShape, Stamp } from "./Files.ts"
import { content, type Disk, type FileNode, type Node } from "./MemoryDisk.ts"
import * as Text from "./Text.ts"
import { walk } from "./Walk.ts"

export const make = (disk: Disk): Pick<FilesShape, "stamps" | "readTexts" | "walk"> => {
  const present = (path: string): Node | undefined => {
    try {
      return disk.lookup(path)
    } catch {
      return undefined
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
    readTexts: (paths, { maxBytes }) => Effect.sync(() => paths.map((path) => read(path, maxBytes))),
    walk: (directory, options) =>
      Effect.sync(() => walk({ path: directory, id: foundAt(directory).id ?? "" }, options, children)),
  }
}

const stampOf = ({ ino, length, mtime }: FileNode): Stamp => ({ size: length, mtime, ctime: mtime, ino })
