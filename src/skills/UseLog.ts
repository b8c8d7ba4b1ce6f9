/**
 * Owns which skills a session has used: what each cost, what of them the model still has before it, and what must outlive a compaction.
 */
import * as Tokens from "../platform/Tokens.ts"

/** After a compaction each skill keeps its beginning, and all together no more than this. */
export const survival = { perSkill: 5_000, total: 25_000 }

export interface SkillUsage {
  readonly name: string
  readonly invocations: number
  readonly byModel: number
  /** What its texts have put into the conversation, in tokens. */
  readonly tokens: number
  /** The newest text alone. */
  readonly lastTokens: number
}

export interface Surviving {
  readonly name: string
  readonly content: string
  readonly tokens: number
  /** Only its beginning. */
  readonly cut: boolean
}

interface Used {
  readonly usage: SkillUsage
  readonly content: string
  /** The model has exactly this text before it. */
  readonly present: boolean
}

export interface UseLog {
  readonly note: (
    name: string,
    content: string,
    by: "model" | "person",
  ) => { readonly repeated: boolean; readonly tokens: number }
  readonly uses: (name: string) => number
  readonly usage: () => ReadonlyArray<SkillUsage>
  /** The most recent use of each, the newest first, within the limits. */
  readonly surviving: () => ReadonlyArray<Surviving>
  /** The conversation was replaced by a summary and what survives. */
  readonly compacted: () => ReadonlyArray<Surviving>
  /** The conversation went back: which texts are still in it is not known. */
  readonly wentBack: () => void
}

export const make = (): UseLog => {
  // In the order of their last use.
  const used = new Map<string, Used>()
  const surviving = (): ReadonlyArray<Surviving> => {
    let left = survival.total
    return [...used.values()].toReversed().flatMap(({ content, usage: { lastTokens, name } }) => {
      const most = Math.min(survival.perSkill, left)
      // Less than this says nothing.
      if (most < Math.min(lastTokens, 200)) return []
      const kept = lastTokens <= most ? content : beginning(content, lastTokens, most)
      const tokens = lastTokens <= most ? lastTokens : Tokens.estimate(kept)
      left -= tokens
      return [{ name, content: kept, tokens, cut: kept !== content }]
    })
  }
  return {
    note: (name, content, by) => {
      const before = used.get(name)
      const repeated = before?.present === true && before.content === content
      const tokens = repeated ? 0 : Tokens.estimate(content)
      used.delete(name)
      const usage = {
        name,
        invocations: (before?.usage.invocations ?? 0) + 1,
        byModel: (before?.usage.byModel ?? 0) + (by === "model" ? 1 : 0),
        tokens: (before?.usage.tokens ?? 0) + tokens,
        lastTokens: repeated ? before.usage.lastTokens : tokens,
      }
      used.set(name, { usage, content, present: true })
      return { repeated, tokens }
    },
    uses: (name) => used.get(name)?.usage.invocations ?? 0,
    usage: () => [...used.values()].map(({ usage }) => usage),
    surviving,
    compacted: () => {
      const kept = surviving()
      for (const [name, one] of used) {
        used.set(name, { ...one, present: kept.some((other) => other.name === name && !other.cut) })
      }
      return kept
    },
    wentBack: () => {
      for (const [name, one] of used) used.set(name, { ...one, present: false })
    },
  }
}

const note = "\n[cut: use the skill again for the rest]"

/** So much of its beginning that it stays within the limit. */
const beginning = (text: string, tokens: number, most: number): string => {
  let end = Math.floor((text.length * most) / tokens)
  while (end > 0 && Tokens.estimate(text.slice(0, end) + note) > most) end = Math.floor(end * 0.95)
  return text.slice(0, end).replace(/[\uD800-\uDBFF]$/, "") + note
}
