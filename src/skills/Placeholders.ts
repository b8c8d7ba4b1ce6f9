/**
 * Owns the placeholders of a skill: `$ARGUMENTS`, `$ARGUMENTS[N]`, `$N`, `$name` and `${CLAUDE_…}`, found once and filled in once, so
 * that nothing in a value is ever taken for a placeholder. How a value goes into a command line is `ShellQuoting`'s.
 */

/** What a placeholder stands for. */
export type Meaning =
  | { readonly _tag: "All" }
  | { readonly _tag: "Index"; readonly index: number }
  | { readonly _tag: "Named"; readonly name: string; readonly index: number }
  | { readonly _tag: "Variable"; readonly name: string }

export type Piece =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "Placeholder"; readonly written: string; readonly meaning: Meaning }

/** What placeholders are filled with. */
export interface Values {
  /** As it was typed. */
  readonly args: string
  /** `CLAUDE_SESSION_ID` and its like; one that is missing here stays as it is written. */
  readonly variables: Readonly<Record<string, string>>
}

const escaped = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)

/** `names` are those of the front matter's `arguments`, in the order of their positions. */
export const scan = (template: string, names: ReadonlyArray<string>): ReadonlyArray<Piece> => {
  // The longest first: `$issue-number` is not `$issue` and some text.
  const known = names.toSorted((a, b) => b.length - a.length).map(escaped)
  const named = known.length === 0 ? "(?!)()" : `(${known.join("|")})(?![\\w[])`
  const pattern = new RegExp(
    String.raw`(\\*)(\$(?:ARGUMENTS\[(\d+)\]|(ARGUMENTS)(?!\w)|(\d+)(?!\w)|${named})|\$\{(CLAUDE_[A-Z_]+)\})`,
    "g",
  )
  const pieces: Array<Piece> = []
  let pending = ""
  let from = 0
  for (const found of template.matchAll(pattern)) {
    const [all, slashes = "", written = "", element, whole, index, name, variable] = found
    pending += template.slice(from, found.index)
    from = found.index + all.length
    // One backslash makes it text. More of them are text themselves, and none protects a variable.
    if (slashes.length === 1 && variable === undefined) {
      pending += written
      continue
    }
    pending += slashes
    if (pending !== "") pieces.push({ _tag: "Text", text: pending })
    pending = ""
    const position = element ?? index
    const meaning: Meaning =
      variable !== undefined
        ? { _tag: "Variable", name: variable }
        : whole !== undefined
          ? { _tag: "All" }
          : position !== undefined
            ? { _tag: "Index", index: Number(position) }
            : { _tag: "Named", name: name ?? "", index: names.indexOf(name ?? "") }
    pieces.push({ _tag: "Placeholder", written, meaning })
  }
  pending += template.slice(from)
  if (pending !== "") pieces.push({ _tag: "Text", text: pending })
  return pieces
}

/** Whether it has a place for what was typed. */
export const takesArguments = (pieces: ReadonlyArray<Piece>): boolean =>
  pieces.some((piece) => piece._tag === "Placeholder" && piece.meaning._tag !== "Variable")

/** The value of a placeholder; `undefined` where it stays as it is written. */
export const valueOf = (meaning: Meaning, { args, variables }: Values): string | undefined => {
  switch (meaning._tag) {
    case "All":
      return args
    case "Index":
      return split(args)[meaning.index]
    case "Named":
      return split(args)[meaning.index] ?? ""
    case "Variable":
      return Object.hasOwn(variables, meaning.name) ? variables[meaning.name] : undefined
  }
}

export const fill = (pieces: ReadonlyArray<Piece>, values: Values): string =>
  pieces
    .map((piece) => (piece._tag === "Text" ? piece.text : (valueOf(piece.meaning, values) ?? piece.written)))
    .join("")

/**
 * Arguments as a shell would take them apart: quotes hold words together. A backslash counts only before a space, a quote or another
 * one, for people type patterns and Windows paths; and where a quote is never closed (`don't`), quotes are ordinary characters.
 */
export const split = (args: string): ReadonlyArray<string> => {
  const words: Array<string> = []
  let word: string | undefined
  let quote = ""
  for (let at = 0; at < args.length; at++) {
    const char = args.charAt(at)
    const next = args.charAt(at + 1)
    if (quote !== "") {
      if (char === quote) quote = ""
      else if (char === "\\" && quote === '"' && (next === '"' || next === "\\")) {
        word += next
        at++
      } else word += char
    } else if (char === "'" || char === '"') {
      quote = char
      word ??= ""
    } else if (char === "\\" && next !== "" && /[\s'"\\]/.test(next)) {
      word = (word ?? "") + next
      at++
    } else if (/\s/.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? "") + char
  }
  if (quote !== "") return args.split(/\s+/).filter((part) => part !== "")
  if (word !== undefined) words.push(word)
  return words
}
