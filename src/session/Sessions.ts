/** Owns finding sessions on disk, ours and those of other programs, and making one into two. */
import * as ByteSize from "effect/ByteSize"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { FileError } from "../platform/FileError.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import { Content, plainText } from "../protocol/Content.ts"
import type { DurableEvent } from "../protocol/Event.ts"
import * as Import from "./Import.ts"
import * as Journal from "./Journal.ts"
import { type JournalError, journalError, type SessionBusy } from "./JournalError.ts"
import * as JournalEvents from "./JournalEvents.ts"
import * as Records from "./JournalRecord.ts"
import * as RegularFile from "./RegularFile.ts"
import * as SessionPaths from "./SessionPaths.ts"
import * as TranscriptFile from "./TranscriptFile.ts"

/** Where a session is: in our journal, or only in a transcript of another program, which is adopted when it is resumed. */
export interface Located {
  readonly kind: "own" | "foreign"
  readonly sessionId: string
  readonly path: string
}

/** A file that may hold a session. */
export interface Candidate extends Located {
  /** Milliseconds of the last write. */
  readonly modified: number
  readonly size: number
  readonly ino: number
  /** The directory under `projects/` that a transcript stands in. */
  readonly project?: string
}

type Needs = Files | FileSystem.FileSystem | Host

/** The last used session of a directory in which something was said, be it damaged: opening it repairs it and tells. */
export const latest: (cwd: string) => Effect.Effect<string | undefined, never, Needs> = Effect.fnUntraced(
  function* (cwd) {
    for (const one of yield* candidates) {
      if (one.project !== undefined && !SessionPaths.isProjectName(one.project, cwd)) continue
      const seen = yield* glimpse(one)
      if (isSaid(seen) && (yield* belongs(one, seen.cwd, cwd))) return one.sessionId
    }
    return undefined
  },
)

/** The directory that a session of ours was last worked with in. */
export const cwdOf: (sessionId: string) => Effect.Effect<string | undefined, never, Needs> = Effect.fnUntraced(
  function* (sessionId) {
    const path = SessionPaths.journalPath(yield* Host, sessionId)
    const info = yield* stat(path)
    if (info === undefined) return undefined
    return (yield* glimpse({ kind: "own", sessionId, path, ...info })).cwd
  },
)

/** Where the record of the directory is lost, the transcript beside the journal stands in the directory's own place. */
const belongs = Effect.fnUntraced(function* ({ sessionId, kind }: Candidate, cwd: string | undefined, wanted: string) {
  if (cwd !== undefined) return cwd === wanted
  if (kind === "foreign") return true
  const host = yield* Host
  const transcripts = yield* Effect.filter(yield* namesIn(SessionPaths.projectsDirectory(host)), (project) =>
    Effect.map(
      stat(`${SessionPaths.projectsDirectory(host)}/${project}/${sessionId.toLowerCase()}.jsonl`),
      (info) => info !== undefined,
    ),
  )
  return transcripts.length === 0 || transcripts.some((project) => SessionPaths.isProjectName(project, wanted))
})

/**
 * Finds a session by its id: our journal first, else a transcript of any project, which also stands in for a journal in
 * which nothing is readable. What is no session id is never found.
 */
export const locate: (sessionId: string) => Effect.Effect<Located | undefined, never, Needs> = Effect.fnUntraced(
  function* (sessionId) {
    if (!SessionPaths.isSessionId(sessionId)) return undefined
    const host = yield* Host
    const path = SessionPaths.journalPath(host, sessionId)
    const own: Located = { kind: "own", sessionId, path }
    const there = yield* Effect.result(RegularFile.stat(path))
    // Whatever else stands there, its opening says what is wrong with it.
    if (Result.isFailure(there) && !isAbsent(there.failure)) return own
    const journal = Records.scan(new TextEncoder().encode(yield* part(path, 0, glance)))
    if (journal.records.length > 0) return own
    const projects = SessionPaths.projectsDirectory(host)
    const transcripts = yield* collect(yield* namesIn(projects), (project) => ({
      kind: "foreign",
      sessionId,
      path: `${projects}/${project}/${sessionId.toLowerCase()}.jsonl`,
    }))
    const newest = transcripts.toSorted((a, b) => b.modified - a.modified)[0]
    if (newest !== undefined) return { kind: "foreign", sessionId, path: newest.path }
    return Result.isSuccess(there) && ByteSize.toNumberUnsafe(there.success.size) > 0 ? own : undefined
  },
)

const isAbsent = ({ reason }: FileError): boolean => reason === "NotFound" || reason === "NotDirectory"

const stat = Effect.fnUntraced(function* (path: string) {
  const info = yield* Effect.result(RegularFile.stat(path))
  if (Result.isFailure(info)) {
    if (isAbsent(info.failure)) return undefined
    // Nobody else would say why a session that is there is not found.
    return yield* Effect.as(Effect.logWarning(`A session is left out. ${info.failure.message}`), undefined)
  }
  const modified = Option.match(info.success.mtime, { onNone: () => 0, onSome: (time) => time.getTime() })
  const ino = Option.match(info.success.ino, { onNone: () => 0, onSome: Number })
  return { modified, size: ByteSize.toNumberUnsafe(info.success.size), ino }
})

/** A directory that is missing or closed to us has nothing in it. */
const namesIn = Effect.fnUntraced(function* (directory: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* fs.readDirectory(directory).pipe(Effect.orElseSucceed((): Array<string> => []))
})

const journalsIn = Effect.fnUntraced(function* (host: Host["Service"]) {
  const ids = (yield* namesIn(SessionPaths.sessionsDirectory(host))).filter(SessionPaths.isSessionId)
  return yield* collect(ids, (sessionId) => ({
    kind: "own",
    sessionId,
    path: SessionPaths.journalPath(host, sessionId),
  }))
})

const transcriptsIn = Effect.fnUntraced(function* (host: Host["Service"]) {
  const projects = SessionPaths.projectsDirectory(host)
  const found = yield* Effect.forEach(yield* namesIn(projects), (project) =>
    Effect.flatMap(namesIn(`${projects}/${project}`), (names) => {
      const ids = names.flatMap((name) => (name.endsWith(".jsonl") ? [name.slice(0, -6)] : []))
      return collect(ids.filter(SessionPaths.isSessionId), (sessionId) => ({
        kind: "foreign",
        sessionId,
        path: `${projects}/${project}/${sessionId}.jsonl`,
        project,
      }))
    }),
  )
  return found.flat()
})

const collect = Effect.fnUntraced(function* (
  names: ReadonlyArray<string>,
  make: (name: string) => Omit<Candidate, "modified" | "size" | "ino">,
) {
  const files = yield* Files
  const all = names.map(make)
  const stamps = yield* files.stamps(all.map(({ path }) => path))
  const found: Array<Candidate> = []
  for (const [at, one] of all.entries()) {
    const stamp = stamps[at]
    // What cannot be looked at together may have something to say about why.
    const info =
      stamp === undefined
        ? yield* stat(one.path)
        : { modified: Math.floor(stamp.mtime), size: stamp.size, ino: stamp.ino }
    if (info !== undefined && info.size > 0) found.push({ ...one, ...info })
  }
  return found
})

/** The last used first. A transcript that one of our journals is behind is not one. */
export const candidates: Effect.Effect<ReadonlyArray<Candidate>, never, Needs> = Effect.gen(function* () {
  const host = yield* Host
  const own = yield* journalsIn(host)
  const ids = new Set(own.map((one) => one.sessionId.toLowerCase()))
  const foreign = (yield* transcriptsIn(host)).filter((one) => !ids.has(one.sessionId.toLowerCase()))
  return [...own, ...foreign].toSorted((a, b) => b.modified - a.modified)
})

/** How much of a file's beginning and end is read to tell what is in it. */
const glance = 64 * 1024

/** What a look at both ends of a file tells. */
export interface Glimpse {
  readonly cwd: string | undefined
  /** What it is called. */
  readonly name: string | undefined
  /** The first thing a person said. */
  readonly first: string | undefined
  readonly tags: ReadonlyArray<string>
  readonly isDamaged: boolean
}

/** Something was said in it, as far as that can still be told. */
const isSaid = ({ first, isDamaged, name }: Glimpse): boolean => first !== undefined || name !== undefined || isDamaged

/** What a session is called whose first words cannot be read. */
export const damagedTitle = "(damaged: its first words are lost)"

export const glimpse = Effect.fnUntraced(function* (one: Candidate) {
  const head = yield* part(one.path, 0, glance)
  const tail = one.size > glance ? yield* part(one.path, Math.max(glance, one.size - glance), glance) : ""
  return one.kind === "own" ? ofJournal(head, tail) : ofTranscript(head, tail)
})

const part = Effect.fnUntraced(
  function* (path: string, from: number, size: number) {
    const fs = yield* FileSystem.FileSystem
    const file = yield* fs.open(path, { flag: "r" })
    yield* file.seek(BigInt(from), "start")
    const bytes = yield* file.readAlloc(size)
    return Option.match(bytes, { onNone: () => "", onSome: (found) => new TextDecoder().decode(found) })
  },
  Effect.scoped,
  Effect.orElseSucceed(() => ""),
)

const isContent = Schema.is(Content)

const ofJournal = (head: string, tail: string): Glimpse => {
  let cwd: string | undefined
  let first: string | undefined
  const start = Records.scan(new TextEncoder().encode(head))
  // A last line that was cut off is how every look at a long file ends, and a crash before anything was said.
  const isDamaged = start.problems.length > 0 && start.soundUntil === undefined
  for (const { record } of Records.scan(new TextEncoder().encode(`${head}\n${tail}`)).records) {
    const event = JournalEvents.decode(record.kind, record.event)
    if (typeof event === "string") continue
    if (event._tag === "SessionStarted") cwd = event.cwd
    const isSaid =
      (event._tag === "PromptReceived" && event.harness !== true) ||
      (event._tag === "MessageImported" && event.role === "user")
    if (isSaid) first ??= firstLine(plainText(event.content))
  }
  return { cwd, name: undefined, first, tags: [], isDamaged }
}

const ofTranscript = (head: string, tail: string): Glimpse => {
  const { lines } = TranscriptFile.parse(`${head}\n${tail}`)
  const cwds = lines.flatMap((line) => TranscriptFile.stringIn(line.value, "cwd") ?? [])
  const said = lines.find(
    (line) => line.type === "user" && !line.isSidechain && line.value["isMeta"] !== true && wordsOf(line),
  )
  const tag = lines.findLast(({ type }) => type === "tag")
  const tags = (tag === undefined ? "" : (TranscriptFile.stringIn(tag.value, "tag") ?? "")).split(",")
  return {
    cwd: cwds.at(-1),
    name: Import.titleOf(lines),
    first: said === undefined ? undefined : wordsOf(said),
    tags: tags.map((one) => one.trim()).filter((one) => one !== ""),
    isDamaged: false,
  }
}

const wordsOf = (line: TranscriptFile.TranscriptLine): string | undefined => {
  const content = TranscriptFile.objectIn(line.value, "message")?.["content"]
  return isContent(content) ? firstLine(plainText(content)) : undefined
}

/** As much of a text as a list shows. */
export const firstLine = (text: string): string | undefined => {
  const line = text.trim().split("\n")[0]?.slice(0, 200)
  return line === "" ? undefined : line
}

type Copying = Effect.Effect<ReadonlyArray<string>, JournalError | SessionBusy, Needs>

/** Begins a new session with everything that was recorded in another one. The other one may be in use. Answers with what was wrong in it. */
export const fork = (found: Located, newId: string): Copying =>
  found.kind === "own" ? copyJournal(found.sessionId, newId) : importTranscript(found, newId)

/** Takes over a foreign transcript under its own id: from then on it has a journal. Answers with what was wrong in it. */
export const adopt = (found: Located): Copying =>
  found.kind === "own" ? Effect.succeed([]) : importTranscript(found, found.sessionId)

const copyJournal = Effect.fnUntraced(function* (sessionId: string, newId: string) {
  const source = yield* Journal.read(sessionId)
  const origin = source.records.map(({ event }) => event).findLast((event) => event._tag === "SessionStarted")
  const last = source.records.at(-1)
  yield* Journal.create(newId, [
    ...source.records,
    {
      seq: (last?.seq ?? 0) + 1,
      time: yield* Clock.currentTimeMillis,
      agent: "main",
      event: {
        _tag: "SessionStarted",
        sessionId: newId,
        cwd: origin?.cwd ?? (yield* Host).cwd,
        version: origin?.version ?? "",
        source: "fork",
        forkedFrom: { sessionId, sequence: last?.seq ?? 0 },
      },
    },
  ])
  return source.problems
})

const importTranscript = Effect.fnUntraced(function* (found: Located, newId: string) {
  const bytes = yield* Effect.mapError(RegularFile.read(found.path), journalError("read", found.path))
  const imported = Import.events(bytes)
  const time = yield* Clock.currentTimeMillis
  const started: DurableEvent = {
    _tag: "SessionStarted",
    sessionId: newId,
    cwd: imported.cwd ?? (yield* Host).cwd,
    version: imported.version ?? "",
    source: "import",
    ...(newId !== found.sessionId && {
      forkedFrom: { sessionId: found.sessionId, sequence: imported.events.length + 1 },
    }),
  }
  // All or nothing: half an import would look like the whole session.
  const events = [started, ...imported.events]
  yield* Journal.create(
    newId,
    events.map((event, at) => ({ seq: at + 1, time, agent: "main", event })),
  )
  return imported.problems
})
