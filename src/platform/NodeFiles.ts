/** Owns durable file work on node: temp-and-rename writes, the synchronous append handle, native hashing. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import { randomBytes } from "node:crypto"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { codeOf, FileError, fromCause, tooLarge } from "./FileError.ts"
import { type AppendFile, Files, type FilesShape, toBytes } from "./Files.ts"
import * as NodeBulk from "./NodeBulk.ts"
import * as NodeInside from "./NodeInside.ts"
import * as NodeLock from "./NodeLock.ts"
import * as NodeLooks from "./NodeLooks.ts"
import * as Text from "./Text.ts"

/** Not the pid: a process of the same number may have left a file of that name behind when it was killed. */
const run = randomBytes(6).toString("hex")
let serial = 0

const attempt = <A>(operation: string, at: string, run: () => Promise<A>): Effect.Effect<A, FileError> =>
  Effect.tryPromise({ try: run, catch: (cause) => fromCause(operation, at, cause) })

const notRegular = (operation: string, at: string): FileError =>
  new FileError({ path: at, operation, reason: "NotRegular", detail: "" })

/** The file a link finally names, also when that does not exist yet. */
const target = async (at: string): Promise<string> => {
  let here = path.resolve(at)
  for (let hops = 0; hops < 40; hops++) {
    const link = await fs.promises.readlink(here).catch(() => undefined)
    if (link === undefined) return here
    here = path.resolve(path.dirname(here), link)
  }
  throw Object.assign(new Error("too many symbolic links"), { code: "ELOOP" })
}

const syncDirectory = async (directory: string): Promise<void> => {
  // Not every system opens directories; the rename itself is atomic either way.
  const handle = await fs.promises.open(directory, "r").catch(() => undefined)
  if (handle === undefined) return
  await handle.sync().catch(() => {})
  await handle.close()
}

const writeTemp = async (
  temp: string,
  bytes: Uint8Array,
  mode: number,
  before: fs.Stats | undefined,
): Promise<void> => {
  const handle = await fs.promises.open(temp, "wx", 0o600)
  try {
    await handle.writeFile(bytes)
    // The owner first: changing it clears the set-id bits that the mode may carry.
    if (before !== undefined) await handle.chown(before.uid, before.gid).catch(() => {})
    await handle.chmod(mode)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const retryable = (cause: FileError): boolean => cause.reason === "Busy" || cause.reason === "PermissionDenied"
const fewTimes = Schedule.exponential("10 millis").pipe(Schedule.upTo({ times: 4 }))

/** A file that may be written in a directory that may not, or that is a mount point itself: atomic is impossible, refusal is worse. */
const inPlace = (at: string, bytes: Uint8Array) =>
  attempt("write", at, async () => {
    const handle = await fs.promises.open(at, "r+")
    try {
      await handle.truncate(0)
      await handle.writeFile(bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
  })

const writeAtomic: FilesShape["writeAtomic"] = (at, data, options) =>
  Effect.gen(function* () {
    const bytes = toBytes(data)
    const real = yield* attempt("write", at, () => target(at))
    const directory = path.dirname(real)
    if (options?.makeParents)
      yield* attempt("create", directory, () => fs.promises.mkdir(directory, { recursive: true }))
    const before = yield* attempt("write", at, () =>
      fs.promises.stat(real).catch((cause: unknown) => {
        if (codeOf(cause) === "ENOENT") return undefined
        throw cause
      }),
    )
    if (before?.isDirectory()) return yield* fromCause("write", at, Object.assign(new Error(""), { code: "EISDIR" }))
    // Replacing a pipe or a device is never what is meant, and for the superuser it would succeed.
    if (before !== undefined && !before.isFile()) return yield* notRegular("write", at)
    const mode = before === undefined ? (options?.mode ?? 0o666 & ~process.umask()) : before.mode & 0o7777
    const temp = path.join(directory, `.${path.basename(real).slice(0, 100)}.${run}.${serial++}.tmp`)
    yield* attempt("write", at, () => writeTemp(temp, bytes, mode, before)).pipe(
      Effect.andThen(
        attempt("write", at, () => fs.promises.rename(temp, real)).pipe(
          Effect.retry({ while: retryable, schedule: fewTimes }),
        ),
      ),
      Effect.tapError(() => Effect.promise(() => fs.promises.rm(temp, { force: true }).catch(() => {}))),
      Effect.andThen(Effect.promise(() => syncDirectory(directory))),
      Effect.catchIf(
        (error) => before?.isFile() === true && retryable(error),
        () => inPlace(at, bytes),
      ),
    )
  }).pipe(Effect.uninterruptible)

/** Looked at before and after, and opened without blocking: a pipe would hold up the whole process until somebody reads it. */
const openRegular = (at: string): number => {
  const before = fs.statSync(at, { throwIfNoEntry: false })
  if (before !== undefined && !before.isFile() && !before.isDirectory()) throw notRegular("open", at)
  const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = fs.constants
  const fd = fs.openSync(at, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, 0o600)
  if (fs.fstatSync(fd).isFile()) return fd
  fs.closeSync(fd)
  throw notRegular("open", at)
}

const openAppend: FilesShape["openAppend"] = (at) =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        fs.mkdirSync(path.dirname(at), { recursive: true, mode: 0o700 })
        const fd = openRegular(at)
        return { fd, handle: appendHandle(at, fd) }
      },
      catch: (cause) => fromCause("open", at, cause),
    }),
    ({ fd }) => Effect.sync(() => fs.closeSync(fd)),
  ).pipe(Effect.map(({ handle }) => handle))

const appendHandle = (at: string, fd: number): AppendFile => {
  let size = fs.fstatSync(fd).size
  const guard = <A>(operation: string, run: () => A): A => {
    try {
      return run()
    } catch (cause) {
      throw fromCause(operation, at, cause)
    }
  }
  const appendUnsafe = (data: Uint8Array | string) =>
    guard("append to", () => {
      const bytes = typeof data === "string" ? Buffer.from(data) : data
      for (let done = 0; done < bytes.length;) {
        const wrote = fs.writeSync(fd, bytes, done, bytes.length - done)
        done += wrote
        size += wrote
      }
    })
  const syncUnsafe = () => guard("sync", () => fs.fdatasyncSync(fd))
  return {
    path: at,
    appendUnsafe,
    append: (data) =>
      Effect.try({ try: () => appendUnsafe(data), catch: (cause) => fromCause("append to", at, cause) }),
    sync: Effect.callback((resume) => {
      fs.fdatasync(fd, (cause) => resume(cause === null ? Effect.void : Effect.fail(fromCause("sync", at, cause))))
    }),
    syncUnsafe,
    size: () => size,
  }
}

const readText: FilesShape["readText"] = (at, options) =>
  Effect.gen(function* () {
    const limit = options?.maxBytes ?? Number.POSITIVE_INFINITY
    const bytes = yield* attempt("read", at, async () => {
      // Opened without blocking: a FIFO in the workspace must not hang the reader.
      const handle = await fs.promises.open(at, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK)
      try {
        const stat = await handle.stat()
        if (stat.isDirectory()) throw Object.assign(new Error(""), { code: "EISDIR" })
        if (!stat.isFile()) throw notRegular("read", at)
        if (stat.size > limit) throw tooLarge(at, stat.size, limit)
        return await handle.readFile()
      } finally {
        await handle.close()
      }
    })
    return yield* Effect.fromResult(Text.decode(at, bytes))
  })

const burst = 256
/** For one burst; what takes longer is no disk of this machine, and must not hold up the process. */
const slowNanos = 20_000_000n

/** Without a thread for each look: waking one takes ten times as long as the look itself. */
const changedAt: FilesShape["changedAt"] = Effect.fnUntraced(function* (paths) {
  const clock = yield* Clock.Clock
  const times: Array<number> = []
  while (times.length < paths.length) {
    const from = clock.currentTimeNanosUnsafe()
    for (const at of paths.slice(times.length, times.length + burst)) times.push(lookAt(at))
    if (clock.currentTimeNanosUnsafe() - from > slowNanos) break
    yield* Effect.yieldNow
  }
  const rest = yield* Effect.forEach(
    paths.slice(times.length),
    (at) =>
      Effect.promise(() =>
        fs.promises.stat(at).then(
          ({ mtimeMs }) => mtimeMs,
          () => 0,
        ),
      ),
    { concurrency: burst },
  )
  return [...times, ...rest]
})

const lookAt = (at: string): number => {
  try {
    return fs.statSync(at, { throwIfNoEntry: false })?.mtimeMs ?? 0
  } catch {
    return 0
  }
}

export const layer: Layer.Layer<Files> = Layer.succeed(Files, {
  readText,
  stamps: NodeBulk.stamps,
  readTexts: NodeBulk.readTexts,
  walk: NodeBulk.walk,
  looks: NodeLooks.looks,
  differing: NodeLooks.differing,
  directories: NodeLooks.directories,
  keep: NodeLooks.keep,
  writeText: (at, file) => writeAtomic(at, Text.encode(file.text, file)),
  writeAtomic,
  writeInside: NodeInside.writeInside,
  removeInside: NodeInside.removeInside,
  openAppend,
  lock: (name) => NodeLock.lock(name),
  changedAt,
  hash: (data) => createHash("sha256").update(data).digest("hex"),
})
