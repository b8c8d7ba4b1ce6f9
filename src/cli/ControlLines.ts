/** Owns cutting what comes in through stdin into lines, none of which may fill the memory. */

export type Incoming =
  | { readonly _tag: "Line"; readonly number: number; readonly text: string }
  /** It was passed over; `start` is enough to see what it wanted to be. */
  | { readonly _tag: "TooLong"; readonly number: number; readonly start: string }

/** The service takes requests of 32 MB; a longer line could not be sent to it anyway. */
export const longestLine = 32 * 1024 * 1024

const startLength = 1_000

export interface Lines {
  /** The lines that this piece completes. */
  readonly push: (piece: string) => ReadonlyArray<Incoming>
  /** What is left when nothing more comes. */
  readonly end: () => ReadonlyArray<Incoming>
}

/** Starts at line 1. Lengths count UTF-16 units: what a string takes in memory. */
export const make = (limit: number = longestLine): Lines => {
  let number = 0
  let pieces: Array<string> = []
  let length = 0
  /** The beginning of a line that is being passed over. */
  let tooLong: string | undefined

  const add = (text: string) => {
    length += text.length
    if (tooLong !== undefined) return
    pieces.push(text)
    if (length <= limit) return
    tooLong = pieces.join("").slice(0, startLength)
    pieces = []
  }
  const take = (): Incoming => {
    number++
    const line: Incoming =
      tooLong === undefined
        ? { _tag: "Line", number, text: pieces.join("") }
        : { _tag: "TooLong", number, start: tooLong }
    pieces = []
    length = 0
    tooLong = undefined
    return line
  }
  return {
    push: (piece) => {
      const lines: Array<Incoming> = []
      let from = 0
      for (let to = piece.indexOf("\n"); to !== -1; to = piece.indexOf("\n", from)) {
        add(piece.slice(from, to))
        lines.push(take())
        from = to + 1
      }
      if (from < piece.length) add(piece.slice(from))
      return lines
    },
    end: () => (length === 0 ? [] : [take()]),
  }
}
