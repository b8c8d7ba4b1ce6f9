/** Owns reading the output of a task from its file: in pieces, from where it was last read, never half a character. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Option from "effect/Option"
import type * as PlatformError from "effect/PlatformError"
import { wholeCharacters } from "../platform/Capture.ts"

export interface Piece {
  readonly text: string
  /** Where it begins and ends in the file. */
  readonly from: number
  readonly to: number
  /** There is more behind it. */
  readonly more: boolean
}

const bytesAt = Effect.fnUntraced(function* (path: string, from: number, size: number) {
  const fs = yield* FileSystem.FileSystem
  const file = yield* fs.open(path)
  yield* file.seek(BigInt(from), "start")
  const parts: Array<Uint8Array> = []
  let left = size
  while (left > 0) {
    const part = Option.getOrUndefined(yield* file.readAlloc(left))
    if (part === undefined || part.length === 0) break
    parts.push(part)
    left -= part.length
  }
  return joined(parts)
}, Effect.scoped)

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** The next bytes from a place on. Of output that still grows, a last character or line that is not complete is left for later. */
export const next = Effect.fnUntraced(function* (
  path: string,
  from: number,
  options: { readonly atMost: number; readonly growing: boolean; readonly wholeLines?: boolean },
): Effect.fn.Return<Piece, PlatformError.PlatformError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const size = Number((yield* fs.stat(path)).size)
  const wanted = Math.min(options.atMost, Math.max(0, size - from))
  const bytes = wanted === 0 ? new Uint8Array() : yield* bytesAt(path, from, wanted)
  const isLast = from + bytes.length >= size
  const torn = !isLast || options.growing
  const kept = torn ? wholeCharacters(bytes) : bytes
  const line = options.wholeLines === true && torn ? kept.lastIndexOf(newline) + 1 : kept.length
  // A line longer than a piece is taken in pieces; nobody waits for its end.
  const part = line === 0 && !isLast ? kept : kept.subarray(0, line)
  const to = from + part.length
  return { text: new TextDecoder().decode(part), from, to, more: part.length > 0 && to < size }
})

/** The newest bytes since a place; what lies before them is skipped. */
export const newest = Effect.fnUntraced(function* (
  path: string,
  since: number,
  options: { readonly atMost: number; readonly growing: boolean },
): Effect.fn.Return<Piece, PlatformError.PlatformError, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const size = Number((yield* fs.stat(path)).size)
  const from = Math.max(since, size - options.atMost)
  const piece = yield* next(path, from, options)
  return from === since ? piece : { ...piece, text: piece.text.replace(/^\uFFFD{1,3}/, "") }
})

const newline = 10
