/**
 * Owns what each session on disk is about, for lists: read from its file once, and then only what was added since, also by the next
 * process.
 *
 * What is remembered is what reading the files again would give. Gone or damaged, it is made anew.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as FileSystem from "effect/FileSystem"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import { plainText } from "../protocol/Content.ts"
import * as FileLines from "./FileLines.ts"
import * as JournalEvents from "./JournalEvents.ts"
import * as Records from "./JournalRecord.ts"
import * as SessionPaths from "./SessionPaths.ts"
import * as Sessions from "./Sessions.ts"

export interface SessionSummary extends Sessions.Located {
  /** Milliseconds of the last write. */
  readonly modified: number
  /** Bytes of its journal, or of its transcript. */
  readonly size: number
  readonly cwd: string | undefined
  /** What it is called, else the first thing a person said. */
  readonly title: string
  /** Somebody, or a hook, gave it that title. */
  readonly isNamed: boolean
  readonly tags: ReadonlyArray<string>
  /** What people said to it, as far as it is counted. */
  readonly prompts: number | undefined
}

/** What of a file has been read, and what was found in it. */
const Known = Schema.Struct({
  readTo: Schema.Finite,
  size: Schema.Finite,
  modified: Schema.Finite,
  ino: Schema.Finite,
  cwd: Schema.optionalKey(Schema.String),
  name: Schema.optionalKey(Schema.String),
  first: Schema.optionalKey(Schema.String),
  tags: Schema.Array(Schema.String),
  prompts: Schema.optionalKey(Schema.Finite),
  isDamaged: Schema.optionalKey(Schema.Boolean),
})
type Known = typeof Known.Type

const Stored = Schema.Struct({ version: Schema.Literal(1), entries: Schema.Record(Schema.String, Known) })
const decodeStored = Schema.decodeUnknownOption(Schema.fromJsonString(Stored))
const largest = 64 * 1024 * 1024

const pathIn = (host: Host["Service"]): string => `${SessionPaths.sessionsDirectory(host)}.json`

type Needs = Files | FileSystem.FileSystem | Host

/** Every session in which something was said, the last used first; one of ours is not listed by its transcript again. */
export const list: Effect.Effect<ReadonlyArray<SessionSummary>, never, Needs> = Effect.gen(function* () {
  const files = yield* Files
  const path = pathIn(yield* Host)
  const before = yield* remembered(path)
  const entries: Record<string, Known> = {}
  let isChanged = false
  const look = Effect.fnUntraced(function* (one: Sessions.Candidate) {
    const known = before[one.path]
    if (known !== undefined && isSame(known, one)) {
      entries[one.path] = known
      return summaryOf(one, known)
    }
    const found = yield* one.kind === "own" ? ofJournal(one, known) : ofTranscript(one)
    isChanged = true
    entries[one.path] = found
    return summaryOf(one, found)
  })
  const summaries = yield* Effect.forEach(yield* Sessions.candidates, look, { concurrency: 4 })
  if (isChanged || Object.keys(before).length !== summaries.length) {
    const text = JSON.stringify({ version: 1, entries } satisfies typeof Stored.Type)
    // A list is shown all the same.
    yield* Effect.ignore(files.writeAtomic(path, text, { mode: 0o600, makeParents: true }))
  }
  return summaries.filter((one) => one !== undefined)
})

const remembered = Effect.fnUntraced(function* (path: string) {
  const files = yield* Files
  const [read] = yield* files.readTexts([path], { maxBytes: largest })
  if (read === undefined || Result.isFailure(read)) return {}
  return Option.match(decodeStored(read.success.text), { onNone: () => ({}), onSome: ({ entries }) => entries })
})

const isSame = (known: Known, one: Sessions.Candidate): boolean =>
  known.size === one.size && known.modified === one.modified && known.ino === one.ino

const summaryOf = (one: Sessions.Candidate, known: Known): SessionSummary | undefined => {
  const title = known.name ?? known.first ?? (known.isDamaged === true ? Sessions.damagedTitle : undefined)
  if (title === undefined) return undefined
  const { kind, modified, path, sessionId, size } = one
  const { cwd, name, prompts, tags } = known
  return { kind, sessionId, path, modified, size, cwd, title, isNamed: name !== undefined, tags, prompts }
}

const nothing: Known = { readTo: 0, size: 0, modified: 0, ino: 0, tags: [], prompts: 0 }

const head = /^\{"seq":\d+,"sum":"[0-9a-f]{16}","time":\d+,"agent":("[^"]*"),"kind":"(\w+)"/
const headBytes = 160
const told = new Set(["SessionStarted", "SessionTitled", "SessionTagged", "PromptReceived", "MessageImported"])
const decoder = new TextDecoder()

/** Only what was added, where the file is the one that is known: a journal grows at its end, and a repair gives it another inode. */
const ofJournal = Effect.fnUntraced(function* (one: Sessions.Candidate, known: Known | undefined) {
  const { ino, modified, size } = one
  const begin = known !== undefined && known.ino === ino && known.readTo <= size ? known : nothing
  const found: { -readonly [Key in keyof Known]: Known[Key] } = { ...begin, ino, modified, size }
  const each: FileLines.EachLine = (bytes, start, end) => {
    const opening = head.exec(decoder.decode(bytes.subarray(start, Math.min(end, start + headBytes))))
    if (opening === null) found.isDamaged = true
    if (opening?.[1] !== '"main"' || !told.has(opening[2] ?? "")) return
    const record = Records.scan(bytes.subarray(start, end)).records[0]?.record
    const event = record === undefined ? "damaged" : JournalEvents.decode(record.kind, record.event)
    if (record === undefined) found.isDamaged = true
    if (typeof event === "string") return
    switch (event._tag) {
      case "SessionStarted":
        found.cwd = event.cwd
        return
      case "SessionTitled":
        found.name = event.title
        return
      case "SessionTagged":
        found.tags = event.tags
        return
      case "PromptReceived":
      case "MessageImported": {
        if (event._tag === "PromptReceived" ? event.harness === true : event.role !== "user") return
        const first = Sessions.firstLine(plainText(event.content))
        // An imported result of a tool is a message of the user without a word.
        if (first !== undefined) found.prompts = (found.prompts ?? 0) + 1
        if (found.first === undefined && first !== undefined) found.first = first
      }
    }
  }
  const read = yield* Effect.option(FileLines.read(one.path, begin.readTo, each))
  found.readTo = Option.match(read, { onNone: () => begin.readTo, onSome: ({ to }) => to })
  const settled: Known = found
  return settled
})

/** Other programs put what matters for a list at both ends. */
const ofTranscript = Effect.fnUntraced(function* (one: Sessions.Candidate) {
  const { cwd, first, name, tags } = yield* Sessions.glimpse(one)
  const known: Known = {
    readTo: one.size,
    size: one.size,
    modified: one.modified,
    ino: one.ino,
    tags,
    ...(cwd !== undefined && { cwd }),
    ...(name !== undefined && { name }),
    ...(first !== undefined && { first }),
  }
  return known
})
