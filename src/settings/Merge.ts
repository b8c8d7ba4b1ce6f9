/** Owns how settings of several sources become one value. Pure. */

export type Json = null | boolean | number | string | ReadonlyArray<Json> | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Ordered chains: position carries meaning, so the highest source supplies the whole value. */
const whole: ReadonlySet<string> = new Set(["fallbackModel"])

/** The same text for the same value, whatever the order of its keys. */
export const canonical = (value: Json): string => {
  if (isObject(value)) {
    const entries = Object.keys(value)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonical(value[key] ?? null)}`)
    return `{${entries.join(",")}}`
  }
  if (isList(value)) return `[${value.map(canonical).join(",")}]`
  return JSON.stringify(value)
}

const isList = (value: Json | undefined): value is ReadonlyArray<Json> => Array.isArray(value)

/** First occurrences, in order. */
const unique = (items: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const seen = new Set<string>()
  return items.filter((item) => {
    const key = canonical(item)
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

const mergeValue = (key: string, low: Json | undefined, high: Json): Json => {
  if (whole.has(key)) return high
  if (isObject(low) && isObject(high)) return merge(low, high)
  if (isList(high)) return unique(isList(low) ? [...low, ...high] : high)
  return isObject(high) ? merge({}, high) : high
}

/**
 * Objects merge key by key, lists concatenate (lower source first) without repeats, everything else is replaced by the
 * higher source. Associative as long as a key has one kind of value; a list over a scalar replaces it.
 */
export const merge = (low: JsonObject, high: JsonObject): JsonObject =>
  // Built from entries: a key named `__proto__` stays a key.
  Object.fromEntries([
    ...Object.entries(low)
      .filter(([key]) => !Object.hasOwn(high, key))
      .map(([key, value]): [string, Json] => [key, mergeValue(key, undefined, value)]),
    ...Object.entries(high).map(([key, value]): [string, Json] => [
      key,
      mergeValue(key, Object.hasOwn(low, key) ? low[key] : undefined, value),
    ]),
  ])

/** Lowest first. */
export const mergeAll = (values: ReadonlyArray<JsonObject>): JsonObject => values.reduce(merge, {})

/** `combines` lists and objects take part in the result beside a higher one of the same kind. */
export const combines = (path: ReadonlyArray<string>, low: Json, high: Json): boolean =>
  !path.some((key) => whole.has(key)) && ((isObject(low) && isObject(high)) || (isList(low) && isList(high)))

export const get = (value: Json | undefined, path: ReadonlyArray<string>): Json | undefined =>
  path.reduce<Json | undefined>((at, key) => {
    if (isList(at)) return /^\d+$/.test(key) ? at[Number(key)] : undefined
    return isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }, value)

/** The value without what stands at the path; containers that become empty stay. */
export const without = (value: Json, path: ReadonlyArray<string>): Json => {
  const [key, ...rest] = path
  if (key === undefined) return value
  if (isList(value)) {
    const index = Number(key)
    return rest.length === 0
      ? value.filter((_, i) => i !== index)
      : value.map((item, i) => (i === index ? without(item, rest) : item))
  }
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]): Array<[string, Json]> =>
      name !== key ? [[name, item]] : rest.length === 0 ? [] : [[name, without(item, rest)]],
    ),
  )
}

/** Only what stands at the path, inside its containers. */
export const only = (value: JsonObject, path: ReadonlyArray<string>): JsonObject => {
  const found = get(value, path)
  return found === undefined
    ? {}
    : path.reduceRight<JsonObject>((inner, key, index) => {
        const here: Json = index === path.length - 1 ? found : inner
        return Object.fromEntries([[key, here]])
      }, {})
}
