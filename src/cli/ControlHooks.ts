/** Owns the hooks that a client of the control protocol gives: each is a function here, which calls the client's by its id. */
import * as Effect from "effect/Effect"
import type { SessionHook } from "../agents/SessionHook.ts"
import { eventNames, isEventName } from "../hooks/HookEvents.ts"
import { nearest } from "../platform/Near.ts"
import type { ControlChannel } from "./ControlChannel.ts"
import type { Initialize } from "./ControlWire.ts"

/** Whoever knows an event by a name that we do not is told. */
export const hooks = Effect.fnUntraced(function* (
  given: NonNullable<Initialize["hooks"]>,
  channel: ControlChannel,
  note: (text: string) => Effect.Effect<void>,
) {
  const made: Array<SessionHook> = []
  for (const [event, matchers] of Object.entries(given)) {
    if (!isEventName(event)) {
      const near = nearest(event, eventNames)
      yield* note(`There is no hook event "${event}".${near === undefined ? "" : ` Did you mean ${near}?`}`)
      continue
    }
    for (const { hookCallbackIds, matcher, timeout } of matchers) {
      for (const callbackId of hookCallbackIds) {
        made.push({
          event,
          matcher: matcher ?? undefined,
          timeoutSeconds: timeout ?? undefined,
          name: callbackId,
          run: (input, toolUseId) =>
            channel
              .hookCallback({ callbackId, input, toolUseId })
              // Whoever has closed the conversation cannot be expected to answer.
              .pipe(
                Effect.catch((error) =>
                  error.reason === "closed" ? Effect.logDebug(error.message) : Effect.logWarning(error.message),
                ),
              ),
        })
      }
    }
  }
  return made
})
