/**
 * Owns which files a shell pattern means at this moment. Where that cannot be found out quickly, nothing is said, and whatever the
 * pattern could match counts.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { Ripgrep } from "../platform/Ripgrep.ts"
import type { PathTouch } from "../policy/Call.ts"

/** More files than this are not compared one by one. */
const most = 50_000

export const expand = Effect.fnUntraced(function* (
  touch: PathTouch,
): Effect.fn.Return<PathTouch, never, FileSystem.FileSystem | Ripgrep> {
  if (touch.pattern !== true) return touch
  const files = yield* Effect.orElseSucceed(filesOf(touch.path), () => undefined)
  return files === undefined ? touch : { ...touch, files }
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
  const names = yield* fs.readDirectory(directory === "" ? "/" : directory)
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
