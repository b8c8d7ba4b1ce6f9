/**
 * Owns fetching pages that a model asked for: only from public addresses, each judged before it is connected to and then connected to
 * as judged; bounded in size and time; kept for a quarter of an hour.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Dns } from "../platform/Dns.ts"
import { Host } from "../platform/Host.ts"
import { type FetchInit, HttpFetch } from "../platform/HttpFetch.ts"
import * as Markdown from "../platform/Markdown.ts"
import { routeOf } from "../platform/Route.ts"
import { ToolFailure } from "./Tool.ts"
import * as WebAddress from "./WebAddress.ts"

/** What was found at an address. */
export interface Page {
  readonly _tag: "Page"
  /** Where it was in the end. */
  readonly url: string
  readonly code: number
  readonly codeText: string
  readonly bytes: number
  readonly text: string
}

/** The address leads to another host, which nobody has agreed to yet. */
export interface Moved {
  readonly _tag: "Moved"
  readonly from: string
  readonly to: string
  readonly code: number
  readonly codeText: string
}

export const maxBytes = 10 * 1024 * 1024
const maxUrlChars = 2_000
const maxRedirects = 10
const keepMs = 15 * 60_000
const deadlineMs = 5 * 60_000
const maxKeptChars = 50 * 1024 * 1024

/** Whether addresses of this machine and its networks may be fetched. */
export const PrivateAddresses = Context.Reference<"refused" | "allowed">("troupe/tools/WebPages/PrivateAddresses", {
  defaultValue: () => "refused",
})

interface Kept {
  readonly page: Page
  readonly until: number
}

/** Pages fetched lately, by address, for every session of the process. Who may fetch what is decided before it is looked at. */
export const KeptPages = Context.Reference<Map<string, Kept>>("troupe/tools/WebPages/KeptPages", {
  defaultValue: () => new Map(),
})

const failure = (message: string): ToolFailure => new ToolFailure({ message })

/** The address as it may be fetched, or why not. Nothing is connected to or resolved. */
export const parse = (given: string): Effect.Effect<URL, ToolFailure> => {
  const shown = given.length > 200 ? `${given.slice(0, 200)}…` : given
  if (given.length > maxUrlChars)
    return Effect.fail(failure(`The URL is longer than ${maxUrlChars} characters: ${shown}`))
  if (!URL.canParse(given)) {
    return Effect.fail(failure(`"${shown}" is not a complete URL. Write it with its scheme: https://example.com/page`))
  }
  const url = new URL(given)
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return Effect.fail(failure(`Only http and https pages can be fetched, not ${url.protocol}`))
  }
  if (url.username !== "" || url.password !== "") {
    return Effect.fail(failure("The URL carries a user name or a password; those are not sent. Leave them out."))
  }
  url.hash = ""
  return Effect.succeed(url)
}

const local = (host: string, why: string): ToolFailure =>
  failure(
    `WebFetch does not reach ${host}: ${why}. It fetches public pages only; for a server on this machine or its network use curl in Bash.`,
  )

/** Where to connect to for a host: the address that was judged, or none where a proxy does the connecting. */
const judge = Effect.fnUntraced(function* (url: URL, proxied: boolean) {
  const { hostname } = url
  const allowed = (yield* PrivateAddresses) === "allowed"
  if (WebAddress.isAddress(hostname)) {
    const address = WebAddress.addressOf(hostname)
    const open = WebAddress.isPublic(address)
    if (!open && !allowed) return yield* local(hostname, "its address is private, local or reserved")
    return { address, open }
  }
  if (WebAddress.isLocalName(hostname) && !allowed) return yield* local(hostname, "the name means something here only")
  const resolve = yield* Dns
  const found = yield* Effect.result(resolve(hostname))
  if (found._tag === "Failure") {
    // Behind a proxy names are often known to the proxy alone.
    if (proxied) return { address: undefined, open: true }
    return yield* failure(found.failure.message)
  }
  const inner = found.success.find((address) => !WebAddress.isPublic(address))
  if (inner !== undefined && !allowed)
    return yield* local(hostname, `the name leads to ${inner}, which is not a public address`)
  const address = found.success.find((one) => !one.includes(":")) ?? found.success[0]
  if (address === undefined) return yield* failure(`The name ${hostname} has no address.`)
  return { address, open: inner === undefined }
})

const exchange = Effect.fnUntraced(function* (given: URL) {
  const found = yield* Effect.serviceOption(HttpFetch)
  if (Option.isNone(found)) return yield* failure("There is no network here.")
  const { env } = yield* Host
  const route = yield* Effect.try({
    try: () => routeOf(env, given),
    catch: (cause) => failure(cause instanceof Error ? cause.message : String(cause)),
  })
  const { address, open } = yield* judge(given, route?.proxy !== undefined)
  const url = new URL(given)
  // What is public speaks https; what runs on this machine often does not.
  if (url.protocol === "http:" && open) url.protocol = "https:"
  const target = new URL(url)
  // Named by its address, so that nobody resolves it again to something else; its certificate is checked by the name in `host`.
  if (route?.proxy === undefined && address !== undefined)
    target.hostname = address.includes(":") ? `[${address}]` : address
  // A certificate that identifies the user is for the model's service, not for whoever asks.
  const { identity: _, ...way } = route ?? {}
  const init: FetchInit = {
    headers: {
      host: url.host,
      accept: "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1",
      "user-agent": "troupe (WebFetch)",
    },
    ...(Object.keys(way).length > 0 && { route: way }),
  }
  return { url, ...(yield* received(url, (signal) => found.value(target, { ...init, signal }))) }
})

/** The answer with its whole body, as far as it may be read. An interruption closes the connection. */
const received = (url: URL, send: (signal: AbortSignal) => Promise<Response>) =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await send(signal)
      const location = response.headers.get("location")
      if (response.status >= 300 && response.status < 400 && location !== null) {
        await response.body?.cancel()
        return { response, location, body: new Uint8Array() }
      }
      return { response, location: undefined, body: await bounded(response, url) }
    },
    catch: (cause) =>
      cause instanceof ToolFailure
        ? cause
        : failure(`${url.href} could not be fetched: ${cause instanceof Error ? cause.message : String(cause)}`),
  })

const bounded = async (response: Response, url: URL): Promise<Uint8Array> => {
  const tooLarge = () =>
    failure(`${url.href} is larger than ${maxBytes / 1024 / 1024} MB. Download it with curl in Bash.`)
  const parts: Array<Uint8Array> = []
  let size = 0
  if (response.body === null) return new Uint8Array()
  const reader = response.body.getReader()
  const announced = Number(response.headers.get("content-length") ?? 0)
  try {
    if (announced > maxBytes) throw tooLarge()
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      size += next.value.length
      if (size > maxBytes) throw tooLarge()
      parts.push(next.value)
    }
  } catch (cause) {
    await reader.cancel().catch(() => {})
    throw cause
  }
  const body = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    body.set(part, at)
    at += part.length
  }
  return body
}

/** What was agreed to is this host: a rule may forbid the one that differs only by `www.`. */
const sameSite = (a: URL, b: URL): boolean =>
  a.hostname === b.hostname &&
  a.port === b.port &&
  !(a.protocol === "https:" && b.protocol === "http:" && b.port !== "")

const follow = Effect.fnUntraced(function* (first: URL): Effect.fn.Return<Page | Moved, ToolFailure, Host> {
  let at = first
  for (let hop = 0; hop <= maxRedirects; hop++) {
    const { url, response, location, body } = yield* exchange(at)
    const { status: code, statusText: codeText } = response
    if (location === undefined) return yield* pageOf(url, response, body)
    if (!URL.canParse(location, url.href))
      return yield* failure(`${url.href} redirects to nowhere: ${location.slice(0, 200)}`)
    const next = new URL(location, url.href)
    next.hash = ""
    if (!sameSite(url, next)) return { _tag: "Moved", from: first.href, to: next.href, code, codeText }
    at = yield* parse(next.href)
  }
  return yield* failure(`${first.href} redirects more than ${maxRedirects} times.`)
})

const textual =
  /^(text\/|application\/(json|xml|javascript|ecmascript|x-yaml|yaml|toml|graphql|sql|[\w.-]+\+(json|xml|yaml))\b)/

const pageOf = Effect.fnUntraced(function* (url: URL, response: Response, body: Uint8Array) {
  const { status: code, statusText: codeText } = response
  const stated = response.headers.get("content-type") ?? ""
  const type = stated.split(";")[0]?.trim().toLowerCase() ?? ""
  if (code >= 400) {
    return yield* failure(
      `${url.href} answered ${code} ${codeText}. Check the address, or look for the page with WebSearch.`,
    )
  }
  const page = (text: string): Page => ({ _tag: "Page", url: url.href, code, codeText, bytes: body.length, text })
  if (type === "application/pdf") {
    return page(
      `[${url.href} is a PDF document of ${body.length} bytes. Download it with curl in Bash and look at it with Read.]`,
    )
  }
  const looksBinary = body.subarray(0, 1024).includes(0)
  if (looksBinary || (type !== "" && !textual.test(type))) {
    return yield* failure(
      `${url.href} is not text (${type === "" ? "unknown type" : type}, ${body.length} bytes). Download it with curl in Bash if it is needed.`,
    )
  }
  const text = decoded(body, stated)
  const isHtml = type.includes("html") || (type === "" && /^\s*<(!doctype|html)/i.test(text))
  if (!isHtml) return page(text)
  const { title, markdown } = yield* Markdown.fromHtml(text, url.href)
  return page(title === "" ? markdown : `# ${title}\n\n${markdown}`)
})

const decoded = (body: Uint8Array, type: string): string => {
  const start = new TextDecoder("latin1").decode(body.subarray(0, 1024))
  const label =
    /charset\s*=\s*["']?([\w-]+)/i.exec(type)?.[1] ?? /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(start)?.[1]
  try {
    return new TextDecoder(label ?? "utf-8").decode(body)
  } catch {
    return new TextDecoder().decode(body)
  }
}

const millis = (text: string | undefined, otherwise: number): number => {
  const value = Number(text?.replaceAll("_", ""))
  return text !== undefined && value >= 0 ? value : otherwise
}

/** The page at an address, or where it has moved to. */
export const get = Effect.fnUntraced(function* (given: string) {
  const { env } = yield* Host
  const kept = yield* KeptPages
  const url = yield* parse(given)
  // A page that was fetched when more was allowed is not handed out later.
  const key = `${yield* PrivateAddresses} ${url.href}`
  const now = yield* Clock.currentTimeMillis
  const before = kept.get(key)
  if (before !== undefined && before.until > now) return before.page
  const limit = millis(env("CLAUDE_CODE_WEBFETCH_DEADLINE_MS"), deadlineMs)
  const late = () => failure(`${url.href} did not arrive within ${limit / 1000} s.`)
  const found = yield* limit === 0
    ? follow(url)
    : Effect.timeoutOrElse(follow(url), { duration: limit, orElse: () => Effect.fail(late()) })
  if (found._tag === "Page")
    keep(kept, key, { page: found, until: now + millis(env("CLAUDE_CODE_WEBFETCH_CACHE_TTL_MS"), keepMs) })
  return found
})

/** The oldest go first when there is too much. */
const keep = (kept: Map<string, Kept>, key: string, one: Kept): void => {
  kept.delete(key)
  kept.set(key, one)
  let size = 0
  for (const { page } of kept.values()) size += page.text.length
  for (const [oldest, { page }] of kept) {
    if (size <= maxKeptChars) break
    kept.delete(oldest)
    size -= page.text.length
  }
}
