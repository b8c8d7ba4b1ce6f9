/** Owns what a person has agreed to: for each settings file of a folder, the hash of the executable part that may be in force. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as Path from "effect/Path"
import * as Schema from "effect/Schema"
import type { FileError } from "../platform/FileError.ts"
import type { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import { set } from "./SettingsEdit.ts"
import { type SettingsWriteError, write } from "./SettingsWriter.ts"
import type { Review } from "./Trust.ts"

const Approvals = Schema.fromJsonString(Schema.Record(Schema.String, Schema.String))
const decode = Schema.decodeUnknownOption(Approvals)

export const pathIn = (host: Host["Service"]): string => `${host.configDir}/troupe/trust.json`

/** Unreadable means that nobody agreed to anything. */
const load = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.option(fs.readFileString(pathIn(yield* Host)))
  return Option.getOrElse(Option.flatMap(text, decode), (): Readonly<Record<string, string>> => ({}))
})

/** Whether a person agreed to exactly this. */
export const approved: Effect.Effect<(review: Review) => boolean, never, FileSystem.FileSystem | Host> = Effect.map(
  load,
  (approvals) => (review) =>
    Object.hasOwn(approvals, review.source.name) && approvals[review.source.name] === review.hash,
)

/** Remembers that a person agreed; what others agree to at the same moment is remembered too. */
export const approve = Effect.fnUntraced(function* (
  reviews: ReadonlyArray<Review>,
): Effect.fn.Return<void, FileError | SettingsWriteError, FileSystem.FileSystem | Path.Path | Files | Host> {
  const edits = reviews.map(({ source, hash }) => set([source.name], hash))
  yield* write(pathIn(yield* Host), edits, { mode: 0o600 })
})
