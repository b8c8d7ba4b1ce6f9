/** Owns which records of a session do not count any more, because somebody went back to before them. */
import type { JournalRecord } from "./JournalRecord.ts"

/**
 * Answers for each record whether it has been taken back. The newest has the last word: whoever goes back to before an earlier going
 * back has what that one took.
 */
export const of = (records: ReadonlyArray<Pick<JournalRecord, "seq" | "event">>): ((seq: number) => boolean) => {
  const ranges: Array<{ readonly from: number; readonly to: number }> = []
  const isUndone = (seq: number) => ranges.some(({ from, to }) => seq >= from && seq < to)
  for (const { seq, event } of records.toReversed()) {
    if (event._tag === "Rewound" && !isUndone(seq)) ranges.push({ from: event.to, to: seq })
  }
  return isUndone
}
