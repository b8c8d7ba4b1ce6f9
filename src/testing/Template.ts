/** Owns `${…}` in replies: what the model was told, put into what it says. */
import type { Captures } from "./Matcher.ts"
import type { Told } from "./Told.ts"

const builtin: Readonly<Record<string, (told: Told, captures: Captures) => string>> = {
  lastToolResult: (told, captures) => (captures.result ?? told.results.at(-1))?.text ?? "",
  lastUser: (told) => told.prompt,
  request: (told) => String(told.request),
  turn: (told) => String(told.turn),
  model: (told) => told.model,
}

// `$${` is a literal `${`.
const hole = /\$?\$\{([^}]*)\}/g

/** Strings anywhere inside a JSON value are filled; the rest is kept as it is. */
export const fillValue = (value: unknown, told: Told, captures: Captures): unknown => {
  if (typeof value === "string") return fillText(value, told, captures)
  if (Array.isArray(value)) return value.map((item) => fillValue(item, told, captures))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillValue(item, told, captures)]))
}

export const fillText = (text: string, told: Told, captures: Captures): string =>
  text.replace(hole, (whole: string, name: string) => {
    if (whole.startsWith("$$")) return whole.slice(1)
    const known = builtin[name]
    if (known !== undefined) return known(told, captures)
    return /^\d+$/.test(name) ? (captures.groups[Number(name) - 1] ?? "") : (captures.named[name] ?? "")
  })

/** The first name nobody will define, so that a typing mistake fails when the playbook is loaded. */
export const unknownName = (text: string, groups: ReadonlySet<string>): string | undefined => {
  for (const [whole, name = ""] of text.matchAll(hole)) {
    if (whole.startsWith("$$") || name in builtin || /^[1-9]\d*$/.test(name) || groups.has(name)) continue
    return name
  }
  return undefined
}

export const names = Object.keys(builtin)

/** The named groups of a regular expression. */
export const groupNames = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/\(\?<([A-Za-z_$][\w$]*)>/g)].map(([, name = ""]) => name)
