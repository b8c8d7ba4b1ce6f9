/**
 * Owns writing settings files: under a lock, from what is in the file at that moment, all or nothing. Several processes may
 * write the same file at once and none loses what another wrote.
 */
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import { FileError } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import type { TextFile } from "../platform/Text.ts"
import { type Edit, edit } from "./SettingsEdit.ts"
import { maxBytes } from "./SettingsFile.ts"

/** The file stays as it was. */
export class SettingsWriteError extends Schema.TaggedError<SettingsWriteError>()("SettingsWriteError", {
  /** `broken`: it is no settings file. `conflict`: what it says leaves no room for the change. `busy`: others write it all the time. */
  reason: Schema.Literals(["broken", "conflict", "busy"]),
  file: Schema.String,
  line: Schema.optionalKey(Schema.Int),
  column: Schema.optionalKey(Schema.Int),
  detail: Schema.String,
}) {
  override get message(): string {
    const at = this.line === undefined ? this.file : `${this.file}:${this.line}:${this.column ?? 1}`
    return `The settings were not changed. ${at}: ${this.detail}. ${advice[this.reason]}`
  }
}

const advice: Readonly<Record<SettingsWriteError["reason"], string>> = {
  broken: "Correct the file by hand first.",
  conflict: "Remove that key first, or choose another.",
  busy: "Try again when it is done.",
}

export interface WriteOptions {
  /** Of a file that does not exist yet; as the system's mask says unless told. */
  readonly mode?: number
  /** How long to wait for another writer; default 10 seconds. */
  readonly wait?: Duration.Input
}

/** A writer that died leaves the copy it was about to put in place; a living one is done with it long before. */
const staleMs = 60_000
const temporary = /^\..+\.json\.[0-9a-f]+\.\d+\.tmp$/

/** Makes the edits in one step, and the file with its directories if there is none. Answers whether anything had to change. */
export const write = Effect.fn("SettingsWriter.write")(function* (
  file: string,
  edits: ReadonlyArray<Edit>,
  options: WriteOptions = {},
): Effect.fn.Return<boolean, SettingsWriteError | FileError, Files | FileSystem.FileSystem | Path.Path> {
  return yield* Effect.scoped(writing(file, edits, options))
})

const writing = Effect.fnUntraced(function* (file: string, edits: ReadonlyArray<Edit>, options: WriteOptions) {
  const files = yield* Files
  const path = yield* Path.Path
  const real = yield* realTarget(file)
  yield* files.lock(real).pipe(
    Effect.retry({
      while: (error) => error._tag === "LockBusy",
      schedule: Schedule.spaced("15 millis").pipe(
        Schedule.jittered,
        Schedule.upTo({ duration: options.wait ?? "10 seconds" }),
      ),
    }),
    Effect.catchTag("LockBusy", (busy) => Effect.fail(refused(file, { reason: "busy", message: busy.message }))),
  )
  yield* sweep(path.dirname(real))
  const before = yield* current(file, real)
  const after = edit(before?.text ?? "", edits)
  if (Result.isFailure(after)) return yield* refused(file, after.failure)
  if (after.success === (before?.text ?? "")) return false
  if (before !== undefined) yield* files.writeText(real, { ...before, text: after.success })
  else {
    const { mode } = options
    yield* files.writeAtomic(real, after.success, { makeParents: true, ...(mode !== undefined && { mode }) })
  }
  return true
})

const refused = (
  file: string,
  { message, ...rest }: Pick<SettingsWriteError, "reason" | "line" | "column"> & { readonly message: string },
) => new SettingsWriteError({ file, detail: message, ...rest })

/** What is in the file now; nothing where there is none. A settings file that is a data file by mistake is refused by its size. */
const current = Effect.fnUntraced(function* (file: string, real: string) {
  const files = yield* Files
  return yield* files.readText(real, { maxBytes }).pipe(
    Effect.map((text): TextFile | undefined => text),
    Effect.catchTag("NotText", (error) => Effect.fail(refused(file, { reason: "broken", message: error.message }))),
    Effect.catchIf(
      (error) => error._tag === "FileError" && error.reason === "NotFound",
      () => Effect.void,
    ),
  )
})

/** The file that links finally lead to, by its one name: the same for everybody who writes it, whether it exists or not. */
const realTarget = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  let here = path.resolve(file)
  for (let hops = 0; hops < 40; hops++) {
    here = path.join(yield* realDirectory(path.dirname(here)), path.basename(here))
    const link = yield* Effect.option(fs.readLink(here))
    if (Option.isNone(link)) return here
    here = path.resolve(path.dirname(here), link.value)
  }
  return yield* new FileError({ path: file, operation: "write", reason: "Unknown", detail: "too many symbolic links" })
})

const realDirectory = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  // Directories that are yet to be made come behind the nearest one that exists.
  for (let at = directory; ; at = path.dirname(at)) {
    const real = yield* Effect.option(fs.realPath(at))
    if (Option.isSome(real)) return path.join(real.value, path.relative(at, directory))
    if (path.dirname(at) === at) return directory
  }
})

const sweep = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const now = yield* Clock.currentTimeMillis
  const names = yield* Effect.orElseSucceed(fs.readDirectory(directory), () => [])
  for (const name of names.filter((one) => temporary.test(one))) {
    const at = path.join(directory, name)
    const info = yield* Effect.option(fs.stat(at))
    const written = Option.flatMap(info, ({ mtime }) => mtime)
    if (Option.isSome(written) && now - written.value.getTime() > staleMs) yield* Effect.ignore(fs.remove(at))
  }
})
