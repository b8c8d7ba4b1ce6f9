/** Owns a bare HTTP client for the tests of the scripted server: it sees what is on the wire, chunk by chunk. */
import * as http from "node:http"
import * as Effect from "effect/Effect"

export interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly chunks: ReadonlyArray<Buffer>
  readonly text: string
  /** Why the answer is not complete. */
  readonly broken: string | undefined
  readonly localPort: number | undefined
}

export interface Ask {
  readonly url: string
  readonly path?: string
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly agent?: http.Agent
  /** Goes away as soon as this much has arrived. */
  readonly until?: (text: string) => boolean
}

/** Never fails: a connection that breaks is an answer too. */
export const ask = (options: Ask) =>
  Effect.callback<Answer>((resume) => {
    const { method = "POST", path = "/v1/messages" } = options
    const chunks: Array<Buffer> = []
    let [status, headers, localPort]: [number, http.IncomingHttpHeaders, number | undefined] = [0, {}, undefined]
    const settle = (broken?: string) => {
      const text = Buffer.concat(chunks).toString("utf8")
      resume(Effect.succeed({ status, headers, chunks, text, broken, localPort }))
    }
    const request = http.request(
      new URL(path, options.url),
      { method, agent: options.agent, headers: { "content-type": "application/json", ...options.headers } },
      (response) => {
        status = response.statusCode ?? 0
        headers = response.headers
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk)
          if (options.until?.(Buffer.concat(chunks).toString("utf8")) === true) {
            settle("left")
            request.destroy()
          }
        })
        response.on("end", () => settle(response.complete ? undefined : "incomplete"))
        response.on("error", (error: NodeJS.ErrnoException) => settle(error.code ?? error.message))
      },
    )
    request.on("socket", (socket) => {
      localPort = socket.localPort
      socket.once("connect", () => (localPort = socket.localPort))
    })
    request.on("error", (error: NodeJS.ErrnoException) => settle(error.code ?? error.message))
    const { body } = options
    request.end(body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body))
    return Effect.sync(() => request.destroy())
  })

/** The events of a stream, by name and data. */
export const frames = (text: string): ReadonlyArray<{ readonly event: string; readonly data: string }> =>
  text
    .split("\n\n")
    .filter((frame) => frame !== "")
    .map((frame) => {
      const [, event = "", data = ""] = /^event: (.*)\ndata: (.*)$/s.exec(frame) ?? []
      return { event, data }
    })
