/** Owns finding and replacing a passage: exact, counted, blind only to how lines end in a file that mixes endings. */

export interface Found {
  /** Offsets into the text, in order, not overlapping. */
  readonly spans: ReadonlyArray<{ readonly from: number; readonly to: number }>
}

/** In a file with mixed line endings `\n` in the passage stands for either ending. */
export const find = (text: string, passage: string, mixed: boolean): Found => {
  const spans: Array<{ from: number; to: number }> = []
  if (mixed && passage.includes("\n")) {
    const pattern = passage.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/\r?\n/g, "\\r?\\n")
    for (const match of text.matchAll(new RegExp(pattern, "g"))) {
      spans.push({ from: match.index, to: match.index + match[0].length })
    }
    return { spans }
  }
  for (let at = text.indexOf(passage); at !== -1; at = text.indexOf(passage, at + passage.length)) {
    spans.push({ from: at, to: at + passage.length })
  }
  return { spans }
}

export const replace = (text: string, { spans }: Found, replacement: string, mixed: boolean): string => {
  let out = ""
  let done = 0
  for (const { from, to } of spans) {
    out += text.slice(done, from) + (mixed ? fitted(replacement, endingNear(text, from, to)) : replacement)
    done = to
  }
  return out + text.slice(done)
}

/** The ending used inside the span, else by the line it stands in. */
const endingNear = (text: string, from: number, to: number): string => {
  const inside = text.indexOf("\n", from)
  const at = inside !== -1 ? inside : text.lastIndexOf("\n", to)
  return at > 0 && text[at - 1] === "\r" ? "\r\n" : "\n"
}

const fitted = (replacement: string, ending: string): string => replacement.replaceAll(/\r?\n/g, ending)

/** Line numbers, from 1, of the spans. */
export const lineNumbers = (text: string, { spans }: Found): ReadonlyArray<number> => {
  let line = 1
  let done = 0
  return spans.map(({ from }) => {
    for (let at = text.indexOf("\n", done); at !== -1 && at < from; at = text.indexOf("\n", at + 1)) line++
    done = from
    return line
  })
}
