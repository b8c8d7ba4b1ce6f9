/** Owns the answer to "why has this setting this value": every source that sets it, where, and which one counts. Pure. */
import { combines, get, isObject, type Json, type JsonObject, mergeAll } from "./Merge.ts"
import { place, type SettingsLayer, type Source, type SourceKind } from "./SettingsLayer.ts"

export interface Entry {
  readonly source: Source
  readonly line?: number
  readonly column?: number
  /** The variable or flag that set it, where it is not a file. */
  readonly origin?: string
  readonly value: Json
  readonly role: "wins" | "merged" | "overridden" | "withheld"
  readonly why: string
}

export interface Explanation {
  readonly key: string
  /** What is in force; absent when nothing sets it. */
  readonly value?: Json
  /** Highest first. */
  readonly entries: ReadonlyArray<Entry>
}

const because: Readonly<Record<SourceKind, string>> = {
  managed: "managed settings override everything",
  flags: "a command-line flag overrides variables and files",
  environment: "the environment variable overrides the files",
  arguments: "--settings overrides the settings files",
  local: "the local project file overrides the shared one and the user's",
  project: "the project file overrides the user's",
  user: "no higher source sets it",
}

/** Keys may contain dots themselves (`enabledPlugins.fmt@team.example`): the longest key that some source has is taken. */
export const pathOf = (layers: ReadonlyArray<SettingsLayer>, dotted: string): ReadonlyArray<string> => {
  const parts = dotted.split(".")
  const walk = (values: ReadonlyArray<Json>, from: number): ReadonlyArray<string> | undefined => {
    if (from === parts.length) return []
    for (let to = parts.length; to > from; to--) {
      const key = parts.slice(from, to).join(".")
      const inner = values.flatMap((value) => {
        const found = get(value, [key])
        return found === undefined ? [] : [found]
      })
      const rest = inner.length === 0 ? undefined : walk(inner, to)
      if (rest !== undefined) return [key, ...rest]
    }
    return undefined
  }
  return (
    walk(
      layers.flatMap((layer) => [layer.value, layer.withheld]),
      0,
    ) ?? parts
  )
}

const entryOf = (layer: SettingsLayer, path: ReadonlyArray<string>, value: Json) => {
  const origin = layer.origin?.(path)
  return { source: layer.source, ...layer.locate(path), ...(origin !== undefined && { origin }), value }
}

/** `layers` lowest first, as the settings hold them. */
export const explain = (layers: ReadonlyArray<SettingsLayer>, key: string | ReadonlyArray<string>): Explanation => {
  const path = typeof key === "string" ? pathOf(layers, key) : key
  const value = get(mergeAll(layers.map((layer) => layer.value)), path)
  let winner: Json | undefined
  const entries = layers.toReversed().flatMap((layer): ReadonlyArray<Entry> => {
    const found: Array<Entry> = []
    const held = get(layer.withheld, path)
    if (held !== undefined) {
      const why = "not in force: this folder's executable settings are not trusted"
      found.push({ ...entryOf(layer, path, held), role: "withheld", why })
    }
    const own = get(layer.value, path)
    if (own !== undefined) {
      const base = entryOf(layer, path, own)
      if (winner === undefined) {
        winner = own
        found.push({ ...base, role: "wins", why: because[layer.source.kind] })
      } else if (value !== undefined && combines(path, own, winner)) {
        found.push({ ...base, role: "merged", why: "lists and objects of all sources are merged" })
      } else {
        found.push({ ...base, role: "overridden", why: "a higher source sets it" })
      }
    }
    return found
  })
  return { key: path.join("."), ...(value !== undefined && { value }), entries }
}

const leaves = (value: JsonObject, prefix: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> =>
  Object.entries(value).flatMap(([key, inner]) =>
    isObject(inner) && Object.keys(inner).length > 0 ? leaves(inner, [...prefix, key]) : [[...prefix, key]],
  )

/** Every setting that some source sets, in alphabetical order. */
export const list = (layers: ReadonlyArray<SettingsLayer>): ReadonlyArray<Explanation> => {
  const paths = new Map(
    layers
      .flatMap((layer) => [...leaves(layer.value), ...leaves(layer.withheld)])
      .map((path) => [JSON.stringify(path), path]),
  )
  return [...paths.values()].map((path) => explain(layers, path)).sort((a, b) => (a.key < b.key ? -1 : 1))
}

const secret = /(?:token|secret|password|passwd|api[_-]?key|authorization|credential|headers)s?$/i

/** Everything under a key that looks like a secret is one, however deep: the values of `headers`, the items of a list. */
const hidden = (key: string, value: Json, inside = false): Json => {
  const isSecret = inside || secret.test(key)
  if (typeof value === "string") return isSecret ? `******** (${value.length} characters, hidden)` : value
  if (Array.isArray(value)) return value.map((one: Json) => hidden(key, one, isSecret))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([inner, one]) => [inner, hidden(inner, one, isSecret)]))
}

/** For showing to people and logs: text under a key that looks like a secret is left out. */
export const hide = (explanation: Explanation): Explanation => {
  const key = explanation.key.split(".").at(-1) ?? ""
  const entries = explanation.entries.map((entry) => hideEntry(key, entry))
  const { value } = explanation
  return { key: explanation.key, ...(value !== undefined && { value: hidden(key, value) }), entries }
}

const hideEntry = (key: string, entry: Entry): Entry => ({ ...entry, value: hidden(key, entry.value) })

/** For a terminal; secrets are hidden. */
export const render = (explanation: Explanation): string => {
  const { entries, key, value } = hide(explanation)
  if (entries.length === 0) return `${key} is not set in any settings file; its default applies.`
  const head = value === undefined ? `${key} is not in force` : `${key} = ${JSON.stringify(value)}`
  const lines = entries.map((entry) => {
    const at = entry.origin === undefined ? place(entry.source, entry) : `${entry.origin} (${entry.source.name})`
    const value = JSON.stringify(entry.value)
    return `  ${entry.role.padEnd(10)} ${entry.source.kind.padEnd(11)} ${at}  ${value}  (${entry.why})`
  })
  return [head, ...lines].join("\n")
}
