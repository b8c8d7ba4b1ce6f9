/** Owns telling an agent's model what the harness knows and no person said: hooks, news of files, what a resumed session missed. */
import * as Effect from "effect/Effect"
import * as Ids from "../kernel/Ids.ts"
import { reminder } from "../protocol/Reminder.ts"
import type { RecorderShape } from "../session/Recorder.ts"

/** Each piece under its own name: the journal shows who says it. */
export const remind = Effect.fnUntraced(function* (
  { emit }: RecorderShape,
  origin: string,
  pieces: ReadonlyArray<string>,
) {
  for (const piece of pieces) {
    yield* emit({ _tag: "ContextAdded", uuid: yield* Ids.uuid, origin, content: reminder(piece) })
  }
})
