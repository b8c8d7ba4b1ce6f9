/** Owns guesses at what was meant: the names, or the place in a text, most like what was asked for. */

/** Edits between two words, swapped neighbours counting once; stops once it is clear that there are more than `limit`. */
export const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let beforeThat: Array<number> = []
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let best = i
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const value = Math.min(
        (previous[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + cost,
        swapped ? (beforeThat[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
      row.push(value)
      best = Math.min(best, value)
    }
    if (best > limit) return limit + 1
    beforeThat = previous
    previous = row
  }
  return previous[b.length] ?? 0
}

const stem = (name: string): string => {
  const dot = name.lastIndexOf(".")
  return dot > 0 ? name.slice(0, dot) : name
}

/** At most three names that are likely slips of the one asked for, the likeliest first. */
export const names = (asked: string, present: ReadonlyArray<string>): ReadonlyArray<string> => {
  const wanted = asked.toLowerCase()
  const limit = Math.max(1, Math.floor(wanted.length / 3))
  return present
    .flatMap((name) => {
      const lower = name.toLowerCase()
      if (lower === wanted) return [{ name, score: 0 }]
      if (stem(lower) === stem(wanted)) return [{ name, score: 0.5 }]
      const edits = distance(wanted, lower, limit)
      return edits <= limit ? [{ name, score: edits }] : []
    })
    .sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name)
}

const squeeze = (line: string): string => line.trim().replaceAll(/\s+/g, " ")

export interface Place {
  /** From 1. */
  readonly line: number
  readonly text: string
  /** Only white space differs. */
  readonly sameWords: boolean
}

/** Where a passage that is not in the text would most likely belong. */
export const passage = (wanted: string, text: string): Place | undefined => {
  const asked = wanted.split("\n").map(squeeze)
  const anchor = asked.findIndex((line) => line.length > 2)
  if (anchor === -1) return undefined
  const lines = text.split("\n")
  const squeezed = lines.map(squeeze)
  const fuzzy = lines.length <= maxFuzzyLines
  let best: { readonly at: number; readonly hits: number; readonly edits: number } | undefined
  for (let i = anchor; i < squeezed.length; i++) {
    const edits = unlike(asked[anchor] ?? "", squeezed[i] ?? "", fuzzy)
    if (edits === undefined) continue
    const at = i - anchor
    const hits = asked.reduce((sum, line, k) => sum + (line === squeezed[at + k] ? 1 : 0), 0)
    if (best === undefined || hits > best.hits || (hits === best.hits && edits < best.edits)) best = { at, hits, edits }
  }
  if (best === undefined) return undefined
  return {
    line: best.at + 1,
    text: lines.slice(best.at, best.at + Math.min(asked.length, 8)).join("\n"),
    sameWords: best.hits === asked.length,
  }
}

const maxFuzzyLines = 5000
const maxFuzzyChars = 200

/** How far two lines are apart; `undefined` when they have too little in common. */
const unlike = (a: string, b: string, fuzzy: boolean): number | undefined => {
  if (a === b) return 0
  if (!fuzzy || b.length < 3 || a.length > maxFuzzyChars || b.length > maxFuzzyChars) return undefined
  const limit = Math.floor(a.length / 4)
  const edits = distance(a, b, limit)
  return edits <= limit ? edits : undefined
}
