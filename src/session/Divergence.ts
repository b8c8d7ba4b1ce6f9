/** Owns telling apart two lives of one session that began the same: how far they agree, and what each has said since. Pure. */
import type { RawRecord } from "./Journal.ts"

/** One of the two ways on. */
export interface Branch {
  readonly records: ReadonlyArray<RawRecord>
  /** Something was said or done, not only opened and closed. */
  readonly isSaid: boolean
  /** Milliseconds; 0 without records. */
  readonly last: number
}

export interface Divergence {
  readonly shared: ReadonlyArray<RawRecord>
  readonly here: Branch
  readonly there: Branch
}

/** Kinds that come with opening a session, and that nobody would miss. */
const quiet = new Set([
  "SessionStarted",
  "SessionHandedOver",
  "ControlsChanged",
  "ConfigChanged",
  "Diagnosed",
  "HookRan",
])

/** The texts may differ, because secrets were struck out of one of them; what counts is what happened when. */
const isSame = (a: RawRecord, b: RawRecord | undefined): boolean =>
  b !== undefined && a.seq === b.seq && a.time === b.time && a.agent === b.agent && a.event._tag === b.event._tag

export const compare = (here: ReadonlyArray<RawRecord>, there: ReadonlyArray<RawRecord>): Divergence => {
  const differs = here.findIndex((record, at) => !isSame(record, there[at]))
  const at = differs === -1 ? here.length : differs
  return { shared: here.slice(0, at), here: branch(here.slice(at)), there: branch(there.slice(at)) }
}

const branch = (records: ReadonlyArray<RawRecord>): Branch => ({
  records,
  isSaid: records.some(({ event }) => !quiet.has(event._tag)),
  last: records.at(-1)?.time ?? 0,
})
