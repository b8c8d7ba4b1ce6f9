/**
 * Owns the question whether two path patterns have a path in common: what a shell may make of `cat .e*`, held against `Read(.env)`.
 *
 * It errs on the side of yes. Both patterns are absolute; `**` as a whole segment stands for any number of segments.
 */

type Token = string | typeof any | typeof star | RegExp
const any = Symbol("any")
const star = Symbol("star")

export interface Segment {
  readonly tokens: ReadonlyArray<Token>
  /** Stands for any number of segments. */
  readonly deep: boolean
  /** Without a wildcard: the folded text itself. */
  readonly literal: string | undefined
  /** Begins with a wildcard, so a shell leaves out names that begin with a dot. */
  readonly shy: boolean
}

/** A path as the pattern that fits only it. */
export const literal = (path: string): string => path.replace(/[\\*?[]/g, (char) => `\\${char}`)

/** Case and normalisation are folded: what may be the same file on some disk counts as the same. */
export const segments = (path: string): ReadonlyArray<Segment> =>
  path
    .split("/")
    .filter((part) => part !== "")
    .map((part) => {
      const tokens = tokenise(part.normalize("NFC").toLowerCase())
      const literal = tokens.every((token) => typeof token === "string") ? tokens.join("") : undefined
      return { tokens, deep: /^\*{2,}$/.test(part), literal, shy: typeof tokens[0] !== "string" }
    })

const tokenise = (text: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  for (let i = 0; i < text.length; i++) {
    const char = text.charAt(i)
    if (char === "\\" && i + 1 < text.length) tokens.push(text.charAt(++i))
    else if (char === "*") {
      if (tokens.at(-1) !== star) tokens.push(star)
    } else if (char === "?") tokens.push(any)
    else if (char === "[") {
      const close = text.indexOf("]", i + 2)
      if (close === -1) tokens.push(char)
      else {
        tokens.push(classOf(text.slice(i + 1, close)) ?? any)
        i = close
      }
    } else tokens.push(char)
  }
  return tokens
}

const classOf = (body: string): RegExp | undefined => {
  // Named classes and escapes are rare: any character stands for them.
  if (/[\\[]/.test(body)) return undefined
  try {
    return new RegExp(`^[${body.replace(/^[!^]/, "^").replace(/\]/g, "\\]")}]$`, "i")
  } catch {
    return undefined
  }
}

/** `hidden`: whether a wildcard of the first pattern may stand for the dot of a hidden name, as it does not in a shell. */
export const overlaps = (a: ReadonlyArray<Segment>, b: ReadonlyArray<Segment>, hidden: boolean): boolean => {
  const walk = (i: number, j: number): boolean => {
    const left = a[i]
    const right = b[j]
    if (left === undefined && right === undefined) return true
    if (left?.deep) return walk(i + 1, j) || (right !== undefined && walk(i, j + 1))
    if (right?.deep) return walk(i, j + 1) || (left !== undefined && walk(i + 1, j))
    if (left === undefined || right === undefined) return false
    return meets(left, right, hidden) && walk(i + 1, j + 1)
  }
  return walk(0, 0)
}

const meets = (left: Segment, right: Segment, hidden: boolean): boolean => {
  if (left.literal !== undefined && right.literal !== undefined) return left.literal === right.literal
  if (!hidden && left.shy && right.tokens[0] === ".") return false
  const walk = (i: number, j: number): boolean => {
    const x = left.tokens[i]
    const y = right.tokens[j]
    if (x === undefined && y === undefined) return true
    if (x === star) return walk(i + 1, j) || (y !== undefined && walk(i, j + 1))
    if (y === star) return walk(i, j + 1) || (x !== undefined && walk(i + 1, j))
    return x !== undefined && y !== undefined && agree(x, y) && walk(i + 1, j + 1)
  }
  return walk(0, 0)
}

const agree = (x: Token, y: Token): boolean => {
  if (typeof x === "string") return typeof y === "string" ? x === y : y instanceof RegExp ? y.test(x) : true
  if (typeof y === "string") return x instanceof RegExp ? x.test(y) : true
  return true
}
