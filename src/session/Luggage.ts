/** Owns what a session brought along that this version does not understand: it is kept beside the journal, and leaves with it again. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import { journalError } from "./JournalError.ts"
import * as RegularFile from "./RegularFile.ts"
import * as SessionPaths from "./SessionPaths.ts"

const Kept = Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown))
const decode = Schema.decodeUnknownOption(Kept)

const fileOf = (host: Host["Service"], sessionId: string): string =>
  `${SessionPaths.sessionDirectory(host, sessionId)}/luggage.json`

export const read = Effect.fnUntraced(function* (sessionId: string) {
  const bytes = yield* RegularFile.readIfThere(fileOf(yield* Host, sessionId)).pipe(
    Effect.orElseSucceed(() => new Uint8Array(0)),
  )
  const kept = decode(new TextDecoder().decode(bytes))
  return kept._tag === "Some" ? Object.entries(kept.value) : []
})

/** What was there before stays, unless it has come again. */
export const write = Effect.fnUntraced(function* (sessionId: string, sections: ReadonlyMap<string, unknown>) {
  if (sections.size === 0) return
  const files = yield* Files
  const path = fileOf(yield* Host, sessionId)
  const all = Object.fromEntries([...(yield* read(sessionId)), ...sections])
  yield* files
    .writeAtomic(path, JSON.stringify(all), { mode: 0o600 })
    .pipe(Effect.mapError(journalError("append", path)))
})
