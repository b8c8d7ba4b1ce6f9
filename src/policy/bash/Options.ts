/** Owns reading a program's arguments against the options it is known to have; whatever is not listed is reported as not known. */
import type { Field } from "./State.ts"

/** `flag`: alone. `value`: takes one. `maybe`: only with `=`. `reads`, `writes`: takes a path. `pair`: takes two words. */
type Kind = "flag" | "value" | "maybe" | "reads" | "writes" | "pair"

export interface Spec {
  readonly options: ReadonlyMap<string, Kind>
  /** `-5` is an option. */
  readonly digits: boolean
  /** Only options before the first operand count, as with wrappers. */
  readonly leading: boolean
}

export interface Parsed {
  readonly operands: ReadonlyArray<Field>
  readonly values: ReadonlyArray<{ readonly option: string; readonly kind: Kind; readonly field: Field }>
  readonly options: ReadonlySet<string>
  /** The first option that is not in the list, if any. */
  readonly strange: string | undefined
  /** Values that hang on options that are not in the list. */
  readonly strangeValues: ReadonlyArray<Field>
  /** A word that may turn out to be an option when it is expanded. */
  readonly disguised: string | undefined
  /** Several letters stood behind one dash. */
  readonly bundled: boolean
  /** Where the first operand stands; the length if there is none. */
  readonly first: number
}

const kinds: Readonly<Record<string, Kind>> = {
  ":": "value",
  "=": "value",
  "=?": "maybe",
  "<": "reads",
  ">": "writes",
  "::": "pair",
}

/** `-abc` flags, `-n:` and `--lines=` with a value, `--color=?` perhaps with one, `<` and `>` with a path, `-#` digits. */
export const spec = (text: string, leading = false): Spec => {
  const key = leading ? `leading ${text}` : text
  const found = specs.get(key) ?? specOf(text, leading)
  specs.set(key, found)
  return found
}
/** The lists are written in the code, so there are few and they never change. */
const specs = new Map<string, Spec>()

const specOf = (text: string, leading: boolean): Spec => {
  const options = new Map<string, Kind>()
  let digits = false
  for (const word of text.split(" ")) {
    const found = /^(--?[^:=<>]+)([:=<>?]*)$/.exec(word)
    const name = found?.[1] ?? ""
    const kind = kinds[found?.[2] ?? ""] ?? "flag"
    if (name === "-#") digits = true
    else if (name.startsWith("--")) options.set(name, kind)
    else for (const letter of name.slice(1)) options.set(`-${letter}`, kind)
  }
  return { options, digits, leading }
}

/** A pattern whose first character is open may name a file called `-o…`. */
const mayBeOption = (field: Field): boolean =>
  field.kind === "pattern" ? /^(?:[*?[]|-)/.test(field.pattern) : field.kind === "unknown" && !field.number

export const read = (args: ReadonlyArray<Field>, { digits, leading, options }: Spec): Parsed => {
  const operands: Array<Field> = []
  const values: Array<{ option: string; kind: Kind; field: Field }> = []
  const seen = new Set<string>()
  const strangeValues: Array<Field> = []
  let strange: string | undefined
  let disguised: string | undefined
  let bundled = false
  let first = args.length
  let at = 0
  const take = (option: string, kind: Kind): void => {
    const field = args[++at]
    if (field === undefined) strange ??= option
    else values.push({ option, kind, field })
  }
  for (; at < args.length; at++) {
    const field = args[at]
    if (field === undefined) break
    if (mayBeOption(field)) disguised ??= field.text
    const { text } = field
    if (field.kind !== "literal" || text === "-" || !text.startsWith("-")) {
      if (operands.length === 0) first = at
      operands.push(field)
      if (leading) break
      continue
    }
    if (text === "--") {
      if (at + 1 < args.length && operands.length === 0) first = at + 1
      operands.push(...args.slice(at + 1))
      break
    }
    if (digits && /^-\d+$/.test(text)) continue
    if (text.startsWith("--")) {
      const equals = text.indexOf("=")
      const name = equals === -1 ? text : text.slice(0, equals)
      const kind = options.get(name)
      seen.add(name)
      const value: Field | undefined = equals === -1 ? undefined : { kind: "literal", text: text.slice(equals + 1) }
      if (kind === undefined || (kind === "flag" && value !== undefined)) {
        strange ??= name
        if (value !== undefined) strangeValues.push(value)
      } else if (kind === "pair") {
        take(name, kind)
        take(name, kind)
      } else if (value !== undefined) values.push({ option: name, kind, field: value })
      else if (kind !== "flag" && kind !== "maybe") take(name, kind)
      continue
    }
    bundled ||= text.length > 2
    for (let letter = 1; letter < text.length; letter++) {
      const name = `-${text.charAt(letter)}`
      const kind = options.get(name)
      seen.add(name)
      if (kind === "flag") continue
      const rest = text.slice(letter + 1)
      if (kind === undefined) {
        strange ??= name
        if (rest !== "") strangeValues.push({ kind: "literal", text: rest.replace(/^=/, "") })
      } else if (rest !== "" && kind !== "pair")
        values.push({ option: name, kind, field: { kind: "literal", text: rest } })
      else if (kind !== "maybe") {
        take(name, kind)
        if (kind === "pair") take(name, kind)
      }
      break
    }
  }
  return { operands, values, options: seen, strange, strangeValues, disguised, bundled, first }
}
