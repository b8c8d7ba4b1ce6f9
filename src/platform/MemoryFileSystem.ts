/** Owns Effect's file system on the memory disk: the same refusals as a real one, no real file, time by Clock. */
import * as ByteSize from "effect/ByteSize"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as PlatformError from "effect/PlatformError"
import * as Stream from "effect/Stream"
import { codeOf } from "./FileError.ts"
import {
  content,
  type DirectoryNode,
  type Disk,
  DiskFault,
  MemoryDisk,
  type Node,
  truncate,
  writeAt,
} from "./MemoryDisk.ts"
import { openFile } from "./MemoryFile.ts"

const tags: Readonly<Record<string, PlatformError.SystemErrorTag>> = {
  ENOENT: "NotFound",
  EACCES: "PermissionDenied",
  EEXIST: "AlreadyExists",
  EISDIR: "BadResource",
  ENOTDIR: "BadResource",
  ELOOP: "BadResource",
}

const refusal = (method: string, path: string, cause: unknown): PlatformError.PlatformError =>
  PlatformError.systemError({
    _tag: tags[codeOf(cause) ?? ""] ?? "Unknown",
    module: "FileSystem",
    method,
    pathOrDescriptor: path,
    cause,
  })

const unsupported = (method: string) =>
  PlatformError.badArgument({ module: "FileSystem", method, description: "not supported on the memory disk" })

const info = (node: Node): FileSystem.File.Info => {
  const time = Option.some(DateTime.toDate(DateTime.makeUnsafe(node.mtime)))
  const kind = { File: 0o100000, Directory: 0o040000, SymbolicLink: 0o120000 }[node.type]
  return {
    type: node.type,
    mtime: time,
    atime: time,
    birthtime: Option.none(),
    dev: 1n,
    ino: Option.some(BigInt(node.ino)),
    mode: kind | node.mode,
    nlink: Option.some(BigInt(node.type === "File" ? node.links : 1)),
    uid: Option.some(0),
    gid: Option.some(0),
    rdev: Option.none(),
    size: ByteSize.bytes(node.type === "File" ? node.length : 0),
    blksize: Option.none(),
    blocks: Option.none(),
  }
}

/** Links are listed and not entered, as a real listing does. */
const list = (directory: DirectoryNode, recursive: boolean, prefix = ""): Array<string> => {
  const names: Array<string> = []
  for (const [name, node] of directory.children) {
    names.push(prefix + name)
    if (recursive && node.type === "Directory") names.push(...list(node, true, `${prefix}${name}/`))
  }
  return names
}

export const make = (disk: Disk): FileSystem.FileSystem => {
  const at = <A>(
    method: string,
    path: string,
    run: (now: number) => A,
  ): Effect.Effect<A, PlatformError.PlatformError> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.try({ try: () => run(now), catch: (cause) => refusal(method, path, cause) }),
    )

  const temporary = (method: string, options: { directory?: string | undefined; prefix?: string | undefined } = {}) => {
    const path = disk.temporary(options.directory ?? "/tmp", options.prefix ?? "", "")
    return at(method, path, (now) => {
      disk.makeDirectory(path, now, { mode: 0o700 })
      return path
    })
  }

  const temporaryFile = (
    method: string,
    options: { directory?: string | undefined; prefix?: string | undefined; suffix?: string | undefined } = {},
  ) =>
    Effect.flatMap(temporary(method, options), (directory) =>
      at(method, directory, (now) => {
        const path = disk.temporary(directory, "", options.suffix ?? "")
        disk.open(path, now, { mode: 0o600 })
        return path
      }),
    )

  const discard = (path: string) => Effect.sync(() => disk.remove(path, { recursive: true, force: true }))

  return FileSystem.make({
    access: (path) => Effect.asVoid(at("access", path, () => disk.lookup(path))),
    chmod: (path, mode) =>
      at("chmod", path, () => {
        const node = disk.lookup(path)
        if (node.type !== "SymbolicLink") node.mode = mode & 0o7777
      }),
    chown: (path) => Effect.asVoid(at("chown", path, () => disk.lookup(path))),
    copy: (from, to, options) =>
      at("copy", from, (now) => {
        const clone = (source: string, target: string): void => {
          const node = disk.lookup(source)
          if (node.type === "Directory") {
            disk.makeDirectory(target, now, { recursive: true, mode: node.mode })
            for (const name of node.children.keys()) clone(`${source}/${name}`, `${target}/${name}`)
          } else if (node.type === "File") {
            const file = disk.open(target, now, { mode: node.mode, exclusive: options?.overwrite !== true })
            truncate(file, 0, now)
            writeAt(file, 0, content(node), now)
          }
        }
        clone(from, to)
      }),
    copyFile: (from, to) =>
      at("copyFile", from, (now) => {
        const bytes = content(disk.file(from)).slice()
        const file = disk.open(to, now, { mode: disk.file(from).mode })
        truncate(file, 0, now)
        writeAt(file, 0, bytes, now)
      }),
    link: (from, to) => at("link", from, () => disk.link(from, to)),
    lstat: (path) => at("lstat", path, () => info(disk.lookup(path, false))),
    makeDirectory: (path, options) =>
      at("makeDirectory", path, (now) =>
        disk.makeDirectory(path, now, {
          recursive: options?.recursive ?? false,
          ...(options?.mode !== undefined && { mode: options.mode }),
        }),
      ),
    makeTempDirectory: (options) => temporary("makeTempDirectory", options),
    makeTempDirectoryScoped: (options) => Effect.acquireRelease(temporary("makeTempDirectoryScoped", options), discard),
    makeTempFile: (options) => temporaryFile("makeTempFile", options),
    makeTempFileScoped: (options) =>
      Effect.acquireRelease(temporaryFile("makeTempFileScoped", options), (path) =>
        discard(path.slice(0, path.lastIndexOf("/"))),
      ),
    open: (path, options) =>
      Effect.flatMap(Clock.Clock, (clock) =>
        at("open", path, (now) => {
          if (options?.noFollow && present(disk, path)?.type === "SymbolicLink") throw new DiskFault("ELOOP", path)
          return openFile(
            disk,
            path,
            options?.flag ?? "r",
            options?.mode,
            now,
            () => clock.currentTimeMillisUnsafe(),
            info,
          )
        }),
      ),
    readDirectory: (path, options) =>
      at("readDirectory", path, () => list(disk.directory(path), options?.recursive ?? false)),
    readDirectoryEntries: (path) =>
      at("readDirectoryEntries", path, () =>
        [...disk.directory(path).children].map(([name, node]) => ({ name, type: node.type })),
      ),
    readFile: (path) => at("readFile", path, () => content(disk.file(path)).slice()),
    readLink: (path) =>
      at("readLink", path, () => {
        const node = disk.lookup(path, false)
        if (node.type !== "SymbolicLink") throw new DiskFault("EINVAL", path)
        return node.target
      }),
    realPath: (path) => at("realPath", path, () => disk.realPath(path)),
    remove: (path, options) =>
      at("remove", path, () =>
        disk.remove(path, { recursive: options?.recursive ?? false, force: options?.force ?? false }),
      ),
    rename: (from, to) => at("rename", from, () => disk.rename(from, to)),
    stat: (path) => at("stat", path, () => info(disk.lookup(path))),
    symlink: (target, path) => at("symlink", path, (now) => disk.symlink(target, path, now)),
    truncate: (path, length) => at("truncate", path, (now) => truncate(disk.file(path), length ?? 0, now)),
    utimes: (path, _atime, mtime) =>
      at("utimes", path, () => {
        // Numbers are seconds, as for the real call.
        disk.lookup(path).mtime = typeof mtime === "number" ? mtime * 1000 : mtime.getTime()
      }),
    watch: () => Stream.fail(unsupported("watch")),
    writeFile: (path, data, options) =>
      at("writeFile", path, (now) => {
        const flag = options?.flag ?? "w"
        if (flag === "r") throw new DiskFault("EBADF", path)
        const file =
          flag === "r+"
            ? disk.file(path)
            : disk.open(path, now, {
                exclusive: flag.includes("x"),
                ...(options?.mode !== undefined && { mode: options.mode }),
              })
        if (flag.startsWith("w")) truncate(file, 0, now)
        writeAt(file, flag.startsWith("a") ? file.length : 0, data, now)
      }),
  })
}

const present = (disk: Disk, path: string): Node | undefined => {
  try {
    return disk.lookup(path, false)
  } catch {
    return undefined
  }
}

export const layer: Layer.Layer<FileSystem.FileSystem, never, MemoryDisk> = Layer.effect(
  FileSystem.FileSystem,
  Effect.map(MemoryDisk, make),
)
