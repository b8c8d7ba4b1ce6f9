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
const shortFailure = 15
/** A longer one says enough by the lines that the rules know. */
const longFailure = 30

/** The lines of a piece that must survive byte for byte, neighbours together; none for what may be reworded. */
export const units = (said: Said): ReadonlyArray<Unit> => {
  if (classify(said).category !== "PRESERVE_VERBATIM") return []
  const lines = said.content.split("\n")
  const reasons = lines.map((line) => (line.trim() === "" ? undefined : reasonOf(line)))
  if (said.source !== "tool_result" || said.isError !== true) return grouped(lines, reasons)
  const size = lines.filter((line) => line.trim() !== "").length
  if (size <= shortFailure) return grouped(lines, reasons.map(orBeside))
  return grouped(lines, size <= longFailure ? withNeighbours(reasons) : reasons)
}

const orBeside = (reason: string | undefined): string => reason ?? "beside what went wrong"

/** What stands around a line about a failure belongs to it: the code it points to, what was expected. */
const withNeighbours = (reasons: ReadonlyArray<string | undefined>): ReadonlyArray<string | undefined> =>
  reasons.map((reason, at) =>
    reason !== undefined || (reasons[at - 1] === undefined && reasons[at + 1] === undefined)
      ? reason
      : orBeside(reason),
  )

/** Neighbours together; a blank line keeps them apart. */
const grouped = (lines: ReadonlyArray<string>, reasons: ReadonlyArray<string | undefined>): ReadonlyArray<Unit> => {
  const found: Array<{ text: string; readonly reason: string }> = []
  let isOpen = false
  for (const [at, line] of lines.entries()) {
    const reason = line.trim() === "" ? undefined : reasons[at]
    const last = found.at(-1)
    if (reason !== undefined && isOpen && last !== undefined) last.text += `\n${line}`
    else if (reason !== undefined) found.push({ text: line, reason })
    isOpen = reason !== undefined
  }
  return found
}
