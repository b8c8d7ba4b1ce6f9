/**
 * Owns the cleaning of text that others wrote before it reaches a terminal: no escape sequence, no control character,
 * no reversed writing order. A model or a tool must not be able to move the cursor, retitle the window or hide a command.
 */

/** Where a sequence that a piece of text left open stands. */
type State = "text" | "escape" | "control" | "string" | "string-escape" | "one-more"

export interface Filter {
  /** Cleans the next piece; a sequence may be cut anywhere between two pieces. */
  readonly push: (text: string) => string
}

const isBidi = (code: number) =>
  (code >= 0x202a && code <= 0x202e) ||
  (code >= 0x2066 && code <= 0x2069) ||
  code === 0x200e ||
  code === 0x200f ||
  code === 0x061c

/** A sequence that never ends is given up after so many characters, so that it cannot swallow the rest of the text. */
const longest = 4096

/** Anything that `step` may drop. */
const suspicious = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

export const filter = (): Filter => {
  let state: State = "text"
  let inside = 0

  const step = (character: string, code: number): string => {
    if (state !== "text" && ++inside > longest) state = "text"
    switch (state) {
      case "text":
        inside = 0
        if (code === 0x1b) state = "escape"
        else if (code === 0x9b) state = "control"
        else if (code === 0x90 || code === 0x98 || (code >= 0x9d && code <= 0x9f)) state = "string"
        else if (code === 0x0a || code === 0x09) return character
        else if (code < 0x20 || (code >= 0x7f && code <= 0x9f) || isBidi(code)) return ""
        else return character
        return ""
      case "escape":
        if (character === "[") state = "control"
        else if ("]PX^_".includes(character)) state = "string"
        // Intermediate bytes: one final character follows.
        else if (code >= 0x20 && code <= 0x2f) state = "one-more"
        else if (code === 0x0a) return back(character)
        else if (code !== 0x1b) state = "text"
        return ""
      case "one-more":
        if (code < 0x20 || code > 0x2f) state = "text"
        return ""
      case "control":
        if (code === 0x0a) return back(character)
        if (code >= 0x40 && code <= 0x7e) state = "text"
        return ""
      case "string":
        // Nothing of it reached the terminal, so the rest may be read as text: what follows the line is not lost.
        if (code === 0x0a) return back(character)
        if (code === 0x07 || code === 0x9c) state = "text"
        else if (code === 0x1b) state = "string-escape"
        return ""
      case "string-escape":
        if (code === 0x0a) return back(character)
        state = character === "\\" ? "text" : "string"
        return ""
    }
  }
  const back = (character: string): string => {
    state = "text"
    return character
  }

  return {
    push: (text) => {
      // Most pieces are clean; they are passed on as they are.
      if (state === "text" && !suspicious.test(text)) return text
      let clean = ""
      for (const character of text) clean += step(character, character.codePointAt(0) ?? 0)
      return clean
    },
  }
}

/** One whole text, cleaned. Carriage returns that end lines or redraw them become line ends. */
export const plain = (text: string): string => filter().push(text.replace(/\r\n?/g, "\n"))

/** What a stream may be given: text alone if a terminal reads it, and every byte as it is if not. */
export const textFor = (stream: { readonly isTTY?: boolean }, text: string): string =>
  stream.isTTY === true ? plain(text) : text

/** On one line, spaces for everything that is not visible. */
export const oneLine = (text: string): string => plain(text).replace(/\s+/g, " ").trim()
