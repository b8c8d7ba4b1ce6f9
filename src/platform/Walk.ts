/** Owns the walk through a directory: each one entered once, nothing endless, the same order every time. */
import type { Walked, WalkOptions } from "./Files.ts"

/** A name in a directory; links already followed. */
export interface Found {
  readonly path: string
  readonly type: "file" | "directory" | "other"
  /** The same for two ways to one directory. */
  readonly id?: string
}

const never: ReadonlySet<string> = new Set([".git", "node_modules"])

/** `list` gives what a directory holds, or nothing when it cannot. */
export const walk = (
  root: { readonly path: string; readonly id: string },
  { depth, limit }: WalkOptions,
  list: (directory: string) => ReadonlyArray<{ readonly name: string; readonly found: () => Found }>,
): Walked => {
  const files: Array<string> = []
  const directories: Array<string> = []
  const entered = new Set([root.id])
  let truncated = false
  const enter = (directory: string, left: number): void => {
    for (const { found, name } of list(directory)) {
      if (never.has(name)) continue
      if (files.length + directories.length >= limit) {
        truncated = true
        return
      }
      const { id, path, type } = found()
      if (type === "file") files.push(path)
      if (type !== "directory" || id === undefined || entered.has(id)) continue
      entered.add(id)
      directories.push(path)
      if (left > 0) enter(path, left - 1)
    }
  }
  enter(root.path, depth)
  return { files: files.sort(), directories: directories.sort(), truncated }
}
