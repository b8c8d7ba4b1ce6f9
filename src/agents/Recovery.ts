/** Owns the second chances of one turn: larger output slots, continuations, sealed streams, unreadable calls. Each is counted. */

/** What the model is told when its reply was cut at the output limit. */
export const continuation =
  "Your reply was cut off at the output limit. Go on exactly where it stopped, without apology or repetition; split what remains into smaller pieces."

const chances = 3

export interface Recovery {
  /** The output limit of the next request. */
  readonly slot: () => number
  /** Takes the larger slot, once; `false` when there is none. */
  readonly escalates: () => boolean
  readonly mayContinue: () => boolean
  /** A stream that broke off is kept as it is only so often in a row. */
  readonly maySeal: () => boolean
  /** A reply came to its end. */
  readonly heardWell: () => void
  readonly mayAskForOutputAgain: () => boolean
  /** Counts replies in a row none of whose calls could be read. */
  readonly malformedTooOften: (calls: ReadonlyArray<{ readonly malformedInput?: string | undefined }>) => boolean
}

export const make = ([first, large]: readonly [first: number, large: number]): Recovery => {
  let slot = first
  let malformed = 0
  let sealed = 0
  const upTo = (limit: number) => {
    let used = 0
    return () => ++used <= limit
  }
  return {
    slot: () => slot,
    escalates: () => {
      if (slot >= large) return false
      slot = large
      return true
    },
    mayContinue: upTo(chances),
    maySeal: () => ++sealed <= chances,
    heardWell: () => {
      sealed = 0
    },
    mayAskForOutputAgain: upTo(chances),
    malformedTooOften: (calls) => {
      const all = calls.length > 0 && calls.every((call) => call.malformedInput !== undefined)
      malformed = all ? malformed + 1 : 0
      return malformed >= chances
    },
  }
}
