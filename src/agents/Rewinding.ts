/**
 * Owns going back in a session: to the files as they were before a prompt, to the conversation as it was, or both. What the session
 * keeps beside the conversation follows: which files the model has seen, what it was told, which skills it has before it.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Feed } from "../context/Feed.ts"
import * as Ids from "../kernel/Ids.ts"
import { unwrapped } from "../protocol/Reminder.ts"
import type { JournalError } from "../session/JournalError.ts"
import type { JournalRecord } from "../session/JournalRecord.ts"
import type { RecorderShape } from "../session/Recorder.ts"
import * as Rewind from "../session/Rewind.ts"
import * as RewindPlan from "../session/RewindPlan.ts"
import * as Undone from "../session/Undone.ts"
import type { Files } from "../platform/Files.ts"
import type { Git } from "../platform/Git.ts"
import type { SkillsShape } from "../skills/Skills.ts"
import type { FileMemory } from "../tools/FileMemory.ts"
import { remind } from "./Remind.ts"

export const RewindRequest = Schema.Struct({
  /** A prompt's id, its message's id, or its number in the list of checkpoints. */
  to: Schema.String,
  what: Rewind.What,
  dryRun: Schema.Boolean,
  /** Also over changes of others. */
  force: Schema.Boolean,
})
export type RewindRequest = typeof RewindRequest.Type

export interface Rewinding {
  readonly checkpoints: Effect.Effect<ReadonlyArray<RewindPlan.Checkpoint>, JournalError>
  /** Nothing of the session may run meanwhile. */
  readonly rewind: (request: RewindRequest) => Effect.Effect<Rewind.RewindReport, JournalError | Rewind.RewindRefused>
}

export interface RewindingOptions {
  readonly ground: Rewind.Ground
  readonly recorder: RecorderShape
  readonly feed: Feed<JournalError>
  readonly skills: SkillsShape
  readonly memory: FileMemory["Service"]
  /** What else must hold of the conversation as it is then. */
  readonly settle: Effect.Effect<void, JournalError>
}

export const make = Effect.fnUntraced(function* (options: RewindingOptions) {
  const { feed, ground, memory, recorder, skills } = options
  const services = yield* Effect.context<Files | Git>()
  const { reread } = recorder.journal

  const back = Effect.fnUntraced(function* (point: RewindPlan.Checkpoint) {
    yield* recorder.emit({ _tag: "Rewound", uuid: yield* Ids.uuid, promptId: point.id, to: point.seq })
    yield* skills.wentBack
    feed.wentBack(toldIn(recorder))
    relearn(memory, (yield* reread).records)
    yield* options.settle
  })

  const rewind: Rewinding["rewind"] = Effect.fnUntraced(function* ({ dryRun, force, to, what }) {
    const { records } = yield* reread
    const all = RewindPlan.points(records)
    const point = RewindPlan.find(all, to)
    if (point === undefined)
      return yield* refused(`There is no checkpoint "${to}": there are ${all.length}, from 1 on.`)
    if (what !== "code" && !point.current) {
      return yield* refused("The conversation has gone back to before that already; only its files can be had again.")
    }
    const steps = what === "conversation" ? [] : yield* Rewind.steps(ground, records, point)
    const shown = steps.map((step) => step.shown)
    const { id, text, time } = point
    const report: Rewind.RewindReport = {
      to: { id, text, time },
      what,
      dryRun,
      files: shown,
      conversation: !dryRun && what !== "code",
    }
    if (dryRun) return report
    const conflicts = shown.filter(({ conflict, problem }) => conflict !== undefined && problem === undefined)
    if (conflicts.length > 0 && !force) {
      return yield* new Rewind.RewindRefused({
        why: "Nothing was changed: somebody else has changed files that would go back. Look at them, then go back with force:",
        conflicts,
      })
    }
    // The conversation first: going back to before that brings both again.
    if (what !== "code") yield* back(point)
    const files = steps.length === 0 ? shown : yield* Rewind.apply(ground, steps, point)
    const isTold = what === "code" && files.some(({ problem }) => problem === undefined)
    if (isTold) yield* remind(recorder, "rewind", [said(files)])
    return { ...report, files }
  }, Effect.provideContext(services))

  return { checkpoints: Effect.map(reread, ({ records }) => RewindPlan.points(records)), rewind } satisfies Rewinding
})

const refused = (why: string) => new Rewind.RewindRefused({ why, conflicts: [] })

/** The model goes on believing what it did, unless it is told. */
const said = (files: ReadonlyArray<Rewind.RewoundFile>): string => {
  const done = files.filter(({ problem }) => problem === undefined)
  const listed = done.slice(0, 50).map(({ action, path }) => `- ${path} (${action})`)
  const more = done.length > listed.length ? [`- and ${done.length - listed.length} more`] : []
  return [
    "The user has put files back to what they were earlier in this session. What you did to them since then is gone:",
    ...listed,
    ...more,
  ].join("\n")
}

/** What the model was told, as far as it still stands in the conversation. */
const toldIn = ({ history }: RecorderShape) =>
  [...history.told].map(([origin, content]) => ({ origin, content: unwrapped(content) }))

/** The model has seen of files what its conversation shows. */
const relearn = (memory: FileMemory["Service"], records: ReadonlyArray<JournalRecord>): void => {
  const isUndone = Undone.of(records)
  memory.relearn(
    records.flatMap(({ agent, event, seq }) =>
      agent === "main" && event._tag === "ToolEnded" && !isUndone(seq) ? [event.structured] : [],
    ),
  )
}
