/** Owns what a reload changed, told by source: the keys that are different now, and those that wait for trust. Pure. */
import type { EventOf } from "../protocol/Event.ts"
import { canonical, get, isObject, type Json, type JsonObject } from "./Merge.ts"
import type { SettingsLayer } from "./SettingsLayer.ts"

/** One source that changed. */
export type ConfigChange = Omit<EventOf<"ConfigChanged">, "_tag">

type KeyPath = ReadonlyArray<string>
type Layers = ReadonlyArray<SettingsLayer>

/** The keys whose values differ, as deep as objects go. */
const differing = (before: JsonObject, after: JsonObject): ReadonlyArray<KeyPath> => {
  // A source that was not read again, which is most of them.
  if (before === after) return []
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key): ReadonlyArray<KeyPath> => {
    const was = get(before, [key])
    const is = get(after, [key])
    const inner = differing(objectOr(was, is), objectOr(is, was))
    if (inner.length > 0) return inner.map((path) => [key].concat(path))
    return was !== undefined && is !== undefined && canonical(was) === canonical(is) ? [] : [[key]]
  })
}

/** An absent object beside one that is there is an empty one. */
const objectOr = (value: Json | undefined, other: Json | undefined): JsonObject =>
  isObject(value) && (other === undefined || isObject(other)) ? value : {}

/** A source that came or went changes by all its keys. */
export const between = (before: Layers, after: Layers): ReadonlyArray<ConfigChange> => {
  const past = new Map(before.map((layer) => [layer.source.name, layer]))
  const present = new Map(after.map((layer) => [layer.source.name, layer]))
  return [...new Map([...past, ...present]).values()].flatMap(({ source }) => {
    const was = past.get(source.name)
    const is = present.get(source.name)
    const keys = differing(was?.value ?? {}, is?.value ?? {})
    // What is no longer asked for waits for nothing.
    const withheld = differing(was?.withheld ?? {}, is?.withheld ?? {}).filter(
      (path) => get(is?.withheld, path) !== undefined,
    )
    if (keys.length === 0 && withheld.length === 0) return []
    return [{ source: source.kind, file: source.name, keys: keys.map(dotted), withheld: withheld.map(dotted) }]
  })
}

const dotted = (path: KeyPath): string => path.join(".")
