/**
 * Owns the ledger of what was spent, by model and by agent. It counts; the limits are `Budget`'s.
 *
 * Its state is a fold over replies. They are all in the journals, so whoever gives it a `history` made of them (`entryOf`) gets
 * the whole ledger back in a new life.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Actor from "../kernel/Actor.ts"
import * as Protocol from "../kernel/Protocol.ts"
import * as Supervisor from "../kernel/Supervisor.ts"
import type { Event } from "../protocol/Event.ts"
import * as Usage from "../protocol/Usage.ts"

/** One reply, or what an abandoned one had used. */
export const Entry = Schema.Struct({
  agent: Schema.String,
  model: Schema.String,
  usage: Usage.Usage,
  /** `null`: the model has no known price. */
  costUsd: Schema.NullOr(Schema.Finite),
})
export type Entry = typeof Entry.Type

/** What somebody has used. `unpricedRequests` of them are not in `costUsd`, because nobody knows their price. */
export const Spent = Schema.Struct({
  requests: Schema.Int,
  unpricedRequests: Schema.Int,
  costUsd: Schema.Finite,
  usage: Usage.Usage,
})
export type Spent = typeof Spent.Type

export const Report = Schema.Struct({
  total: Spent,
  byModel: Schema.Record(Schema.String, Spent),
  byAgent: Schema.Record(Schema.String, Spent),
})
export type Report = typeof Report.Type

export const CostProtocol = Protocol.make({
  Record: { payload: Entry },
  Report: { success: Report },
})

/** Where a new life finds what was spent before it. */
export type History = Effect.Effect<Iterable<Entry>>

export class CostGovernor extends Context.Service<CostGovernor, Actor.Ref<typeof CostProtocol>>()(
  "troupe/cost/CostGovernor",
) {
  static readonly layer = (history: History = Effect.succeed([])): Layer.Layer<CostGovernor> =>
    Layer.effect(
      CostGovernor,
      Effect.gen(function* () {
        const supervisor = yield* Supervisor.make("cost")
        // A governor that crashes before it was ever ready is a bug in its history: nothing expected can fail here.
        return yield* Effect.catchTag(supervisor.start("governor", governor(history)), "Escalated", Effect.die)
      }),
    )
}

/** The actor, for a supervisor of one's own. */
export const governor = (history: History) =>
  Actor.make(CostProtocol, {
    start: Effect.map(history, (entries) => fold(entries)),
    handlers: {
      Record: (report, entry) => Effect.succeed([add(report, entry), undefined]),
      Report: (report) => Effect.succeed([report, report]),
    },
    capacity: 1_024,
  })

const nothing: Spent = { requests: 0, unpricedRequests: 0, costUsd: 0, usage: Usage.none }

export const empty: Report = { total: nothing, byModel: {}, byAgent: {} }

export const add = (report: Report, entry: Entry): Report => ({
  total: plus(report.total, entry),
  byModel: { ...report.byModel, [entry.model]: plus(report.byModel[entry.model], entry) },
  byAgent: { ...report.byAgent, [entry.agent]: plus(report.byAgent[entry.agent], entry) },
})

export const fold = (entries: Iterable<Entry>): Report => {
  let report = empty
  for (const entry of entries) report = add(report, entry)
  return report
}

/** What a journaled event adds to the ledger of the agent that it belongs to. */
export const entryOf = (agent: string, event: Event): Entry | undefined =>
  event._tag === "ReplyEnded" ? { agent, model: event.model, usage: event.usage, costUsd: event.costUsd } : undefined

const plus = (spent: Spent = nothing, { usage, costUsd }: Entry): Spent => ({
  requests: spent.requests + 1,
  unpricedRequests: spent.unpricedRequests + (costUsd === null ? 1 : 0),
  costUsd: spent.costUsd + (costUsd ?? 0),
  usage: Usage.add(spent.usage, usage),
})
