/** Owns whether a session is here: it may have been handed over to another place, or be on its way to this one. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import { Host, type HostShape } from "../platform/Host.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as SessionPaths from "./SessionPaths.ts"

/** The session goes on elsewhere; what is here is a copy. */
export class SessionElsewhere extends Schema.TaggedError<SessionElsewhere>()("SessionElsewhere", {
  sessionId: Schema.String,
  to: Schema.String,
}) {
  override get message(): string {
    return `Session ${this.sessionId} was handed over and goes on in ${this.to}. Resume it there (CLAUDE_CONFIG_DIR=${this.to} troupe --resume ${this.sessionId}), or go on in a copy: add --fork-session.`
  }
}

/** Where a session has gone to, if it is not here any more. */
export const goneTo = (records: ReadonlyArray<JournalRecord>, configDir: string): string | undefined => {
  const last = records.findLast(
    ({ event: { _tag } }) => _tag === "SessionHandedOver" || _tag === "SessionStarted",
  )?.event
  return last?._tag === "SessionHandedOver" && last.to !== configDir ? last.to : undefined
}

/** Where a session waits beside its journal until its sender has decided. */
export const stagedAt = (host: HostShape, sessionId: string) => {
  const directory = SessionPaths.sessionDirectory(host, sessionId)
  return { directory, file: `${directory}/arriving.teleport`, note: `${directory}/arriving.json` }
}

/** Somebody began to receive it. */
export const isArriving = Effect.fnUntraced(function* (sessionId: string) {
  if (!SessionPaths.isSessionId(sessionId)) return false
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.orElseSucceed(fs.exists(stagedAt(yield* Host, sessionId).note), () => false)
})
