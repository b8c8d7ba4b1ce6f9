/**
 * Owns the bytes of a journal: one record a line, and what can be told about a file of them that went through a crash.
 *
 * `sum` is sixteen hex digits. The first eight are the CRC-32 of the line without its `sum`, so every record can be
 * judged alone, also behind a gap. The last eight chain it to the record before, so a missing or moved one is seen.
 */
import * as Schema from "effect/Schema"
import type { DurableEvent } from "../protocol/Event.ts"

/** Something that happened, at its place in the order of a session. */
export interface JournalRecord {
  /** Strictly increasing; a gap is a record that was lost and bridged. */
  readonly seq: number
  readonly time: number
  readonly agent: string
  readonly event: DurableEvent
}

/** A record as it stands in the file; a large payload is only named. */
export interface StoredRecord {
  readonly seq: number
  readonly sum: string
  readonly time: number
  readonly agent: string
  readonly kind: string
  readonly event?: unknown
  readonly blob?: string
}

export interface Placed {
  readonly record: StoredRecord
  /** Byte range without the line end. */
  readonly start: number
  readonly end: number
}

export interface Damage {
  readonly line: number
  readonly start: number
  readonly end: number
  readonly torn: boolean
}

export interface Scan {
  /** The records that can be trusted, in order. */
  readonly records: ReadonlyArray<Placed>
  readonly damage: ReadonlyArray<Damage>
  /** What is wrong, for people; empty for a sound file. */
  readonly problems: ReadonlyArray<string>
  /** The one flaw is a cut last line: the file is sound up to here. */
  readonly soundUntil: number | undefined
}

const Stored = Schema.Struct({
  seq: Schema.Int,
  sum: Schema.String,
  time: Schema.Finite,
  agent: Schema.String,
  kind: Schema.String,
  event: Schema.optionalKey(Schema.Unknown),
  blob: Schema.optionalKey(Schema.String),
})
const isStored = Schema.is(Stored)

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n
  for (let bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1
  return c
})

const crcBytes = (seed: number, bytes: Uint8Array, from: number, to: number): number => {
  let c = ~seed
  for (let i = from; i < to; i++) c = (table[(c ^ (bytes[i] ?? 0)) & 0xff] ?? 0) ^ (c >>> 8)
  return ~c
}

const crcAscii = (seed: number, text: string): number => {
  let c = ~seed
  for (let i = 0; i < text.length; i++) c = (table[(c ^ text.charCodeAt(i)) & 0xff] ?? 0) ^ (c >>> 8)
  return ~c
}

const hex = (n: number) => (n >>> 0).toString(16).padStart(8, "0")

export const firstSum = "0000000000000000"
const linkOf = (previous: string, own: string) => hex(crcAscii(0, previous + own))

const utf8 = new TextEncoder()
const headOf = (seq: number) => `{"seq":${seq},`

export interface NewRecord {
  readonly seq: number
  readonly time: number
  readonly agent: string
  readonly kind: string
  /** `"event":{…}` or `"blob":"…"`. */
  readonly payload: string
}

/** One line, its line end included. */
export const encode = (previous: string, record: NewRecord): { readonly bytes: Uint8Array; readonly sum: string } => {
  const head = headOf(record.seq)
  const rest = utf8.encode(
    `"time":${record.time},"agent":${JSON.stringify(record.agent)},"kind":"${record.kind}",${record.payload}}\n`,
  )
  const own = hex(crcBytes(crcAscii(0, head), rest, 0, rest.length - 1))
  const sum = own + linkOf(previous, own)
  return { bytes: assemble(head, sum, rest), sum }
}

const assemble = (head: string, sum: string, rest: Uint8Array): Uint8Array => {
  const start = `${head}"sum":"${sum}",`
  const bytes = new Uint8Array(start.length + rest.length)
  for (let i = 0; i < start.length; i++) bytes[i] = start.charCodeAt(i)
  bytes.set(rest, start.length)
  return bytes
}

/** The same record behind another predecessor. */
export const relink = (bytes: Uint8Array, placed: Placed, previous: string) => {
  const own = placed.record.sum.slice(0, 8)
  const sum = own + linkOf(previous, own)
  const skip = headOf(placed.record.seq).length + sumLength
  const rest = new Uint8Array(placed.end - placed.start - skip + 1)
  rest.set(bytes.subarray(placed.start + skip, placed.end))
  rest[rest.length - 1] = 10
  return { bytes: assemble(headOf(placed.record.seq), sum, rest), sum }
}

const opening = /^\{"seq":(\d{1,15}),"sum":"([0-9a-f]{16})",/
const sumLength = '"sum":"0000000000000000",'.length
const decoder = new TextDecoder()

/** The one record that stands there, if it is whole. */
export const verify = (bytes: Uint8Array, start: number, end: number): Placed | undefined => {
  const match = opening.exec(decoder.decode(bytes.subarray(start, Math.min(end, start + 56))))
  const seq = match?.[1]
  const sum = match?.[2]
  if (match === null || seq === undefined || sum === undefined) return undefined
  const own = crcBytes(crcAscii(0, `{"seq":${seq},`), bytes, start + match[0].length, end)
  if (hex(own) !== sum.slice(0, 8)) return undefined
  try {
    const record: unknown = JSON.parse(decoder.decode(bytes.subarray(start, end)))
    return isStored(record) ? { record, start, end } : undefined
  } catch {
    return undefined
  }
}

/** It was written right behind a record of this sum. */
export const isBehind = (previous: string, record: StoredRecord): boolean =>
  linkOf(previous, record.sum.slice(0, 8)) === record.sum.slice(8)

/** Nothing in a cut last line can be saved. */
export const isLost = (bytes: Uint8Array): boolean => salvage(bytes, 0, bytes.length).length === 0

/** Where a record may begin inside a broken stretch: a lost line end glues two of them together. */
const openings = (bytes: Uint8Array, start: number, end: number): Array<number> => {
  const found: Array<number> = []
  for (
    let at = bytes.indexOf(0x7b, start);
    at !== -1 && at < end && found.length < 32;
    at = bytes.indexOf(0x7b, at + 1)
  ) {
    if (opening.test(decoder.decode(bytes.subarray(at, Math.min(end, at + 56))))) found.push(at)
  }
  return found
}

const salvage = (bytes: Uint8Array, start: number, end: number): Array<Placed> => {
  const saved: Array<Placed> = []
  const starts = openings(bytes, start, end)
  let from = start
  for (const [i, at] of starts.entries()) {
    if (at < from) continue
    const ends = [end, ...starts.slice(i + 1).map((next) => next - 1)]
    const good = ends.map((to) => verify(bytes, at, to)).find((placed) => placed !== undefined)
    if (good === undefined) continue
    saved.push(good)
    from = good.end
  }
  return saved
}

/** Reads what can be trusted and names what cannot. Never fails: a journal with one good record has one. */
export const scan = (bytes: Uint8Array): Scan => {
  const found: Array<Placed> = []
  const damage: Array<Damage> = []
  const problems: Array<string> = []
  let moved = false
  let previous = firstSum
  let last = 0
  let line = 0
  const accept = (placed: Placed, line: number) => {
    if (!isBehind(previous, placed.record)) {
      moved = true
      const { seq } = placed.record
      problems.push(
        seq > last + 1
          ? `line ${line}: ${seq - last - 1} record(s) before record ${seq} are missing; went on behind the gap`
          : seq <= last
            ? `line ${line}: record ${seq} stands behind record ${last}; the order was restored`
            : `line ${line}: record ${seq} does not fit the one before it; kept`,
      )
    }
    previous = placed.record.sum
    last = Math.max(last, placed.record.seq)
    found.push(placed)
  }
  for (let start = 0; start < bytes.length;) {
    line++
    const newline = bytes.indexOf(10, start)
    const end = newline === -1 ? bytes.length : newline
    const whole = verify(bytes, start, end)
    if (whole !== undefined) accept(whole, line)
    else if (end > start) {
      const torn = newline === -1
      const saved = salvage(bytes, start, end)
      problems.push(
        torn && saved.length === 0
          ? `line ${line}: the last record was cut off after ${end - start} bytes and set aside`
          : `line ${line}: damaged${saved.length === 0 ? ", the record was skipped" : `, ${saved.length} record(s) in it were saved`}`,
      )
      damage.push({ line, start, end, torn: torn && saved.length === 0 })
      for (const placed of saved) accept(placed, line)
    }
    start = end + 1
  }
  const only = damage.length === 1 ? damage[0] : undefined
  return {
    records: moved ? inOrder(found) : found,
    damage,
    problems,
    soundUntil: !moved && only?.torn ? only.start : undefined,
  }
}

/** By sequence number; of two with the same number the first one written counts. */
const inOrder = (found: ReadonlyArray<Placed>): Array<Placed> => {
  const bySeq = new Map<number, Placed>()
  for (const placed of found) if (!bySeq.has(placed.record.seq)) bySeq.set(placed.record.seq, placed)
  return [...bySeq.values()].toSorted((a, b) => a.record.seq - b.record.seq)
}
