/** Owns what is known about one model: its window, its prices by date and prompt length, and what it puts up with. */
import * as Schema from "effect/Schema"
import { Effort } from "../protocol/Effort.ts"

/** `manual` takes a token budget; `between_tools` thinks only between tool calls; `disabled` can be asked for. */
export const ThinkingMode = Schema.Literals(["adaptive", "between_tools", "manual", "disabled"])
export type ThinkingMode = typeof ThinkingMode.Type

/**
 * One row of a price list, USD per million tokens. The row that counts is of the latest `from` that has come, and of those
 * the one with the highest `abovePrompt` that the prompt exceeds; it prices the whole request.
 */
export const PriceRow = Schema.Struct({
  input: Schema.Finite,
  output: Schema.Finite,
  /** The first day it is valid, `2026-10-07`; from the beginning if absent. */
  from: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}$/))),
  /** Counts only for prompts of more tokens than this, cached ones included. */
  abovePrompt: Schema.optionalKey(Schema.Finite),
  /** Multiples of `input`; 0.1, 1.25 and 2 unless told. */
  cacheRead: Schema.optionalKey(Schema.Finite),
  cacheWrite: Schema.optionalKey(Schema.Finite),
  cacheWriteHour: Schema.optionalKey(Schema.Finite),
  /** The tier asked for with `speed`; the ordinary one if absent. */
  speed: Schema.optionalKey(Schema.String),
})
export type PriceRow = typeof PriceRow.Type

const fields = {
  aliases: Schema.Array(Schema.String),
  contextWindow: Schema.Int,
  maxOutput: Schema.Int,
  /** Empty: unknown. Nobody invents a price, so such a model is limited by tokens and turns, and refused where USD are. */
  prices: Schema.Array(PriceRow),
  /** What may be asked for with `thinking`; what is not listed is refused by the service. */
  thinking: Schema.Array(ThinkingMode),
  /** It thinks whatever is asked for. */
  alwaysThinks: Schema.Boolean,
  efforts: Schema.Array(Effort),
  defaultEffort: Schema.NullOr(Effort),
  /** Takes temperature, top_p and top_k. */
  sampling: Schema.Boolean,
  /** Takes a `tool_choice` that names or forces a tool. */
  forcedToolChoice: Schema.Boolean,
  toolSearch: Schema.Boolean,
  midConversationSystem: Schema.Boolean,
  minimumCacheTokens: Schema.Int,
  /** False: cache breakpoints are not sent, for a server that refuses them. */
  caching: Schema.optionalKey(Schema.Boolean),
  /** What a thinking block is good for: any model, the model that wrote it, or that model and that account. */
  thinkingBinding: Schema.Literals(["none", "model", "account"]),
} as const

export const ModelSpec = Schema.Struct({ id: Schema.String, ...fields })
export type ModelSpec = typeof ModelSpec.Type

/** What settings may say about a model under `troupe.models`; the rest is taken from the table, or from `basedOn`. */
export const Override = Schema.Struct({
  /** A known model that an unknown one resembles: a gateway's own name for it, for instance. */
  basedOn: Schema.optionalKey(Schema.String),
  aliases: Schema.optionalKey(fields.aliases),
  contextWindow: Schema.optionalKey(fields.contextWindow),
  maxOutput: Schema.optionalKey(fields.maxOutput),
  prices: Schema.optionalKey(fields.prices),
  thinking: Schema.optionalKey(fields.thinking),
  alwaysThinks: Schema.optionalKey(fields.alwaysThinks),
  efforts: Schema.optionalKey(fields.efforts),
  defaultEffort: Schema.optionalKey(fields.defaultEffort),
  sampling: Schema.optionalKey(fields.sampling),
  forcedToolChoice: Schema.optionalKey(fields.forcedToolChoice),
  toolSearch: Schema.optionalKey(fields.toolSearch),
  midConversationSystem: Schema.optionalKey(fields.midConversationSystem),
  minimumCacheTokens: Schema.optionalKey(fields.minimumCacheTokens),
  caching: fields.caching,
  thinkingBinding: Schema.optionalKey(fields.thinkingBinding),
})
export type Override = typeof Override.Type

/** The settings slice `troupe.models`: model id → what differs. */
export const Overrides = Schema.Record(Schema.String, Override)
export type Overrides = typeof Overrides.Type

/** A model nobody described: it works, with nothing that a service might refuse, and without a price. */
export const unknown = (id: string): ModelSpec => ({
  id,
  aliases: [],
  contextWindow: 200_000,
  maxOutput: 32_000,
  prices: [],
  thinking: [],
  alwaysThinks: false,
  efforts: [],
  defaultEffort: null,
  sampling: false,
  forcedToolChoice: false,
  toolSearch: false,
  midConversationSystem: false,
  minimumCacheTokens: 4_096,
  thinkingBinding: "model",
})

/** The spec with what a person said about it on top. */
export const merge = (spec: ModelSpec, override: Override): ModelSpec => {
  const { basedOn: _, ...said } = override
  return { ...spec, ...said }
}
