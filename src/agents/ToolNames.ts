/** Owns reading the lists of tools and names that people write: with commas, spaces or lines, as a list, as JSON, as a map. Pure. */

/** `Read, Bash(git diff *)` and `Agent(a, b)`: separated outside parentheses; by spaces only where there is no comma. */
const cut = (text: string): ReadonlyArray<string> => {
  const bare = text.trim().replace(/^\[([\s\S]*)\]$/, "$1")
  const whole = bare.toLowerCase()
  if (whole === "*" || whole === "all" || whole === "all tools") return ["*"]
  const separators = /[,\n]/.test(outside(bare)) ? /[,\n]/ : /\s/
  const parts: Array<string> = []
  let part = ""
  let depth = 0
  for (const char of bare) {
    if (char === "(") depth++
    if (char === ")") depth = Math.max(0, depth - 1)
    if (depth === 0 && separators.test(char)) {
      parts.push(part)
      part = ""
    } else part += char
  }
  return [...parts, part].map(tidy).filter((one) => one !== "")
}

/** The text without what stands in parentheses. */
const outside = (text: string): string => text.replace(/\([^()]*\)/g, "")

/** A bullet, quotes and back-ticks belong to the way it is written. */
const tidy = (text: string): string =>
  text
    .trim()
    .replace(/^- +/, "")
    .replace(/^(["'`])(.*)\1$/, "$2")
    .trim()

/** Names as a text or a list of texts; nothing when it is neither. */
export const names = (value: unknown): ReadonlyArray<string> | undefined => {
  if (value === null || value === undefined) return []
  if (typeof value === "string") return unique(cut(value))
  if (!Array.isArray(value)) return undefined
  const parts = value.map((item) => (typeof item === "string" ? cutItem(item) : undefined))
  return parts.every((part) => part !== undefined) ? unique(parts.flat()) : undefined
}

/** In a list a space belongs to the item: only commas cut. */
const cutItem = (text: string): ReadonlyArray<string> =>
  outside(text).includes(",") ? cut(text) : [tidy(text)].filter((one) => one !== "")

const unique = (items: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(items)]

export interface Switches {
  readonly on: ReadonlyArray<string>
  readonly off: ReadonlyArray<string>
}

/** `{ write: false, bash: true }`, as another program's agents have it. */
export const switches = (value: unknown): Switches | undefined => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined
  const entries = Object.entries(value)
  if (entries.length === 0 || !entries.every(([, on]) => typeof on === "boolean")) return undefined
  const of = (wanted: boolean) => entries.flatMap(([name, on]) => (on === wanted ? [name] : []))
  return { on: of(true), off: of(false) }
}
