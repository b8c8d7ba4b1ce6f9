/**
 * Owns what kind of thing a piece of the conversation is, and so what may become of it when room is needed. Pure: the first rule of the
 * table that fits decides, and its name is the reason.
 */
import { reasonOf } from "./LineRules.ts"
import { Reading } from "./Reading.ts"
import { itemRules } from "./TriageRules.ts"

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
  const reading = new Reading(said)
  const rule = itemRules.find(({ fits }) => fits(reading))
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

/** A failure of no more lines is kept whole: what matters in it is said in words that no rule knows. */
export const shortFailure = 12

/** The lines of a piece that must survive byte for byte, neighbours together; none for what may be reworded. */
export const units = (said: Said): ReadonlyArray<Unit> => {
  if (classify(said).category !== "PRESERVE_VERBATIM") return []
  return isShortFailure(said)
    ? unitsOf(said.content, (line) => reasonOf(line) ?? "a short failure")
    : unitsOf(said.content)
}

const isShortFailure = ({ content, isError, source }: Said): boolean => {
  if (source !== "tool_result" || isError !== true || content.length > 4_000) return false
  return content.split("\n").filter((line) => line.trim() !== "").length <= shortFailure
}

export const unitsOf = (
  content: string,
  reasonFor: (line: string) => string | undefined = reasonOf,
): ReadonlyArray<Unit> => {
  const found: Array<Unit> = []
  let open: { readonly reason: string; readonly lines: Array<string> } | undefined
  const close = () => {
    if (open !== undefined) found.push({ text: open.lines.join("\n"), reason: open.reason })
    open = undefined
  }
  for (const line of content.split("\n")) {
    const reason = line.trim() === "" ? undefined : reasonFor(line)
    if (reason === undefined) close()
    else if (open === undefined) open = { reason, lines: [line] }
    else open.lines.push(line)
  }
  close()
  return found
}
