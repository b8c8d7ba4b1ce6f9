/**
 * Owns `@path` in the text of a skill: the file's content goes along. Only files of the workspace that the model could read itself;
 * what is none stays text, for people write `@name` for many reasons.
 */
import * as Effect from "effect/Effect"
import { HiddenFiles } from "../permissions/HiddenFiles.ts"
import { Files } from "../platform/Files.ts"
import { Workspace } from "../tools/Workspace.ts"

const maxFiles = 20
const maxBytes = 1024 * 1024
/** Of one file, and of all together. */
const maxChars = { one: 60_000, all: 200_000 }

/** Behind a space or at the beginning of a line; quotes hold a path with spaces together. */
export const paths = (text: string): ReadonlyArray<string> => {
  const found = [...text.matchAll(/(?<!\S)@(?:"([^"\n]+)"|([^\s"'`<>|]+))/g)].map(
    ([, quoted, bare]) => quoted ?? (bare ?? "").replace(/[.,;:!?)\]}]+$/, ""),
  )
  return [...new Set(found.filter((path) => path !== ""))].slice(0, maxFiles)
}

/** The contents, to be put behind the text. */
export const attached = Effect.fnUntraced(function* (text: string) {
  const workspace = yield* Workspace
  const files = yield* Files
  const hidden = yield* HiddenFiles
  const parts: Array<string> = []
  let room = maxChars.all
  for (const path of paths(text)) {
    const { at, inside, problem, real, secret } = yield* workspace.fence.check(path, "read")
    if (!inside || secret || problem !== undefined || hidden.hides(at) || hidden.hides(real)) continue
    const read = yield* Effect.option(files.readText(at, { maxBytes }))
    if (read._tag === "None") continue
    const most = Math.min(maxChars.one, room)
    const whole = read.value.text
    const shown =
      whole.length > most
        ? `${whole.slice(0, most)}\n[cut: ${whole.length} characters; Read the file for the rest]`
        : whole
    room = Math.max(0, room - shown.length)
    parts.push(`<file path="${workspace.relative(at)}">\n${shown.replace(/\n$/, "")}\n</file>`)
  }
  return parts
})
