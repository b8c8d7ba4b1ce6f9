/**
 * Owns the memory of what files were before a session changed them.
 *
 * The workspace is looked at when a prompt begins (beside the request) and around every call that may change files it does not name.
 * What such a call could change must be known beforehand: files that git has unchanged are only named by their blob, so a copy is made
 * of those alone that git does not have; the first such call pays for it, later ones only for what has changed since. A call that
 * names its files has just those kept. Everything is on disk before the call runs, and what it changed is journaled when it has.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"
import * as Ids from "../kernel/Ids.ts"
import { type FileError } from "../platform/FileError.ts"
import { Files, type Look } from "../platform/Files.ts"
import * as GitObjects from "../platform/GitObjects.ts"
import { Host } from "../platform/Host.ts"
import type { FileChange, FileState } from "../protocol/Event.ts"
import * as FileHistory from "./FileHistory.ts"
import type { JournalError } from "./JournalError.ts"
import type { RecorderShape } from "./Recorder.ts"
import * as WorkTree from "./WorkTree.ts"

type Known = FileHistory.Known

/** A call that may change files. */
export interface Change {
  readonly id: string
  /** The files it changes, by their real paths; without them it may change any. */
  readonly paths?: ReadonlyArray<string> | undefined
}

export interface CheckpointsShape {
  /** A person says something new: from here on changes are its. Nobody waits for the look at the workspace. */
  readonly promptBegan: (promptId: string) => Effect.Effect<void>
  /** What the call could change is kept when this returns. */
  readonly before: (change: Change) => Effect.Effect<void>
  /** Records what it has changed. */
  readonly after: (change: Change) => Effect.Effect<void>
}

/** Nothing is kept unless a session says so. */
export const Checkpoints = Context.Reference<CheckpointsShape>("troupe/session/Checkpoints", {
  defaultValue: () => ({ promptBegan: () => Effect.void, before: () => Effect.void, after: () => Effect.void }),
})

export interface CheckpointsOptions {
  readonly recorder: RecorderShape
  readonly history: FileHistory.FileHistory
  readonly roots: () => ReadonlyArray<string>
  /** Work goes on in the background, and may change files at any time. */
  readonly isBusy: () => boolean
}

/** The request is on its way by then: nobody waits for the look. A call that comes sooner looks for itself. */
const soon = "100 millis"

/** So few are copied without asking git, and of what git has at most so many. */
const few = 16
const many = 256

export const make = Effect.fnUntraced(function* (options: CheckpointsOptions) {
  const { history, isBusy, recorder, roots } = options
  const files = yield* Files
  const { configDir } = yield* Host
  const one = yield* Semaphore.make(1)
  const services = yield* Effect.context<Effect.Services<ReturnType<typeof GitObjects.unchanged>>>()
  const tree = yield* WorkTree.make({ roots, without: configDir })
  const known = new Map<string, Known>()
  const owners = new Map<string, string>()
  /** The prompt that is worked on, and the one whose changes the next look between two things would find. */
  let newest = recorder.history.lastPromptId ?? ""
  let promptId = newest
  let wasBusy = false
  let complained = false
  let isUnwatched = false
  let isSeeded = false
  let first = true

  const complain = (why: string) =>
    Effect.suspend(() => {
      if (complained) return Effect.void
      complained = true
      const message = `not checkpointed: ${why}. What commands change cannot be taken back by /rewind; what Write and Edit change can.`
      return recorder.emit({ _tag: "Diagnosed", level: "warning", message })
    })

  /** What may have changed; what could not be looked at is said once. */
  const look = Effect.gen(function* () {
    if (isUnwatched) return []
    const seen = yield* Effect.result(tree.look)
    if (Result.isFailure(seen)) {
      isUnwatched = true
      yield* complain(seen.failure)
      return []
    }
    if (!first) return seen.success
    first = false
    // An earlier life knows what was there; gone since then is what nobody finds any more.
    const there = new Set(seen.success.map(({ path }) => path))
    for (const path of known.keys()) if (!there.has(path)) known.delete(path)
    return seen.success.filter(({ after, path }) => !WorkTree.isSame(known.get(path)?.look, after))
  })

  /** Changes that are nobody's business: the files are as they are now. */
  const absorb = (seen: ReadonlyArray<WorkTree.Seen>) => {
    for (const { after, path } of seen) {
      if (after === undefined) known.delete(path)
      else known.set(path, { look: after })
    }
  }

  const take = Effect.fnUntraced(function* (paths: ReadonlyArray<string>) {
    const kept = yield* history.keep(paths)
    for (const [index, path] of paths.entries()) {
      const answer = kept[index]
      const before = known.get(path)
      if (answer !== undefined && Result.isSuccess(answer)) {
        known.set(path, { look: answer.success.look, content: answer.success.hash })
      } else if (before !== undefined) known.set(path, { look: before.look, content: "" })
    }
  })

  /** Every file's content is kept somewhere, or it is known that it is not. */
  const secure = Effect.gen(function* () {
    const open = [...known].flatMap(([path, { content, look }]) => (content === undefined ? [{ path, look }] : []))
    const named = new Map<string, string>()
    if (open.length > few) {
      for (const root of roots()) {
        for (const [path, id] of yield* GitObjects.unchanged(root, open)) named.set(path, `git:${id}`)
      }
    }
    for (const { look, path } of open) {
      const content = named.get(path)
      if (content !== undefined) known.set(path, { look, content })
    }
    yield* take(open.flatMap(({ path }) => (named.has(path) ? [] : [path])))
    yield* history.note(open.map(({ path }) => FileHistory.noteOf(path, known.get(path))))
  }).pipe(Effect.provideContext(services))

  /** What git had is copied as soon as it is the only one who has it. */
  const resolved = Effect.fnUntraced(function* (states: ReadonlyArray<FileState | undefined>) {
    const named = states.filter((state) => state?.content.startsWith("git:") === true).length
    // A branch that was switched stays git's: it has both sides.
    if (named === 0 || named > many) return states
    const held = yield* Effect.provideContext(history.read(states, roots()[0] ?? "/"), services)
    return yield* Effect.forEach(states, (state, index) => {
      const bytes = held[index]
      if (state === undefined || bytes === undefined || !state.content.startsWith("git:")) return Effect.succeed(state)
      return Effect.map(history.put(bytes), (content) => (content === undefined ? state : { ...state, content }))
    })
  })

  /** Journals what became of these files, where anything did. */
  const record = Effect.fnUntraced(function* (
    paths: ReadonlyArray<string>,
    cause: "call" | "background" | "crash" | "rewind",
    by: { readonly promptId: string; readonly toolUseId?: string; readonly to?: string },
  ) {
    const before = yield* resolved(paths.map((path) => stateOf(known.get(path))))
    const looks = yield* files.looks(paths)
    const there: Array<string> = []
    for (const [index, path] of paths.entries()) {
      const now = looks[index]
      if (now?.kind !== "file") known.delete(path)
      else {
        known.set(path, { look: now })
        there.push(path)
      }
    }
    yield* take(there)
    yield* history.note(paths.map((path) => FileHistory.noteOf(path, known.get(path))))
    const changes: Array<FileChange> = []
    for (const [index, path] of paths.entries()) {
      const was = before[index]
      const is = stateOf(known.get(path))
      if (isUnchanged(was, is)) continue
      changes.push({ path, ...(was !== undefined && { before: was }), ...(is !== undefined && { after: is }) })
    }
    if (changes.length > 0) yield* recorder.emit({ _tag: "Checkpointed", uuid: yield* Ids.uuid, cause, ...by, changes })
    return changes
  })

  /** The look between two things: what has changed is a person's, unless work in the background may have done it. */
  const catchUp = Effect.gen(function* () {
    const seen = yield* look
    // A call that runs beside has its part in it.
    const busy = wasBusy || isBusy() || owners.size > 0
    wasBusy = isBusy()
    const owner = promptId
    promptId = newest
    if (!busy || owner === "") return absorb(seen)
    yield* record(
      seen.map(({ path }) => path),
      "background",
      { promptId: owner },
    )
  })

  /** A call that an earlier life began, and whose end nobody saw. */
  const recover = Effect.forEach(
    history.open,
    Effect.fnUntraced(function* ({ id, paths, promptId }) {
      const seen = paths ?? (yield* look).map(({ path }) => path)
      const gone = paths === undefined ? [...history.past().keys()].filter((path) => !known.has(path)) : []
      for (const path of gone) {
        const before = history.past().get(path)
        if (before !== undefined) known.set(path, before)
      }
      yield* record([...new Set([...seen, ...gone])], "crash", { promptId, toolUseId: id })
      yield* history.note([{ close: id }])
    }),
    { discard: true },
  )

  const seeded = Effect.sync(() => {
    if (isSeeded) return
    isSeeded = true
    for (const [path, one] of history.past()) known.set(path, one)
  })
  const quietly = (effect: Effect.Effect<unknown, FileError | JournalError>) =>
    one.withPermit(Effect.andThen(seeded, effect)).pipe(
      Effect.catch((error) => Effect.ignore(complain(error.message))),
      Effect.asVoid,
    )

  const scope = yield* Effect.scope
  if (history.open.length > 0) yield* quietly(recover)

  const shape: CheckpointsShape = {
    promptBegan: (id) =>
      Effect.suspend(() => {
        newest = id
        // What a call changes that runs by then is found at its end.
        const unlessCalled = Effect.suspend(() => (owners.size > 0 ? Effect.void : catchUp))
        return Effect.asVoid(
          Effect.forkIn(Effect.delay(quietly(unlessCalled), soon), scope, { startImmediately: true }),
        )
      }),
    before: ({ id, paths }) =>
      quietly(
        Effect.gen(function* () {
          if (paths === undefined) {
            yield* catchUp
            yield* secure
          } else {
            const looks = yield* files.looks(paths)
            const stale = paths.filter((path, index) => {
              const now = looks[index]
              if (now?.kind !== "file") known.delete(path)
              return now?.kind === "file" && (known.get(path)?.content === undefined || !isStill(known.get(path), now))
            })
            for (const path of stale) {
              const now = looks[paths.indexOf(path)]
              if (now !== undefined) known.set(path, { look: now })
            }
            yield* take(stale)
            yield* history.note(paths.map((path) => FileHistory.noteOf(path, known.get(path))))
          }
          owners.set(id, newest)
          yield* history.note([{ open: { id, promptId: newest, ...(paths !== undefined && { paths }) } }])
        }),
      ),
    after: ({ id, paths }) =>
      quietly(
        Effect.gen(function* () {
          const owner = owners.get(id)
          // It never began.
          if (owner === undefined) return
          owners.delete(id)
          const touched = paths ?? (yield* look).map(({ path }) => path)
          wasBusy ||= isBusy()
          yield* record(touched, "call", { promptId: owner, toolUseId: id })
          yield* history.note([{ close: id }])
        }),
      ),
  }

  /** Files as they are now, with what they hold; for going back, which is a change like any other. */
  const changing = Effect.fnUntraced(function* <A, E, R>(
    paths: ReadonlyArray<string>,
    to: string,
    work: Effect.Effect<A, E, R>,
  ) {
    const id = yield* Ids.uuid
    // Until it is recorded it has an owner: a look that comes in between would take it for a person's.
    yield* shape.before({ id, paths })
    return yield* Effect.onExit(work, () =>
      quietly(
        Effect.gen(function* () {
          owners.delete(id)
          yield* record(paths, "rewind", { promptId: to, to })
          yield* history.note([{ close: id }])
        }),
      ),
    )
  })

  return { shape, changing }
})

export type Kept = Effect.Success<ReturnType<typeof make>>

const stateOf = (known: Known | undefined): FileState | undefined =>
  known === undefined ? undefined : { content: known.content ?? "", size: known.look.size, mode: known.look.mode }

const isUnchanged = (a: FileState | undefined, b: FileState | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.content !== "" && a.content === b.content && a.mode === b.mode)

const isStill = (known: Known | undefined, now: Look): boolean => WorkTree.isSame(known?.look, now)
