/**
 * Owns the memories in one directory: what there is, reading one, and writing one in two steps: the file, then its line in the index.
 *
 * A crash between the two leaves a file without a line; the list is made of the files, and the next write adds the line. Everything
 * stays within the directory: names are checked, links that lead out are passed over, and a write follows none.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type { FileError } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import * as Frontmatter from "../platform/Frontmatter.ts"
import { find as findSecret } from "../security/SecretText.ts"
import { under } from "../security/Sensitive.ts"
import { absolute } from "./AbsoluteDates.ts"
import type { MemoryDirectory } from "./MemoryDirectory.ts"
import * as MemoryFile from "./MemoryFile.ts"

/** It is not remembered, and why. */
export class MemoryRefused extends Schema.TaggedError<MemoryRefused>()("MemoryRefused", { why: Schema.String }) {
  override get message(): string {
    return `Not remembered: ${this.why}`
  }
}

export interface Memory {
  readonly directory: MemoryDirectory
  /** As much of MEMORY.md as a session begins with; `undefined` when there is none. */
  readonly index: Effect.Effect<MemoryFile.Index | undefined>
  /** All of MEMORY.md. */
  readonly whole: Effect.Effect<string | undefined>
  /** There is a part that is shared with others. */
  readonly hasTeam: Effect.Effect<boolean>
  /** The newest first. */
  readonly list: Effect.Effect<ReadonlyArray<MemoryFile.Entry>>
  /** The text of one that is listed. */
  readonly read: (file: string) => Effect.Effect<string | undefined>
  /** Answers its file. */
  readonly save: (draft: MemoryFile.Draft) => Effect.Effect<string, MemoryRefused | FileError>
}

const mostFiles = 500
const mostBytes = 256 * 1024
/** Somebody else writes the index: it takes a moment. */
const patience = { schedule: Schedule.spaced("50 millis"), times: 40 }

export const make = Effect.fnUntraced(function* (directory: MemoryDirectory) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const files = yield* Files
  const { real: root } = directory

  /** Below the directory, or below what its `team` leads to. */
  const realOf = Effect.fnUntraced(
    function* (file: string) {
      const shared = file.startsWith("team/")
      const base = shared ? yield* fs.realPath(path.join(root, "team")) : root
      const real = yield* fs.realPath(path.join(root, file))
      return under(base, real) ? real : undefined
    },
    Effect.orElseSucceed(() => undefined),
  )

  const text = Effect.fnUntraced(function* (file: string) {
    const real = yield* realOf(file)
    if (real === undefined) return undefined
    const read = yield* Effect.option(files.readText(real, { maxBytes: mostBytes }))
    return Option.getOrUndefined(Option.map(read, (found) => found.text.replaceAll("\r\n", "\n")))
  })

  const names = Effect.gen(function* () {
    const below = (at: string, prefix: string, depth: number): Effect.Effect<ReadonlyArray<string>> =>
      fs.readDirectoryEntries(at).pipe(
        Effect.flatMap((entries) =>
          Effect.forEach(entries, ({ name, type }) => {
            const file = `${prefix}${name}`
            const enters = type === "Directory" || file === "team"
            if (enters && name !== "logs" && !name.startsWith(".") && depth < 3) {
              return below(path.join(at, name), `${file}/`, depth + 1)
            }
            return Effect.succeed(MemoryFile.isFileName(file) ? [file] : [])
          }),
        ),
        Effect.map((found) => found.flat()),
        Effect.orElseSucceed(() => []),
      )
    return (yield* below(root, "", 0)).toSorted().slice(0, mostFiles)
  })

  const entryOf = Effect.fnUntraced(function* (file: string, mtime: number) {
    const raw = yield* text(file)
    if (raw === undefined) return undefined
    const { data } = yield* Frontmatter.parse(raw)
    const said = (key: string) => (typeof data[key] === "string" ? data[key] : undefined)
    const written = Option.flatMap(Option.fromUndefinedOr(said("modified")), DateTime.make)
    const entry: MemoryFile.Entry = {
      file,
      name: said("name") ?? file.replace(/\.md$/, ""),
      description: said("description") ?? "",
      type: Option.getOrUndefined(isType(data["type"])),
      modified: Option.match(written, { onNone: () => mtime, onSome: DateTime.toEpochMillis }),
      shared: file.startsWith("team/"),
    }
    return entry
  })

  /** As they were when they were last read; it is asked for with every prompt. */
  const known = new Map<string, { readonly stamp: string; readonly entry: MemoryFile.Entry | undefined }>()
  const list = Effect.gen(function* () {
    const all = yield* names
    const stamps = yield* files.stamps(all.map((file) => path.join(root, file)))
    const entries: Array<MemoryFile.Entry> = []
    for (const [index, file] of all.entries()) {
      const found = stamps[index]
      if (found === undefined) continue
      const stamp = JSON.stringify(found)
      const before = known.get(file)
      const entry = before?.stamp === stamp ? before.entry : yield* entryOf(file, found.mtime)
      known.set(file, { stamp, entry })
      if (entry !== undefined) entries.push(entry)
    }
    return entries.toSorted((a, b) => b.modified - a.modified || (a.file < b.file ? -1 : 1))
  })

  const write = (file: string, data: string) => files.writeInside(root, file, data, { mode: 0o600, makeParents: true })

  /** The second step; it also adds what a crash left out. */
  const renewIndex = Effect.fnUntraced(function* (file: string) {
    const index = (yield* text(MemoryFile.indexName)) ?? ""
    const missing = (yield* list).filter((one) => one.file === file || !index.includes(`](${one.file})`))
    yield* write(MemoryFile.indexName, MemoryFile.indexWith(index, missing.toReversed()))
  })

  const save = Effect.fnUntraced(function* (draft: MemoryFile.Draft) {
    const secret = findSecret(`${draft.name}\n${draft.description}\n${draft.content}`)
    if (secret !== undefined) return yield* new MemoryRefused({ why: `it seems to hold ${secret}` })
    const file = draft.file ?? MemoryFile.fileName(draft)
    if (!MemoryFile.isFileName(file)) return yield* new MemoryRefused({ why: `"${file}" is no name of a memory` })
    const now = yield* DateTime.now
    const dated = {
      ...draft,
      description: absolute(draft.description, now),
      content: absolute(draft.content, now),
    }
    yield* Effect.ignore(fs.makeDirectory(root, { recursive: true, mode: 0o700 }))
    yield* write(file, MemoryFile.encode(dated, DateTime.formatIso(now)))
    // Without the lock the file is there all the same, and its line comes with the next one.
    const locked = Effect.andThen(Effect.retry(files.lock(`memory ${root}`), patience), renewIndex(file))
    yield* Effect.catchTag(Effect.scoped(locked), "LockBusy", () => Effect.void)
    return file
  })

  const memory: Memory = {
    directory,
    index: Effect.map(text(MemoryFile.indexName), (index) =>
      index === undefined || index.trim() === "" ? undefined : MemoryFile.bounded(index),
    ),
    hasTeam: Effect.orElseSucceed(fs.exists(path.join(root, "team")), () => false),
    whole: text(MemoryFile.indexName),
    list,
    read: (file) => (MemoryFile.isFileName(file) ? text(file) : Effect.succeed(undefined)),
    save,
  }
  return memory
})

const isType = Schema.decodeUnknownOption(MemoryFile.MemoryType)
