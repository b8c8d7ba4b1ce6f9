/**
 * Owns what files held, on disk under `file-history/<session>/`: each content once, under its hash, and the notes of how the workspace
 * looked when a call began that may change it. After a crash the notes tell what the call has changed.
 *
 * Nothing but this directory has these bytes: whatever secrets are in them stay behind its mode.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type { FileError } from "../platform/FileError.ts"
import { type AppendFile, Files, type Kept, type Look } from "../platform/Files.ts"
import type { Git } from "../platform/Git.ts"
import * as GitObjects from "../platform/GitObjects.ts"
import { Host } from "../platform/Host.ts"
import type { FileState } from "../protocol/Event.ts"
import * as RegularFile from "./RegularFile.ts"
import * as SessionPaths from "./SessionPaths.ts"

/** What one file may have, and all that a session keeps. */
export const Limits = Context.Reference<{ readonly file: number; readonly session: number }>(
  "troupe/session/FileHistory/Limits",
  { defaultValue: () => ({ file: 10 * 1024 * 1024, session: 512 * 1024 * 1024 }) },
)

/** A file as it was last seen, and where its content is; without that it is not known yet. */
export interface Known {
  readonly look: Look
  /** A hash, or `git:` and an id; empty: it is not kept. */
  readonly content?: string
}

/** A call that may change files, begun and not ended. */
const Open = Schema.Struct({
  id: Schema.String,
  promptId: Schema.String,
  /** The files it says it writes; without them it may change any. */
  paths: Schema.optionalKey(Schema.Array(Schema.String)),
})
export type Open = typeof Open.Type

const Note = Schema.Union([
  Schema.Struct({ open: Open }),
  Schema.Struct({ close: Schema.String }),
  Schema.Struct({
    path: Schema.String,
    look: Schema.optionalKey(Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Finite, Schema.Finite, Schema.Finite])),
    content: Schema.optionalKey(Schema.String),
  }),
])
const isNote = Schema.is(Note)
type Note = typeof Note.Type

export interface FileHistory {
  /** What an earlier life of the session noted. Reading it takes a while, and most who open a session never ask. */
  readonly past: () => ReadonlyMap<string, Known>
  /** The calls that were open when it ended. */
  readonly open: ReadonlyArray<Open>
  /** On disk when this returns, as far as a process that is killed goes. */
  readonly note: (notes: ReadonlyArray<Note>) => Effect.Effect<void, FileError>
  readonly keep: (paths: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Result.Result<Kept, string>>>
  /** The same for bytes that somebody else has; `undefined` where there is no room for them. */
  readonly put: (bytes: Uint8Array) => Effect.Effect<string | undefined>
  /** What each file held; `undefined` where that is not kept, or lost. `near` is a directory in the repository it lay in. */
  readonly read: (
    states: ReadonlyArray<FileState | undefined>,
    near: string,
  ) => Effect.Effect<ReadonlyArray<Uint8Array | undefined>, never, Git>
}

export const noteOf = (path: string, known: Known | undefined): Note => {
  if (known === undefined) return { path }
  const { content, look } = known
  const { ctime, ino, mode, mtime, size } = look
  return { path, look: [size, mtime, ctime, ino, mode], ...(content !== undefined && { content }) }
}

/** `elders` are the sessions that this one is a copy of: what was kept before that is theirs. */
export const make = Effect.fnUntraced(function* (sessionId: string, elders: ReadonlyArray<string> = []) {
  const files = yield* Files
  const fs = yield* FileSystem.FileSystem
  const limits = yield* Limits
  const scope = yield* Scope.Scope
  const host = yield* Host
  const directory = SessionPaths.fileHistoryDirectory(host, sessionId)
  const places = [directory, ...elders.map((id) => SessionPaths.fileHistoryDirectory(host, id))]
  const path = `${directory}/notes.ndjson`
  const services = yield* Effect.context<FileSystem.FileSystem | Path.Path>()
  const bytes = yield* Effect.orElseSucceed(RegularFile.readIfThere(path), () => new Uint8Array(0))
  const notes = new TextDecoder().decode(bytes)
  let found: ReadonlyMap<string, Known> | undefined
  let spent = 0
  const past = () => {
    if (found !== undefined) return found
    found = knownIn(notes)
    for (const size of new Map([...found.values()].map((one) => [one.content, one.look.size])).values()) spent += size
    return found
  }
  let handle: AppendFile | undefined
  let scratch = 0

  const note: FileHistory["note"] = Effect.fnUntraced(function* (notes) {
    if (notes.length === 0) return
    if (handle === undefined) {
      handle = yield* files.openAppend(path).pipe(Scope.provide(scope))
      // What a crash cut short is a line of its own.
      if (bytes.length > 0 && bytes.at(-1) !== 10) yield* handle.append("\n")
    }
    yield* handle.append(notes.map((one) => `${JSON.stringify(one)}\n`).join(""))
  })

  const keep: FileHistory["keep"] = Effect.fnUntraced(function* (paths) {
    past()
    const kept: Array<Result.Result<Kept, string>> = []
    for (let from = 0; from < paths.length; from += 256) {
      const some = paths.slice(from, from + 256)
      const full = spent >= limits.session
      const answers = full ? [] : yield* files.keep(some, directory, { maxBytes: limits.file })
      for (const index of some.keys()) {
        const one = answers[index]
        if (one === undefined) kept.push(Result.fail("this session has kept as much as it may"))
        else if (Result.isFailure(one)) kept.push(Result.fail(one.failure.message))
        else {
          spent += one.success.look.size
          kept.push(Result.succeed(one.success))
        }
      }
    }
    return kept
  })

  const put: FileHistory["put"] = Effect.fnUntraced(function* (content) {
    if (spent + content.length > limits.session || content.length > limits.file) return undefined
    const hash = files.hash(content)
    const written = yield* Effect.result(
      files.writeAtomic(`${directory}/${hash}`, content, { mode: 0o600, makeParents: true }),
    )
    if (Result.isFailure(written)) return undefined
    spent += content.length
    return hash
  })

  const own = Effect.fnUntraced(
    function* (hash: string) {
      for (const place of places) {
        const found = yield* Effect.option(RegularFile.read(`${place}/${hash}`))
        if (Option.isSome(found) && files.hash(found.value) === hash) return found.value
      }
      return undefined
    },
    Effect.provideService(FileSystem.FileSystem, fs),
  )

  const read: FileHistory["read"] = Effect.fnUntraced(function* (states, near) {
    const ids = states.flatMap((state) => (state?.content.startsWith("git:") === true ? [state.content.slice(4)] : []))
    const made = Effect.ignore(fs.makeDirectory(directory, { recursive: true, mode: 0o700 }))
    if (ids.length > 0) yield* made
    const objects = yield* GitObjects.contents(near, ids, `${directory}/.objects-${scratch++}`).pipe(
      Effect.provideContext(services),
    )
    return yield* Effect.forEach(states, (state) => {
      if (state === undefined || state.content === "") return Effect.undefined
      if (!state.content.startsWith("git:")) return own(state.content)
      const found = objects.get(state.content.slice(4))
      return Effect.succeed(found?.length === state.size ? found : undefined)
    })
  })

  return { past, open: openIn(notes), note, keep, put, read } satisfies FileHistory
})

/** Lines that cannot be read were cut short, and say nothing. */
const notesIn = (text: string, isAbout: (line: string) => boolean): ReadonlyArray<Note> =>
  text.split("\n").flatMap((line) => (isAbout(line) ? (noteIn(line) ?? []) : []))

const isOfFile = (line: string): boolean => line.startsWith('{"path"')

const openIn = (text: string): ReadonlyArray<Open> => {
  const open = new Map<string, Open>()
  for (const one of notesIn(text, (line) => !isOfFile(line))) {
    if ("open" in one) open.set(one.open.id, one.open)
    else if ("close" in one) open.delete(one.close)
  }
  return [...open.values()]
}

const knownIn = (text: string): ReadonlyMap<string, Known> => {
  const known = new Map<string, Known>()
  for (const one of notesIn(text, isOfFile)) {
    if (!("path" in one)) continue
    if (one.look === undefined) known.delete(one.path)
    else {
      const [size, mtime, ctime, ino, mode] = one.look
      const look: Look = { kind: "file", size, mtime, ctime, ino, mode }
      known.set(one.path, { look, ...(one.content !== undefined && { content: one.content }) })
    }
  }
  return known
}

const noteIn = (line: string): Note | undefined => {
  if (line === "") return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isNote(value) ? value : undefined
  } catch {
    return undefined
  }
}
