/** Owns the words of compaction that cross folders: what set it off, how deep it went, what a summary keeps as facts. */
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
