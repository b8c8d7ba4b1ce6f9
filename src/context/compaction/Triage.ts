/**
 * Owns what kind of thing a piece of the conversation is, and so what may become of it when room is needed. Pure: the first rule of the
 * table that fits decides, and its name is the reason.
 */
import { itemRules, lineRules } from "./TriageRules.ts"

/** In the order of what may be lost: nothing, the wording, the detail, all of it. */
export const categories = ["PRESERVE_VERBATIM", "PRESERVE_STRUCTURED", "COMPRESS_AGGRESSIVE", "EPHEMERAL"] as const
export type Category = (typeof categories)[number]

export type Source = "user" | "assistant" | "tool_call" | "tool_result" | "system"

/** A piece of the conversation. */
export interface Said {
  readonly source: Source
  readonly tool?: string
  /** For a shell. */
  readonly command?: string
  readonly isError?: boolean
  readonly content: string
}

export interface Sorted {
  readonly category: Category
  readonly reason: string
}

export const classify = (said: Said): Sorted => {
  const rule = itemRules.find(({ fits }) => fits(said))
  return rule === undefined
    ? { category: "COMPRESS_AGGRESSIVE", reason: "nothing else fits" }
    : { category: rule.category, reason: rule.reason }
}

/** A stretch of lines that must survive byte for byte. */
export interface Unit {
  readonly text: string
  /** Why the first of its lines must. */
  readonly reason: string
}

/** The lines of a piece that must survive byte for byte, neighbours together; none for what may be reworded. */
export const units = (said: Said): ReadonlyArray<Unit> =>
  classify(said).category === "PRESERVE_VERBATIM" ? unitsOf(said.content) : []

export const unitsOf = (content: string): ReadonlyArray<Unit> => {
  const found: Array<Unit> = []
  let open: { readonly reason: string; readonly lines: Array<string> } | undefined
  const close = () => {
    if (open !== undefined) found.push({ text: open.lines.join("\n"), reason: open.reason })
    open = undefined
  }
  for (const line of content.split("\n")) {
    const reason = reasonOf(line)
    if (reason === undefined) close()
    else if (open === undefined) open = { reason, lines: [line] }
    else open.lines.push(line)
  }
  close()
  return found
}

/** Longer lines are data, not statements; a rule need not read megabytes. */
const longestLine = 4_000

export const reasonOf = (line: string): string | undefined =>
  line.length > longestLine || line.trim() === ""
    ? undefined
    : lineRules.find(({ pattern }) => pattern.test(line))?.reason
