/** A service on this machine that answers each request with the next handler, and remembers what it was asked. */
import * as Effect from "effect/Effect"
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http"
import type { StreamEvent } from "../../src/protocol/StreamEvent.ts"

export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export type Handler = (response: ServerResponse, request: IncomingMessage) => void

interface Stub {
  readonly url: string
  readonly port: number
  readonly seen: Array<Seen>
  readonly sockets: Set<unknown>
  readonly close: () => void
}

export const serve = (...handlers: ReadonlyArray<Handler>) => serveWith(createServer, ...handlers)

export const serveWith = (make: (listener: RequestListener) => Server, ...handlers: ReadonlyArray<Handler>) =>
  Effect.acquireRelease(
    Effect.callback<Stub>((resume) => {
      const seen: Array<Seen> = []
      const sockets = new Set<unknown>()
      const server = make((request, response) => {
        const chunks: Array<Buffer> = []
        request.on("data", (chunk: Buffer) => chunks.push(chunk))
        request.on("end", () => {
          const { method = "", url = "", headers } = request
          seen.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
          handlers[Math.min(seen.length, handlers.length) - 1]?.(response, request)
        })
      })
      server.on("connection", (socket) => sockets.add(socket))
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const close = () => {
          server.closeAllConnections()
          server.close()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, port, seen, sockets, close }))
      })
    }),
    (server) => Effect.sync(server.close),
  )

export const sse = (events: ReadonlyArray<StreamEvent>) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("")

export const streams =
  (body: string, ...rest: ReadonlyArray<string>): Handler =>
  (response) => {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" })
    response.end([body, ...rest].join(""))
  }

export const answers =
  (status: number, body: unknown, headers: Record<string, string> = {}): Handler =>
  (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers })
    response.end(typeof body === "string" ? body : JSON.stringify(body))
  }
