/**
 * Owns where a skill's text asks for a command to be run: `` !`command` ``, and blocks opened with three backticks and `!`. They are
 * looked for in the file as it was written, so neither an argument nor the output of a command can bring in another one.
 */

export type Part =
  | { readonly _tag: "Text"; readonly text: string }
  /** `line` counts in the body, from 0. */
  | { readonly _tag: "Shell"; readonly command: string; readonly line: number }

const opens = /^[ \t]*```![ \t]*$/
const closes = /^[ \t]*```[ \t]*$/
/** At the beginning of a line or behind a space; in KEY=!`cmd` it is text. */
const inline = /(?<!\S)!`([^`]*[^`\s][^`]*)`/g

/** Line by line: a file full of openings that nobody closes must not take longer than another. */
export const parts = (body: string): ReadonlyArray<Part> => {
  const found: Array<Part> = []
  let text = ""
  const shell = (command: string, line: number) => {
    if (text !== "") found.push({ _tag: "Text", text })
    text = ""
    found.push({ _tag: "Shell", command: command.trim(), line })
  }
  const lines = body.split("\n")
  const lastClose = lines.findLastIndex((line) => closes.test(line))
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ""
    const end = at === lines.length - 1 ? "" : "\n"
    if (opens.test(line) && at < lastClose) {
      const close = lines.findIndex((other, index) => index > at && closes.test(other))
      const command = lines.slice(at + 1, close).join("\n")
      if (command.trim() !== "") {
        shell(command, at)
        text += close === lines.length - 1 ? "" : "\n"
        at = close
        continue
      }
    }
    let from = 0
    for (const match of line.matchAll(inline)) {
      text += line.slice(from, match.index)
      shell(match[1] ?? "", at)
      from = match.index + match[0].length
    }
    text += line.slice(from) + end
  }
  if (text !== "") found.push({ _tag: "Text", text })
  return found
}

/** The commands as they are written: what a person agrees to. */
export const commands = (body: string): ReadonlyArray<string> =>
  parts(body).flatMap((part) => (part._tag === "Shell" ? [part.command] : []))
