/** Owns reading a large file line by line, a piece at a time: what is in memory is bounded by the longest line, not by the file. */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import { fromPlatform } from "../platform/FileError.ts"

const pieceBytes = 1024 * 1024

/** A line stands in `bytes` from `start` to `end`, its line end excluded; in the file it starts at `at`. The bytes are lent for the call. */
export type EachLine = (bytes: Uint8Array, start: number, end: number, at: number) => void

export interface Read {
  /** Everything before it was given to `each`: it is where a line starts. */
  readonly to: number
  /** The bytes behind the last line end. */
  readonly rest: Uint8Array
}

/**
 * Gives every complete line from `from` on to `each`, and runs `between` after each piece. What is added meanwhile may or may not be
 * among them.
 */
export const read = Effect.fnUntraced(
  function* <R = never>(
    path: string,
    from: number,
    each: EachLine,
    between: Effect.Effect<void, never, R> = Effect.void,
  ) {
    const fs = yield* FileSystem.FileSystem
    const file = yield* fs.open(path, { flag: "r" })
    yield* file.seek(BigInt(from), "start")
    const { size: whole } = yield* file.stat
    let buffer = new Uint8Array(Math.max(1, Math.min(pieceBytes, ByteSize.toNumberUnsafe(whole) - from + 1)))
    /** How much of the buffer is filled, and where in the file it begins. */
    let filled = 0
    let base = from
    while (true) {
      const got = yield* file.read(buffer.subarray(filled))
      if (got === 0) break
      const size = filled + got
      let start = 0
      for (let end = buffer.indexOf(10, filled); end !== -1 && end < size; end = buffer.indexOf(10, start)) {
        each(buffer, start, end, base + start)
        start = end + 1
      }
      yield* between
      filled = size - start
      base += start
      if (start > 0) buffer.copyWithin(0, start, size)
      if (filled < buffer.length) continue
      const larger = new Uint8Array(buffer.length * 2)
      larger.set(buffer)
      buffer = larger
    }
    const read: Read = { to: base, rest: buffer.slice(0, filled) }
    return read
  },
  Effect.scoped,
  (effect, path) => Effect.mapError(effect, (error) => fromPlatform("read", path, error)),
)
