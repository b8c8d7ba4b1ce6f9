/**
 * Owns how deep JSON from outside may be nested. What writes, copies and compares values works by recursion, and a few thousand
 * levels end that. Nothing here recurses.
 */

export const deepest = 200

/** Counts brackets outside of strings; the text need not be valid. */
export const isTextTooDeep = (json: string): boolean => {
  if (json.length <= deepest) return false
  let depth = 0
  for (let at = 0; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case 0x22:
        at = closingQuote(json, at + 1)
        break
      case 0x5b:
      case 0x7b:
        if (++depth > deepest) return true
        break
      case 0x5d:
      case 0x7d:
        depth--
        break
    }
  }
  return false
}

const closingQuote = (json: string, from: number): number => {
  for (let at = from; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === 0x5c) at++
    else if (code === 0x22) return at
  }
  return json.length
}

/** The same for what is parsed already. */
export const isTooDeep = (value: unknown): boolean => {
  const open: Array<{ readonly value: unknown; readonly depth: number }> = [{ value, depth: 1 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next
    if (typeof value !== "object" || value === null) continue
    if (depth > deepest) return true
    for (const inner of Object.values(value)) open.push({ value: inner, depth: depth + 1 })
  }
  return false
}

/** Stands before arguments that were refused for it, for whoever reads why. */
export const refusal = `(nested deeper than ${deepest} levels, and refused for that) `
