/**
 * Owns the patterns of command rules: `npm run build` exactly, `npm run *` with a word boundary, `ls*` without one, `*` anywhere.
 *
 * A star stands for any text, spaces included. Where the only star is at the end behind a space, the bare command fits too.
 */

/** One form for texts that look the same; plain ones have only one. */
export const normal = (text: string): string => (/[\u0080-\uffff]/.test(text) ? text.normalize("NFC") : text)

export interface CommandPattern {
  /** The pattern in its one form: `:*` at the end is written ` *`. */
  readonly text: string
  /** What stands before the first star; the whole pattern when there is none. */
  readonly head: string
  readonly shape: "all" | "exact" | "words" | "prefix" | "glob"
  /** The program it names, when it names one without a star: what it is found by. */
  readonly program: string | undefined
  /** For `glob`: the texts between the stars, in order. */
  readonly parts: ReadonlyArray<string>
}

const starAt = (text: string): ReadonlyArray<string> => {
  // A backslash makes the next star, or backslash, an ordinary character.
  const parts: Array<string> = []
  let part = ""
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i)
    const next = text.charAt(i + 1)
    if (char === "\\" && (next === "*" || next === "\\")) {
      part += next
      i++
    } else if (char === "*") {
      parts.push(part)
      part = ""
    } else part += char
  }
  parts.push(part)
  return parts
}

export const make = (specifier: string): CommandPattern => {
  const text = specifier.trim().replace(/:\*$/, " *").normalize("NFC")
  const parts = starAt(text)
  const head = parts[0] ?? ""
  const base = { text, parts }
  if (parts.length === 1) return { ...base, head, shape: "exact", program: firstWord(head) }
  if (parts.every((part) => part.trim() === "")) return { ...base, head: "", shape: "all", program: undefined }
  const onlyAtEnd = parts.length === 2 && parts[1] === ""
  if (onlyAtEnd && head.endsWith(" ")) {
    const words = head.slice(0, -1)
    return { ...base, head: words, shape: "words", program: firstWord(words) }
  }
  const program = head.includes(" ") ? firstWord(head) : undefined
  return { ...base, head, shape: onlyAtEnd ? "prefix" : "glob", program }
}

export const firstWord = (text: string): string => {
  const space = text.indexOf(" ")
  return space === -1 ? text : text.slice(0, space)
}

export const matches = (pattern: CommandPattern, text: string): boolean => {
  switch (pattern.shape) {
    case "all":
      return true
    case "exact":
      return text === pattern.head
    case "words":
      return (
        text.startsWith(pattern.head) &&
        (text.length === pattern.head.length || text.charAt(pattern.head.length) === " ")
      )
    case "prefix":
      return text.startsWith(pattern.head)
    case "glob":
      return fits(pattern.parts, text)
  }
}

/** The first part begins the text, the last one ends it, and those between follow each other: the leftmost place is enough. */
const fits = (parts: ReadonlyArray<string>, text: string): boolean => {
  const first = parts[0] ?? ""
  const last = parts.at(-1) ?? ""
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}

/** Programs are found by any spelling where the disk does not care for case; everything behind the name is compared exactly. */
export const foldProgram = (text: string): string => {
  const program = firstWord(text)
  const folded = program.toLowerCase()
  return folded === program ? text : folded + text.slice(program.length)
}

/** The same pattern for rules that forbid or ask: without quotes, as commands are compared, and with its program folded. */
export const tight = ({ text }: CommandPattern): CommandPattern =>
  fold(make(text.replace(/(["'])((?:(?!\1).)*)\1/g, "$2")))

const fold = (pattern: CommandPattern): CommandPattern =>
  pattern.shape === "all" || (pattern.shape === "glob" && pattern.head === "")
    ? pattern
    : {
        ...pattern,
        head: foldProgram(pattern.head),
        parts: pattern.parts.map((part, index) => (index === 0 ? foldProgram(part) : part)),
        program: pattern.program?.toLowerCase(),
      }

/** Whether a text that cannot be taken apart might contain such a command: its literal words occur in it, in any quoting. */
export const mayOccur = (pattern: CommandPattern, raw: string): boolean => {
  if (pattern.shape === "all") return true
  const literal = [...pattern.parts].sort((a, b) => b.trim().length - a.trim().length)[0]?.trim() ?? ""
  if (literal === "") return true
  const plain = flatten(raw)
  const wanted = flatten(pattern.head.trim() === "" ? literal : pattern.head).trim()
  // A name that ends in a star may go on; any other must be whole, by itself or at the end of a path.
  const end = pattern.shape === "prefix" ? "" : " "
  return plain.includes(` ${wanted}${end}`) || plain.includes(`/${wanted}${end}`)
}

const flatten = (text: string): string =>
  ` ${text
    .normalize("NFC")
    .replace(/["'\\]/g, "")
    .replace(/[;&|<>`$(){}\n\t=,]/g, " ")
    .replace(/\s+/g, " ")
    .trim()} `.toLowerCase()
