/**
 * Owns `.claude/session-state.json`: the facts of a session as a file that people, hooks and other programs can read, written before each
 * summary and read when the session is opened again. The journal is the truth; the file helps where that knows less.
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import { Files } from "../../platform/Files.ts"
import { Facts } from "../../session/Facts.ts"
import * as RegularFile from "../../session/RegularFile.ts"

const State = Schema.Struct({
  version: Schema.Literal(1),
  sessionId: Schema.String,
  savedAt: Schema.String,
  facts: Facts,
})
const fromJson = Schema.fromJsonString(State)

const name = ".claude/session-state.json"
const largest = 4 * 1024 * 1024

/** Answers why it could not be written, if so: nothing depends on it. */
export const save = Effect.fnUntraced(function* (cwd: string, sessionId: string, facts: Facts) {
  const files = yield* Files
  const savedAt = DateTime.formatIso(yield* DateTime.now)
  const state: typeof State.Type = { version: 1, sessionId, savedAt, facts: { ...facts, calls: {} } }
  // Whatever a folder has made of that name: nothing is written outside of it.
  return yield* files
    .writeInside(cwd, name, `${JSON.stringify(state, undefined, 2)}\n`, { mode: 0o600, makeParents: true })
    .pipe(
      Effect.as(undefined),
      Effect.catch(({ message }) => Effect.succeed(`${name} could not be written: ${message}`)),
    )
})

/** What was taken back is no fact any more, for whoever reads the file either. A file of another session stays. */
export const renew = Effect.fnUntraced(function* (cwd: string, sessionId: string, facts: Facts) {
  if ((yield* load(cwd, sessionId)) === undefined) return undefined
  return yield* save(cwd, sessionId, facts)
})

/** What a file of this session says; nothing where there is none, or another session's. */
export const load = Effect.fnUntraced(function* (cwd: string, sessionId: string) {
  const fs = yield* FileSystem.FileSystem
  const path = (yield* Path.Path).join(cwd, name)
  // A repository may bring a pipe of that name, or a link to a device: opening one could wait forever, reading the other never ends.
  const text = yield* RegularFile.stat(path).pipe(
    Effect.filterOrFail(({ size }) => size <= largest),
    Effect.andThen(fs.readFileString(path)),
    Effect.option,
  )
  const state = Option.flatMap(text, Schema.decodeUnknownOption(fromJson))
  return Option.isSome(state) && state.value.sessionId === sessionId ? state.value.facts : undefined
})
