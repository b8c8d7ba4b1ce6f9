/**
 * Owns the front matter that nearly every file has: keys with plain values, quoted texts and lists of words. It is read here
 * without the YAML library, whose loading costs more than a start may; anything else is left to that.
 *
 * What is read here is exactly what YAML says it is (checked against the library); when in doubt, it is not read here.
 */

type Scalar = string | number | boolean | null
type Value = Scalar | ReadonlyArray<Scalar>

/** Words that are something else than text, as YAML's core schema spells them. */
const words: ReadonlyMap<string, boolean | null> = new Map([
  ...["null", "Null", "NULL", "~"].map((word) => [word, null] as const),
  ...["true", "True", "TRUE"].map((word) => [word, true] as const),
  ...["false", "False", "FALSE"].map((word) => [word, false] as const),
])

const entry = /^([A-Za-z_][\w-]{0,99}):(?: +(.*?))? *$/
const item = /^( *)- +(.*?) *$/
const strange = /[\p{Cc}\p{Zl}\p{Zp}\uFEFF]/u
const startsText = /^\p{L}/u
const whole = /^(?:0|[1-9]\d{0,14})$/
const quoted = /^(?:"([^"\\]*)"|'([^']*)')$/

const scalar = (text: string): Scalar | undefined => {
  const word = words.get(text)
  if (word !== undefined) return word
  if (whole.test(text)) return Number(text)
  const quotes = quoted.exec(text)
  if (quotes !== null) return quotes[1] ?? quotes[2]
  return startsText.test(text) && !/: |:$| #/.test(text) ? text : undefined
}

/** `[Read, Grep, "Bash(git *)"]` without anything nested. */
const list = (text: string): ReadonlyArray<Scalar> | undefined => {
  const inside = /^\[ *([^[\]{}]*?) *\]$/.exec(text)?.[1]
  if (inside === undefined) return undefined
  if (inside === "") return []
  const parts = inside.split(/ *, */).map((part) => {
    // A comma or a colon inside quotes, or a sign with a meaning in lists: the library knows.
    return /^(?:[A-Za-z][\w ./()*-]*|"[^"\\:,]*"|'[^':,]*')$/.test(part) ? scalar(part) : undefined
  })
  return parts.every((part) => part !== undefined) ? parts : undefined
}

/** The items that begin at a line, all indented alike; nothing when one of them needs the library. */
const itemsAt = (lines: ReadonlyArray<string>, from: number): ReadonlyArray<Scalar> | undefined => {
  const indent = item.exec(lines[from] ?? "")?.[1]
  const items: Array<Scalar> = []
  for (let at = from; ; at++) {
    const [, space, text] = item.exec(lines[at] ?? "") ?? []
    if (space === undefined || text === undefined || space !== indent) return items
    const value = strange.test(text) ? undefined : scalar(text)
    if (value === undefined) return undefined
    items.push(value)
  }
}

/** The keys and values, or nothing when these lines need the library. */
export const read = (lines: ReadonlyArray<string>): Readonly<Record<string, unknown>> | undefined => {
  const found = new Map<string, Value>()
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ""
    if (strange.test(line)) return undefined
    if (line === "" || line.startsWith("#")) continue
    const [, key, text = ""] = entry.exec(line) ?? []
    if (key === undefined || words.has(key) || key === "__proto__" || found.has(key)) return undefined
    if (text !== "") {
      const value = text.startsWith("[") ? list(text) : scalar(text)
      if (value === undefined) return undefined
      found.set(key, value)
      continue
    }
    const items = itemsAt(lines, at + 1)
    if (items === undefined) return undefined
    found.set(key, items.length === 0 ? null : items)
    at += items.length
  }
  return Object.fromEntries(found)
}
