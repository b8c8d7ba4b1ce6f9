/** Owns the way out to the network: one `fetch`, so that tests, proxies and platforms can bring their own. */
import * as Context from "effect/Context"

/** How to get there, where that is not simply "connect". Made by `Route.routeOf` from the environment. */
export interface Route {
  readonly proxy?: { readonly url: URL; readonly setting: string }
  /** Files of a client certificate that the server asks for. */
  readonly identity?: { readonly cert: string; readonly key: string; readonly passphrase?: string }
  /** A file of certificate authorities to trust besides the usual ones. */
  readonly authorities?: string
}

export interface FetchInit extends RequestInit {
  readonly route?: Route | undefined
}

/** As everywhere: resolves once the head of the answer is there, and an aborted `signal` closes the connection. */
export interface Fetch {
  (input: string | URL | Request, init?: FetchInit): Promise<Response>
  /** Begins the handshake with a server that will be asked soon; over TLS that takes longer than anything else in a first request. */
  readonly preconnect?: (url: URL) => void
}

/** The way itself is wrong, before the server was asked anything. The message says what, where, and how to fix it. */
export class RouteError extends Error {
  override readonly name = "RouteError"
  /** Nothing needs to be corrected for it to work later. */
  readonly transient: boolean

  constructor(message: string, options: ErrorOptions & { readonly transient?: boolean } = {}) {
    super(message, options)
    this.transient = options.transient ?? false
  }
}

export class HttpFetch extends Context.Service<HttpFetch, Fetch>()("troupe/platform/HttpFetch") {}
