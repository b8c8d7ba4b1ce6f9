/**
 * Owns connections that do not go straight there: through a proxy (a tunnel for https, whole addresses for http), or with
 * certificates of one's own. Loaded only when the environment asks for one of these.
 */
import * as Fs from "node:fs/promises"
import * as Http from "node:http"
import * as Https from "node:https"
import { Duplex } from "node:stream"
import * as Tls from "node:tls"
import { type Route, RouteError } from "./HttpFetch.ts"

export interface Client {
  readonly request: (url: URL, options: Http.RequestOptions) => Http.ClientRequest
  readonly close: () => void
}

export const pool = { keepAlive: true, scheduling: "lifo", maxFreeSockets: 64 } as const

export const open = async (protocol: string, route: Route): Promise<Client> => {
  const { proxy } = route
  if (protocol === "http:") return proxy === undefined ? plain(new Http.Agent(pool), Http.request) : forward(proxy.url)
  const options = { ...pool, ...(await certificates(route)) }
  const agent = proxy === undefined ? new Https.Agent(options) : new Tunnel(proxy, options)
  return plain(agent, Https.request)
}

const plain = (agent: Http.Agent, request: typeof Http.request): Client => ({
  request: (url, options) => request(url, { ...options, agent }),
  close: () => agent.destroy(),
})

/** The proxy is told the whole address, and asks in our place. */
const forward = (proxy: URL): Client => {
  const secure = proxy.protocol === "https:"
  const agent = secure ? new Https.Agent(pool) : new Http.Agent(pool)
  const request = secure ? Https.request : Http.request
  return {
    request: (url, options) => {
      const headers = { host: url.host, ...options.headers, ...credentials(proxy) }
      return request(proxy, { ...options, agent, headers, path: `${url.origin}${url.pathname}${url.search}` })
    },
    close: () => agent.destroy(),
  }
}

class Tunnel extends Https.Agent {
  readonly #proxy: NonNullable<Route["proxy"]>
  readonly #asking = new Set<Http.ClientRequest>()

  constructor(proxy: NonNullable<Route["proxy"]>, options: Https.AgentOptions) {
    super(options)
    this.#proxy = proxy
  }

  override createConnection(
    options: Https.RequestOptions,
    callback: (error: Error | null, stream: Duplex) => void = () => {},
  ): undefined {
    const { url } = this.#proxy
    const host = options.host ?? "localhost"
    const target = `${host.includes(":") ? `[${host}]` : host}:${options.port ?? 443}`
    const asking = (url.protocol === "https:" ? Https.request : Http.request)(url, {
      method: "CONNECT",
      path: target,
      agent: false,
      headers: { host: target, ...credentials(url) },
      ...(options.ca !== undefined && { ca: options.ca }),
    })
    this.#asking.add(asking)
    asking.once("connect", (answer, socket) => {
      if (Math.floor((answer.statusCode ?? 0) / 100) !== 2) {
        socket.destroy()
        return callback(this.#refused(target, answer), socket)
      }
      // An address has no name to ask for.
      const servername = options.servername || (/^[\d.]+$|:/.test(host) ? undefined : host)
      callback(null, Tls.connect({ ...secured(options), socket, ...(servername !== undefined && { servername }) }))
    })
    asking.once("error", (cause) => callback(this.#unreachable(cause), new Duplex().destroy()))
    asking.once("close", () => this.#asking.delete(asking))
    asking.end()
    return undefined
  }

  override destroy(): void {
    for (const asking of this.#asking) asking.destroy()
    super.destroy()
  }

  #refused(target: string, { statusCode, statusMessage }: Http.IncomingMessage): RouteError {
    const { url, setting } = this.#proxy
    const said = `The proxy at ${url.host} (${setting}) refused a tunnel to ${target}: ${statusCode} ${statusMessage}.`
    return new RouteError(
      statusCode === 407
        ? `${said} It wants credentials: write http://user:password@host:port into ${setting}.`
        : `${said} Ask for that host to be allowed, or add it to NO_PROXY.`,
      { transient: (statusCode ?? 0) >= 500 },
    )
  }

  #unreachable(cause: Error): RouteError {
    const { url, setting } = this.#proxy
    const code = "code" in cause && typeof cause.code === "string" ? cause.code : cause.message
    return new RouteError(`Cannot reach the proxy at ${url.host} (${code}). Check ${setting}, or unset it.`, {
      cause,
      transient: true,
    })
  }
}

/** What of a request's options concerns TLS; its `path` and the like would be taken for a socket's. */
const secured = ({ ca, cert, key, passphrase, rejectUnauthorized }: Https.RequestOptions): Tls.ConnectionOptions => ({
  ALPNProtocols: ["http/1.1"],
  ...(ca !== undefined && { ca }),
  ...(cert !== undefined && { cert }),
  ...(key !== undefined && { key }),
  ...(passphrase !== undefined && { passphrase }),
  ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
})

const credentials = ({ username, password }: URL): Readonly<Record<string, string>> => {
  if (username === "" && password === "") return {}
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return { "proxy-authorization": `Basic ${Buffer.from(text).toString("base64")}` }
}

const certificates = async ({ identity, authorities }: Route): Promise<Https.AgentOptions> => ({
  ...(authorities !== undefined && {
    ca: [...Tls.rootCertificates, await read("NODE_EXTRA_CA_CERTS", authorities)],
  }),
  ...(identity !== undefined && {
    cert: await read("CLAUDE_CODE_CLIENT_CERT", identity.cert),
    key: await read("CLAUDE_CODE_CLIENT_KEY", identity.key),
    ...(identity.passphrase !== undefined && { passphrase: identity.passphrase }),
  }),
})

const read = async (setting: string, path: string): Promise<string> => {
  try {
    return await Fs.readFile(path, "utf8")
  } catch (cause) {
    const why = cause instanceof Error && "code" in cause ? String(cause.code) : "unreadable"
    throw new RouteError(`${setting} names a file that cannot be read: ${path} (${why}). Correct it, or unset it.`, {
      cause,
    })
  }
}
