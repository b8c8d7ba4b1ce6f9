/** Owns the words about a conversation's room that cross folders: how full it is, what set a compaction off, how deep it went. */
import * as Schema from "effect/Schema"

/** `reactive`: the service said that the prompt is too long. */
export const CompactionTrigger = Schema.Literals(["auto", "manual", "reactive"])
export type CompactionTrigger = typeof CompactionTrigger.Type

/** In the order in which they are tried: each costs more of the conversation than the one before. */
export const CompactionLayer = Schema.Literals(["results", "snip", "microcompact", "collapse", "summary"])
export type CompactionLayer = typeof CompactionLayer.Type

/** What a model noted down when it summed up: kept as lists, so that the next summary cannot lose them. */
export const NotedFacts = Schema.Struct({
  acceptanceCriteria: Schema.Array(Schema.String),
  decisions: Schema.Array(Schema.String),
  failedApproaches: Schema.Array(Schema.String),
  identifiers: Schema.Array(Schema.String),
})
export type NotedFacts = typeof NotedFacts.Type

export const Health = Schema.Struct({
  /** Of what fits into a request beside the reply. */
  freePercent: Schema.Finite,
  totalTokens: Schema.Finite,
  windowTokens: Schema.Finite,
  /** From here on room is made. */
  compactsAt: Schema.Finite,
  systemTokens: Schema.Finite,
  toolTokens: Schema.Finite,
  messageTokens: Schema.Finite,
  preservedTokens: Schema.Finite,
  compressibleTokens: Schema.Finite,
  ephemeralTokens: Schema.Finite,
  /** How many items nobody has come back to for how long, by replies. */
  stalenessDistribution: Schema.Struct({
    fresh: Schema.Finite,
    recent: Schema.Finite,
    stale: Schema.Finite,
    old: Schema.Finite,
  }),
  /** Of everything that was read. */
  cacheHitRate: Schema.NullOr(Schema.Finite),
  /** What was estimated for the newest request that the service has counted, what it counted, and the difference in percent. */
  drift: Schema.NullOr(Schema.Struct({ estimated: Schema.Finite, reported: Schema.Finite, percent: Schema.Finite })),
})
export type Health = typeof Health.Type
