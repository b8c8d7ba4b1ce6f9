/**
 * Owns what is remembered of Markdown files from one process to the next: a few small files below `<config>/troupe/index`, one
 * for each directory of definitions, read when first asked about and written a moment after something changed.
 *
 * It is a cache and nothing else: whatever is wrong with it, it is as if it were not there.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type { Problem } from "./BoundedYaml.ts"
import { Files, type Stamp } from "./Files.ts"
import { Host } from "./Host.ts"

/** What a file said, and which file that was. */
export interface Stored {
  readonly stamp: Stamp
  readonly data: Readonly<Record<string, unknown>>
  readonly problems: ReadonlyArray<Problem>
  readonly lines: Readonly<Record<string, number>>
  readonly bodyLine: number
  readonly bodyChars: number
  readonly hash: string
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const areNumbers = (...values: ReadonlyArray<unknown>): boolean => values.every((value) => typeof value === "number")

const isStamp = (value: unknown): value is Stamp =>
  isRecord(value) && areNumbers(value["size"], value["mtime"], value["ctime"], value["ino"])

const isProblem = (value: unknown): value is Problem =>
  isRecord(value) &&
  areNumbers(value["line"], value["column"]) &&
  typeof value["message"] === "string" &&
  (value["ignored"] === undefined || typeof value["ignored"] === "string")

/** By hand: every start looks at every entry, and a schema takes twenty times as long for it. */
const isStored = (value: unknown): value is Stored =>
  isRecord(value) &&
  isStamp(value["stamp"]) &&
  isRecord(value["data"]) &&
  Array.isArray(value["problems"]) &&
  value["problems"].every(isProblem) &&
  isRecord(value["lines"]) &&
  areNumbers(...Object.values(value["lines"]), value["bodyLine"], value["bodyChars"]) &&
  typeof value["hash"] === "string"

/** Another version's memory is not read: what a file means may have changed with the reader. */
const version = 1

const isShard = Schema.is(
  Schema.Struct({
    version: Schema.Literal(version),
    of: Schema.String,
    entries: Schema.declare(
      (value): value is Readonly<Record<string, Stored>> => isRecord(value) && Object.values(value).every(isStored),
    ),
  }),
)
const parse = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** Bounds of a shard, of one entry in it, and of how many shards there may be. */
const most = { bytes: 4 * 1024 * 1024, entries: 4_000, entryChars: 64 * 1024, shards: 200 }

/** Starts come in bursts: agents, then skills, then rules. */
const settleMs = 300

/** The directory of definitions that a file belongs to: `<…>/.claude/agents`, a project's directory in the user's, or its own. */
export const shardOf = (path: string, configDir: string): string => {
  const parts = path.split(/[\\/]/)
  const inConfig = path.startsWith(configDir) && /[\\/]/.test(path.charAt(configDir.length))
  const at = inConfig ? configDir.split(/[\\/]/).length : parts.lastIndexOf(".claude") + 1
  if (at === 0) return parts.slice(0, -1).join("/")
  const deep = parts[at] === "projects" ? 2 : 1
  return parts.slice(0, Math.min(at + deep, parts.length - 1)).join("/")
}

export interface MarkdownStore {
  /** Makes sure that whatever is remembered of these files is at hand. */
  readonly recall: (paths: ReadonlyArray<string>) => Effect.Effect<void>
  readonly get: (path: string) => Stored | undefined
  /** `undefined` forgets. */
  readonly put: (path: string, stored: Stored | undefined) => void
  /** What was put reaches the disk a moment later, or when the scope closes. */
  readonly save: Effect.Effect<void>
}

/** The first line vouches for the rest. */
const sealed = (text: string, hash: (text: string) => string): string => `${hash(text)}\n${text}`

const opened = (text: string, hash: (text: string) => string): string | undefined => {
  const end = text.indexOf("\n")
  const content = text.slice(end + 1)
  return end > 0 && text.slice(0, end) === hash(content) ? content : undefined
}

export const make = Effect.gen(function* () {
  const files = yield* Files
  const fs = yield* FileSystem.FileSystem
  const { configDir } = yield* Host
  const directory = `${configDir}/troupe/index`
  const shards = new Map<string, Map<string, Stored>>()
  const dirty = new Set<string>()
  const scope = yield* Scope.Scope
  let waiting = false

  const fileOf = (shard: string): string => `${directory}/${files.hash(shard).slice(0, 32)}.json`
  const shardFor = (path: string): Map<string, Stored> | undefined => shards.get(shardOf(path, configDir))

  const recall = Effect.fnUntraced(function* (paths: ReadonlyArray<string>) {
    const wanted = [...new Set(paths.map((path) => shardOf(path, configDir)))].filter((shard) => !shards.has(shard))
    const texts = yield* files.readTexts(wanted.map(fileOf), { maxBytes: most.bytes })
    for (const [index, read] of texts.entries()) {
      const shard = wanted[index] ?? ""
      const text = Result.isSuccess(read) ? opened(read.success.text, files.hash) : undefined
      const found = Option.getOrUndefined(Option.filter(parse(text), isShard))
      shards.set(shard, new Map(found?.of === shard ? Object.entries(found.entries) : []))
    }
  })

  /** Files that are gone are forgotten on the way. */
  const write = Effect.fnUntraced(function* (shard: string) {
    const entries = [...(shards.get(shard) ?? [])]
    const there = yield* files.stamps(entries.map(([path]) => path))
    const kept = entries
      .filter(([, stored], index) => there[index] !== undefined && JSON.stringify(stored).length <= most.entryChars)
      .slice(0, most.entries)
    const text = JSON.stringify({ version, of: shard, entries: Object.fromEntries(kept) })
    if (text.length > most.bytes) return
    yield* files.writeAtomic(fileOf(shard), sealed(text, files.hash), { mode: 0o600, makeParents: true })
  })

  /** The shards of projects nobody works on any more go first. */
  const prune = Effect.gen(function* () {
    const { files: all } = yield* files.walk(directory, { depth: 0, limit: 10 * most.shards })
    if (all.length <= most.shards) return
    const stamps = yield* files.stamps(all)
    const byAge = all.map((path, index) => ({ path, age: stamps[index]?.mtime ?? 0 })).sort((a, b) => a.age - b.age)
    for (const { path } of byAge.slice(0, all.length - most.shards)) yield* fs.remove(path, { force: true })
  })

  const flush = Effect.gen(function* () {
    const changed = [...dirty]
    dirty.clear()
    for (const shard of changed) yield* write(shard)
    if (changed.length > 0) yield* prune
  }).pipe(
    // Without it the next start is slower, and that is all.
    Effect.catch((error) => Effect.logDebug(`The index of definitions is not saved: ${error.message}`)),
  )
  yield* Effect.addFinalizer(() => flush)

  const store: MarkdownStore = {
    recall,
    get: (path) => shardFor(path)?.get(path),
    put: (path, stored) => {
      const shard = shardFor(path)
      if (stored === undefined ? shard?.delete(path) !== true : shard?.set(path, stored) === undefined) return
      dirty.add(shardOf(path, configDir))
    },
    save: Effect.suspend(() => {
      if (waiting || dirty.size === 0) return Effect.void
      waiting = true
      const soon = Effect.andThen(
        Effect.sleep(settleMs),
        Effect.suspend(() => {
          waiting = false
          return flush
        }),
      )
      return Effect.asVoid(Effect.forkIn(soon, scope))
    }),
  }
  return store
})
