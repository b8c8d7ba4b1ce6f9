/** Owns what is found in people's own words that must outlive any summary. Simple on purpose: it may find too much, a model adds the rest. */
import type { NotedFacts } from "../../protocol/Compaction.ts"
import * as Wording from "./Wording.ts"

/** Of each kind. */
const most = 40
const longest = 300

const bullet = /^\s*(?:[-*•+]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?/

const failureWords = (sentence: string) => Wording.failed(sentence)
const decisionWords = (sentence: string) => Wording.settles(sentence)
const criterionWords = (sentence: string) => Wording.obliges(sentence) || Wording.wants(sentence)

/** Names in backticks, addresses, paths, ids. */
const names =
  /`([^`\n]{2,200})`|\b[a-z][a-z+]{1,12}:\/\/[^\s)>\]"'`]{3,200}|(?<![\w/.@-])(?:~|\.{1,2})?(?:\/?[\w@.+-]{1,80}\/){1,20}[\w@.+-]{1,80}(?::\d+)*|\b[a-z]{2,10}_(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{6,60}\b|\b(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[0-9a-f]{7,40}\b|\b[A-Z]{2,10}-\d{1,6}\b|(?<![\w/])[\w-]{1,80}\.(?:[cm]?[jt]sx?|py|rs|go|java|kt|rb|php|cs?|cpp|h|swift|sql|json|ya?ml|toml|md|html|css|sh|lock|env)(?::\d+)*\b/g

/** The newest of each kind, each once. */
const newest = (found: ReadonlyArray<string>): ReadonlyArray<string> => {
  const each = new Set<string>()
  for (const one of found) {
    each.delete(one)
    each.add(one)
  }
  return [...each].slice(-most)
}

const trimmed = (sentence: string): string => {
  const bare = sentence.replace(bullet, "").replace(/\s+/g, " ").trim()
  return bare.length <= longest ? bare : `${bare.slice(0, longest - 1)}…`
}

/** What people's own words say that must outlive any summary. */
export const minedFacts = (said: ReadonlyArray<string>): NotedFacts => {
  const acceptanceCriteria: Array<string> = []
  const decisions: Array<string> = []
  const failedApproaches: Array<string> = []
  const identifiers: Array<string> = []
  for (const text of said) {
    for (const sentence of Wording.sentencesOf(text)) {
      for (const match of sentence.matchAll(names)) {
        const name = (match[1] ?? match[0]).replace(/[.,;:!?]+$/, "").trim()
        if (name !== "" && !/^\d{1,4}\/\d{1,4}(?:\/\d{1,4})?$/.test(name)) identifiers.push(name)
      }
      if (Wording.isQuestion(sentence)) continue
      const short = trimmed(sentence)
      if (short.length < 3) continue
      if (failureWords(sentence)) failedApproaches.push(short)
      else if (decisionWords(sentence)) decisions.push(short)
      else if (criterionWords(sentence)) acceptanceCriteria.push(short)
    }
  }
  return {
    acceptanceCriteria: newest(acceptanceCriteria),
    decisions: newest(decisions),
    failedApproaches: newest(failedApproaches),
    identifiers: newest(identifiers),
  }
}
