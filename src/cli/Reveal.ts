/**
 * Owns how text that a person has to judge is shown: nothing is left out, and what has no picture of its own, or changes the
 * picture of its neighbours, is written as an escape. (`Plain` drops such things from text that is only to be read.)
 */

/** A part of a text; `escaped` if it stands for something that cannot be seen. */
export interface Piece {
  readonly text: string
  readonly escaped: boolean
}

// A joiner or a selector inside an emoji is part of its picture, so an emoji is taken as a whole and left alone.
const picture = String.raw`\p{Extended_Pictographic}\p{Emoji_Modifier}?\ufe0f?`
const emoji = `${picture}(?:\\u200d${picture})*`
// Controls, formats, halves of characters, private and unassigned ones; separators; what fonts draw as nothing.
const blank = String.raw`(?![\n\t ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]`

const each = () => new RegExp(`${emoji}|(${blank})`, "gu")

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, "0")

/** `\x1b`, `\u202e`, `\u{e0041}` */
const escape = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  if (code <= 0xff) return `\\x${hex(code, 2)}`
  return code <= 0xffff ? `\\u${hex(code, 4)}` : `\\u{${hex(code, 1)}}`
}

/** Line ends and tabs stay; a caller that has one line only escapes them with `reveal(text, true)`. */
export const reveal = (text: string, oneLine = false): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let from = 0
  const pattern = oneLine ? new RegExp(`${each().source}|([\\n\\t])`, "gu") : each()
  for (const { 0: all, 1: hidden, 2: white, index } of text.matchAll(pattern)) {
    if (hidden === undefined && white === undefined) continue
    if (index > from) pieces.push({ text: text.slice(from, index), escaped: false })
    pieces.push({ text: escape(all), escaped: true })
    from = index + all.length
  }
  if (from < text.length) pieces.push({ text: text.slice(from), escaped: false })
  return pieces
}

/** The same as one text. */
export const visible = (text: string, oneLine = false): string =>
  reveal(text, oneLine)
    .map((piece) => piece.text)
    .join("")

/** The escapes in what is shown, each once: what there is that cannot be seen. */
export const unseen = (pieces: ReadonlyArray<Piece>): ReadonlyArray<string> => [
  ...new Set(pieces.flatMap(({ escaped, text }) => (escaped ? [text] : []))),
]

/** JSON, escaped in the way of JSON: the same value. */
export const visibleJson = (json: string): string =>
  json.replace(each(), (all: string, hidden: string | undefined) => {
    if (hidden === undefined) return all
    return Array.from({ length: all.length }, (_, i) => `\\u${hex(all.charCodeAt(i), 4)}`).join("")
  })

/** The same in pieces, with the escapes that JSON makes itself. A backslash that was typed is doubled in JSON. */
export const revealJson = (json: string): ReadonlyArray<Piece> =>
  visibleJson(json)
    .split(/(\\(?:u[\da-f]{4}|.))/)
    .filter((text) => text !== "")
    .map((text) => ({ text, escaped: /^\\[ubfr]/.test(text) }))
