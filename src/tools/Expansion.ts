/**
 * Owns which files a shell pattern means at this moment. Where that cannot be found out quickly, nothing is said, and whatever the
 * pattern could match counts.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { Ripgrep } from "../platform/Ripgrep.ts"

/** More files than this are not compared one by one. */
const most = 50_000

/** `names`: the pattern whose files give their names to what stands behind the last `/`. */
export const expand = (
  pattern: string,
  names?: string,
): Effect.Effect<ReadonlyArray<string> | undefined, never, FileSystem.FileSystem | Ripgrep> =>
  Effect.orElseSucceed(names === undefined ? filesOf(pattern) : namedAs(pattern, names), () => undefined)

const namedAs = Effect.fnUntraced(function* (pattern: string, names: string) {
  const directory = pattern.slice(0, pattern.lastIndexOf("/"))
  const files = /[*?[\\]/.test(directory) ? undefined : yield* filesOf(names)
  return files?.map((file) => directory + file.slice(file.lastIndexOf("/")))
})

const filesOf = Effect.fnUntraced(function* (pattern: string) {
  const everything = /^([^*?[\\]+)\/\*\*$/.exec(pattern)?.[1]
  if (everything !== undefined) {
    const ripgrep = yield* Ripgrep
    const { lines, problems, truncated } = yield* ripgrep.run(["--files", "--hidden", "--no-ignore", everything], "/")
    // A name with a line break would be read as two.
    return truncated || problems.length > 0 || lines.length > most ? undefined : lines
  }
  const [, directory, last] = /^([^*?[\\]*)\/([^/[\\]+)$/.exec(pattern) ?? []
  if (directory === undefined || last === undefined) return undefined
  const fs = yield* FileSystem.FileSystem
  const place = directory === "" ? "/" : directory
  // Nothing stands in what is no directory.
  const isDirectory = yield* fs.stat(place).pipe(
    Effect.map(({ type }) => type === "Directory"),
    Effect.catchIf(
      (error) => error.reason._tag === "NotFound",
      () => Effect.succeed(false),
    ),
  )
  if (!isDirectory) return []
  const names = yield* fs.readDirectory(place)
  // As a shell does: a leading dot must be written.
  const isMatch = new RegExp(
    `^${last.startsWith(".") ? "" : "(?!\\.)"}${last
      .split(/([*?])/)
      .map(part)
      .join("")}$`,
    "su",
  )
  return names.length > most
    ? undefined
    : names.filter((name) => isMatch.test(name)).map((name) => `${directory}/${name}`)
})

const part = (text: string): string => {
  if (text === "*") return ".*"
  return text === "?" ? "." : text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
}
