/** Owns how much of a text the model sees at once: numbered lines within a budget of tokens. */

export const maxLines = 2000
export const maxLineChars = 2000
/** Estimated tokens of one answer. */
export const maxTokens = 25_000

export interface Excerpt {
  /** Lines with their numbers, as `cat -n` prints them. */
  readonly numbered: string
  /** The same lines as they are in the file. */
  readonly content: string
  readonly startLine: number
  readonly numLines: number
  readonly totalLines: number
  readonly cutLines: number
}

/** A rough count that errs upwards: three characters of plain text to a token, one of anything else. */
export const estimate = (text: string): number => {
  let plain = 0
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) < 128) plain++
  return plain / 3 + (text.length - plain)
}

export const linesOf = (text: string): Array<string> => {
  const lines = text.split("\n")
  if (lines.at(-1) === "") lines.pop()
  return lines
}

export const take = (text: string, offset = 1, limit = maxLines): Excerpt => {
  const lines = linesOf(text)
  const start = Math.max(1, offset)
  const shown: Array<string> = []
  const numbered: Array<string> = []
  let tokens = 0
  let cutLines = 0
  for (let at = start; at < start + limit && at <= lines.length; at++) {
    const line = lines[at - 1] ?? ""
    const short = line.length > maxLineChars ? cut(line) : line
    const row = `${String(at).padStart(6)}\t${short}`
    tokens += estimate(row)
    if (tokens > maxTokens && shown.length > 0) break
    if (short !== line) cutLines++
    shown.push(short)
    numbered.push(row)
  }
  return {
    numbered: numbered.join("\n"),
    content: shown.join("\n"),
    startLine: start,
    numLines: shown.length,
    totalLines: lines.length,
    cutLines,
  }
}

const cut = (line: string): string => {
  // Not through the middle of a surrogate pair.
  const code = line.charCodeAt(maxLineChars - 1)
  const end = code >= 0xd800 && code <= 0xdbff ? maxLineChars - 1 : maxLineChars
  return `${line.slice(0, end)}… [${line.length - end} more characters]`
}
