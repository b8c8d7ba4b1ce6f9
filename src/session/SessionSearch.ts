/**
 * Owns finding words in what was said: prompts and replies of every session, ours and those of other programs. Ripgrep looks for lines
 * that may hold them, and what a line is decides whether it counts.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Host } from "../platform/Host.ts"
import { Ripgrep } from "../platform/Ripgrep.ts"
import { Content, plainText } from "../protocol/Content.ts"
import * as JournalEvents from "./JournalEvents.ts"
import type { SessionSummary } from "./SessionIndex.ts"
import * as SessionPaths from "./SessionPaths.ts"
import * as TranscriptFile from "./TranscriptFile.ts"

export interface Hit {
  readonly by: "person" | "model"
  /** The line of the message that holds the words. */
  readonly line: string
  /** Where in the line the first of them stands. */
  readonly at: number
  readonly length: number
}

export interface Found {
  readonly session: SessionSummary
  /** The first ones. */
  readonly hits: ReadonlyArray<Hit>
  /** How many messages hold the words. */
  readonly count: number
}

export const mostHits = 3

/** Messages that hold all the words, whatever their case. The sessions stay in their order. */
export const search = Effect.fnUntraced(function* (
  words: ReadonlyArray<string>,
  sessions: ReadonlyArray<SessionSummary>,
) {
  const wanted = words.flatMap((word) => word.toLowerCase().split(/\s+/)).filter((word) => word !== "")
  const rarest = wanted.map(plainest).toSorted((a, b) => b.length - a.length)[0] ?? ""
  const found = new Map<string, { readonly hits: Array<Hit>; count: number }>()
  const byPath = new Map(sessions.map((session) => [session.path, session]))
  if (wanted.length === 0) return []
  const take = (directory: string, kind: SessionSummary["kind"]) => (lines: ReadonlyArray<string>) => {
    for (const line of lines) {
      const cut = line.indexOf("\0")
      const session = byPath.get(`${directory}/${line.slice("./".length, cut)}`)
      if (session === undefined || session.kind !== kind) continue
      const message = (kind === "own" ? ofJournal : ofTranscript)(line.slice(cut + 1))
      const lower = message?.text.toLowerCase() ?? ""
      if (message === undefined || !wanted.every((word) => lower.includes(word))) continue
      const entry = found.get(session.path) ?? { hits: [], count: 0 }
      entry.count++
      if (entry.hits.length < mostHits) entry.hits.push(hitOf(message, wanted))
      found.set(session.path, entry)
    }
  }
  const host = yield* Host
  const ripgrep = yield* Ripgrep
  const flags = ["--null", "--with-filename", "--no-line-number", "--no-heading", "--no-ignore", "--hidden", "--text"]
  const look = (pattern: string, glob: string, directory: string, kind: SessionSummary["kind"]) =>
    sessions.some((session) => session.kind === kind)
      ? ripgrep.run([...flags, "--glob", glob, "--regexp", pattern, "--", "./"], directory, {
          onLines: take(directory, kind),
        })
      : Effect.void
  const said = `"kind":"(?:PromptReceived|BlockReceived|MessageImported)",.*(?i:${literal(rarest)})`
  yield* Effect.all(
    [
      look(said, "/*/journal.ndjson", SessionPaths.sessionsDirectory(host), "own"),
      look(`(?i:${literal(rarest)})`, "/*/*.jsonl", SessionPaths.projectsDirectory(host), "foreign"),
    ],
    { concurrency: 2, discard: true },
  )
  return sessions.flatMap((session): ReadonlyArray<Found> => {
    const entry = found.get(session.path)
    return entry === undefined ? [] : [{ session, ...entry }]
  })
})

/** The longest part of a word that stands in JSON as it was typed. */
const plainest = (word: string): string => word.split(/["\\\p{C}]/u).toSorted((a, b) => b.length - a.length)[0] ?? ""

const literal = (text: string): string => text.replace(/[^\p{L}\p{N}_ ]/gu, (character) => `\\x{${hex(character)}}`)
const hex = (character: string): string => (character.codePointAt(0) ?? 0).toString(16)

interface Message {
  readonly by: Hit["by"]
  readonly text: string
}

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

const isRecord = Schema.is(Schema.Struct({ agent: Schema.String, kind: Schema.String, event: Schema.Unknown }))

const ofJournal = (json: string): Message | undefined => {
  const record = parsed(json)
  if (!isRecord(record) || record.agent !== "main") return undefined
  const event = JournalEvents.decode(record.kind, record.event)
  if (typeof event === "string") return undefined
  switch (event._tag) {
    case "PromptReceived":
      return event.harness === true ? undefined : { by: "person", text: plainText(event.content) }
    case "BlockReceived":
      return event.block.type === "text" ? { by: "model", text: event.block.text } : undefined
    case "MessageImported":
      return { by: event.role === "user" ? "person" : "model", text: plainText(event.content) }
    default:
      return undefined
  }
}

const isContent = Schema.is(Content)

const ofTranscript = (json: string): Message | undefined => {
  const [line] = TranscriptFile.parse(json).lines
  if (line === undefined || line.isSidechain || line.value["isMeta"] === true) return undefined
  if (line.type !== "user" && line.type !== "assistant") return undefined
  const content = TranscriptFile.objectIn(line.value, "message")?.["content"]
  if (!isContent(content)) return undefined
  return { by: line.type === "user" ? "person" : "model", text: plainText(content) }
}

const around = 60
const longest = 200

/** The line with most of the words, around the first of them. */
const hitOf = ({ by, text }: Message, wanted: ReadonlyArray<string>): Hit => {
  const held = (line: string) => wanted.filter((word) => line.toLowerCase().includes(word)).length
  let best = ""
  let most = 0
  for (const line of text.split("\n")) {
    const count = held(line)
    if (count <= most) continue
    most = count
    best = line.trim()
  }
  const word = wanted.find((one) => best.toLowerCase().includes(one)) ?? ""
  const at = Math.max(0, best.toLowerCase().indexOf(word))
  if (best.length <= longest) return { by, line: best, at, length: word.length }
  const from = Math.max(0, at - around)
  const line = `${from > 0 ? "…" : ""}${best.slice(from, from + longest)}${from + longest < best.length ? "…" : ""}`
  return { by, line, at: at - from + (from > 0 ? 1 : 0), length: word.length }
}
