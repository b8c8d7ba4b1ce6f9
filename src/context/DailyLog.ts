/**
 * Owns the daily logs beside the memories: `logs/2026/11/2026-11-18.md`, a line for each thing worth keeping, with its time and its
 * session. From time to time they are merged into memories; how far that went is kept beside them.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import type { FileError } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import * as PathFence from "../security/PathFence.ts"
import { find as findSecret } from "../security/SecretText.ts"
import { under } from "../security/Sensitive.ts"
import { absolute } from "./AbsoluteDates.ts"
import type { MemoryDirectory } from "./MemoryDirectory.ts"

export interface LogEntry {
  /** Milliseconds since 1970. */
  readonly time: number
  readonly session: string
  readonly text: string
}

export interface DailyLog {
  /** What seems to be a secret is left out. */
  readonly add: (session: string, lines: ReadonlyArray<string>) => Effect.Effect<void, FileError>
  /** What was not merged yet, the oldest first, and since when. */
  readonly pending: Effect.Effect<ReadonlyArray<LogEntry>>
  /** It is time to merge: a day has passed since the first of them, or several sessions have written. */
  readonly isDue: Effect.Effect<boolean>
  /** Everything up to this time is in the memories. */
  readonly settle: (time: number) => Effect.Effect<void, FileError>
}

const day = 24 * 60 * 60 * 1_000
const sessionsToMerge = 5
const longestLine = 500
/** Only so many of the newest days are looked at: older ones were merged, or nobody came back to them. */
const mostDays = 60
const settledFile = "logs/.merged"

const Settled = Schema.fromJsonString(Schema.Struct({ until: Schema.Finite }))
const decodeSettled = Schema.decodeUnknownOption(Settled)
const lineShape = /^- (\d\d:\d\d:\d\d)Z \[([^\]\s]*)\] (.+)$/

export const make = Effect.fnUntraced(function* (directory: MemoryDirectory) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const files = yield* Files
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const root = directory.real
  const logs = path.join(root, "logs")

  const names = (at: string) => Effect.orElseSucceed(fs.readDirectory(at), () => [])

  const logFiles = Effect.gen(function* () {
    const found: Array<string> = []
    for (const year of (yield* names(logs)).filter((name) => /^\d{4}$/.test(name)).sort()) {
      for (const month of (yield* names(path.join(logs, year))).filter((name) => /^\d\d$/.test(name)).sort()) {
        const days = yield* names(path.join(logs, year, month))
        const named = days.filter((name) => new RegExp(`^${year}-${month}-\\d\\d\\.md$`).test(name)).sort()
        found.push(...named.map((name) => path.join(logs, year, month, name)))
      }
    }
    return found.slice(-mostDays)
  })

  const until = Effect.orElseSucceed(fs.readFileString(path.join(root, settledFile)), () => "").pipe(
    Effect.map((text) => Option.match(decodeSettled(text), { onNone: () => 0, onSome: (found) => found.until })),
  )

  /** Nothing is read or written through a link that leads elsewhere. */
  const isInside = (at: string) =>
    Effect.map(Effect.provideContext(PathFence.real(at), services), (real) => real !== undefined && under(root, real))

  const pending = Effect.gen(function* () {
    const after = yield* until
    const entries: Array<LogEntry> = []
    for (const file of yield* logFiles) {
      const date = path.basename(file, ".md")
      if (dayEnd(date) <= after || !(yield* isInside(file))) continue
      const read = yield* Effect.option(files.readText(file, { maxBytes: 1024 * 1024 }))
      const text = Option.match(read, { onNone: () => "", onSome: (found) => found.text })
      for (const line of text.split("\n")) {
        const [, clock, session = "", said = ""] = lineShape.exec(line) ?? []
        const time = clock === undefined ? Option.none() : DateTime.make(`${date}T${clock}Z`)
        if (Option.isNone(time)) continue
        const at = DateTime.toEpochMillis(time.value)
        if (at > after) entries.push({ time: at, session, text: said })
      }
    }
    return entries.toSorted((a, b) => a.time - b.time)
  })

  const log: DailyLog = {
    add: Effect.fnUntraced(function* (session, lines) {
      const now = yield* DateTime.now
      const kept = lines
        .map((line) => absolute(line.replace(/\s+/g, " ").trim(), now).slice(0, longestLine))
        .filter((line) => line !== "" && findSecret(line) === undefined)
      if (kept.length === 0) return
      const [date = "", clock = ""] = DateTime.formatIso(now).split(/[T.Z]/)
      const [year = "", month = ""] = date.split("-")
      const file = path.join(logs, year, month, `${date}.md`)
      if (!(yield* isInside(file))) return
      const text = kept.map((line) => `- ${clock}Z [${session.replace(/[\]\s]/g, "")}] ${line}\n`).join("")
      yield* Effect.scoped(Effect.flatMap(files.openAppend(file), (open) => open.append(text)))
    }),
    pending,
    isDue: Effect.gen(function* () {
      const entries = yield* pending
      const [first] = entries
      if (first === undefined) return false
      const now = DateTime.toEpochMillis(yield* DateTime.now)
      return now - first.time >= day || new Set(entries.map(({ session }) => session)).size >= sessionsToMerge
    }),
    settle: (time) =>
      files.writeInside(root, settledFile, JSON.stringify({ until: time }), { mode: 0o600, makeParents: true }),
  }
  return log
})

const dayEnd = (date: string): number =>
  Option.match(DateTime.make(`${date}T00:00:00Z`), {
    onNone: () => 0,
    onSome: (at) => DateTime.toEpochMillis(at) + day,
  })
