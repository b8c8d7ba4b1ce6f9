/** Owns which way a request takes, as the environment says: proxies and their exceptions, certificates. */
import { type Fetch, type Route, RouteError } from "./HttpFetch.ts"

type Env = (name: string) => string | undefined

/** The same `fetch`, going where the environment sends it. */
export const routed = (fetch: Fetch, env: Env): Fetch => {
  const going: Fetch = async (input, init) => {
    const route = routeOf(env, new URL(input instanceof Request ? input.url : input))
    return fetch(input, route === undefined ? init : { ...init, route })
  }
  return Object.assign(going, { preconnect: (url: URL) => void (isStraight(env, url) && fetch.preconnect?.(url)) })
}

/** What is wrong with the way is said by the request that takes it. */
const isStraight = (env: Env, url: URL): boolean => {
  try {
    return routeOf(env, url) === undefined
  } catch {
    return false
  }
}

/** `undefined`: straight there. Throws `RouteError`. */
export const routeOf = (env: Env, url: URL): Route | undefined => {
  const proxy = proxyFor(env, url)
  const identity = url.protocol === "https:" ? identityOf(env) : undefined
  const authorities = url.protocol === "https:" ? env("NODE_EXTRA_CA_CERTS") : undefined
  if (proxy === undefined && identity === undefined && authorities === undefined) return undefined
  return {
    ...(proxy !== undefined && { proxy }),
    ...(identity !== undefined && { identity }),
    ...(authorities !== undefined && { authorities }),
  }
}

const proxyFor = (env: Env, url: URL): Route["proxy"] => {
  const names = url.protocol === "https:" ? ["HTTPS_PROXY", "HTTP_PROXY"] : ["HTTP_PROXY"]
  const setting = names.flatMap((name) => [name.toLowerCase(), name]).find((name) => env(name) !== undefined)
  const value = setting === undefined ? undefined : env(setting)?.trim()
  if (setting === undefined || value === undefined || value === "") return undefined
  if (isExempt(url, env("no_proxy") ?? env("NO_PROXY") ?? "")) return undefined
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`
  // Never quoted: it may carry a password.
  if (!URL.canParse(address)) {
    throw new RouteError(`${setting} is not the address of a proxy. Write http://host:port, or unset it.`)
  }
  const proxy = new URL(address)
  if (proxy.protocol !== "http:" && proxy.protocol !== "https:") {
    throw new RouteError(
      `${setting} names a ${proxy.protocol.slice(0, -1)} proxy, but only http and https proxies are supported. Write http://host:port.`,
    )
  }
  return { url: proxy, setting }
}

/** This machine is never behind a proxy. */
const isLoopback = (host: string): boolean =>
  host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(host)

/** `*`, `host`, `.suffix`, `*.suffix`, each with a port if only that one is meant. A domain stands for its subdomains too. */
const isExempt = (url: URL, list: string): boolean => {
  const host = url.hostname.toLowerCase()
  if (isLoopback(host)) return true
  const port = url.port || (url.protocol === "https:" ? "443" : "80")
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === "") return false
      if (entry === "*") return true
      const [, name = "", onlyPort] = /^(\[.*\]|[^:]*(?::[^:]*:.*)?)(?::(\d+))?$/.exec(entry) ?? []
      if (onlyPort !== undefined && onlyPort !== port) return false
      const domain = (name.includes(":") && !name.startsWith("[") ? `[${name}]` : name).replace(/^\*?\./, "")
      return domain !== "" && (host === domain || host.endsWith(`.${domain}`))
    })
}

const identityOf = (env: Env): Route["identity"] => {
  const cert = env("CLAUDE_CODE_CLIENT_CERT")
  const key = env("CLAUDE_CODE_CLIENT_KEY")
  if (cert === undefined && key === undefined) return undefined
  if (cert === undefined || key === undefined) {
    const [has, lacks] = cert === undefined ? ["KEY", "CERT"] : ["CERT", "KEY"]
    throw new RouteError(
      `CLAUDE_CODE_CLIENT_${has} is set, but CLAUDE_CODE_CLIENT_${lacks} is not: a client certificate needs both files. Set the other, or unset both.`,
    )
  }
  const passphrase = env("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE")
  return { cert, key, ...(passphrase !== undefined && { passphrase }) }
}
