/**
 * Owns `fetch` over node's own http client: connections are kept alive, an abort closes the socket at once, and nothing is
 * loaded before the first request. Node's built-in fetch costs a quarter of a second at its first use on Node 20.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Http from "node:http"
import type { Socket } from "node:net"
import process from "node:process"
import type { Readable } from "node:stream"
import { type Fetch, HttpFetch, type Route } from "./HttpFetch.ts"
import type { Client } from "./NodeRoute.ts"

/** Statuses that have no body by definition; `Response` refuses one for them. */
const bodiless = new Set([101, 204, 205, 304])

const open = (protocol: string): DirectClient => {
  const http = protocol === "https:" ? process.getBuiltinModule("node:https") : process.getBuiltinModule("node:http")
  const agent = new http.Agent({ keepAlive: true, scheduling: "lifo", maxFreeSockets: 64 })
  return {
    request: (url, options) => http.request(url, { ...options, agent }),
    preconnect: protocol === "https:" ? preconnecting(agent) : () => {},
    close: () => agent.destroy(),
  }
}

interface DirectClient extends Client {
  readonly preconnect: (url: URL) => void
}

/** Connections that are being made for a first request; whoever asks first takes them, and nobody waits for them to leave. */
const preconnecting = (agent: Http.Agent) => {
  const waiting = new Map<string, Socket>()
  const connect = agent.createConnection.bind(agent)
  const place = (host: unknown, port: unknown) => `${String(host)}:${Number(port ?? 443)}`
  agent.createConnection = (options, ...rest) => {
    const at = place(options.host, options.port)
    const ready = waiting.get(at)
    if (ready === undefined) return connect(options, ...rest)
    waiting.delete(at)
    return ready.ref()
  }
  return ({ hostname, port }: URL): void => {
    const at = place(hostname, port === "" ? undefined : port)
    if (waiting.has(at)) return
    // An address has no name that the server could be told.
    const servername = /^[\d.]+$|^\[/.test(hostname) ? "" : hostname
    const options = { host: hostname, port: Number(port || 443), servername, ALPNProtocols: ["http/1.1"] }
    const socket = connect(options)
    if (!isSocket(socket)) return
    waiting.set(at, socket.unref())
    const forget = () => void (waiting.get(at) === socket && waiting.delete(at))
    // A request that finds none makes its own, and says what is wrong.
    socket.on("error", forget)
    socket.on("close", forget)
  }
}

const isSocket = (stream: unknown): stream is Socket =>
  typeof stream === "object" && stream !== null && "ref" in stream && "unref" in stream

export const make = (): { readonly fetch: Fetch; readonly close: () => void } => {
  const clients = new Map<string, Client>()
  const preconnect = (url: URL): void => {
    if (url.protocol !== "https:" || clients.has(url.protocol)) return
    const client = open(url.protocol)
    clients.set(url.protocol, client)
    client.preconnect(url)
  }
  const clientFor = async (protocol: string, route: Route | undefined): Promise<Client> => {
    const needed = needs(route)
    const name = needed === undefined ? protocol : `${protocol} ${JSON.stringify(needed)}`
    const before = clients.get(name)
    if (before !== undefined) return before
    const opened = needed === undefined ? open(protocol) : await (await import("./NodeRoute.ts")).open(protocol, needed)
    // Two may have asked at the same time.
    const other = clients.get(name)
    if (other !== undefined) return (opened.close(), other)
    clients.set(name, opened)
    return opened
  }
  const fetch: Fetch = async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new TypeError(`Only http and https addresses can be fetched, not ${url.protocol}//…`)
    }
    const { route, ...rest } = init
    return exchange(await clientFor(url.protocol, route), url, rest)
  }
  return {
    fetch: Object.assign(fetch, { preconnect }),
    close: () => {
      for (const client of clients.values()) client.close()
    },
  }
}

/** Node itself trusts the authorities that its own environment names, and trusts no others: those of settings it never saw. */
const needs = (route: Route | undefined): Route | undefined => {
  if (route?.authorities === undefined || route.authorities !== process.env["NODE_EXTRA_CA_CERTS"]) return route
  const { authorities: _, ...rest } = route
  return Object.keys(rest).length === 0 ? undefined : rest
}

const exchange = async (client: Client, url: URL, init: RequestInit): Promise<Response> => {
  const body = bytesOf(init.body)
  const options = {
    method: init.method ?? "GET",
    headers: {
      ...Object.fromEntries(new Headers(init.headers)),
      ...(body !== undefined && { "content-length": String(body.byteLength) }),
    },
  }
  const signal = init.signal ?? undefined
  try {
    return await once(client, url, options, body, signal)
  } catch (error) {
    // The server closed an idle connection just as it was taken up again: it never saw the request.
    if (!(error instanceof StaleConnection)) throw error
    return await once(client, url, options, body, signal)
  }
}

class StaleConnection extends Error {}

const once = (
  client: Client,
  url: URL,
  options: Http.RequestOptions,
  body: Uint8Array | undefined,
  signal: AbortSignal | undefined,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortError(signal))
    const request = client.request(url, options)
    const abort = () => {
      const reason = signal === undefined ? new Error("aborted") : abortError(signal)
      reject(reason)
      request.destroy(reason)
    }
    signal?.addEventListener("abort", abort, { once: true })
    const done = () => signal?.removeEventListener("abort", abort)
    request.on("error", (error) => {
      const stale = request.reusedSocket && "code" in error && (error.code === "ECONNRESET" || error.code === "EPIPE")
      reject(stale ? new StaleConnection(error.message, { cause: error }) : error)
    })
    request.on("close", done)
    request.on("response", (answer) => {
      answer.on("error", () => {}) // The body's reader hears of it; without a listener node would throw it.
      answer.on("end", done) // The connection is somebody else's from now on.
      responseOf(answer, url).then(resolve, (error: unknown) => {
        reject(error instanceof Error ? error : new Error(String(error)))
        request.destroy()
      })
    })
    request.end(body)
  })

const responseOf = async (answer: Http.IncomingMessage, url: URL): Promise<Response> => {
  const headers = new Headers()
  for (const [name, values] of Object.entries(answer.headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value)
  }
  const status = answer.statusCode ?? 500
  const init = { status, statusText: answer.statusMessage ?? "", headers }
  if (bodiless.has(status)) {
    answer.resume()
    return new Response(null, init)
  }
  const response = new Response(webStream(await decoded(answer)), init)
  Object.defineProperty(response, "url", { value: url.href })
  return response
}

/** Nobody asked for compression, but some proxies do it all the same. */
const decoded = async (answer: Http.IncomingMessage): Promise<Readable> => {
  const encoding = answer.headers["content-encoding"]?.toLowerCase() ?? "identity"
  if (encoding === "identity") return answer
  const zlib = await import("node:zlib")
  const { pipeline } = await import("node:stream")
  const decoder =
    encoding === "br"
      ? zlib.createBrotliDecompress()
      : encoding === "gzip" || encoding === "deflate"
        ? zlib.createUnzip()
        : undefined
  if (decoder === undefined) throw new TypeError(`The server answered with an unknown content-encoding: ${encoding}`)
  return pipeline(answer, decoder, () => {})
}

/** Written out because node's own bridge reads ahead and swallows a reset that comes before the first read. */
const webStream = (source: Readable): ReadableStream<Uint8Array> => {
  let over = false
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        source.on("data", (chunk: Uint8Array) => {
          if (over) return
          controller.enqueue(chunk)
          if ((controller.desiredSize ?? 0) <= 0) source.pause()
        })
        source.on("end", () => {
          if (over) return
          over = true
          controller.close()
        })
        const fail = (error: Error) => {
          if (over) return
          over = true
          controller.error(error)
        }
        source.on("error", fail)
        source.on("close", () => fail(new Error("The connection was closed in the middle of the answer.")))
        source.pause()
      },
      pull: () => {
        source.resume()
      },
      cancel: () => {
        over = true
        source.destroy()
      },
    },
    { highWaterMark: 16 },
  )
}

const bytesOf = (body: RequestInit["body"]): Uint8Array | undefined => {
  if (body === undefined || body === null) return undefined
  if (typeof body === "string") return Buffer.from(body)
  if (body instanceof Uint8Array) return body
  throw new TypeError("Only text and bytes can be sent as a body here.")
}

const abortError = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new DOMException("This operation was aborted", "AbortError")

export const layer: Layer.Layer<HttpFetch> = Layer.effect(
  HttpFetch,
  Effect.map(
    Effect.acquireRelease(Effect.sync(make), (client) => Effect.sync(client.close)),
    (client) => client.fetch,
  ),
)
