/**
 * Owns glob patterns over paths, as people write them in front matter and settings: `src/*.{ts,tsx}`, `docs/[a-f]*`, `*.md`.
 *
 * `*` and `?` stay within a name, `**` spans directories, hidden names count. Matching takes time proportional to pattern and path,
 * whatever the pattern: it may come from a repository nobody has looked at.
 */

export interface PathGlob {
  /** Whether one of the patterns means this path; both with `/`, a leading one does not matter. */
  readonly has: (path: string) => boolean
  /** The patterns that mean nothing, and why. */
  readonly problems: ReadonlyArray<{ readonly pattern: string; readonly why: string }>
}

/** All patterns of one list together may become so many, and so many characters, when their braces are expanded. */
const mostPatterns = 1_000
const mostChars = 4 * 1024 * 1024

type Token = string | typeof any | typeof star | ((char: string) => boolean)
const any = Symbol("any")
const star = Symbol("star")
const deep = Symbol("deep")
type Segment = ReadonlyArray<Token> | typeof deep

export const make = (patterns: ReadonlyArray<string>): PathGlob => {
  const budget = { patterns: mostPatterns, chars: mostChars }
  const problems: Array<{ pattern: string; why: string }> = []
  const compiled = patterns.flatMap((pattern) => {
    const expanded = expand(pattern, budget)
    if (expanded === undefined)
      problems.push({ pattern, why: "its braces mean too many patterns; it is taken literally" })
    return (expanded ?? [pattern]).flatMap((one) => {
      const segments = compile(one)
      if (segments !== undefined) return [segments]
      problems.push({ pattern, why: 'a "[" is never closed; write \\[ for the character itself' })
      return []
    })
  })
  return {
    has: (path) => {
      const names = namesOf(path)
      return compiled.some((segments) => spans(segments, names, deep, meets))
    },
    problems,
  }
}

const namesOf = (path: string): ReadonlyArray<string> => path.split("/").filter((name) => name !== "" && name !== ".")

const compile = (pattern: string): ReadonlyArray<Segment> | undefined => {
  const whole = pattern.endsWith("/") ? `${pattern}**` : pattern
  const segments = namesOf(whole).map((name) => (/^\*{2,}$/.test(name) ? deep : tokenise(name)))
  return segments.every((segment) => segment !== undefined) ? segments : undefined
}

const tokenise = (name: string): ReadonlyArray<Token> | undefined => {
  const tokens: Array<Token> = []
  for (let i = 0; i < name.length; i++) {
    const char = name.charAt(i)
    if (char === "\\" && i + 1 < name.length) tokens.push(name.charAt(++i))
    else if (char === "?") tokens.push(any)
    else if (char === "*") {
      if (tokens.at(-1) !== star) tokens.push(star)
    } else if (char === "[") {
      const close = name.indexOf("]", name.startsWith("[!]", i) || name.startsWith("[^]", i) ? i + 3 : i + 2)
      if (close === -1) return undefined
      tokens.push(oneOf(name.slice(i + 1, close)))
      i = close
    } else tokens.push(char)
  }
  return tokens
}

const oneOf = (body: string): ((char: string) => boolean) => {
  const negated = /^[!^]/.test(body)
  const chars = negated ? body.slice(1) : body
  const within = (char: string): boolean => {
    for (let i = 0; i < chars.length; i++) {
      const to = chars.charAt(i + 1) === "-" ? chars.charAt(i + 2) : ""
      if (to === "" ? chars.charAt(i) === char : chars.charAt(i) <= char && char <= to) return true
      if (to !== "") i += 2
    }
    return false
  }
  return (char) => within(char) !== negated
}

/** What a wildcard swallowed is given back only to the latest one: that is enough, and never more than quadratic. */
const spans = <P, T>(
  pattern: ReadonlyArray<P>,
  text: ReadonlyArray<T>,
  wild: P,
  fits: (pattern: P, one: T) => boolean,
): boolean => {
  let p = 0
  let t = 0
  let back: { readonly p: number; t: number } | undefined
  while (t < text.length) {
    const want = pattern[p]
    const one = text[t]
    if (want === wild) back = { p: ++p, t }
    else if (want !== undefined && one !== undefined && fits(want, one)) {
      p++
      t++
    } else if (back !== undefined) {
      p = back.p
      t = ++back.t
    } else return false
  }
  while (pattern[p] === wild) p++
  return p === pattern.length
}

const meets = (segment: Segment, name: string): boolean =>
  segment !== deep && spans<Token, string>(segment, [...name], star, agrees)

const agrees = (token: Token, char: string): boolean =>
  typeof token === "function" ? token(char) : token === any || token === char

/** `a.{ts,tsx}` → `a.ts`, `a.tsx`; `undefined` when the list's budget does not allow for it. Without braces it costs nothing. */
const expand = (pattern: string, budget: { patterns: number; chars: number }): ReadonlyArray<string> | undefined => {
  const done: Array<string> = []
  const todo = [pattern]
  let chars = 0
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const group = firstGroup(next)
    if (group === undefined) {
      if (next === pattern) return [pattern]
      done.push(next)
      continue
    }
    for (const choice of group.choices.toReversed()) {
      const made = next.slice(0, group.from) + choice + next.slice(group.to)
      chars += made.length
      todo.push(made)
    }
    if (done.length + todo.length > budget.patterns || chars > budget.chars) return undefined
  }
  budget.patterns -= done.length
  budget.chars -= chars
  return done
}

const firstGroup = (text: string) => {
  for (let from = nextBrace(text, 0); from !== -1; from = nextBrace(text, from + 1)) {
    const cuts: Array<number> = []
    let depth = 0
    for (let i = from; i < text.length; i++) {
      const char = text.charAt(i)
      if (char === "\\") i++
      else if (char === "{") depth++
      else if (char === "," && depth === 1) cuts.push(i)
      else if (char === "}" && --depth === 0) {
        if (cuts.length === 0) break
        const ends = [...cuts, i]
        const choices = ends.map((end, index) => text.slice((index === 0 ? from : (ends[index - 1] ?? 0)) + 1, end))
        return { from, to: i + 1, choices }
      }
    }
  }
  return undefined
}

const nextBrace = (text: string, from: number): number => {
  for (let i = from; i < text.length; i++) {
    if (text.charAt(i) === "\\") i++
    else if (text.charAt(i) === "{") return i
  }
  return -1
}
