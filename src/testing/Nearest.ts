/** Owns the guess behind "did you mean": the known word a typing mistake is closest to. */

/** Nothing when even the closest one is no likely mistake. */
export const nearest = (word: string, known: ReadonlyArray<string>): string | undefined => {
  let best: { readonly name: string; readonly distance: number } | undefined
  for (const name of known) {
    const distance = edits(word.toLowerCase(), name.toLowerCase())
    if (distance <= Math.max(1, Math.floor(name.length / 3)) && distance < (best?.distance ?? Infinity)) {
      best = { name, distance }
    }
  }
  return best?.name
}

/** How many letters must be added, removed or changed. */
const edits = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (const [j, other] of [...b].entries()) {
      next.push(Math.min((row[j] ?? 0) + (letter === other ? 0 : 1), (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
