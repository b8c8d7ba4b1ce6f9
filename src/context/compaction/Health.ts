/** Owns how a conversation is doing: how much room is left, what takes it, how old it is, and how well estimates and the cache hold. Pure. */
import type { ToolSchema } from "../../model/Provider.ts"
import type { Health } from "../../protocol/Compaction.ts"
import * as Tokens from "../../platform/Tokens.ts"
import type { TextBlock } from "../../protocol/Content.ts"
import type { Message } from "../../protocol/Message.ts"
import * as Usage from "../../protocol/Usage.ts"
import type { History } from "../../session/History.ts"
import * as Items from "./Items.ts"
import * as Layers from "./Layers.ts"
import type { Thresholds } from "./Thresholds.ts"

export const empty: Health = {
  freePercent: 100,
  totalTokens: 0,
  windowTokens: 0,
  compactsAt: 0,
  systemTokens: 0,
  toolTokens: 0,
  messageTokens: 0,
  preservedTokens: 0,
  compressibleTokens: 0,
  ephemeralTokens: 0,
  stalenessDistribution: { fresh: 0, recent: 0, stale: 0, old: 0 },
  cacheHitRate: null,
  drift: null,
}

export interface Prompt {
  readonly history: History
  readonly system: ReadonlyArray<TextBlock>
  readonly tools: ReadonlyArray<ToolSchema>
}

const sizes = new WeakMap<object, number>()

const sizeOf = (part: object): number => {
  const known = sizes.get(part)
  if (known !== undefined) return known
  const size = Tokens.estimate(JSON.stringify(part))
  sizes.set(part, size)
  return size
}

/** What the next request takes: what the service has counted, and an estimate of what came since. */
export const tokensOf = ({ history, system, tools }: Prompt): number => {
  const messages = history.messages()
  const { measured } = history
  if (measured === undefined) return sizeOf(system) + sizeOf(tools) + Layers.sizeOf(messages)
  const { messages: counted, prompt, reply } = measured
  // The reply itself is counted as well; thinking that is not sent again errs to the high side.
  return prompt + reply + Layers.sizeOf(messages.slice(counted + 1))
}

export const of = ({ history, limit, system, tools }: Prompt & { readonly limit: Thresholds }): Health => {
  const messages = history.messages()
  const items = Items.of(messages)
  const totalTokens = tokensOf({ history, system, tools })
  const sum = (categories: ReadonlyArray<string>) =>
    items.reduce((all, { category, tokenCount }) => all + (categories.includes(category) ? tokenCount : 0), 0)
  return {
    freePercent: Math.max(0, Math.round((1 - totalTokens / limit.window) * 1_000) / 10),
    totalTokens,
    windowTokens: limit.window,
    compactsAt: limit.auto,
    systemTokens: sizeOf(system),
    toolTokens: sizeOf(tools),
    messageTokens: Layers.sizeOf(messages),
    preservedTokens: sum(["PRESERVE_VERBATIM", "PRESERVE_STRUCTURED"]),
    compressibleTokens: sum(["COMPRESS_AGGRESSIVE"]),
    ephemeralTokens: sum(["EPHEMERAL"]),
    stalenessDistribution: spread(items, messages),
    cacheHitRate: hitRate(history.totals.usage),
    drift: driftOf({ history, system, tools }),
  }
}

const spread = (items: ReadonlyArray<Items.ContextItem>, messages: ReadonlyArray<Message>) => {
  const now = messages.filter(({ role }) => role === "assistant").length
  const found = { fresh: 0, recent: 0, stale: 0, old: 0 }
  for (const item of items) {
    const age = Items.staleness(item, now)
    found[age <= 2 ? "fresh" : age <= 10 ? "recent" : age <= 50 ? "stale" : "old"]++
  }
  return found
}

const hitRate = (usage: Usage.Usage): number | null => {
  const all = Usage.promptTokens(usage)
  return all === 0 ? null : Math.round((usage.cache_read_input_tokens / all) * 1_000) / 1_000
}

const driftOf = ({ history, system, tools }: Prompt): Health["drift"] => {
  const { measured } = history
  if (measured === undefined) return null
  const estimated = sizeOf(system) + sizeOf(tools) + Layers.sizeOf(history.messages().slice(0, measured.messages))
  const percent = Math.round(((estimated - measured.prompt) / measured.prompt) * 1_000) / 10
  return { estimated, reported: measured.prompt, percent }
}
