/** Owns server-sent events on a socket: framing, as few writes as the timing allows, or as many as tearing wants. */
import type * as http from "node:http"
import * as Effect from "effect/Effect"
import type { StreamEvent } from "../protocol/StreamEvent.ts"

export interface SseWriter {
  readonly event: (event: StreamEvent) => void
  readonly raw: (name: string, data: string) => void
  /** What was said so far has left the process. */
  readonly flush: Effect.Effect<void>
  readonly end: Effect.Effect<void>
}

// Small, uneven, and without a common divisor with any frame: every kind of boundary is cut sooner or later.
const sizes = [1, 2, 3, 5, 7, 11, 13, 17]

export const make = (response: http.ServerResponse, options: { readonly torn: boolean }): SseWriter => {
  let pending = ""
  const raw = (name: string, data: string): void => {
    pending += `event: ${name}\ndata: ${data}\n\n`
  }
  const send = Effect.suspend(() => {
    const text = pending
    pending = ""
    if (!options.torn) return text === "" ? headersOnly(response) : write(response, text)
    return Effect.forEach(tear(Buffer.from(text)), (piece) => write(response, piece), { discard: true })
  })
  return {
    event: (event) => raw(event.type, JSON.stringify(event)),
    raw,
    flush: send,
    end: Effect.suspend(() => {
      if (options.torn)
        return Effect.andThen(
          send,
          Effect.sync(() => void response.end()),
        )
      response.end(pending)
      return Effect.void
    }),
  }
}

/** The whole, cut at odd places, and inside every character that has more than one byte. */
export const tear = (bytes: Buffer): ReadonlyArray<Buffer> => {
  const pieces: Array<Buffer> = []
  let at = 0
  while (at < bytes.length) {
    const piece = bytes.subarray(at, at + (sizes[pieces.length % sizes.length] ?? 1))
    const lead = piece.findIndex((byte) => byte >= 0xc0)
    pieces.push(lead < 0 ? piece : piece.subarray(0, lead + 1))
    at += pieces.at(-1)?.length ?? 1
  }
  return pieces
}

const headersOnly = (response: http.ServerResponse) => Effect.sync(() => response.flushHeaders())

/** Waits until the system has taken it: a socket that is destroyed next must not take these bytes with it. */
const write = (response: http.ServerResponse, data: string | Buffer) =>
  Effect.callback<void>((resume) => {
    response.write(data, () => resume(Effect.void))
  })
