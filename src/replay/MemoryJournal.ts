/** Owns a journal that is a list: nothing of a replay reaches a disk. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Journal } from "../session/Journal.ts"
import type { JournalRecord } from "../session/JournalRecord.ts"
import type { RecorderShape } from "../session/Recorder.ts"
import * as Transcript from "../session/Transcript.ts"

/** Appends to `written`; `place` knows number and time of the next record, where they are not simply the next ones. */
export const make = (
  sessionId: string,
  written: Array<JournalRecord>,
  place?: () => Pick<JournalRecord, "seq" | "time"> | undefined,
): Journal => ({
  sessionId,
  path: "",
  isEmpty: written.length === 0,
  problems: [],
  reread: Effect.succeed({ path: "", records: written, problems: [] }),
  replay: (reader) =>
    Effect.andThen(
      Effect.suspend(() => reader.restart(written)),
      Effect.sync(() => written.forEach(reader.take)),
    ),
  position: () => undefined,
  append: (agent, event) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const { seq = (written.at(-1)?.seq ?? 0) + 1, time = now } = place?.() ?? {}
      const record = { seq, time, agent, event }
      written.push(record)
      return record
    }),
  sync: Effect.void,
})

export const noTranscript: RecorderShape["transcript"] = Transcript.none
