/** Owns how going back looks: the points there are, what would become of each file, and what has. Pure. */
import * as DateTime from "effect/DateTime"
import type { RewindReport, RewoundFile } from "../session/Rewind.ts"
import type { Checkpoint } from "../session/RewindPlan.ts"
import { visible } from "./Reveal.ts"

const mostSaid = 70

const clock = (time: number): string => DateTime.formatIso(DateTime.makeUnsafe(time)).slice(0, 16).replace("T", " ")

const brief = (text: string): string => {
  const first = text.split("\n")[0] ?? ""
  return visible(first.length <= mostSaid ? first : `${first.slice(0, mostSaid - 1)}…`, true)
}

/** A line for each, the newest last; the number is what one goes back to. */
export const points = (all: ReadonlyArray<Checkpoint>): ReadonlyArray<string> =>
  all.length === 0
    ? ["There is nothing to go back to: nobody has said anything yet."]
    : all.map(({ current, files, kind, text, time }, index) => {
        const changed = files.length === 0 ? "" : `  ${files.length} ${files.length === 1 ? "file" : "files"}`
        const what = kind === "rewind" ? `(${text})` : brief(text)
        return `${String(index + 1).padStart(3)}  ${clock(time)} UTC  ${what}${changed}${current ? "" : "  [taken back]"}`
      })

const name = (path: string, cwd: string): string =>
  visible(path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path, true)

const one = ({ action, conflict, deletions, insertions, path, problem }: RewoundFile, cwd: string): string => {
  const stat = insertions + deletions === 0 ? "" : `  +${insertions} -${deletions}`
  const why = problem !== undefined ? `  stays as it is: ${problem}` : conflict === undefined ? "" : `  ! ${conflict}`
  return `  ${action === "removed" ? "remove " : "restore"} ${name(path, cwd)}${stat}${why}`
}

/** Before: what it would do. */
export const preview = ({ files, what }: RewindReport, cwd: string): ReadonlyArray<string> => {
  if (what === "conversation") return ["Files stay as they are."]
  return files.length === 0 ? ["No file would change."] : files.map((file) => one(file, cwd))
}

/** After: what it did. */
export const done = ({ conversation, files, to, what }: RewindReport, cwd: string): ReadonlyArray<string> => {
  const changed = files.filter(({ problem }) => problem === undefined)
  const left = files.filter(({ problem }) => problem !== undefined)
  return [
    ...(what === "conversation"
      ? []
      : [`${changed.length} ${changed.length === 1 ? "file" : "files"} put back${changed.length === 0 ? "." : ":"}`]),
    ...files.filter((file) => changed.includes(file)).map((file) => one(file, cwd)),
    ...left.map((file) => one(file, cwd)),
    ...(conversation ? [`The conversation goes on from before: ${brief(to.text)}`] : []),
  ]
}
