/** Owns which hosts a sandboxed command may reach: names with wildcards, and addresses that no name may lead to. */

export interface DomainRules {
  readonly allowed: ReadonlyArray<string>
  readonly denied: ReadonlyArray<string>
}

/** As the URL standard spells it: lower case, ASCII, `0x7f.1` as `127.0.0.1`; `undefined` for what is no host. */
export const canonical = (host: string): string | undefined => {
  if (/[\s/@?#\\]/.test(host) || host === "") return undefined
  const bracketed = host.includes(":") && !host.startsWith("[") ? `[${host}]` : host
  const url = `http://${bracketed}/`
  if (!URL.canParse(url)) return undefined
  return new URL(url).hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "")
}

const matches = (pattern: string, host: string): boolean => {
  if (pattern === "*") return true
  const suffix = pattern.startsWith("*.") ? canonical(pattern.slice(2)) : undefined
  if (suffix !== undefined) return host.endsWith(`.${suffix}`)
  return canonical(pattern) === host
}

/** Why a host is refused; `undefined`: it may be reached. A denial wins over a permission. */
export const judge = (rules: DomainRules, given: string): string | undefined => {
  const host = canonical(given)
  if (host === undefined) return "it is not the name of a host"
  const denied = rules.denied.find((pattern) => matches(pattern, host))
  if (denied !== undefined) return `sandbox.network.deniedDomains has "${denied}"`
  if (rules.allowed.some((pattern) => matches(pattern, host) && (pattern !== "*" || !isOwn(host)))) return undefined
  return "it is not in sandbox.network.allowedDomains"
}

/** This machine, its neighbours by link, and what clouds answer metadata on: never behind somebody else's name. */
const isOwn = (host: string): boolean =>
  host === "localhost" ||
  host.endsWith(".localhost") ||
  /^(?:127\.|0\.|169\.254\.|(?:22[4-9]|2[3-5]\d)\.)/.test(host) ||
  /^(?:::1?$|fe[89ab][0-9a-f]:|ff[0-9a-f]{2}:|fd00:ec2:)/i.test(host)

const plainAddress = (address: string): string => {
  const host = canonical(address) ?? address
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(host)
  if (mapped === null) return host
  const [high, low] = [Number.parseInt(mapped[1] ?? "0", 16), Number.parseInt(mapped[2] ?? "0", 16)]
  return [high >> 8, high & 255, low >> 8, low & 255].join(".")
}

/**
 * Why an address that a permitted name resolved to is refused all the same. Only somebody who listed `localhost` or the address itself
 * meant this machine; private networks behind a listed name are the usual case in companies and stay open.
 */
export const judgeAddress = (rules: DomainRules, host: string, address: string): string | undefined => {
  if (!isOwn(plainAddress(address))) return undefined
  const name = canonical(host)
  const listed = rules.allowed.some((pattern) => pattern !== "*" && canonical(pattern) === name)
  return listed && name !== undefined && isOwn(name)
    ? undefined
    : `it leads to ${address}, an address of this machine or its link`
}
