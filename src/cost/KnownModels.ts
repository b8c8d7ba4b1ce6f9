/** Owns the facts about Anthropic's models: data only. The newest of a family comes first. */
import type { Effort } from "../protocol/Effort.ts"
import type { ModelSpec, PriceRow } from "./ModelSpec.ts"

const k = 1_000
const M = 1_000_000

const everyEffort: ReadonlyArray<Effort> = ["low", "medium", "high", "xhigh", "max"]
const untilMax: ReadonlyArray<Effort> = ["low", "medium", "high", "max"]
const untilHigh: ReadonlyArray<Effort> = ["low", "medium", "high"]

/** What the present generation has in common. */
const current = {
  aliases: [],
  contextWindow: M,
  maxOutput: 128 * k,
  thinking: ["adaptive"],
  alwaysThinks: false,
  efforts: everyEffort,
  defaultEffort: "high",
  sampling: false,
  forcedToolChoice: true,
  toolSearch: true,
  midConversationSystem: true,
  minimumCacheTokens: 512,
  thinkingBinding: "model",
} as const satisfies Omit<ModelSpec, "id" | "prices">

const opus5: PriceRow = { input: 5, output: 25 }
const opusFast: PriceRow = { input: 10, output: 50, speed: "fast" }

export const knownModels: ReadonlyArray<ModelSpec> = [
  {
    ...current,
    id: "claude-fable-5-1",
    prices: [{ input: 10, output: 50, cacheRead: 0.025 }],
    alwaysThinks: true,
    forcedToolChoice: false,
  },
  { ...current, id: "claude-fable-5", prices: [{ input: 10, output: 50 }], alwaysThinks: true },
  {
    ...current,
    id: "claude-opus-5-5",
    prices: [{ input: 4, output: 20, cacheRead: 0.05 }],
    alwaysThinks: true,
    defaultEffort: "medium",
    forcedToolChoice: false,
  },
  { ...current, id: "claude-opus-5", prices: [opus5, opusFast], thinking: ["adaptive", "disabled"] },
  {
    ...current,
    id: "claude-opus-4-8",
    prices: [opus5, opusFast],
    thinking: ["adaptive", "disabled"],
    sampling: true,
    minimumCacheTokens: 1_024,
  },
  {
    ...current,
    id: "claude-opus-4-7",
    prices: [opus5],
    thinking: ["adaptive", "disabled"],
    sampling: true,
    midConversationSystem: false,
    minimumCacheTokens: 2_048,
  },
  {
    ...current,
    id: "claude-opus-4-6",
    prices: [opus5],
    thinking: ["adaptive", "manual", "disabled"],
    efforts: untilMax,
    sampling: true,
    midConversationSystem: false,
    minimumCacheTokens: 4_096,
  },
  {
    ...current,
    id: "claude-opus-4-5",
    prices: [opus5],
    contextWindow: 200 * k,
    maxOutput: 64 * k,
    thinking: ["manual", "disabled"],
    efforts: untilHigh,
    sampling: true,
    midConversationSystem: false,
    minimumCacheTokens: 4_096,
  },
  {
    ...current,
    id: "claude-sonnet-5-5",
    prices: [
      { input: 2, output: 10 },
      { input: 2, output: 10, cacheRead: 0.05, from: "2026-10-07" },
    ],
    thinking: ["adaptive", "between_tools"],
    forcedToolChoice: false,
  },
  {
    ...current,
    id: "claude-sonnet-5",
    prices: [{ input: 2, output: 10 }],
    thinking: ["adaptive", "disabled"],
    midConversationSystem: false,
    minimumCacheTokens: 1_024,
  },
  {
    ...current,
    id: "claude-sonnet-4-6",
    prices: [{ input: 3, output: 15 }],
    maxOutput: 64 * k,
    thinking: ["adaptive", "manual", "disabled"],
    efforts: untilMax,
    sampling: true,
    midConversationSystem: false,
    minimumCacheTokens: 1_024,
  },
  {
    ...current,
    id: "claude-sonnet-4-5",
    prices: [{ input: 3, output: 15 }],
    contextWindow: 200 * k,
    maxOutput: 64 * k,
    thinking: ["manual", "disabled"],
    efforts: [],
    defaultEffort: null,
    sampling: true,
    midConversationSystem: false,
    minimumCacheTokens: 1_024,
  },
  {
    ...current,
    id: "claude-haiku-5-5",
    prices: [
      { input: 0.1, output: 0.5 },
      { input: 0.5, output: 2.5, abovePrompt: 100 * k },
    ],
    defaultEffort: "medium",
    forcedToolChoice: false,
    midConversationSystem: false,
    minimumCacheTokens: 4_096,
    thinkingBinding: "account",
  },
  {
    ...current,
    id: "claude-haiku-4-5-20251001",
    aliases: ["claude-haiku-4-5"],
    prices: [{ input: 1, output: 5 }],
    contextWindow: 200 * k,
    maxOutput: 64 * k,
    thinking: ["manual", "disabled"],
    efforts: [],
    defaultEffort: null,
    sampling: true,
    midConversationSystem: false,
    minimumCacheTokens: 4_096,
  },
]

export const families = ["fable", "opus", "sonnet", "haiku"] as const
