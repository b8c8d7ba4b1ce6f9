/**
 * Owns going back: what would become of each file, and doing it. Only what the session changed is touched, only inside the workspace,
 * through no link, and never what is git's. Going back is itself recorded, so it can be taken back.
 */
import { diffLines } from "diff"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { FileError } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import type { FileState } from "../protocol/Event.ts"
import { under } from "../security/Sensitive.ts"
import type * as Checkpoints from "./Checkpoints.ts"
import type { FileHistory } from "./FileHistory.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as RewindPlan from "./RewindPlan.ts"

export const What = Schema.Literals(["code", "conversation", "both"])
export type What = typeof What.Type

/** A file on the way back. */
export const RewoundFile = Schema.Struct({
  path: Schema.String,
  action: Schema.Literals(["restored", "removed"]),
  insertions: Schema.Finite,
  deletions: Schema.Finite,
  /** Somebody else's change would be lost: only with `force`. */
  conflict: Schema.optionalKey(Schema.String),
  /** Why it stays as it is. */
  problem: Schema.optionalKey(Schema.String),
})
export type RewoundFile = typeof RewoundFile.Type

export const RewindReport = Schema.Struct({
  /** The point it went back to before. */
  to: Schema.Struct({ id: Schema.String, text: Schema.String, time: Schema.Finite }),
  what: What,
  dryRun: Schema.Boolean,
  files: Schema.Array(RewoundFile),
  /** The conversation goes on from there. */
  conversation: Schema.Boolean,
})
export type RewindReport = typeof RewindReport.Type

/** It cannot be done, or not without a word of the person. */
export class RewindRefused extends Schema.TaggedError<RewindRefused>()("RewindRefused", {
  why: Schema.String,
  /** The files that somebody else has changed. */
  conflicts: Schema.Array(RewoundFile),
}) {
  override get message(): string {
    if (this.conflicts.length === 0) return this.why
    return [this.why, ...this.conflicts.map(({ conflict, path }) => `  ${path}: ${conflict ?? ""}`)].join("\n")
  }
}

/** A file with all that is needed to bring it back. */
interface Step {
  readonly shown: RewoundFile
  readonly path: string
  readonly state: FileState | undefined
  readonly bytes: Uint8Array | undefined
}

export interface Ground {
  readonly roots: () => ReadonlyArray<string>
  readonly history: FileHistory
  readonly checkpoints: Checkpoints.Kept
}

/** What going back to before the point would do. Nothing is changed. */
export const steps = Effect.fnUntraced(function* (
  { history, roots }: Ground,
  records: ReadonlyArray<JournalRecord>,
  point: RewindPlan.Checkpoint,
) {
  const files = yield* Files
  const drifts = RewindPlan.since(records, point)
  const paths = drifts.map(({ path }) => path)
  const looks = yield* files.looks(paths)
  const near = roots()[0] ?? "/"
  const isFile = paths.filter((_, index) => looks[index]?.kind === "file")
  const copies = yield* history.keep(isFile)
  const now = new Map<string, FileState>()
  for (const [index, path] of isFile.entries()) {
    const copy = copies[index]
    const look = looks[paths.indexOf(path)]
    const kept = copy?._tag === "Success" ? copy.success : undefined
    const found = kept?.look ?? look
    if (found !== undefined) now.set(path, { content: kept?.hash ?? "", size: found.size, mode: found.mode })
  }
  const wanted = yield* history.read(
    drifts.map(({ was }) => was),
    near,
  )
  const present = yield* history.read(
    paths.map((path) => now.get(path)),
    near,
  )
  const found: Array<Step> = []
  for (const [index, { interrupted, left, path, was }] of drifts.entries()) {
    const current = now.get(path)
    const kind = looks[index]?.kind
    const bytes = wanted[index]
    if (was === undefined && kind === undefined) continue
    if (was !== undefined && current !== undefined && current.mode === was.mode && isEqual(bytes, present[index]))
      continue
    const placed = placeOf(roots(), path)
    const problem =
      typeof placed === "string"
        ? placed
        : was !== undefined && bytes === undefined
          ? "its content was not kept"
          : was === undefined && kind === "directory"
            ? "a directory stands there now"
            : undefined
    const conflict = interrupted
      ? "somebody else changed it between two changes of the session"
      : kind !== "link" && !RewindPlan.isSameState(left, current)
        ? "it was changed since the session changed it last"
        : undefined
    const action = was === undefined ? ("removed" as const) : ("restored" as const)
    const counted = count(present[index], was === undefined ? undefined : bytes)
    const shown: RewoundFile = {
      path,
      action,
      ...counted,
      ...(conflict !== undefined && { conflict }),
      ...(problem !== undefined && { problem }),
    }
    found.push({ shown, path, state: was, bytes })
  }
  return found
})

const isEqual = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a !== undefined && b !== undefined && a.length === b.length && a.every((byte, index) => byte === b[index])

/** Below which root it lies, and where there; or why nobody goes there. */
const placeOf = (roots: ReadonlyArray<string>, path: string): { root: string; relative: string } | string => {
  const root = roots.find((one) => under(one, path) && one !== path)
  if (root === undefined) return "it lies outside the workspace"
  const relative = path.slice(root.endsWith("/") ? root.length : root.length + 1)
  return relative.split("/").includes(".git") ? "it is git's own" : { root, relative }
}

/** Does it, as far as it can be done; answers the files with what went wrong. */
export const apply = Effect.fnUntraced(function* (
  ground: Ground,
  all: ReadonlyArray<Step>,
  point: RewindPlan.Checkpoint,
) {
  const files = yield* Files
  const failed = new Map<string, string>()
  const due = all.flatMap((step) => {
    const placed = placeOf(ground.roots(), step.path)
    return step.shown.problem !== undefined || typeof placed === "string" ? [] : [{ ...step, ...placed }]
  })
  const trying = (path: string, effect: Effect.Effect<void, FileError>) =>
    Effect.catch(effect, (error) => Effect.sync(() => void failed.set(path, error.message)))
  const work = Effect.gen(function* () {
    for (const { path, relative, root, state } of due) {
      if (state === undefined) yield* trying(path, files.removeInside(root, relative))
    }
    for (const { bytes, path, relative, root, state } of due) {
      if (state === undefined || bytes === undefined) continue
      const [look] = yield* files.looks([path])
      // What stands in its place: a link itself, or directories that are empty by now.
      if (look?.kind === "link") yield* trying(path, files.removeInside(root, relative))
      if (look?.kind === "directory") yield* clear(root, relative)
      const written = files.writeInside(root, relative, bytes, { mode: state.mode, exactMode: true, makeParents: true })
      if (!failed.has(path)) yield* trying(path, written)
    }
    for (const { relative, root, state } of due) if (state === undefined) yield* prune(root, relative)
  })
  /** An empty directory, with the empty ones in it. */
  const clear = (root: string, relative: string): Effect.Effect<void> =>
    Effect.gen(function* () {
      const [below = []] = yield* files.directories([`${root.replace(/\/$/, "")}/${relative}`])
      for (const one of below) yield* clear(root, `${relative}/${one.slice(one.lastIndexOf("/") + 1)}`)
      yield* Effect.ignore(files.removeInside(root, relative, { directory: true }))
    })
  /** The directories that it lay in, as far as nothing else does. */
  const prune = (root: string, relative: string): Effect.Effect<void> => {
    const parent = relative.slice(0, Math.max(0, relative.lastIndexOf("/")))
    if (parent === "") return Effect.void
    return files
      .removeInside(root, parent, { directory: true })
      .pipe(Effect.andThen(Effect.suspend(() => prune(root, parent))), Effect.ignore)
  }
  yield* ground.checkpoints.changing(
    due.map(({ path }) => path),
    point.id,
    work,
  )
  return all.map(({ path, shown }): RewoundFile => {
    const problem = failed.get(path)
    return problem === undefined ? shown : { ...shown, problem }
  })
})

/** Lines, where both are text. */
const count = (before: Uint8Array | undefined, after: Uint8Array | undefined) => {
  const [a, b] = [textOf(before), textOf(after)]
  const nothing = { insertions: 0, deletions: 0 }
  if (a === undefined || b === undefined || a === b) return nothing
  const parts = diffLines(a, b, { maxEditLength: 5_000 })
  if (parts === undefined) return { insertions: linesOf(b), deletions: linesOf(a) }
  return parts.reduce(
    (sum, { added, count: lines, removed }) => ({
      insertions: sum.insertions + (added ? lines : 0),
      deletions: sum.deletions + (removed ? lines : 0),
    }),
    nothing,
  )
}

const longest = 1024 * 1024

const textOf = (bytes: Uint8Array | undefined): string | undefined => {
  if (bytes === undefined) return ""
  return bytes.length > longest || bytes.includes(0) ? undefined : new TextDecoder().decode(bytes)
}

const linesOf = (text: string): number => text.split("\n").length - (text.endsWith("\n") ? 1 : 0)
