/**
 * Owns how values get into a command line: always as text, never as syntax.
 *
 * A value is quoted for the place its placeholder stands at: bare (a word each), in double quotes, in single quotes. At any other
 * place (a here-document, arithmetic, a parameter expansion, backticks, a comment, a program for another interpreter) quoting would
 * mean something else, so only values of harmless characters are let in there. Wildcards in a value stay characters.
 */
import * as Result from "effect/Result"
import { type Piece, split, type Values, valueOf } from "./Placeholders.ts"

/** A value that cannot be put where its placeholder stands. */
export interface Unquotable {
  readonly placeholder: string
  readonly why: string
}

type Place = "bare" | "double" | "single" | "other"

/** The command with everything filled in. */
export const fill = (pieces: ReadonlyArray<Piece>, values: Values): Result.Result<string, Unquotable> => {
  const written = pieces.map((piece) => (piece._tag === "Text" ? piece.text : piece.written)).join("")
  const reader = new Reader(readsTwice.test(written))
  let command = ""
  for (const piece of pieces) {
    if (piece._tag === "Text") {
      reader.read(piece.text)
      command += piece.text
      continue
    }
    const value = valueOf(piece.meaning, values)
    // Nobody gave it: the shell sees what was written, and finds nothing there.
    if (value === undefined) {
      command += piece.written
      reader.skip()
      continue
    }
    const quoted = quote(value, reader.place, piece.meaning._tag === "All")
    if (quoted === undefined) {
      return Result.fail({ placeholder: piece.written, why: "there it could become a part of the command itself" })
    }
    command += quoted
    reader.skip()
  }
  return Result.succeed(command)
}

/** Text that is taken for a program once more, after the shell has read it: one layer of quotes does not hold. */
const readsTwice =
  /(?:^|[\s;&|(])(?:eval|let|trap|declare|typeset|unset|read|ssh)\s|\b(?:ba|da|z|k|fi)?sh\b[^;|&\n]*\s-\w*c\b|\b(?:python[\d.]*|node|perl|ruby|php|deno|bun)\b[^;|&\n]*\s-\w*[cepr]\b/

/** No shell reads anything into these. */
const harmless = /^[\w@%+=:,./-]*$/

const word = (value: string): string => (harmless.test(value) ? value : `'${value.replaceAll("'", String.raw`'\''`)}'`)

const quote = (value: string, place: Place, several: boolean): string | undefined => {
  if (value.includes("\0")) return undefined
  switch (place) {
    case "bare":
      return several ? split(value).map(word).join(" ") : word(value)
    case "double":
      return value.replaceAll(/["$\\`]/g, String.raw`\$&`)
    case "single":
      return value.replaceAll("'", String.raw`'\''`)
    case "other":
      return harmless.test(value) ? value : undefined
  }
}

/** Reads a command up to a placeholder and knows what a word there would mean. */
class Reader {
  /** What was opened and not closed yet, the innermost last; `$(` and `(` open a command of their own. */
  readonly #open: Array<"double" | "command"> = []
  #state: "plain" | "single" | "other"
  /** A character is yet to come that the backslash before it takes for text. */
  #escaping = false
  /** Whether a `#` here begins a comment. */
  #wordStart = true

  constructor(lost: boolean) {
    this.#state = lost ? "other" : "plain"
  }

  get place(): Place {
    // A backslash right before it would quote the first character only.
    if (this.#escaping) return "other"
    if (this.#state !== "plain") return this.#state
    return this.#open.at(-1) === "double" ? "double" : "bare"
  }

  skip(): void {
    this.#wordStart = false
    this.#escaping = false
  }

  read(text: string): void {
    for (let at = 0; at < text.length && this.#state !== "other"; at++) at += this.#take(text, at)
  }

  /** Answers how many further characters it has taken. */
  #take(text: string, at: number): number {
    const char = text.charAt(at)
    const next = text.charAt(at + 1)
    if (this.#escaping) {
      this.#escaping = false
      return 0
    }
    if (this.#state === "single") {
      if (char === "'") this.#state = "plain"
      return 0
    }
    const inDouble = this.#open.at(-1) === "double"
    const wordStart = this.#wordStart
    this.#wordStart = !inDouble && /[\s;&|()]/.test(char)
    if (char === "\\") {
      this.#escaping = true
      return 0
    }
    if (char === '"') {
      if (inDouble) this.#open.pop()
      else this.#open.push("double")
      return 0
    }
    if (char === "$" && next === "(") {
      if (text.charAt(at + 2) === "(") return this.#lost()
      this.#open.push("command")
      this.#wordStart = true
      return 1
    }
    // From here on only somebody who knows the whole grammar could tell what is text.
    if (char === "`" || (char === "$" && (next === "{" || next === "'" || next === "[" || next === "")))
      return this.#lost()
    if (inDouble) return 0
    if (char === "'") this.#state = "single"
    else if (char === "#" && wordStart) return this.#lost()
    else if (char === "<" && next === "<" && text.charAt(at + 2) !== "<") return this.#lost()
    else if (char === "<" && next === "<") return 2
    else if (char === "(" && next === "(") return this.#lost()
    else if (char === "[" && next === "[") return this.#lost()
    else if (char === "(") this.#open.push("command")
    else if (char === ")" && this.#open.at(-1) === "command") this.#open.pop()
    return 0
  }

  #lost(): number {
    this.#state = "other"
    return 0
  }
}
