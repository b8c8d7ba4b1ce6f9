/**
 * Owns the transcript beside the journal: the JSONL file under `projects/` that other programs read.
 *
 * It is a projection and never the truth: lines that a crash kept from it are added from the journal at the next
 * opening, none is written twice, and a disk that refuses it is reported once and stops nothing.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Scope from "effect/Scope"
import { type FileError, fromPlatform } from "../platform/FileError.ts"
import { type AppendFile, Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as SessionPaths from "./SessionPaths.ts"
import * as TranscriptFile from "./TranscriptFile.ts"
import { type Line, TranscriptLines } from "./TranscriptLines.ts"

export interface Transcript {
  readonly path: string
  readonly write: (record: JournalRecord) => Effect.Effect<void>
}

export interface TranscriptOptions {
  readonly sessionId: string
  readonly cwd: string
  readonly version: string
  readonly gitBranch?: string
  /** Goes on in this file instead of the one that the directory names: a session resumed elsewhere. */
  readonly path?: string
  /** The journal so far: whatever of it is missing in the file is added first. */
  readonly records?: ReadonlyArray<JournalRecord>
}

/** What the file already has. */
interface Present {
  readonly uuids: Set<string>
  parent: string | undefined
  lastPrompt: string | undefined
  /** The last line was cut: the next one must begin on its own line. */
  openEnd: boolean
}

export const open: (
  options: TranscriptOptions,
) => Effect.Effect<Transcript, never, Files | FileSystem.FileSystem | Host | Scope.Scope> = Effect.fnUntraced(
  function* (options) {
    const files = yield* Files
    const scope = yield* Effect.scope
    const host = yield* Host
    const path = options.path ?? SessionPaths.transcriptPath(host, options.cwd, options.sessionId)
    const lines = new TranscriptLines((seq) => uuidFrom(files.hash(`${options.sessionId} ${seq}`)))
    const records = options.records ?? []
    const envelope = new Envelope(options, records)
    let present: Present | undefined
    let handle: AppendFile | undefined
    let complained = false

    const add = Effect.fnUntraced(function* (due: ReadonlyArray<Line>) {
      // Nothing is created for a session that never says anything.
      present ??= yield* examine(path)
      const had = present
      const fresh = due.filter((line) => isMissing(had, line))
      if (fresh.length === 0) return
      handle ??= yield* files.openAppend(path).pipe(Scope.provide(scope))
      let { parent } = had
      const text = fresh.map((line) => {
        const json = envelope.wrap(line, parent)
        if (line.uuid !== undefined) parent = line.uuid
        return `${json}\n`
      })
      handle.appendUnsafe(`${had.openEnd ? "\n" : ""}${text.join("")}`)
      had.openEnd = false
      had.parent = parent
      for (const line of fresh) note(had, line)
    })

    const report = (error: { readonly message: string }) =>
      Effect.suspend(() => {
        if (complained) return Effect.void
        complained = true
        return Effect.logWarning(`The transcript is incomplete, the session is not: ${error.message}`)
      })

    const write = (record: JournalRecord): Effect.Effect<void> =>
      Effect.suspend(() => {
        envelope.follow(record)
        const due = lines.of(record)
        return due.length === 0 ? Effect.void : safely(due)
      })

    return { path, write }
  },
)
