/** Owns looking at many files at once on node: synchronously, four times as fast as asking for one after the other. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as fs from "node:fs"
import * as path from "node:path"
import { FileError, fromCause, tooLarge } from "./FileError.ts"
import type { FilesShape, Stamp, StampedText } from "./Files.ts"
import * as Text from "./Text.ts"
import { type Found, walk as walkThrough } from "./Walk.ts"

const stampOf = ({ ctimeMs, ino, mtimeMs, size }: fs.Stats): Stamp => ({ size, mtime: mtimeMs, ctime: ctimeMs, ino })

/** A file that may not be looked at counts as absent. */
const stat = (at: string): fs.Stats | undefined => {
  try {
    return fs.statSync(at, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

export const stamps: FilesShape["stamps"] = (paths) =>
  Effect.sync(() =>
    paths.map((at) => {
      const found = stat(at)
      return found?.isFile() === true ? stampOf(found) : undefined
    }),
  )

/** Opened without blocking, and judged by what was opened: a pipe must not hang the reader, nor a swap fool it. */
export const bytesOf = (
  at: string,
  maxBytes: number,
  flags = 0,
): { readonly bytes: Uint8Array; readonly found: fs.Stats } => {
  const fd = fs.openSync(at, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK | flags)
  try {
    const found = fs.fstatSync(fd)
    if (!found.isFile()) {
      const reason = found.isDirectory() ? "IsDirectory" : "NotRegular"
      throw new FileError({ path: at, operation: "read", reason, detail: "" })
    }
    if (found.size > maxBytes) throw tooLarge(at, found.size, maxBytes)
    const bytes = Buffer.allocUnsafe(found.size)
    let length = 0
    for (;;) {
      const got = fs.readSync(fd, bytes, length, found.size - length, length)
      if (got === 0) break
      length += got
    }
    return { bytes: bytes.subarray(0, length), found }
  } finally {
    fs.closeSync(fd)
  }
}

const readOne = (at: string, maxBytes: number): Result.Result<StampedText, FileError | Text.NotText> => {
  try {
    const { bytes, found } = bytesOf(at, maxBytes)
    return Result.map(Text.decode(at, bytes), (text) => ({ ...text, stamp: stampOf(found) }))
  } catch (cause) {
    return Result.fail(fromCause("read", at, cause))
  }
}

export const readTexts: FilesShape["readTexts"] = (paths, { maxBytes }) =>
  Effect.sync(() => paths.map((at) => readOne(at, maxBytes)))

const found = (at: string, entry: fs.Dirent): Found => {
  if (entry.isFile()) return { path: at, type: "file" }
  // A link, or a directory: both need to be known by what they are, not by their name.
  const is = stat(at)
  if (is?.isDirectory() === true) return { path: at, type: "directory", id: `${is.dev}:${is.ino}` }
  return { path: at, type: is?.isFile() === true ? "file" : "other" }
}

const list = (directory: string) => {
  try {
    return fs
      .readdirSync(directory, { withFileTypes: true })
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((entry) => ({ name: entry.name, found: () => found(path.join(directory, entry.name), entry) }))
  } catch {
    return []
  }
}

export const walk: FilesShape["walk"] = (directory, options) =>
  Effect.sync(() => {
    const is = stat(directory)
    return walkThrough({ path: directory, id: `${is?.dev}:${is?.ino}` }, options, list)
  })
