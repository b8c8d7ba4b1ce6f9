/** A proxy on this machine: it remembers whom it was asked for, and leads every tunnel to one place, or refuses it. */
import * as Effect from "effect/Effect"
import { createServer, type IncomingMessage, request as ask, type RequestListener } from "node:http"
import { createServer as createSecure } from "node:https"
import { connect, type Socket } from "node:net"
import type { SecureContextOptions } from "node:tls"

export interface Asked {
  readonly method: string
  /** `host:port` of a tunnel, or the whole address. */
  readonly target: string
  readonly headers: IncomingMessage["headers"]
}

/** `to`: the port where tunnels end; without it, or when `status` is no 200, each is refused with `status`. */
export const proxy = (
  options: { readonly to?: number; readonly status?: number; readonly tls?: SecureContextOptions } = {},
) =>
  Effect.acquireRelease(
    Effect.callback<{
      readonly url: string
      readonly port: number
      readonly asked: Array<Asked>
      readonly close: () => void
    }>((resume) => {
      const asked: Array<Asked> = []
      const open = new Set<{ destroy: () => void }>()
      const note = ({ method = "", url = "", headers }: IncomingMessage) => asked.push({ method, target: url, headers })
      const listener: RequestListener = (request, response) => {
        note(request)
        const onward = ask(
          request.url ?? "",
          { method: request.method ?? "GET", headers: request.headers },
          (answer) => {
            response.writeHead(answer.statusCode ?? 500, answer.headers)
            answer.pipe(response)
          },
        )
        request.pipe(onward)
      }
      const server = options.tls === undefined ? createServer(listener) : createSecure(options.tls, listener)
      server.on("connect", (request: IncomingMessage, client: Socket) => {
        note(request)
        open.add(client)
        client.on("error", () => {})
        const { to, status = 200 } = options
        if (to === undefined || status !== 200) {
          client.end(`HTTP/1.1 ${to === undefined && status === 200 ? 403 : status} Refused\r\n\r\n`)
          return
        }
        const upstream = connect(to, "127.0.0.1", () => {
          client.write("HTTP/1.1 200 Connection Established\r\n\r\n")
          upstream.pipe(client)
          client.pipe(upstream)
        })
        open.add(upstream)
        upstream.on("error", () => {})
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const close = () => {
          for (const socket of open) socket.destroy()
          server.closeAllConnections()
          server.close()
        }
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, port, asked, close }))
      })
    }),
    (server) => Effect.sync(server.close),
  )
