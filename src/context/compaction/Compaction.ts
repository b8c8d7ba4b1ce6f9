/**
 * Owns making room in a conversation before it is too long for the model. It only changes what is sent: the journal keeps everything.
 *
 * Before each request, what needs no model is tried first (`Layers`); only where that is not enough the conversation is summed up, by the
 * same model on the same prefix, which the service has cached. Facts and lines that must survive do not depend on the summary.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import type * as Path from "effect/Path"
import { ModelTable } from "../../cost/ModelTable.ts"
import type { HookEngineShape } from "../../hooks/HookEngine.ts"
import type { BudgetExceeded } from "../../kernel/Budget.ts"
import * as Ids from "../../kernel/Ids.ts"
import type { Model } from "../../model/Model.ts"
import type { ToolSchema } from "../../model/Provider.ts"
import * as SideQuery from "../../model/SideQuery.ts"
import { Files } from "../../platform/Files.ts"
import type { CompactionTrigger, Health } from "../../protocol/Compaction.ts"
import { type TextBlock, toBlocks } from "../../protocol/Content.ts"
import type { Message } from "../../protocol/Message.ts"
import { reminder } from "../../protocol/Reminder.ts"
import type { Terminal } from "../../protocol/Terminal.ts"
import type { ControlsShape } from "../../session/Controls.ts"
import type { JournalError } from "../../session/JournalError.ts"
import type { RecorderShape } from "../../session/Recorder.ts"
import * as Measure from "./Health.ts"
import * as Layers from "./Layers.ts"
import * as SessionState from "./SessionState.ts"
import * as Summary from "./Summary.ts"
import * as Thresholds from "./Thresholds.ts"

/** Why somebody's wish for a summary came to nothing, or what came of it. */
export type Outcome =
  | { readonly _tag: "Compacted"; readonly preTokens: number; readonly postTokens: number }
  | { readonly _tag: "Left"; readonly why: string }

type Failures = JournalError | BudgetExceeded

export interface CompactionShape {
  /** Before a request. Answers how the turn ends, where there is no room to be had. */
  readonly makeRoom: Effect.Effect<Terminal | undefined, Failures, Model>
  /** The service did not take the conversation. Answers which way was found to ask again, if one was. */
  readonly refused: (
    why: "too_long" | "media",
  ) => Effect.Effect<"collapse_drain_retry" | "reactive_compact_retry" | undefined, Failures, Model>
  /** The model has answered: whatever comes next may be tried from the beginning. */
  readonly answered: Effect.Effect<void>
  /** Somebody wants a summary, now. */
  readonly sumUp: (wishes: string | undefined) => Effect.Effect<Outcome, Failures, Model>
  readonly health: Effect.Effect<Health>
}

/** Nothing is ever put shorter, unless the session says so. */
export const Compaction = Context.Reference<CompactionShape>("troupe/context/Compaction", {
  defaultValue: () => ({
    makeRoom: Effect.undefined,
    refused: () => Effect.undefined,
    answered: Effect.void,
    sumUp: () => Effect.succeed({ _tag: "Left", why: "This conversation is not put shorter." }),
    health: Effect.succeed(Measure.empty),
  }),
})

export interface Circumstances {
  readonly agent: string
  readonly cwd: string
  readonly recorder: RecorderShape
  readonly controls: ControlsShape
  readonly engine: HookEngineShape
  readonly system: ReadonlyArray<TextBlock>
  readonly tools: () => ReadonlyArray<ToolSchema>
  readonly wishes: Thresholds.Wishes
  /** Where texts go that leave the conversation; the model may read there. */
  readonly directory: string
  /** Told that the conversation is about to be summed up. */
  readonly beside: Effect.Effect<Summary.Beside>
  /** It is the session's own conversation: its facts are also kept in the project's file, and the session begins anew with it. */
  readonly isMain: boolean
}

type Needs = ModelTable | Files | FileSystem.FileSystem | Path.Path

const mostFailures = 3
/** So soon after a summary, the next one is a sign that something fills the conversation faster than it can be put shorter. */
const soon = 3
const mostRefills = 3
const longestSummary = 20_000
/** What a summary by itself may leave of the conversation at the most. */
const leastGain = 0.9
/** The newest replies and what came of them are left alone: `2` messages each. */
const newest = 4
/** Of what fits into a request, lines that must survive may take this part, and one result that. */
const forLines = 0.35
const forOneResult = 0.25

export const make: (circumstances: Circumstances) => Effect.Effect<CompactionShape, never, Needs> = Effect.fnUntraced(
  function* (circumstances) {
    const {
      agent,
      beside: surroundings,
      controls,
      cwd,
      directory,
      engine,
      recorder,
      isMain,
      system,
      tools,
      wishes,
    } = circumstances
    const { history } = recorder
    const table = yield* ModelTable
    const files = yield* Files
    const context = yield* Effect.context<Needs>()

    let failures = 0
    let refills = 0
    /** How full it was when that was last told. */
    let shown = 0
    let repliesSince = Number.POSITIVE_INFINITY
    /** What has been tried since the model last answered. */
    const tried = new Set<string>()

    const fileOf = (text: string) => `${directory}/kept-${files.hash(text).slice(0, 16)}.txt`
    const say = (level: "info" | "warning", message: string) => recorder.emit({ _tag: "Diagnosed", level, message })

    const limits = Effect.map(controls.current, ({ model }) => Thresholds.of(table.resolve(model).spec, wishes))
    const size = () => Measure.tokensOf({ history, system, tools: tools() })

    /** Texts are on the disk before the conversation names them. */
    const archive = Effect.fnUntraced(function* (texts: ReadonlyArray<Layers.Archived>) {
      if (texts.length === 0) return
      const fs = yield* FileSystem.FileSystem
      yield* Effect.ignore(fs.makeDirectory(directory, { recursive: true, mode: 0o700 }))
      yield* Effect.forEach(texts, ({ path, text }) => files.writeAtomic(path, text, { mode: 0o600 }), {
        discard: true,
      })
    }, Effect.provideContext(context))

    const situation = ({ target, window }: Thresholds.Thresholds, tokens: number): Layers.Situation => ({
      messages: history.messages(),
      tokens,
      target,
      untouchedFrom: Math.max(0, history.messages().length - newest),
      largestResult: Math.floor(window * forOneResult),
      fileOf,
    })

    const take = Effect.fnUntraced(function* (steps: ReadonlyArray<Layers.Step>, trigger: CompactionTrigger) {
      for (const { after, archived, before, layer, results, spans } of steps) {
        const kept = yield* Effect.result(archive(archived))
        if (kept._tag === "Failure") {
          yield* say(
            "warning",
            `Nothing was put shorter, because it could not be kept elsewhere: ${kept.failure.message}`,
          )
          return false
        }
        yield* recorder.emit({
          _tag: "Compacted",
          uuid: yield* Ids.uuid,
          trigger,
          layer,
          preTokens: before,
          postTokens: after,
          results,
          spans,
        })
      }
      return steps.length > 0
    })

    /** The conversation as the next request would send it, and the wish for a summary behind it. */
    const ask = Effect.fnUntraced(function* (messages: ReadonlyArray<Message>, wish: string | undefined) {
      const { effort, model } = yield* controls.current
      const { spec } = table.resolve(model)
      const answer = yield* SideQuery.hear({
        agent,
        model,
        maxTokens: Math.min(spec.maxOutput, longestSummary),
        system,
        tools: tools(),
        messages: [...messages, { role: "user", content: [{ type: "text", text: Summary.request(wish) }] }],
        authorOf: (message) => history.authorOf(message),
        isRebased: (message) => history.isRebased(message),
        ...(effort !== undefined && { outputConfig: { effort } }),
        restartable: () => true,
      })
      return Summary.read(answer.text)
    })

    /** As it is, then with its steps told in a few lines, then its newer half: a summary of a part is better than none. */
    const written = Effect.fnUntraced(function* (limit: Thresholds.Thresholds, wish: string | undefined) {
      const all = history.messages()
      const shorter = Layers.plan({ ...situation(limit, Number.POSITIVE_INFINITY), target: 0 }).at(-1)?.messages ?? all
      let why = "the model wrote nothing"
      for (const messages of [all, shorter, newerHalf(shorter)]) {
        const heard = yield* Effect.result(ask(messages, wish))
        if (heard._tag === "Success") {
          if (heard.success !== undefined) return heard.success
          return why
        }
        if (heard.failure._tag === "BudgetExceeded") return yield* heard.failure
        why = heard.failure.message
        if (heard.failure.reason !== "prompt_too_long" && heard.failure.reason !== "request_too_large") return why
      }
      return why
    })

    /** What the harness has put before the model stands in the same messages. */
    const wordsOf = (message: Message) =>
      toBlocks(message.content).flatMap((block) =>
        block.type === "text" && history.promptOfBlock(block) !== undefined ? [block.text] : [],
      )

    /** How much of the conversation a summary may stand for: not what is still to be answered. */
    const until = () => {
      const messages = history.messages()
      if (history.hasResults()) return messages.findLastIndex(({ role }) => role === "assistant")
      return history.waiting() ? messages.length - 1 : messages.length
    }

    const sumUp = Effect.fnUntraced(function* (trigger: CompactionTrigger, wish: string | undefined) {
      const limit = yield* limits
      const preTokens = size()
      const to = until()
      if (to < 2) return left("there is nothing to sum up yet")
      const before = yield* engine.fire("PreCompact", {
        trigger: trigger === "manual" ? "manual" : "auto",
        custom_instructions: wish ?? null,
      })
      if (before.block !== undefined) return left(`a hook objects: ${before.block.reason}`)
      if (isMain) {
        const problem = yield* SessionState.save(cwd, recorder.sessionId, history.facts).pipe(
          Effect.provideContext(context),
        )
        if (problem !== undefined) yield* say("warning", problem)
      }
      yield* recorder.show({ _tag: "CompactionStarted", trigger })
      const summary = yield* written(limit, wish)
      if (typeof summary === "string") return left(summary, true)
      const messages = history.messages().slice(0, to)
      const beside = yield* surroundings
      const standIn = Summary.compose({
        messages,
        wordsOf,
        written: summary,
        facts: history.facts,
        told: history.told,
        beside,
        room: Math.floor(limit.auto * forLines),
        fileOf,
      })
      const kept = yield* Effect.result(archive(standIn.archived))
      if (kept._tag === "Failure") return left(`what must survive could not be kept: ${kept.failure.message}`, true)
      const rest = Layers.sizeOf(history.messages().slice(to))
      const stood = Layers.sizeOf([{ role: "user", content: standIn.content }])
      const postTokens = preTokens - Layers.sizeOf(history.messages()) + rest + stood
      // The cache is lost with it, so it must be worth that; a person may want it all the same.
      if (postTokens >= preTokens * (trigger === "manual" ? 1 : leastGain)) {
        return left("a summary would take nearly as much room as the conversation", trigger !== "manual")
      }
      yield* recorder.emit({
        _tag: "Compacted",
        uuid: yield* Ids.uuid,
        trigger,
        layer: "summary",
        preTokens,
        postTokens,
        results: {},
        spans: [{ from: 0, to, content: standIn.content }],
        summary: summary.summary,
        facts: standIn.noted,
      })
      yield* verify(beside)
      repliesSince = 0
      yield* engine.fire("PostCompact", {
        trigger: trigger === "manual" ? "manual" : "auto",
        compact_summary: summary.summary,
      })
      if (isMain) {
        const { model } = yield* controls.current
        const begun = yield* engine.fire("SessionStart", { source: "compact", model })
        for (const words of begun.context) yield* remind("hook SessionStart", words)
      }
      return { _tag: "Compacted", preTokens, postTokens } as const
    })

    const remind = Effect.fnUntraced(function* (origin: string, words: string) {
      yield* recorder.emit({ _tag: "ContextAdded", uuid: yield* Ids.uuid, origin, content: reminder(words) })
    })

    /** Every fact is still said; one that is not, by a mistake of ours, is said again. */
    const verify = Effect.fnUntraced(function* (beside: Summary.Beside) {
      const lost = Summary.missing(history.facts, beside, history.messages())
      if (lost.length === 0) return
      yield* say("warning", `A compaction left out ${lost.length} of what must be kept; it is said again.`)
      for (const words of lost) yield* remind("facts", words)
    })

    const failed = Effect.fnUntraced(function* (why: string) {
      failures++
      yield* say("warning", `The conversation could not be summed up: ${why}`)
      if (failures === mostFailures) {
        yield* say(
          "warning",
          `That failed ${mostFailures} times in a row and is not tried again by itself; /compact does.`,
        )
      }
    })

    const tooFull = (limit: Thresholds.Thresholds, tokens: number): Terminal => ({
      reason: "blocking_limit",
      detail: `The conversation takes about ${tokens} tokens, and ${limit.window} fit beside a reply. Put it shorter with /compact, go back with /rewind, or choose a model with a larger window.`,
    })

    const blocked = (limit: Thresholds.Thresholds) => {
      const tokens = size()
      // An estimate errs to the high side; the service has the last word on what is near the limit.
      const certain = history.measured === undefined ? tokens / 1.25 : tokens
      return certain >= limit.block ? tooFull(limit, tokens) : undefined
    }

    return {
      makeRoom: Effect.gen(function* () {
        const limit = yield* limits
        const tokens = size()
        if (tokens < limit.auto) return undefined
        if (!wishes.auto) return blocked(limit)
        const steps = Layers.plan(situation(limit, tokens))
        if ((steps.at(-1)?.after ?? tokens) <= limit.target && (yield* take(steps, "auto"))) return undefined
        if (failures < mostFailures) {
          refills = repliesSince < soon ? refills + 1 : 0
          if (refills >= mostRefills) {
            return {
              reason: "rapid_refill_breaker",
              detail: `The conversation was full again right after it had been put shorter, ${mostRefills} times in a row. Something in it is too large: smaller reads, or a new session.`,
            } as const
          }
          const outcome = yield* sumUp("auto", undefined)
          if (outcome._tag === "Compacted") {
            failures = 0
            return blocked(limit)
          }
          if (outcome.failed === true) yield* failed(outcome.why)
        }
        // Better less room than none.
        yield* take(steps, "auto")
        return blocked(limit)
      }),
      refused: Effect.fnUntraced(function* (why) {
        if (!wishes.auto) return undefined
        const limit = yield* limits
        if (!tried.has("drain")) {
          tried.add("drain")
          const steps = Layers.plan({
            ...situation(limit, size()),
            target: 0,
            untouchedFrom: Math.max(0, history.messages().length - 2),
            largestResult: Math.floor(limit.window * 0.05),
            withoutMedia: why === "media",
          })
          if (yield* take(steps, "reactive")) return "collapse_drain_retry"
        }
        if (!tried.has("summary") && why === "too_long") {
          tried.add("summary")
          const outcome = yield* sumUp("reactive", undefined)
          if (outcome._tag === "Compacted") return "reactive_compact_retry"
          if (outcome.failed === true) yield* failed(outcome.why)
        }
        return undefined
      }),
      answered: Effect.gen(function* () {
        tried.clear()
        repliesSince++
        // Looking at everything takes time: only when it has changed by some percent of what fits.
        const limit = yield* limits
        if (Math.abs(size() - shown) < limit.window * 0.02) return
        const health = Measure.of({ history, system, tools: tools(), limit })
        shown = health.totalTokens
        yield* recorder.show({ _tag: "ContextMeasured", health })
      }),
      sumUp: Effect.fnUntraced(function* (wish) {
        if (!wishes.manual) return left("it is switched off (DISABLE_COMPACT)")
        const outcome = yield* sumUp("manual", wish)
        if (outcome._tag === "Compacted") {
          failures = 0
          refills = 0
        }
        return outcome
      }),
      health: Effect.map(limits, (limit) => Measure.of({ history, system, tools: tools(), limit })),
    }
  },
)

const left = (why: string, failed?: boolean) => ({ _tag: "Left", why, ...(failed === true && { failed }) }) as const

/** From a message of a person on, so that no pair is parted. */
const newerHalf = (messages: ReadonlyArray<Message>): ReadonlyArray<Message> => {
  const half = Math.floor(messages.length / 2)
  const at = messages.findIndex(
    ({ content, role }, index) =>
      index >= half && role === "user" && toBlocks(content).every(({ type }) => type !== "tool_result"),
  )
  return at === -1 ? messages : messages.slice(at)
}
