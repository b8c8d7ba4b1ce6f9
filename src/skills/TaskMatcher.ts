/**
 * Owns how well a skill fits a task, judged by words alone: no model, the same answer every time.
 *
 * Words are compared by their stems; rare ones count more than those that many skills share, those of the name more than those of the
 * description, and a slip of the hand still counts by its likeness. A phrase that the description quotes counts as a whole.
 */

/** What is known of a skill before it is used. */
export interface Described {
  readonly name: string
  readonly description: string
  readonly whenToUse?: string | undefined
}

export interface Considered {
  readonly name: string
  /** From 0 to 1. */
  readonly score: number
  readonly suggested: boolean
  readonly reason: string
}

/** From this score on a skill is suggested. */
export const defaultThreshold = 0.55

/** So much evidence is worth one half where it explains nothing else of the task; less is enough the more of it is explained. */
const half = 4
const explained = 2.4

const weights = { name: 2.4, genericName: 0.8, phrase: 3, text: 1, generic: 0.25, alike: 0.85 }

const words = (list: string): ReadonlySet<string> => new Set(list.split(" "))

/** Say nothing about a task. */
const silent = words(
  "a an the and or but if then of to in on at by for with from as is are was be been it its this that these those i me my we our you your he she they them do does did not no can could should would will may might so than too very just about into over after before up out all any some each when what which who how why please let lets want need use used using user users skill skills claude agent task tasks asks ask mentions etc via e g also such",
)
/** Are in every second description; as stems. */
const generic = words(
  "code file project mak creat writ run chang add new work help tool command best practic guid handl support provid follow get set data build app appl fix updat check find read function system thing",
)

const wordy = /[\p{L}\p{N}][\p{L}\p{N}\p{M}'’_-]*/gu
/** The same for text that is all ASCII, as most is: the classes of all scripts take longer to build than a start may take. */
const plainWordy = /[a-z0-9][a-z0-9'_-]*/g
/** Scripts that put no spaces between words. */
const dense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Khmer}\p{Script=Lao}]/u
const isAscii = (text: string): boolean => !/[^\0-\x7f]/.test(text)

/** The stems of a text, in order. */
export const stems = (text: string): ReadonlyArray<string> => {
  const found = isAscii(text) ? text.toLowerCase().match(plainWordy) : text.normalize("NFKC").toLowerCase().match(wordy)
  return (found ?? []).flatMap(stemsOf)
}

/** Descriptions share most of their words. */
const stemmed = new Map<string, ReadonlyArray<string>>()
const mostStemmed = 10_000

const stemsOf = (found: string): ReadonlyArray<string> => {
  const before = stemmed.get(found)
  if (before !== undefined) return before
  const made = found.split(/[-_'’]/).flatMap((word) => {
    if (word === "" || silent.has(word)) return []
    return isAscii(word) || !dense.test(word) ? [stem(word)] : pairs(word)
  })
  if (stemmed.size >= mostStemmed) stemmed.clear()
  stemmed.set(found, made)
  return made
}

const pairs = (word: string): ReadonlyArray<string> => {
  const letters = [...word]
  return letters.length < 2 ? letters : letters.slice(1).map((letter, at) => `${letters[at] ?? ""}${letter}`)
}

const endings: ReadonlyArray<readonly [RegExp, string]> = [
  [/(?:iz|is)ations?$/, "iz"],
  [/ies$/, "y"],
  [/(ss|sh|ch|x)es$/, "$1"],
  [/(?<!s)s$/, ""],
  [/(?:ations?|ators?)$/, "at"],
  [/(?<=\w{3})(?:ments?|ness)$/, ""],
  [/(?<=\w{3})(?:ing|ed|er|ers|ly)$/, ""],
]

/** A light stem: enough to bring `deploying`, `deploys` and `deployed` together. */
export const stem = (word: string): string => {
  if (word.length < 4 || !/^[a-z]+$/.test(word)) return word
  let at = word
  for (const [ending, instead] of endings) at = at.replace(ending, instead)
  // `running`: run; `make`, `making`: mak.
  at = at.replace(/([bdfgmnprt])\1$/, "$1").replace(/(?<=\w{2})e$/, "")
  return at.length < 2 ? word : at
}

const trigrams = (word: string): ReadonlySet<string> => {
  const padded = `  ${word} `
  return new Set(Array.from({ length: padded.length - 2 }, (_, at) => padded.slice(at, at + 3)))
}

/** Dice's measure over trigrams: 1 is the same word. */
export const likeness = (a: string, b: string): number => {
  const [x, y] = [trigrams(a), trigrams(b)]
  let shared = 0
  for (const gram of x) if (y.has(gram)) shared++
  return (2 * shared) / (x.size + y.size)
}

interface Terms {
  readonly name: ReadonlyArray<string>
  readonly weights: ReadonlyMap<string, number>
  readonly phrases: ReadonlyArray<string>
}

/** A skill is the same value from prompt to prompt, until its file changes. */
const remembered = new WeakMap<Described, Terms>()

const termsOf = (skill: Described): Terms => {
  const terms = remembered.get(skill) ?? readTerms(skill)
  remembered.set(skill, terms)
  return terms
}

const readTerms = ({ description, name, whenToUse = "" }: Described): Terms => {
  const text = `${description}\n${whenToUse}`
  const found = new Map<string, number>()
  for (const term of stems(text)) found.set(term, generic.has(term) ? weights.generic : weights.text)
  const own = stems(name)
  for (const term of own) found.set(term, generic.has(term) ? weights.genericName : weights.name)
  const quoted = [...text.matchAll(/["“«„]([^"”»“]{4,60})["”»“]/g)].map(([, phrase = ""]) => stems(phrase).join(" "))
  return { name: own, weights: found, phrases: quoted.filter((phrase) => phrase.includes(" ")) }
}

/** Every skill with its score, the best first. */
export const consider = (
  task: string,
  skills: ReadonlyArray<Described>,
  threshold: number = defaultThreshold,
): ReadonlyArray<Considered> => {
  const asked = stems(task)
  const unique = [...new Set(asked)]
  const sentence = ` ${asked.join(" ")} `
  const known = skills.map((skill) => ({ skill, terms: termsOf(skill) }))
  const shared = new Map<string, number>()
  for (const { terms } of known) for (const term of terms.weights.keys()) shared.set(term, (shared.get(term) ?? 0) + 1)
  // In a handful of skills nothing is rare: rarity speaks only where there are many.
  const rarity = (term: string) =>
    1 / (1 + Math.log2(Math.max(1, ((shared.get(term) ?? 1) * 12) / Math.max(12, known.length))))

  return known
    .map(({ skill, terms }): Considered => {
      const evidence = new Map<string, number>()
      for (const term of unique) {
        const exact = terms.weights.get(term)
        const alike = exact === undefined ? nearestTerm(term, terms) : undefined
        if (exact !== undefined) evidence.set(term, exact * rarity(term))
        if (alike !== undefined) {
          evidence.set(`${term}≈${alike.term}`, alike.weight * alike.likeness * weights.alike * rarity(alike.term))
        }
      }
      const matched = evidence.size
      const called = terms.name.length > 0 && sentence.includes(` ${terms.name.join(" ")} `)
      if (called && terms.name.length > 1) evidence.set(`its name`, weights.phrase)
      const phrase = terms.phrases.find((one) => sentence.includes(` ${one} `))
      if (phrase !== undefined) evidence.set(`"${phrase}"`, weights.phrase)
      const total = [...evidence.values()].reduce((sum, one) => sum + one, 0)
      const coverage = unique.length === 0 ? 0 : matched / unique.length
      const score = Math.round((total / (total + half - explained * coverage)) * 100) / 100
      return { name: skill.name, score, suggested: score >= threshold, reason: reasonOf(evidence) }
    })
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
}

const nearestTerm = (term: string, { weights: known }: Terms) => {
  if (term.length < 5) return undefined
  let best: { readonly term: string; readonly weight: number; readonly likeness: number } | undefined
  for (const [other, weight] of known) {
    if (other.length < 5 || other.charAt(0) !== term.charAt(0) || Math.abs(other.length - term.length) > 3) continue
    const alike = likeness(term, other)
    if (alike >= 0.55 && alike > (best?.likeness ?? 0)) best = { term: other, weight, likeness: alike }
  }
  return best
}

const reasonOf = (evidence: ReadonlyMap<string, number>): string => {
  if (evidence.size === 0) return "no word in common"
  const strongest = [...evidence].sort((a, b) => b[1] - a[1]).slice(0, 6)
  return strongest.map(([term, weight]) => `${term} +${weight.toFixed(1)}`).join(", ")
}
