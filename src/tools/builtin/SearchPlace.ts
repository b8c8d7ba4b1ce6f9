/** Owns where a search starts and how its finds are named: relative to the shell's directory when inside it. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import { HiddenFiles } from "../../permissions/HiddenFiles.ts"
import type { RipgrepError } from "../../platform/Ripgrep.ts"
import { Workspace } from "../Workspace.ts"
import { failure, missing } from "./Source.ts"

/** Version control keeps its own copies of everything; nobody searches those. */
export const withoutHistory: ReadonlyArray<string> = [".git", ".svn", ".hg", ".bzr", ".jj", ".sl"].flatMap(
  (directory) => ["--glob", `!${directory}`],
)

/** Fails when there is nothing at the path. */
export const locate = Effect.fnUntraced(function* (given: string | undefined) {
  const workspace = yield* Workspace
  const fs = yield* FileSystem.FileSystem
  const at = given === undefined || given === "" ? workspace.cwd() : workspace.resolve(given)
  const info = yield* fs.stat(at).pipe(Effect.catch(() => missing(at)))
  return { at, isDirectory: info.type === "Directory" }
})

/** The shorter of a path's names: relative inside the shell's directory, absolute elsewhere. */
export const shortName = Effect.fnUntraced(function* (at: string) {
  const workspace = yield* Workspace
  const paths = yield* Path.Path
  const relative = paths.relative(workspace.cwd(), at)
  return relative === "" ? "." : relative.startsWith("..") ? at : relative
})

/** Which names of a search below this place may be told; `undefined` when all of them. By their text and by where the place leads. */
export const tellable = Effect.fnUntraced(function* (at: string) {
  const hidden = yield* HiddenFiles
  if (!hidden.any()) return undefined
  const workspace = yield* Workspace
  const paths = yield* Path.Path
  const real = yield* workspace.real(at)
  return (name: string): boolean => {
    const path = paths.resolve(workspace.cwd(), name)
    return !hidden.hides(path) && !hidden.hides(paths.join(real, paths.relative(at, path)))
  }
})

export const refused = (error: RipgrepError) => failure(`Cannot search: ${error.message}`)

export const unsearched = (problems: ReadonlyArray<string>): ReadonlyArray<string> =>
  problems.length === 0 ? [] : [`[${problems.length} places could not be searched: ${problems.slice(0, 3).join("; ")}]`]
