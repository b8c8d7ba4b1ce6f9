/**
 * Owns the deletion of a session with all that belongs to it, wherever it lies. One that is in use stays.
 *
 * Its transcripts go first, then its directory loses its name in one step, then what is in it goes: cut off at any point, either the
 * session is still there or only rubbish is, and the next deletion takes that along.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import { type FileError, fromPlatform } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import * as Journal from "./Journal.ts"
import type { JournalError, SessionBusy } from "./JournalError.ts"
import * as SessionPaths from "./SessionPaths.ts"

export type RemovalError = FileError | JournalError | SessionBusy

type Needs = Files | FileSystem.FileSystem | Host

/** What lies outside its own directory: transcripts with those of its agents and long results, and what files were before it changed them. */
const elsewhere = Effect.fnUntraced(function* (sessionId: string) {
  const host = yield* Host
  const fs = yield* FileSystem.FileSystem
  const projects = SessionPaths.projectsDirectory(host)
  const id = sessionId.toLowerCase()
  const names = yield* Effect.orElseSucceed(fs.readDirectory(projects), () => [])
  const candidates = [
    ...names.flatMap((name) => [`${projects}/${name}/${id}.jsonl`, `${projects}/${name}/${id}`]),
    `${host.configDir}/file-history/${id}`,
  ]
  return yield* Effect.filter(candidates, (path) => Effect.orElseSucceed(fs.exists(path), () => false), {
    concurrency: 16,
  })
})

/** When it was last written to, in its journal or in a transcript of it. */
export const lastUse = Effect.fnUntraced(function* (sessionId: string) {
  const files = yield* Files
  const transcripts = (yield* elsewhere(sessionId)).filter((path) => path.endsWith(".jsonl"))
  const stamps = yield* files.stamps([SessionPaths.journalPath(yield* Host, sessionId), ...transcripts])
  return Math.max(0, ...stamps.map((stamp) => stamp?.mtime ?? 0))
})

const gone = ".deleted"

/** What is left of deletions that were cut off. */
export const finish: Effect.Effect<void, never, FileSystem.FileSystem | Host> = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const directory = SessionPaths.sessionsDirectory(yield* Host)
  const names = yield* Effect.orElseSucceed(fs.readDirectory(directory), () => [])
  const rubbish = names.filter((name) => name.endsWith(gone) && SessionPaths.isSessionId(name.slice(0, -gone.length)))
  yield* Effect.forEach(rubbish, (name) => Effect.ignore(fs.remove(`${directory}/${name}`, { recursive: true })), {
    discard: true,
  })
})

/** Deletes it; what is no session id deletes nothing. */
export const remove: (sessionId: string) => Effect.Effect<void, RemovalError, Needs> = Effect.fnUntraced(
  function* (sessionId) {
    const fs = yield* FileSystem.FileSystem
    yield* Journal.hold(sessionId)
    const take = (path: string) =>
      Effect.mapError(fs.remove(path, { recursive: true, force: true }), (error) => fromPlatform("delete", path, error))
    yield* Effect.forEach(yield* elsewhere(sessionId), take, { discard: true })
    const directory = SessionPaths.sessionDirectory(yield* Host, sessionId)
    const there = yield* Effect.option(fs.stat(directory))
    if (Option.isNone(there)) return
    const left = `${directory}${gone}`
    yield* take(left)
    yield* Effect.mapError(fs.rename(directory, left), (error) => fromPlatform("delete", directory, error))
    yield* take(left)
  },
  Effect.scoped,
  Effect.uninterruptible,
)
