/** Owns our `fetch` in the hands of the AWS SDK: its own requests for credentials, and a bound on the frames of its streams. */
import type { Fetch } from "../platform/HttpFetch.ts"
import { TooMuch } from "./BoundedBody.ts"
import { largestEvent } from "./MessagesApi.ts"

/** What the AWS SDK asks for, as far as it asks for credentials. */
interface Asked {
  readonly protocol: string
  readonly hostname: string
  readonly port?: number | undefined
  readonly method: string
  readonly path: string
  readonly query?: Readonly<Record<string, string | ReadonlyArray<string> | null>> | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** A request handler for its clients, so that proxies and certificates count there too. */
export const handler = (fetch: Fetch) => ({
  handle: async (asked: Asked) => {
    const port = asked.port === undefined ? "" : `:${asked.port}`
    const url = new URL(`${asked.protocol}//${asked.hostname}${port}${asked.path}`)
    for (const [name, values] of Object.entries(asked.query ?? {})) {
      for (const value of typeof values === "string" || values === null ? [values ?? ""] : values) {
        url.searchParams.append(name, value)
      }
    }
    const body = asked.body instanceof Uint8Array ? new TextDecoder().decode(asked.body) : asked.body
    const response = await fetch(url, {
      method: asked.method,
      headers: asked.headers,
      ...(typeof body === "string" && body !== "" && { body }),
    })
    return {
      response: {
        statusCode: response.status,
        headers: Object.fromEntries(response.headers),
        body: response.body ?? undefined,
      },
    }
  },
})

const eventStream = "application/vnd.amazon.eventstream"

/**
 * Each frame of Amazon's streams begins with its length, and its reader takes the memory for it before anything of it has come:
 * a frame that claims more than any event has is refused here.
 */
export const framed =
  (fetch: Fetch): Fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    if (response.body === null || response.headers.get("content-type")?.startsWith(eventStream) !== true)
      return response
    const { status, statusText, headers } = response
    return new Response(response.body.pipeThrough(lengthCheck()), { status, statusText, headers })
  }

const lengthCheck = (): TransformStream<Uint8Array, Uint8Array> => {
  const head: Array<number> = []
  /** How much of the present frame is to come. */
  let left = 0
  return new TransformStream({
    transform: (chunk, controller) => {
      for (let at = 0; at < chunk.length;) {
        if (left > 0) {
          const taken = Math.min(left, chunk.length - at)
          left -= taken
          at += taken
          continue
        }
        head.push(chunk[at++] ?? 0)
        if (head.length < 4) continue
        const length = head.reduce((sum, byte) => sum * 256 + byte, 0)
        head.length = 0
        if (length > largestEvent) throw new TooMuch(largestEvent)
        left = Math.max(0, length - 4)
      }
      controller.enqueue(chunk)
    },
  })
}
