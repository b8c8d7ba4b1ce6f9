/**
 * Owns one change of a text file: allowed only on content this session has seen, written whole or not at all.
 *
 * A change knows the hash before and after it, so that a crash in between can be judged from the file alone.
 */
import { structuredPatch } from "diff"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import { Files } from "../../platform/Files.ts"
import * as Text from "../../platform/Text.ts"
import { under } from "../../security/Sensitive.ts"
import { FileMemory } from "../FileMemory.ts"
import type { ToolFailure } from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import { failure, type Services, type Source } from "./Source.ts"

export interface Change {
  readonly path: string
  readonly before: Source | undefined
  /** The text it replaces; `null` for a new file. */
  readonly original: string | null
  readonly text: string
  readonly bytes: Uint8Array
  readonly hash: string
}

/** The text to write in the form of what it replaces: encoding, byte-order mark and line endings are kept. */
export const make = Effect.fnUntraced(function* (
  path: string,
  before: { readonly source: Source; readonly file: Text.TextFile } | undefined,
  text: string,
) {
  const files = yield* Files
  const bytes = Text.encode(text, before?.file ?? Text.plain)
  const change: Change = {
    path,
    before: before?.source,
    original: before?.file.text ?? null,
    text,
    bytes,
    hash: files.hash(bytes),
  }
  return change
})

/** Refuses content that nobody in this session has seen, or that somebody else has changed since. */
export const fresh = Effect.fnUntraced(function* (source: Source, need: "some" | "all") {
  const memory = yield* FileMemory
  const known = memory.known(source.path)
  if (known === undefined) return yield* failure(`${source.path} has not been read yet. Read it before changing it.`)
  if (known.hash !== source.hash) {
    return yield* failure(
      `${source.path} has changed since it was last read, by a person, a command or a formatter. Read it again, then make the change on what is there now.`,
    )
  }
  if (need === "all" && known.seenTo !== Number.POSITIVE_INFINITY) {
    return yield* failure(
      `Only a part of ${source.path} has been read (without a gap up to line ${known.seenTo}), and this would replace all of it. Read the rest first, or use Edit.`,
    )
  }
})

export const apply = Effect.fnUntraced(function* (change: Change) {
  const files = yield* Files
  const memory = yield* FileMemory
  const { fence } = yield* Workspace
  const { problem, real } = yield* fence.check(change.path, "write")
  if (problem !== undefined) return yield* failure(problem)
  // Into the very directory that was checked: nobody may put a link in the way meanwhile.
  const root = fence.realRoots.find((one) => under(one, real) && one !== real)
  const written =
    root === undefined
      ? files.writeAtomic(change.path, change.bytes, { makeParents: true })
      : files.writeInside(root, real.slice(root.endsWith("/") ? root.length : root.length + 1), change.bytes, {
          makeParents: true,
        })
  yield* written.pipe(
    Effect.mapError((error) => failure(error.message)),
    Effect.tap(() => Effect.sync(() => memory.sawAll(change.path, change.hash))),
    // The file and what is known of it change together.
    Effect.uninterruptible,
  )
})

export const Hunk = Schema.Struct({
  oldStart: Schema.Finite,
  oldLines: Schema.Finite,
  newStart: Schema.Finite,
  newLines: Schema.Finite,
  lines: Schema.Array(Schema.String),
})
export type Hunk = typeof Hunk.Type

/** What the typed output of every change of a text file says; `fileHash` is for the memory of what this session has seen. */
export const outputFields = {
  filePath: Schema.String,
  structuredPatch: Schema.Array(Hunk),
  originalFile: Schema.NullOr(Schema.String),
  fileHash: Schema.String,
}

export const output = (change: Change) => ({
  filePath: change.path,
  structuredPatch: patch(change),
  originalFile: originalFile(change),
  fileHash: change.hash,
})

/** Empty for a new file, and where the two have too little in common for a diff to be worth its time. */
const patch = (change: Change): ReadonlyArray<Hunk> =>
  change.original === null
    ? []
    : (structuredPatch(change.path, change.path, change.original, change.text, "", "", {
        context: 3,
        maxEditLength: 2000,
      })?.hunks ?? [])

/** The replaced text for the transcript; long ones are left out, the patch says what changed. */
export const originalFile = (change: Change): string | null =>
  change.original !== null && change.original.length <= 64 * 1024 ? change.original : null

const absent = "absent"

export const evidence = (
  plan: Effect.Effect<Change, ToolFailure, Services>,
): Effect.Effect<Readonly<Record<string, string>>, never, Services> =>
  plan.pipe(
    Effect.map((change) => ({ path: change.path, before: change.before?.hash ?? absent, after: change.hash })),
    // A plan that fails never writes: there is nothing to judge later.
    Effect.orElseSucceed(() => ({})),
  )

/** After a crash: whether the change that left this evidence happened, in words for the model. */
export const judge = Effect.fnUntraced(function* (left: Readonly<Record<string, string>>) {
  const { path, before, after } = left
  if (path === undefined || before === undefined || after === undefined || before === after) return undefined
  const fs = yield* FileSystem.FileSystem
  const files = yield* Files
  const now = yield* fs.readFile(path).pipe(
    Effect.map(files.hash),
    Effect.orElseSucceed(() => absent),
  )
  if (now === after) return `${path} has exactly the content that this call would have given it: it happened.`
  if (now === before) return `${path} is as it was before this call: it did not happen.`
  return `${path} has a content that neither this call nor the state before it explains.`
})
