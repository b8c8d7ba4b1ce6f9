/** Owns looking at what stands at a path itself, and keeping what files hold, on node: in short synchronous passes. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { createHash, randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { type FileError, fromCause } from "./FileError.ts"
import type { FilesShape, Kept, Look } from "./Files.ts"
import { bytesOf } from "./NodeBulk.ts"

const run = randomBytes(6).toString("hex")
let serial = 0

const kindOf = (found: fs.Stats): Look["kind"] =>
  found.isFile() ? "file" : found.isDirectory() ? "directory" : found.isSymbolicLink() ? "link" : "other"

const lookOf = (found: fs.Stats): Look => ({
  kind: kindOf(found),
  size: found.size,
  mtime: found.mtimeMs,
  ctime: found.ctimeMs,
  ino: found.ino,
  mode: found.mode & 0o7777,
})

const lookAt = (at: string): Look | undefined => {
  try {
    const found = fs.lstatSync(at, quiet)
    return found === undefined ? undefined : lookOf(found)
  } catch {
    return undefined
  }
}

/** So many, and whoever else has something to do is let in. */
const inPasses = <A, B>(all: ReadonlyArray<A>, many: number, one: (item: A) => B) =>
  Effect.gen(function* () {
    const answers: Array<B> = []
    for (let from = 0; from < all.length; from += many) {
      if (from > 0) yield* Effect.yieldNow
      for (const item of all.slice(from, from + many)) answers.push(one(item))
    }
    return answers
  })

export const looks: FilesShape["looks"] = (paths) => inPasses(paths, 512, lookAt)

const format = 0o170000
const formats = { file: 0o100000, directory: 0o040000, link: 0o120000, other: -1 } as const

const looksSo = (found: fs.Stats, before: Look): boolean =>
  found.mtimeMs === before.mtime &&
  found.ctimeMs === before.ctime &&
  found.size === before.size &&
  found.ino === before.ino &&
  (found.mode & 0o7777) === before.mode &&
  (found.mode & format) === formats[before.kind]

/** Nothing is made for a file that is as it was: there are many of them. */
const differs = (at: string, before: Look | undefined, since: number): { now: Look | undefined } | undefined => {
  try {
    const found = fs.lstatSync(at, quiet)
    if (found === undefined) return before === undefined ? undefined : { now: undefined }
    if (before !== undefined && found.ctimeMs < since && looksSo(found, before)) return undefined
    return { now: lookOf(found) }
  } catch {
    return before === undefined ? undefined : { now: undefined }
  }
}
const quiet = { throwIfNoEntry: false } as const

export const differing: FilesShape["differing"] = (known, since) =>
  Effect.gen(function* () {
    const found: Array<{ readonly path: string; readonly now: Look | undefined }> = []
    let done = 0
    for (const [path, before] of known) {
      if (++done % 1024 === 0) yield* Effect.yieldNow
      const one = differs(path, before, since)
      if (one !== undefined) found.push({ path, now: one.now })
    }
    return found
  })

const directoriesIn = (at: string): ReadonlyArray<string> => {
  try {
    return fs
      .readdirSync(at, { withFileTypes: true })
      .flatMap((entry) => (entry.isDirectory() ? [path.join(at, entry.name)] : []))
  } catch {
    return []
  }
}

export const directories: FilesShape["directories"] = (paths) => inPasses(paths, 128, directoriesIn)

const keepOne = (at: string, directory: string, maxBytes: number): Result.Result<Kept, FileError> => {
  try {
    // No link is put in the place of the file.
    const { bytes, found } = bytesOf(at, maxBytes, fs.constants.O_NOFOLLOW)
    const hash = createHash("sha256").update(bytes).digest("hex")
    put(path.join(directory, hash), bytes)
    return Result.succeed({ hash, look: lookOf(found) })
  } catch (cause) {
    return Result.fail(fromCause("keep", at, cause))
  }
}

const put = (to: string, bytes: Uint8Array): void => {
  // One that a full disk cut short is written anew.
  if (fs.statSync(to, { throwIfNoEntry: false })?.size === bytes.length) return
  const temp = `${to}.${run}.${serial++}.tmp`
  try {
    fs.writeFileSync(temp, bytes, { mode: 0o600, flag: "wx" })
    fs.renameSync(temp, to)
  } catch (cause) {
    fs.rmSync(temp, { force: true })
    throw cause
  }
}

export const keep: FilesShape["keep"] = (paths, directory, { maxBytes }) =>
  Effect.suspend(() => {
    if (paths.length === 0) return Effect.succeed([])
    try {
      fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
    } catch (cause) {
      const failed = fromCause("create", directory, cause)
      return Effect.succeed(paths.map(() => Result.fail(failed)))
    }
    return inPasses(paths, 32, (at) => keepOne(at, directory, maxBytes))
  })
