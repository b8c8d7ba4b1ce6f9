/**
 * Owns the one rule for files that a session lives in: they are regular files. Opening a pipe waits for somebody to write to it,
 * and a device may never end, so everything else is refused before it is opened.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { FileError, fromPlatform } from "../platform/FileError.ts"

/** What is there; what is no regular file is a failure. */
export const stat = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const info = yield* fs.stat(path).pipe(Effect.mapError((error) => fromPlatform("read", path, error)))
  if (info.type === "File") return info
  const reason = info.type === "Directory" ? "IsDirectory" : "NotRegular"
  return yield* new FileError({ path, operation: "read", reason, detail: "" })
})

export const read = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  yield* stat(path)
  return yield* fs.readFile(path).pipe(Effect.mapError((error) => fromPlatform("read", path, error)))
})

/** No bytes of a file that does not exist. */
export const readIfThere = (path: string) =>
  Effect.catchIf(
    read(path),
    (error) => error.reason === "NotFound",
    () => Effect.succeed(new Uint8Array(0)),
  )
