/** Owns the way out to the network: one `fetch`, so that tests, proxies and platforms can bring their own. */
import * as Context from "effect/Context"

/** As everywhere: resolves once the head of the answer is there, and an aborted `signal` closes the connection. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

export class HttpFetch extends Context.Service<HttpFetch, Fetch>()("troupe/platform/HttpFetch") {}
