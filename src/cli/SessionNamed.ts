/** Owns which session a command means: by its whole id, `latest`, or as lists show it: by the beginning of its id, or by its title. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { Host } from "../platform/Host.ts"
import * as SessionIndex from "../session/SessionIndex.ts"
import * as SessionPaths from "../session/SessionPaths.ts"
import * as SessionRef from "../session/SessionRef.ts"
import * as Sessions from "../session/Sessions.ts"

/** Its id; a word that names none as it is, so that each command can say in its own words what it has not found. */
export const idOf = Effect.fnUntraced(function* (reference: string) {
  if (SessionPaths.isSessionId(reference)) return reference
  const found = SessionRef.resolve(reference, yield* SessionIndex.list)
  if (Result.isSuccess(found)) return found.success.sessionId
  if (reference === "latest") return (yield* Sessions.latest((yield* Host).cwd)) ?? reference
  return found.failure.isAmbiguous ? yield* found.failure : reference
})
