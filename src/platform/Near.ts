/** Owns "did you mean": the known name nearest to a mistyped one. */

/** Edits between two names, a swap of neighbours counting as one. */
export const distance = (a: string, b: string): number => {
  let beforeLast: Array<number> = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let best = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, at(beforeLast, j - 2) + 1)
      row.push(best)
    }
    beforeLast = last
    last = row
  }
  return at(last, b.length)
}

const at = (row: ReadonlyArray<number>, index: number): number => row[index] ?? Number.POSITIVE_INFINITY

/** The nearest of some names; none when all are too far to be a slip of the hand. */
export const nearest = (name: string, candidates: Iterable<string>): string | undefined => {
  const wanted = name.toLowerCase()
  let best: string | undefined
  let least = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of candidates) {
    const far = distance(wanted, candidate.toLowerCase())
    if (far >= least) continue
    least = far
    best = candidate
  }
  return best
}
