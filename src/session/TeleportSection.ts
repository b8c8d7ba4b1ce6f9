/**
 * Owns what a session takes along beside its records: sections, each described by the part of the house it belongs to. What a section
 * says can be told from the records; it stands there so that whoever opens the file, or another version, need not fold them.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as History from "./History.ts"
import type { JournalRecord } from "./JournalRecord.ts"

/** The session as it leaves. */
export interface Leaving {
  readonly sessionId: string
  /** Of all its agents. */
  readonly records: ReadonlyArray<JournalRecord>
  /** Of the main one. */
  readonly history: History.History
  /** SHA-256, hex. */
  readonly hash: (text: string) => string
}

export interface Section {
  readonly name: string
  readonly pack: (leaving: Leaving) => unknown
  /** What people are to know where it arrives, or what is wrong with it. */
  readonly unpack: (value: unknown) => Result.Result<ReadonlyArray<string>, string>
}

/** `schema` describes plain JSON: nothing is encoded, and what a newer version has added stays. */
export const make = <A>(
  name: string,
  schema: Schema.Codec<A>,
  own: { readonly pack: (leaving: Leaving) => A; readonly arrived: (value: A) => ReadonlyArray<string> },
): Section => {
  const read = Schema.decodeUnknownResult(schema)
  return {
    name,
    pack: own.pack,
    unpack: (value) =>
      Result.match(read(value), {
        onFailure: (issue) => Result.fail(String(issue).split("\n").slice(0, 3).join(" ")),
        onSuccess: (found) => Result.succeed(own.arrived(found)),
      }),
  }
}

/** Where the conversation stands: what was compacted, what the model has been told beside it, what outlives compaction. */
export const context = make(
  "context",
  Schema.Struct({
    messages: Schema.Finite,
    compactions: Schema.Array(Schema.Struct({ sequence: Schema.Finite, layer: Schema.String, trigger: Schema.String })),
    told: Schema.Array(Schema.String),
    facts: Schema.Unknown,
  }),
  {
    pack: ({ history, records }) => ({
      messages: history.messages().length,
      compactions: records.flatMap(({ agent, event, seq }) =>
        event._tag === "Compacted" && agent === "main"
          ? [{ sequence: seq, layer: event.layer, trigger: event.trigger }]
          : [],
      ),
      told: [...history.told.keys()],
      facts: history.facts,
    }),
    arrived: () => [],
  },
)

/** What every request begins with, by its hashes; the text itself is in the records. */
export const ledger = make(
  "ledger",
  Schema.Struct({
    system: Schema.Array(Schema.String),
    listings: Schema.Record(Schema.String, Schema.String),
    /** Of the newest request: tools, system, messages. */
    request: Schema.Array(Schema.String),
  }),
  {
    pack: ({ hash, history, records }) => ({
      system: (history.latched?.system ?? []).map(({ text }) => hash(text)),
      listings: Object.fromEntries(
        Object.entries(history.latched?.listings ?? {}).map(([tool, text]) => [tool, hash(text)]),
      ),
      request:
        records
          .flatMap(({ agent, event }) => (event._tag === "RequestSent" && agent === "main" ? [event.ledger] : []))
          .at(-1) ?? [],
    }),
    arrived: () => [],
  },
)

/** What it has cost so far. */
export const cost = make(
  "cost",
  Schema.Struct({ usd: Schema.Finite, replies: Schema.Finite, usage: Schema.Record(Schema.String, Schema.Unknown) }),
  {
    pack: ({ history: { totals } }) => ({ usd: totals.costUsd, replies: totals.turns, usage: { ...totals.usage } }),
    arrived: ({ replies, usd }) => [`It has cost $${usd.toFixed(4)} so far, in ${replies} replies.`],
  },
)

/** Work that was under way. None of it travels: the model hears so when the session is opened. */
export const workers = make(
  "workers",
  Schema.Struct({
    agents: Schema.Array(Schema.Struct({ id: Schema.String, type: Schema.String, description: Schema.String })),
  }),
  {
    pack: ({ history }) => ({
      agents: history.facts.running.map(({ agentId, agentType, description }) => ({
        id: agentId,
        type: agentType,
        description,
      })),
    }),
    arrived: ({ agents }) =>
      agents.map(({ description, type }) => `The ${type} agent "${description}" has ended on the way.`),
  },
)

/** None yet; a file that has some is read all the same. */
export const teammates = make("teammates", Schema.Array(Schema.Unknown), {
  pack: () => [],
  arrived: (all) => (all.length === 0 ? [] : [`Its ${all.length} teammates are not known to this version.`]),
})
