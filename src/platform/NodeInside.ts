/**
 * Owns writing below a directory that was checked, whatever happens to the path in between. On Linux every step is taken from the
 * open directory before it (`/proc/self/fd/<n>/<name>`, without following links), so the system never walks a path that somebody
 * could have changed. Elsewhere the place is verified before and after, and what landed wrong is taken away again.
 */
import * as Effect from "effect/Effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { codeOf, FileError, fromCause } from "./FileError.ts"
import { type FilesShape, partsBelow, toBytes } from "./Files.ts"

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = fs.constants

const byDescriptor = process.platform === "linux" && fs.existsSync("/proc/self/fd")
const run = randomBytes(6).toString("hex")
let serial = 0

const swapped = (at: string, detail: string): FileError =>
  new FileError({ path: at, operation: "write", reason: "Swapped", detail })

/** An open directory, and the names in it as paths that lead through the descriptor. */
class Place {
  readonly handle: fs.promises.FileHandle
  constructor(handle: fs.promises.FileHandle) {
    this.handle = handle
  }
  at(name: string): string {
    return `/proc/self/fd/${this.handle.fd}/${name}`
  }
  /** Where the directory is now, by the kernel's own account. */
  where(): Promise<string> {
    return fs.promises.readlink(`/proc/self/fd/${this.handle.fd}`)
  }
}

const openRoot = async (root: string): Promise<Place> => {
  const place = new Place(await fs.promises.open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
  const where = await place.where()
  if (where === path.resolve(root)) return place
  await place.handle.close()
  throw swapped(root, `it leads to ${where}`)
}

const step = async (from: Place, name: string, shown: string, makeParents: boolean): Promise<Place> => {
  const open = () => fs.promises.open(from.at(name), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  try {
    return new Place(
      await open().catch(async (cause: unknown) => {
        if (codeOf(cause) !== "ENOENT" || !makeParents) throw cause
        await fs.promises.mkdir(from.at(name)).catch((again: unknown) => {
          if (codeOf(again) !== "EEXIST") throw again
        })
        return await open()
      }),
    )
  } catch (cause) {
    // With O_DIRECTORY a link is "no directory", as a file is.
    const isLink = await fs.promises.readlink(from.at(name)).then(
      () => true,
      () => codeOf(cause) === "ELOOP",
    )
    throw isLink ? swapped(shown, "it is a link") : cause
  }
}

type Options = Parameters<FilesShape["writeInside"]>[3]

const present = async (at: string): Promise<fs.Stats | undefined> =>
  fs.promises.lstat(at).catch((cause: unknown) => {
    if (codeOf(cause) === "ENOENT") return undefined
    throw cause
  })

/** What may be replaced: nothing, or a regular file. */
const judged = async (at: string, shown: string): Promise<fs.Stats | undefined> => {
  const before = await present(at)
  if (before === undefined || before.isFile()) return before
  if (before.isSymbolicLink()) throw swapped(shown, "it is a link")
  throw before.isDirectory()
    ? Object.assign(new Error(""), { code: "EISDIR" })
    : new FileError({ path: shown, operation: "write", reason: "NotRegular", detail: "" })
}

const fill = async (handle: fs.promises.FileHandle, bytes: Uint8Array, mode: number, before: fs.Stats | undefined) => {
  await handle.writeFile(bytes)
  // The owner first: changing it clears the set-id bits that the mode may carry.
  if (before !== undefined) await handle.chown(before.uid, before.gid).catch(() => {})
  await handle.chmod(mode)
  await handle.sync()
}

const modeOf = (before: fs.Stats | undefined, options: Options): number =>
  before === undefined || (options?.exactMode === true && options.mode !== undefined)
    ? (options?.mode ?? 0o666 & ~process.umask())
    : before.mode & 0o7777

const tempName = (name: string): string => `.${name.slice(0, 60)}.${run}.${serial++}.tmp`

/** A file that may be written in a directory that may not, or that is a mount point itself. */
const inPlace = async (at: string, shown: string, bytes: Uint8Array): Promise<void> => {
  const handle = await fs.promises.open(at, O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const info = await handle.stat()
    // A second name of the file may be anywhere.
    if (!info.isFile() || info.nlink > 1) throw swapped(shown, "it cannot be replaced, and it has more than one name")
    await handle.truncate(0)
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const replace = async (place: Place, name: string, shown: string, bytes: Uint8Array, options: Options) => {
  const before = await judged(place.at(name), shown)
  const temp = place.at(tempName(name))
  try {
    const handle = await fs.promises.open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      await fill(handle, bytes, modeOf(before, options), before)
    } finally {
      await handle.close()
    }
    // A rename replaces a link that was put there meanwhile; it does not follow it.
    await fs.promises.rename(temp, place.at(name))
  } catch (cause) {
    await fs.promises.rm(temp, { force: true }).catch(() => {})
    const stuck = ["EBUSY", "EACCES", "EPERM", "EXDEV"].includes(codeOf(cause) ?? "")
    if (before === undefined || !stuck) throw cause
    await inPlace(place.at(name), shown, bytes)
  }
  await place.handle.sync().catch(() => {})
}

/** Walks to the directory that the last name stands in, each step through the one before. */
const throughDescriptors = async (
  root: string,
  parts: ReadonlyArray<string>,
  makeParents: boolean,
  use: (place: Place, name: string, shown: string) => Promise<void>,
): Promise<void> => {
  const open = [await openRoot(root)]
  try {
    let here = root
    let place = open[0]
    for (const part of parts.slice(0, -1)) {
      if (place === undefined) return
      here = path.join(here, part)
      place = await step(place, part, here, makeParents)
      open.push(place)
    }
    const name = parts.at(-1)
    if (place !== undefined && name !== undefined) await use(place, name, path.join(here, name))
  } finally {
    for (const one of open) await one.handle.close().catch(() => {})
  }
}

const writeThrough = (root: string, parts: ReadonlyArray<string>, bytes: Uint8Array, options: Options) =>
  throughDescriptors(root, parts, options?.makeParents === true, (place, name, shown) =>
    replace(place, name, shown, bytes, options),
  )

const gone = (cause: unknown): void => {
  if (codeOf(cause) !== "ENOENT") throw cause
}

const removeThrough = (root: string, parts: ReadonlyArray<string>, directory: boolean) =>
  throughDescriptors(root, parts, false, async (place, name) => {
    await (directory ? fs.promises.rmdir(place.at(name)) : fs.promises.unlink(place.at(name))).catch(gone)
  }).catch(gone)

const removeVerified = async (root: string, parts: ReadonlyArray<string>, directory: boolean): Promise<void> => {
  const parent = path.join(root, ...parts.slice(0, -1))
  const now = await fs.promises.realpath(parent)
  if (now !== parent) throw swapped(path.join(root, ...parts), `${parent} leads to ${now}`)
  const at = path.join(root, ...parts)
  await (directory ? fs.promises.rmdir(at) : fs.promises.unlink(at)).catch(gone)
}

/** Where directories cannot be walked by descriptor. A swap that is undone within one rename is not seen. */
export const withVerification = async (
  root: string,
  parts: ReadonlyArray<string>,
  bytes: Uint8Array,
  options: Options,
): Promise<void> => {
  const directory = path.join(root, ...parts.slice(0, -1))
  const at = path.join(root, ...parts)
  const verify = async () => {
    const now = await fs.promises.realpath(directory)
    if (now !== directory) throw swapped(at, `${directory} leads to ${now}`)
    const { dev, ino } = await fs.promises.lstat(directory)
    return `${dev}:${ino}`
  }
  if (options?.makeParents === true) await fs.promises.mkdir(directory, { recursive: true })
  const identity = await verify()
  const before = await judged(at, at)
  const temp = path.join(directory, tempName(parts.at(-1) ?? ""))
  const handle = await fs.promises.open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    // Empty until it is known where it lies.
    const [mine, there] = [await handle.stat(), await fs.promises.lstat(temp)]
    if ((await verify()) !== identity || mine.ino !== there.ino) throw swapped(at, `${directory} was moved`)
    await fill(handle, bytes, modeOf(before, options), before)
    if ((await verify()) !== identity) throw swapped(at, `${directory} was moved`)
    await fs.promises.rename(temp, at)
  } catch (cause) {
    await fs.promises.rm(temp, { force: true }).catch(() => {})
    throw cause
  } finally {
    await handle.close()
  }
}

export const writeInside: FilesShape["writeInside"] = (root, relative, data, options) =>
  Effect.gen(function* () {
    const plain = process.platform === "win32" ? relative.replaceAll("\\", "/") : relative
    const parts = yield* Effect.fromResult(partsBelow(root, plain))
    const bytes = toBytes(data)
    yield* Effect.tryPromise({
      try: () => (byDescriptor ? writeThrough : withVerification)(root, parts, bytes, options),
      catch: (cause) => fromCause("write", path.join(root, relative), cause),
    })
  }).pipe(Effect.uninterruptible)

export const removeInside: FilesShape["removeInside"] = (root, relative, options) =>
  Effect.gen(function* () {
    const plain = process.platform === "win32" ? relative.replaceAll("\\", "/") : relative
    const parts = yield* Effect.fromResult(partsBelow(root, plain))
    yield* Effect.tryPromise({
      try: () => (byDescriptor ? removeThrough : removeVerified)(root, parts, options?.directory === true),
      catch: (cause) => fromCause("remove", path.join(root, relative), cause),
    })
  }).pipe(Effect.uninterruptible)
