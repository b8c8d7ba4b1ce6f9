/**
 * Owns the reading of many Markdown files with front matter: each is parsed once, and then only when it has changed, also by
 * the next process. Bodies are read when they are used.
 *
 * What is remembered is what reading the file again would give, and nothing more: it counts only for exactly the file it was
 * made from (size, both times, inode).
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type { FileError } from "./FileError.ts"
import { Files, type Stamp, type StampedText } from "./Files.ts"
import * as Frontmatter from "./Frontmatter.ts"
import type { Host } from "./Host.ts"
import * as MarkdownStore from "./MarkdownStore.ts"
import type { NotText } from "./Text.ts"

/** A file without its body. */
export interface Entry {
  readonly path: string
  readonly data: Readonly<Record<string, unknown>>
  readonly problems: ReadonlyArray<Frontmatter.Problem>
  /** The line a top-level key is on. */
  readonly lineOf: (key: string) => number | undefined
  readonly bodyLine: number
  readonly bodyChars: number
  /** In bytes. */
  readonly size: number
  /** SHA-256 of the text; nothing when the file could not be read, and then the one problem says why. */
  readonly hash: string | undefined
}

export interface Body {
  readonly text: string
  /** The file's line it starts on. */
  readonly line: number
  /** Of the whole text, as in `Entry`: who agreed to an entry agreed to this body if the two are the same. */
  readonly hash: string
}

/** `"*.md"` is any Markdown file at any depth, `"SKILL.md"` the file of that name in each directory right below. */
export type Pattern = "*.md" | "SKILL.md"

/** Larger than anything a person writes; a log or a data file with the wrong name is refused before it is parsed. */
export const maxBytes = 1024 * 1024

const bounds = { depth: 12, limit: 5_000 }

/** A file that changed this shortly before it was read may change again without its times showing it. */
const unsettledMs = 50

export class MarkdownIndex extends Context.Service<
  MarkdownIndex,
  {
    /** In the order of the paths. Absent files are left out, unreadable ones have a problem and no hash. */
    readonly entries: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Entry>>
    readonly body: (path: string) => Effect.Effect<Body, FileError | NotText>
    /** Sorted. Links are followed; a directory that is not there holds nothing. */
    readonly find: (directory: string, pattern: Pattern) => Effect.Effect<ReadonlyArray<string>>
  }
>()("troupe/platform/MarkdownIndex") {
  static readonly layer: Layer.Layer<MarkdownIndex, never, Files | FileSystem.FileSystem | Host> = Layer.effect(
    MarkdownIndex,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const files = yield* Files
  const store = yield* MarkdownStore.make

  /** Reads and parses; remembers what cannot change unseen. */
  const parse = Effect.fnUntraced(function* (path: string, { stamp, text }: StampedText) {
    const { body, bodyLine, data, lines, problems } = yield* Frontmatter.parse(text)
    const stored = { stamp, data, problems, lines, bodyLine, bodyChars: body.length, hash: files.hash(text) }
    const age = (yield* Clock.currentTimeMillis) - Math.max(stamp.mtime, stamp.ctime)
    store.put(path, age >= unsettledMs ? stored : undefined)
    return entryOf(path, stored)
  })

  const entries = Effect.fnUntraced(function* (paths: ReadonlyArray<string>) {
    yield* store.recall(paths)
    const stamps = yield* files.stamps(paths)
    const found = new Map<string, Entry>()
    const stale: Array<string> = []
    for (const [index, path] of paths.entries()) {
      const stamp = stamps[index]
      const stored = store.get(path)
      if (stamp === undefined) store.put(path, undefined)
      else if (stored !== undefined && isSame(stored.stamp, stamp)) found.set(path, entryOf(path, stored))
      else stale.push(path)
    }
    for (const [index, read] of (yield* files.readTexts(stale, { maxBytes })).entries()) {
      const path = stale[index] ?? ""
      if (Result.isSuccess(read)) found.set(path, yield* parse(path, read.success))
      else if (!isGone(read.failure)) found.set(path, unreadable(path, read.failure))
    }
    yield* store.save
    return paths.flatMap((path) => found.get(path) ?? [])
  })

  return MarkdownIndex.of({
    entries,
    body: Effect.fnUntraced(function* (path) {
      const { text } = yield* files.readText(path, { maxBytes })
      const { body, bodyLine } = Frontmatter.split(text)
      return { text: body, line: bodyLine, hash: files.hash(text) }
    }),
    find: Effect.fnUntraced(function* (directory, pattern) {
      const walked = yield* files.walk(directory, pattern === "*.md" ? bounds : { ...bounds, depth: 0 })
      if (walked.truncated) {
        yield* Effect.logWarning(`${directory} holds more than ${bounds.limit} files; the rest is not looked at`)
      }
      if (pattern === "*.md") return walked.files.filter((path) => /\.md$/i.test(path))
      const candidates = walked.directories.map((below) => `${below}/SKILL.md`)
      const stamps = yield* files.stamps(candidates)
      return candidates.filter((_, index) => stamps[index] !== undefined)
    }),
  })
})

const entryOf = (path: string, { lines, stamp, ...rest }: MarkdownStore.Stored): Entry => ({
  path,
  ...rest,
  size: stamp.size,
  lineOf: Frontmatter.lookup(lines),
})

const isSame = (a: Stamp, b: Stamp): boolean =>
  a.size === b.size && a.mtime === b.mtime && a.ctime === b.ctime && a.ino === b.ino

/** It went away between two looks. */
const isGone = (error: FileError | NotText): boolean => error._tag === "FileError" && error.reason === "NotFound"

const unreadable = (path: string, error: FileError | NotText): Entry => ({
  path,
  data: {},
  problems: [{ line: 1, column: 1, message: error.message }],
  lineOf: () => undefined,
  bodyLine: 1,
  bodyChars: 0,
  size: 0,
  hash: undefined,
})
