/** Owns the sandbox's proxy on node: one unix socket; the first byte tells SOCKS5, HTTP and a listener for refusals apart. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import process from "node:process"
import type { Duplex } from "node:stream"
import { Egress, EgressError, type EgressOptions, type Refusal } from "./Egress.ts"

/** The addresses of a name. */
export type Lookup = (host: string) => Promise<ReadonlyArray<string>>

// Loaded with the first sandboxed command that may use the network: a start without one does not pay for it.
const modules = async () => ({
  net: await import("node:net"),
  http: await import("node:http"),
  dns: await import("node:dns"),
})
type Modules = Awaited<ReturnType<typeof modules>>

class Refused extends Error {
  readonly refusal: Refusal
  constructor(refusal: Refusal) {
    super(refusal.reason)
    this.refusal = refusal
  }
}

const idle = 300_000

class Server {
  private readonly node: Modules
  private readonly options: EgressOptions
  private readonly lookup: Lookup
  private readonly open = new Set<Duplex>()
  private readonly listeners = new Set<Duplex>()
  private readonly http
  private readonly server

  constructor(node: Modules, options: EgressOptions, lookup: Lookup | undefined) {
    this.node = node
    this.options = options
    this.lookup =
      lookup ?? (async (host) => (await node.dns.promises.lookup(host, { all: true })).map(({ address }) => address))
    this.http = node.http.createServer((request, response) => {
      this.plain(request, response).catch((cause: unknown) => {
        this.answer(cause, (status, text) => {
          if (response.headersSent) return response.destroy()
          response.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(text)
        })
      })
    })
    this.http.on("connect", (request, socket, head) => {
      const to = this.authority(request.url ?? "")
      this.connect(to?.host ?? "", to?.port ?? 0).then(
        (out) => {
          socket.write("HTTP/1.1 200 Connection Established\r\n\r\n")
          if (head.length > 0) out.write(head)
          this.join(socket, out)
        },
        (cause: unknown) => {
          this.answer(cause, (status, text) => {
            const words = status === 403 ? "Forbidden" : "Bad Gateway"
            socket.end(
              `HTTP/1.1 ${status} ${words}\r\ncontent-type: text/plain\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`,
            )
          })
        },
      )
    })
    this.server = node.net.createServer({ allowHalfOpen: true }, (socket) => this.accept(socket))
  }

  listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once("error", reject)
      this.server.listen(this.options.socket, resolve)
    })
  }

  close(): void {
    this.server.close()
    for (const socket of this.open) socket.destroy()
  }

  private keep(socket: Duplex): void {
    this.open.add(socket)
    socket.on("error", () => socket.destroy())
    socket.once("close", () => {
      this.open.delete(socket)
      this.listeners.delete(socket)
    })
  }

  private accept(socket: Socket): void {
    this.keep(socket)
    socket.once("data", (first: Buffer) => {
      socket.pause()
      const kind = first[0] === 0 ? "listener" : first[0] === 5 ? "socks" : "http"
      if (kind === "listener") {
        this.listeners.add(socket)
        socket.resume()
        return
      }
      const port = this.options.forward?.[kind]
      socket.unshift(first)
      if (port !== undefined) {
        const out = this.node.net.connect({ port, host: "127.0.0.1", allowHalfOpen: true })
        this.keep(out)
        this.join(socket, out)
      } else if (kind === "socks") {
        this.socks(socket).catch(() => socket.destroy())
      } else {
        this.http.emit("connection", socket)
        socket.resume()
      }
    })
  }

  private join(a: Duplex, b: Duplex): void {
    a.pipe(b)
    b.pipe(a)
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      one.on("error", () => other.destroy())
      one.once("close", () => other.destroy())
    }
  }

  private authority(text: string): { readonly host: string; readonly port: number } | undefined {
    if (!URL.canParse(`http://${text}`)) return undefined
    const url = new URL(`http://${text}`)
    return { host: url.hostname.replace(/^\[|\]$/g, ""), port: url.port === "" ? 80 : Number(url.port) }
  }

  private refuse(host: string, port: number, reason: string): Refused {
    const refusal = { host, port, reason }
    this.options.onRefusal(refusal)
    // Told before the client hears of it: who waits for the client has the line by then.
    const line = `${this.options.say(refusal)}\n`
    for (const listener of this.listeners) listener.write(line)
    return new Refused(refusal)
  }

  /** An address of the host that may be used; the same one is then connected to, so a name cannot change its mind. */
  private async address(host: string, port: number): Promise<string> {
    const reason = this.options.judge(host, port)
    if (reason !== undefined) throw this.refuse(host, port, reason)
    const addresses = this.node.net.isIP(host) === 0 ? await this.lookup(host) : [host]
    let why: string | undefined
    for (const address of addresses) {
      why = this.options.judgeAddress(host, address)
      if (why === undefined) return address
    }
    throw this.refuse(host, port, why ?? "its name has no address")
  }

  private async connect(host: string, port: number): Promise<Socket> {
    const address = await this.address(host, port)
    return new Promise((resolve, reject) => {
      const out = this.node.net.connect({ host: address, port, allowHalfOpen: true })
      this.keep(out)
      out.setTimeout(idle, () => out.destroy())
      out.once("error", reject)
      out.once("connect", () => resolve(out))
    })
  }

  private answer(cause: unknown, send: (status: number, text: string) => void): void {
    if (cause instanceof Refused) send(403, `${this.options.say(cause.refusal)}\n`)
    else send(502, `The proxy could not connect: ${cause instanceof Error ? cause.message : String(cause)}\n`)
  }

  private async plain(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? ""
    if (!URL.canParse(target) || new URL(target).protocol !== "http:") {
      response.writeHead(400, { connection: "close" }).end("This is a proxy: ask for a whole http:// address.\n")
      return
    }
    const url = new URL(target)
    const port = url.port === "" ? 80 : Number(url.port)
    const address = await this.address(url.hostname.replace(/^\[|\]$/g, ""), port)
    const headers = { ...request.headers, host: url.host }
    for (const name of ["proxy-connection", "proxy-authorization", "connection", "keep-alive", "upgrade"]) {
      Reflect.deleteProperty(headers, name)
    }
    const path = url.pathname + url.search
    await new Promise<void>((resolve, reject) => {
      const out = this.node.http.request(
        { host: address, port, method: request.method, path, headers, agent: false, setHost: false },
        (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(response)
          answer.once("error", reject)
          response.once("close", resolve)
        },
      )
      out.once("error", reject)
      response.once("close", () => out.destroy())
      request.pipe(out)
    })
  }

  /** SOCKS5 without a password, CONNECT only (RFC 1928). */
  private async socks(socket: Socket): Promise<void> {
    const take = async (count: number): Promise<Buffer> => {
      for (;;) {
        const bytes: unknown = socket.read(count)
        if (bytes instanceof Buffer && bytes.length === count) return bytes
        if (socket.readableEnded || socket.destroyed) throw new Error("ended early")
        await new Promise<void>((resolve) => {
          const wake = () => {
            for (const event of ["readable", "end", "close"]) socket.off(event, wake)
            resolve()
          }
          for (const event of ["readable", "end", "close"]) socket.on(event, wake)
        })
      }
    }
    const [, methods = 0] = await take(2)
    await take(methods)
    socket.write(Uint8Array.of(5, 0))
    const [, command, , kind] = await take(4)
    const reply = (status: number) => Uint8Array.of(5, status, 0, 1, 0, 0, 0, 0, 0, 0)
    const host =
      kind === 1
        ? [...(await take(4))].join(".")
        : kind === 4
          ? ((await take(16)).toString("hex").match(/.{4}/g) ?? []).join(":")
          : (await take((await take(1))[0] ?? 0)).toString("latin1")
    const port = (await take(2)).readUInt16BE(0)
    if (command !== 1) {
      socket.end(reply(7))
      return
    }
    try {
      const out = await this.connect(host, port)
      socket.write(reply(0))
      this.join(socket, out)
    } catch (cause) {
      socket.end(reply(cause instanceof Refused ? 2 : 5))
    }
  }
}

/** With names answered by a function instead of the system: for tests, and for a resolver of one's own. */
export const layerWith = (lookup?: Lookup): Layer.Layer<Egress> =>
  Layer.succeed(Egress, {
    runtime: process.execPath,
    open: (options) =>
      Effect.acquireRelease(
        Effect.tryPromise({
          try: async () => {
            const server = new Server(await modules(), options, lookup)
            await server.listen()
            return server
          },
          catch: (cause) =>
            new EgressError({ socket: options.socket, detail: cause instanceof Error ? cause.message : String(cause) }),
        }),
        (server) => Effect.sync(() => server.close()),
      ).pipe(Effect.asVoid),
  })

export const layer: Layer.Layer<Egress> = layerWith()
