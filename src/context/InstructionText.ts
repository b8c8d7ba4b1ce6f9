/**
 * Owns how an instruction file is read: comments for people taken out, and the files it imports with `@path`. Pure.
 *
 * Code is left as it is: what stands in a fence or between backticks is an example, not a comment and not an import.
 */

export interface Import {
  /** As written, without the `@`. */
  readonly path: string
  readonly line: number
}

export interface InstructionText {
  readonly text: string
  readonly imports: ReadonlyArray<Import>
}

const fenceBegins = /^ {0,3}(`{3,}|~{3,})(.*)$/
const commentBegins = /^ {0,3}<!--/

/** `text`: with LF. `firstLine`: the line of the file it begins on. */
export const read = (text: string, firstLine = 1): InstructionText => {
  const kept: Array<string> = []
  const imports: Array<Import> = []
  /** Lines of one stretch between fences and comments: a code span may run over several of them. */
  let prose: Array<{ readonly text: string; readonly line: number }> = []
  const endProse = () => {
    imports.push(...importsIn(prose))
    prose = []
  }
  const lines = text.split("\n")
  let fence: string | undefined
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? ""
    if (fence !== undefined) {
      kept.push(line)
      if (closes(line, fence)) fence = undefined
      continue
    }
    const [, mark, info = ""] = fenceBegins.exec(line) ?? []
    if (mark !== undefined && !(mark.startsWith("`") && info.includes("`"))) {
      endProse()
      fence = mark
      kept.push(line)
      continue
    }
    const end = commentBegins.test(line)
      ? lines.findIndex((one, at) => at >= i && commentEnd(one, at === i) !== -1)
      : -1
    if (end !== -1) {
      endProse()
      const last = lines[end] ?? ""
      const rest = last.slice(commentEnd(last, end === i) + 3)
      if (rest.trim() !== "") kept.push(rest)
      i = end
      continue
    }
    kept.push(line)
    // A code span ends with its paragraph.
    if (line.trim() === "") endProse()
    else prose.push({ text: line, line: firstLine + i })
  }
  endProse()
  return { text: kept.join("\n").trim(), imports }
}

/** Where `-->` is; on the line that opens the comment, behind its beginning. */
const commentEnd = (line: string, opens: boolean): number => line.indexOf("-->", opens ? line.indexOf("<!--") + 4 : 0)

const closes = (line: string, fence: string): boolean => {
  const run = /^ {0,3}(`+|~+)[ \t]*$/.exec(line)?.[1]
  return run !== undefined && run.charAt(0) === fence.charAt(0) && run.length >= fence.length
}

const importLike = /(?:^|(?<=[\s(]))@((?:[^\s\\]|\\ )+)/g

const importsIn = (lines: ReadonlyArray<{ readonly text: string; readonly line: number }>): ReadonlyArray<Import> => {
  if (!lines.some(({ text }) => text.includes("@"))) return []
  const masked = withoutSpans(lines.map(({ text }) => text).join("\n")).split("\n")
  return masked.flatMap((text, index) =>
    [...text.matchAll(importLike)].flatMap((match) => {
      const path = pathOf(match[1] ?? "")
      return path === undefined ? [] : [{ path, line: lines[index]?.line ?? 0 }]
    }),
  )
}

/** Code spans and comments within a line as blanks, so that everything else keeps its place. */
const withoutSpans = (text: string): string => {
  const blank = (part: string) => part.replace(/[^\n]/g, " ")
  const uncommented = text.replace(/<!--[^]*?-->/g, blank)
  let out = ""
  let at = 0
  for (const open of uncommented.matchAll(/`+/g)) {
    if (open.index < at) continue
    const close = closing(uncommented, open.index + open[0].length, open[0].length)
    if (close === -1) continue
    out += uncommented.slice(at, open.index) + blank(uncommented.slice(open.index, close))
    at = close
  }
  return out + uncommented.slice(at)
}

/** Behind the next run of exactly so many backticks. */
const closing = (text: string, from: number, length: number): number => {
  const runs = /`+/g
  runs.lastIndex = from
  for (let run = runs.exec(text); run !== null; run = runs.exec(text)) {
    if (run[0].length === length) return run.index + length
  }
  return -1
}

/** The path of a mention: `@docs/a\ b.md#part.` is `docs/a b.md`. */
const pathOf = (mention: string): string | undefined => {
  const plain = mention
    .replace(/#.*$/, "")
    .replace(/[.,;:!?)\]}'"*]+$/, "")
    .replaceAll("\\ ", " ")
  return /^(?:~\/|\/|\.{0,2}[\w-])|^\.{1,2}\//.test(plain) ? plain : undefined
}

/** A mention that can only be meant as a file: for such a one it is worth saying that it is missing. */
export const looksLikePath = (path: string): boolean => /^(?:~|\.{1,2})?\/|\.[a-z]{1,4}$/i.test(path)
