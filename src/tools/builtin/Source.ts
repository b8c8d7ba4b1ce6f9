/** Owns how the coding tools get at a file: its bytes and their hash, or in plain words why not. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Result from "effect/Result"
import type { ModelTable } from "../../cost/ModelTable.ts"
import type { Model } from "../../model/Model.ts"
import { fromPlatform } from "../../platform/FileError.ts"
import { Files } from "../../platform/Files.ts"
import type { Host } from "../../platform/Host.ts"
import type { Process } from "../../platform/Process.ts"
import type { Ripgrep } from "../../platform/Ripgrep.ts"
import * as Text from "../../platform/Text.ts"
import type { Controls } from "../../session/Controls.ts"
import type { Sandbox } from "../../security/Sandbox.ts"
import type { FileMemory } from "../FileMemory.ts"
import type { Tasks } from "../Tasks.ts"
import { ToolFailure } from "../Tool.ts"
import type { ToolCatalog } from "../ToolCatalog.ts"
import { Workspace } from "../Workspace.ts"
import * as NearMatch from "./NearMatch.ts"

/** What the coding tools need together. */
export type Services =
  | FileSystem.FileSystem
  | Path.Path
  | Files
  | Process
  | Host
  | Ripgrep
  | Workspace
  | FileMemory
  | Tasks
  | Sandbox
  | ToolCatalog
  | Controls
  | Model
  | ModelTable

export const failure = (message: string): ToolFailure => new ToolFailure({ message })

export interface Source {
  readonly path: string
  readonly bytes: Uint8Array
  /** SHA-256 of the bytes. */
  readonly hash: string
}

export const maxBytes = 32 * 1024 * 1024

export const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`

/** The file's bytes; `undefined` when nothing is there. */
export const loadIfPresent = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const files = yield* Files
  const info = yield* Effect.result(fs.stat(path))
  if (Result.isFailure(info)) {
    const error = fromPlatform("read", path, info.failure)
    if (error.reason === "NotFound") return undefined
    return yield* failure(error.message)
  }
  const { type, size } = info.success
  if (type === "Directory") {
    return yield* failure(`${path} is a directory, not a file. List it with Glob or with ls in Bash.`)
  }
  // Reading a device or a pipe may never end.
  if (type !== "File") return yield* failure(`${path} is not a regular file (${type}); it is not read.`)
  const bytesInFile = Number(size)
  if (bytesInFile > maxBytes) {
    return yield* failure(
      `${path} is too large to load (${megabytes(bytesInFile)}, the limit is ${megabytes(maxBytes)}). ` +
        `Search it with Grep, or take a part of it with head, tail or sed -n in Bash.`,
    )
  }
  const bytes = yield* fs
    .readFile(path)
    .pipe(Effect.mapError((error) => failure(fromPlatform("read", path, error).message)))
  const source: Source = { path, bytes, hash: files.hash(bytes) }
  return source
})

export const load = Effect.fnUntraced(function* (path: string) {
  return (yield* loadIfPresent(path)) ?? (yield* missing(path))
})

export const decodeText = (source: Source): Effect.Effect<Text.TextFile, ToolFailure> =>
  Effect.fromResult(Text.decode(source.path, source.bytes)).pipe(Effect.mapError((error) => failure(error.message)))

/** Says that a file is missing, and which one may have been meant. */
export const missing = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const paths = yield* Path.Path
  const workspace = yield* Workspace
  const list = (directory: string) => fs.readDirectory(directory).pipe(Effect.orElseSucceed(() => undefined))
  const said = `There is no file ${path}. The working directory is ${workspace.cwd()}.`

  const directory = paths.dirname(path)
  const siblings = yield* list(directory)
  if (siblings !== undefined) {
    const near = NearMatch.names(paths.basename(path), siblings).map((name) => paths.join(directory, name))
    return yield* failure(near.length === 0 ? said : `${said} Did you mean ${near.join(" or ")}?`)
  }
  let above = directory
  let gone = directory
  while ((yield* list(above)) === undefined && above !== paths.dirname(above)) {
    gone = above
    above = paths.dirname(above)
  }
  const near = NearMatch.names(paths.basename(gone), (yield* list(above)) ?? []).map((name) => paths.join(above, name))
  const hint = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`
  return yield* failure(`${said} Its directory ${gone} does not exist either.${hint}`)
})

/** A path and, when a link leads elsewhere, the place it really names: both are judged before anything is touched. */
export const touched = Effect.fnUntraced(function* (path: string) {
  const workspace = yield* Workspace
  const at = workspace.resolve(path)
  const real = yield* workspace.real(at)
  return real === at ? [at] : [at, real]
})
