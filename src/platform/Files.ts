/** Owns the contract of durable file work: atomic writes, the append handle, locks, text with its encoding kept. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { FileError, fromCause, tooLarge } from "./FileError.ts"
import * as MemoryBulk from "./MemoryBulk.ts"
import { content, type Disk, DiskFault, MemoryDisk, truncate, writeAt } from "./MemoryDisk.ts"
import * as Sha256 from "./Sha256.ts"
import * as Text from "./Text.ts"

/** Somebody else holds the lock, and is alive. */
export class LockBusy extends Schema.TaggedError<LockBusy>()("LockBusy", {
  name: Schema.String,
  holder: Schema.optionalKey(Schema.Int),
}) {
  override get message(): string {
    const who = this.holder === undefined ? "another process" : `process ${this.holder}`
    return `"${this.name}" is in use by ${who}; end it, or work on a copy`
  }
}

/** A file open for appending. One writer; every append is one synchronous write, complete or failed. */
export interface AppendFile {
  readonly path: string
  /** Throws `FileError`: for the journal's hot path, behind a service that catches it. */
  readonly appendUnsafe: (data: Uint8Array | string) => void
  readonly append: (data: Uint8Array | string) => Effect.Effect<void, FileError>
  /** Data reaches the disk. */
  readonly sync: Effect.Effect<void, FileError>
  readonly syncUnsafe: () => void
  /** Bytes in the file as far as this handle knows. */
  readonly size: () => number
}

/** Tells two contents of a file apart without reading them; `ctime` cannot be set back by whoever changes it. */
export interface Stamp {
  readonly size: number
  /** Milliseconds, with fractions as fine as the file system's. */
  readonly mtime: number
  readonly ctime: number
  readonly ino: number
}

/** What stands at a path itself, be it a link. */
export interface Look extends Stamp {
  readonly kind: "file" | "directory" | "link" | "other"
  readonly mode: number
}

/** What a file held when it was looked at so; it is kept under the hash. */
export interface Kept {
  readonly hash: string
  readonly look: Look
}

/** A text with the stamp of exactly the file it was read from. */
export interface StampedText extends Text.TextFile {
  readonly stamp: Stamp
}

export interface WalkOptions {
  /** How many directories deep below the given one; 0 lists only the directory itself. */
  readonly depth: number
  /** How many files and directories at most. */
  readonly limit: number
}

/** What a directory holds, sorted by path. */
export interface Walked {
  readonly files: ReadonlyArray<string>
  readonly directories: ReadonlyArray<string>
  /** There was more than the limit. */
  readonly truncated: boolean
}

export interface FilesShape {
  /** Decodes and remembers encoding, BOM and line endings, so that an edit can put them back with `writeText`. */
  readonly readText: (
    path: string,
    options?: { readonly maxBytes?: number },
  ) => Effect.Effect<Text.TextFile, FileError | Text.NotText>
  /**
   * The three that follow are for many small files at a start: each is one synchronous pass, because asking for a file at a time
   * costs more than the answers. What is no regular file has no stamp.
   */
  readonly stamps: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Stamp | undefined>>
  readonly readTexts: (
    paths: ReadonlyArray<string>,
    options: { readonly maxBytes: number },
  ) => Effect.Effect<ReadonlyArray<Result.Result<StampedText, FileError | Text.NotText>>>
  /** Follows links, enters each directory once, leaves out `.git` and `node_modules`; what cannot be listed is empty. */
  readonly walk: (directory: string, options: WalkOptions) => Effect.Effect<Walked>
  /** What stands at each path; no link is followed. In short passes: others are let in between. */
  readonly looks: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Look | undefined>>
  /** The same where anything looks different from before, or was touched since a time (`ctime`): of many files only these. */
  readonly differing: (
    before: ReadonlyMap<string, Look | undefined>,
    since: number,
  ) => Effect.Effect<ReadonlyArray<{ readonly path: string; readonly now: Look | undefined }>>
  /** The directories in each of these. A link to one is none. */
  readonly directories: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ReadonlyArray<string>>>
  /**
   * Copies what regular files hold into a directory that is closed to others, each content under its hash and once. No link is
   * followed. It survives the process; after a power cut whoever reads it back has to compare the hash.
   */
  readonly keep: (
    paths: ReadonlyArray<string>,
    directory: string,
    options: { readonly maxBytes: number },
  ) => Effect.Effect<ReadonlyArray<Result.Result<Kept, FileError>>>
  readonly writeText: (path: string, file: Text.TextFile) => Effect.Effect<void, FileError>
  /** All or nothing. Follows a symlink, keeps mode and owner of what it replaces; a new file gets `mode` (0644). */
  readonly writeAtomic: (
    path: string,
    data: Uint8Array | string,
    options?: { readonly mode?: number; readonly makeParents?: boolean },
  ) => Effect.Effect<void, FileError>
  /**
   * As `writeAtomic`, but never outside `root`, also when a directory on the way is swapped for a link in the meantime: `relative`
   * names the place below the root with links already followed, and any link found on the way is refused as `Swapped`.
   */
  readonly writeInside: (
    root: string,
    relative: string,
    data: Uint8Array | string,
    options?: {
      readonly mode?: number
      readonly makeParents?: boolean
      /** The mode counts for a file that is there already, too. */
      readonly exactMode?: boolean
    },
  ) => Effect.Effect<void, FileError>
  /** Removes a file, or a link itself, never outside `root`; an empty directory with `directory`. What is not there is gone. */
  readonly removeInside: (
    root: string,
    relative: string,
    options?: { readonly directory?: boolean },
  ) => Effect.Effect<void, FileError>
  /** Creates the file with mode 0600 and missing parents with 0700. */
  readonly openAppend: (path: string) => Effect.Effect<AppendFile, FileError, Scope.Scope>
  /** Held until the scope closes or the process dies, however it dies. */
  readonly lock: (name: string) => Effect.Effect<void, LockBusy | FileError, Scope.Scope>
  /** When each was last changed, in milliseconds, in their order; 0 where nothing is to be found. */
  readonly changedAt: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<number>>
  /** SHA-256, hex. */
  readonly hash: (data: Uint8Array | string) => string
}

export class Files extends Context.Service<Files, FilesShape>()("troupe/platform/Files") {
  /** On the memory disk: no process, no real file, no real time. */
  static readonly layerMemory: Layer.Layer<Files, never, MemoryDisk> = Layer.effect(
    Files,
    Effect.gen(function* () {
      const disk = yield* MemoryDisk
      return memory(disk)
    }),
  )
}

export const toBytes = (data: Uint8Array | string): Uint8Array =>
  typeof data === "string" ? new TextEncoder().encode(data) : data

/** The names of a relative path that cannot leave its root. */
export const partsBelow = (root: string, relative: string): Result.Result<ReadonlyArray<string>, FileError> => {
  const parts = relative.split("/")
  return relative.includes("\0") || parts.some((part) => part === "" || part === "." || part === "..")
    ? Result.fail(
        new FileError({
          path: `${root}/${relative}`,
          operation: "write",
          reason: "Swapped",
          detail: `"${relative}" is no plain path below ${root}`,
        }),
      )
    : Result.succeed(parts)
}

const memory = (disk: Disk): FilesShape => {
  const attempt = <A>(operation: string, path: string, run: () => A) =>
    Effect.try({ try: run, catch: (cause) => fromCause(operation, path, cause) })

  const writeAtomic: FilesShape["writeAtomic"] = Effect.fnUntraced(function* (path, data, options) {
    const now = yield* Clock.currentTimeMillis
    yield* attempt("write", path, () => {
      if (options?.makeParents) disk.makeDirectory(path.slice(0, path.lastIndexOf("/")), now, { recursive: true })
      const file = disk.open(path, now, options?.mode === undefined ? {} : { mode: options.mode })
      truncate(file, 0, now)
      writeAt(file, 0, toBytes(data), now)
    })
  })

  return {
    readText: (path, options) =>
      Effect.gen(function* () {
        const bytes = yield* attempt("read", path, () => content(disk.file(path)))
        const limit = options?.maxBytes ?? Number.POSITIVE_INFINITY
        if (bytes.length > limit) return yield* tooLarge(path, bytes.length, limit)
        return yield* Effect.fromResult(Text.decode(path, bytes))
      }),
    ...MemoryBulk.make(disk),
    writeText: (path, file) => writeAtomic(path, Text.encode(file.text, file)),
    writeAtomic,
    // Nobody swaps anything in memory between two instructions.
    writeInside: (root, relative, data, options) =>
      Effect.flatMap(Effect.fromResult(partsBelow(root, relative)), (parts) =>
        writeAtomic([root.replace(/\/+$/, ""), ...parts].join("/"), data, options).pipe(
          Effect.andThen(
            attempt("write", relative, () => {
              const mode = options?.exactMode === true ? options.mode : undefined
              if (mode !== undefined) disk.file([root.replace(/\/+$/, ""), ...parts].join("/")).mode = mode
            }),
          ),
        ),
      ),
    removeInside: (root, relative, options) =>
      Effect.flatMap(Effect.fromResult(partsBelow(root, relative)), (parts) =>
        attempt("remove", relative, () => {
          const at = [root.replace(/\/+$/, ""), ...parts].join("/")
          if (options?.directory === true && disk.directory(at).children.size > 0) throw new DiskFault("ENOTEMPTY", at)
          disk.remove(at, { recursive: options?.directory === true, force: true })
        }),
      ),
    openAppend: Effect.fnUntraced(function* (path) {
      const clock = yield* Clock.Clock
      const file = yield* attempt("open", path, () => {
        const now = clock.currentTimeMillisUnsafe()
        disk.makeDirectory(path.slice(0, path.lastIndexOf("/")), now, { recursive: true, mode: 0o700 })
        return disk.open(path, now, { mode: 0o600 })
      })
      const appendUnsafe = (data: Uint8Array | string) =>
        writeAt(file, file.length, toBytes(data), clock.currentTimeMillisUnsafe())
      return {
        path,
        appendUnsafe,
        append: (data) => Effect.sync(() => appendUnsafe(data)),
        sync: Effect.void,
        syncUnsafe: () => {},
        size: () => file.length,
      }
    }),
    lock: (name) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.suspend(() => {
            if (disk.locks.has(name)) return Effect.fail(new LockBusy({ name }))
            disk.locks.add(name)
            return Effect.void
          }),
          () => Effect.sync(() => disk.locks.delete(name)),
        ),
      ),
    changedAt: (paths) => Effect.sync(() => paths.map((path) => disk.changedAt(path))),
    hash: Sha256.hex,
  }
}
