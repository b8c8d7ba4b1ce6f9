/**
 * Owns text with colours and links that a program of the user printed: those are kept, every other control sequence is taken out, and
 * a line is cut to the width of the terminal without losing the end of either.
 */
import stringWidth from "string-width"
import { plain } from "./Plain.ts"
import { segments } from "./ToolView.ts"

// oxlint-disable-next-line no-control-regex
const kept = /\u001b\[[\d;:]*m|\u001b\]8;[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\)/g
const reset = "\u001b[0m"
const linkEnd = "\u001b]8;;\u0007"

interface Piece {
  readonly sequence: boolean
  readonly text: string
}

const piecesOf = (line: string): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let at = 0
  for (const match of line.matchAll(kept)) {
    pieces.push({ sequence: false, text: plain(line.slice(at, match.index)) }, { sequence: true, text: match[0] })
    at = match.index + match[0].length
  }
  return [...pieces, { sequence: false, text: plain(line.slice(at)) }]
}

// oxlint-disable-next-line no-control-regex
const linkCloses = /^\u001b\]8;[^;]*;(?:\u0007|\u001b\\)$/

/** One line, safe to print: at most so many columns; without colours where none are wanted. */
export const fit = (line: string, columns: number, color: boolean): string => {
  let left = columns
  let out = ""
  let styled = false
  let linked = false
  for (const { sequence, text } of piecesOf(line.replace(/[\r\n\t]+/g, " "))) {
    if (sequence) {
      const isLink = text.startsWith("\u001b]8;")
      if (!color && !isLink) continue
      // What opens nothing has nothing to close.
      if (isLink) linked = !linkCloses.test(text)
      else styled = !/\[0*m$/.test(text)
      out += text
      continue
    }
    for (const { segment } of left > 0 ? segments.segment(text) : []) {
      const width = stringWidth(segment)
      if (width > left) {
        left = 0
        break
      }
      left -= width
      out += segment
    }
  }
  return `${out}${linked ? linkEnd : ""}${styled ? reset : ""}`
}
