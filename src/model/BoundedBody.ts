/** Owns how much of an answer is taken from the network: no service can fill the memory. */

/** The answer is larger than anything a model says. Whoever throws it has closed the connection. */
export class TooMuch extends Error {
  readonly limit: number

  constructor(limit: number) {
    super(`more than ${limit / mega} MB`)
    this.limit = limit
  }
}

export const mega = 1024 * 1024

type Verdict = "more" | "enough" | "too much"

/** Hands the bytes on and asks about each piece of them whether there may be more. */
const watched = (response: Response, limit: number, judge: (bytes: number) => Verdict): Response => {
  const source = response.body
  if (source === null) return response
  const reader = source.getReader()
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const piece = await reader.read()
        if (piece.done) return controller.close()
        const verdict = judge(piece.value.byteLength)
        if (verdict === "more") return controller.enqueue(piece.value)
        await reader.cancel()
        if (verdict === "too much") throw new TooMuch(limit)
        controller.enqueue(piece.value)
        controller.close()
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  const { status, statusText, headers } = response
  return new Response(body, { status, statusText, headers })
}

/** Reading it throws `TooMuch` at the limit. */
export const limited = (response: Response, limit: number): Response => {
  let taken = 0
  return watched(response, limit, (bytes) => ((taken += bytes) > limit ? "too much" : "more"))
}

/** Ends at the limit, as if there were no more: for what is only quoted. */
export const cut = (response: Response, limit: number): Response => {
  let taken = 0
  return watched(response, limit, (bytes) => ((taken += bytes) >= limit ? "enough" : "more"))
}

/** Reading it throws `TooMuch` when that much came since `restart` was called. */
export const limitedBetween = (
  response: Response,
  limit: number,
): { readonly response: Response; readonly restart: () => void } => {
  let taken = 0
  return {
    response: watched(response, limit, (bytes) => ((taken += bytes) > limit ? "too much" : "more")),
    restart: () => void (taken = 0),
  }
}
