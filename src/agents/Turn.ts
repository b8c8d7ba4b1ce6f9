/**
 * Owns the loop: ask the model, run the tools it calls, tell it what came of them, until the turn ends.
 *
 * What the model is asked is the fold of the journal, so the loop keeps no conversation of its own: it goes on as long as
 * the last word is not the model's.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { Compaction } from "../context/compaction/Compaction.ts"
import { Account } from "../cost/Account.ts"
import * as Budget from "../kernel/Budget.ts"
import * as Ids from "../kernel/Ids.ts"
import { type Model, ModelError } from "../model/Model.ts"
import type { TextBlock } from "../protocol/Content.ts"
import type { EventOf } from "../protocol/Event.ts"
import { isError, type Terminal, type TerminalReason } from "../protocol/Terminal.ts"
import type { Transition } from "../protocol/Transition.ts"
import * as Usage from "../protocol/Usage.ts"
import { Controls } from "../session/Controls.ts"
import type { JournalError } from "../session/JournalError.ts"
import { Recorder } from "../session/Recorder.ts"
import * as Round from "../tools/Round.ts"
import { ToolCatalog } from "../tools/ToolCatalog.ts"
import { ToolRunner } from "../tools/ToolRunner.ts"
import * as Hearing from "./Hearing.ts"
import * as Interrupts from "./Interrupts.ts"
import { Moments } from "./Moments.ts"
import * as Recovery from "./Recovery.ts"
import type { StructuredOutput } from "./StructuredOutput.ts"

export interface TurnOptions {
  readonly agent: string
  readonly promptId: string
  readonly system: ReadonlyArray<TextBlock>
  /** How many replies there may be before the model is asked for a summary. */
  readonly maxTurns: number
  readonly fallbackModel?: string | undefined
  /** The first output slot and the one for replies that need more. */
  readonly outputSlots: readonly [first: number, large: number]
  readonly output?: StructuredOutput | undefined
  /** A person is there to think between its turns. */
  readonly rests?: boolean | undefined
  readonly interrupts: Interrupts.Interrupts
}

type Needs = Model | Recorder | Controls | ToolCatalog | ToolRunner

/** Runs one turn to its recorded end. Nothing it can meet makes it fail: every way out is a `Terminal`. */
export const run = Effect.fnUntraced(function* (options: TurnOptions): Effect.fn.Return<Terminal, never, Needs> {
  const recorder = yield* Recorder
  const startedAt = yield* Clock.currentTimeMillis
  const tally: Tally = { turns: 0, result: "", usage: Usage.none, costUsd: 0, apiDurationMs: 0 }
  const running: Running = { hearing: undefined }
  const count = countInto(tally)
  const terminal = yield* Effect.scoped(loop(options, tally, count, running)).pipe(
    Effect.provideService(Account, count.used),
    // A budget that closes above us ends the turn here, where what is open can still be answered.
    Budget.within({ name: `turn ${options.promptId}` }),
    Effect.catchTag(
      "BudgetExceeded",
      Effect.fnUntraced(function* (spent) {
        yield* running.hearing?.seal("the budget was spent") ?? Effect.void
        yield* cancelOpenCalls("the budget was spent")
        return ended(budgetReason(spent), spent.message)
      }),
    ),
    Effect.catchTag("JournalError", (failure) => Effect.succeed(ended("session_failed", failure.message))),
    // A bug of ours ends this turn, not the agent: whoever waits for it is told.
    Effect.catchCause((cause) => Effect.succeed(ended("session_failed", `A defect: ${say(Cause.squash(cause))}`))),
  )
  if (isError(terminal)) yield* (yield* Moments).failed(terminal, tally.result)
  const event: EventOf<"TurnEnded"> = {
    _tag: "TurnEnded",
    promptId: options.promptId,
    terminal,
    durationMs: (yield* Clock.currentTimeMillis) - startedAt,
    ...tally,
  }
  yield* Effect.catch(recorder.emit(event), () => recorder.show(event))
  return terminal
})

/** The reply that is being heard, or the last one that was. */
interface Running {
  hearing: Hearing.Hearing | undefined
}

/** What a turn adds up to. */
interface Tally {
  turns: number
  result: string
  structuredOutput?: unknown
  usage: Usage.Usage
  costUsd: number
  apiDurationMs: number
}

const loop = Effect.fnUntraced(function* (
  options: TurnOptions,
  tally: Tally,
  count: Hearing.Count,
  running: Running,
): Effect.fn.Return<Terminal, JournalError | Budget.BudgetExceeded, Needs | Scope.Scope> {
  const recorder = yield* Recorder
  const controls = yield* Controls
  const catalog = yield* ToolCatalog
  const { history, emit } = recorder
  const { interrupts, output } = options
  const moments = yield* Moments
  const compaction = yield* Compaction
  const recovery = Recovery.make(options.outputSlots)

  const goOn = (transition: Transition, detail?: string) =>
    emit({ _tag: "TransitionTaken", transition, ...(detail !== undefined && { detail }) })
  const tell = Effect.fnUntraced(function* (content: string) {
    const { promptId } = options
    yield* emit({
      _tag: "PromptReceived",
      uuid: yield* Ids.uuid,
      promptId,
      content,
      delivery: "between_rounds",
      harness: true,
    })
  })

  const settled = yield* interrupts.race(settleWhatACrashLeftOpen, () => false)
  if (Interrupts.isInterrupt(settled)) {
    yield* cancelOpenCalls(settled.says)
    return ended("aborted_tools")
  }

  let held = false
  let insists = false

  while (true) {
    // ── ask ──────────────────────────────────────────────────────────────────────────────────────────────
    const objection = yield* interrupts.race(moments.beforeAsking, () => false)
    if (Interrupts.isInterrupt(objection)) return ended("aborted_streaming")
    if (objection !== undefined) {
      if (objection.ends === "completed") tally.result = objection.reason
      return ended(objection.ends ?? "hook_stopped", objection.reason)
    }
    const full = yield* interrupts.race(compaction.makeRoom, () => false)
    if (Interrupts.isInterrupt(full)) return ended("aborted_streaming")
    if (full !== undefined) return full
    const lastCall = tally.turns >= options.maxTurns
    if (lastCall && !insists) yield* tell(summaryRequest(options.maxTurns))
    yield* Budget.charge({ turns: 1 })
    const round = yield* Round.make
    if (lastCall) round.hold()
    const hearing = yield* Hearing.make(round, count)
    running.hearing = hearing
    const cancel = (why: string) => Effect.andThen(round.stop, cancelOpenCalls(why))
    const { effort, model } = yield* controls.current
    const outputConfig = { ...output?.config, ...(effort !== undefined && { effort }) }
    const listening = hearing.listen(
      {
        agent: options.agent,
        model,
        fallbackModel: options.fallbackModel,
        maxTokens: recovery.slot(),
        system: options.system,
        tools: catalog.schemas(),
        messages: history.messages(),
        authorOf: (message) => history.authorOf(message),
        isRebased: (message) => history.isRebased(message),
        rests: options.rests,
        // To forbid tools voids the cache of all messages: only for a model that does not listen.
        ...(insists && { toolChoice: "none" as const }),
        ...(Object.keys(outputConfig).length > 0 && { outputConfig }),
      },
      history.saidSoFar(),
    )
    const hasNews = () => history.waiting()
    const outcome = yield* interrupts.race(Effect.catchTag(listening, "ModelError", Effect.succeed), hasNews)

    // ── hear ─────────────────────────────────────────────────────────────────────────────────────────────
    const interrupted = Interrupts.isInterrupt(outcome)
    const failed = outcome instanceof ModelError
    const heard = interrupted
      ? yield* hearing.seal(outcome.says)
      : failed
        ? yield* hearing.seal(outcome.message, outcome)
        : outcome
    tally.result = heard.text
    if (interrupted) {
      yield* cancel(outcome.says)
      if (outcome.kind === "abort") return ended("aborted_streaming")
      yield* goOn("submit_interrupt")
      continue
    }
    if (failed) {
      const objection = objectionOf(outcome)
      const shorter = objection && (yield* interrupts.race(compaction.refused(objection), () => false))
      if (Interrupts.isInterrupt(shorter)) return ended("aborted_streaming")
      if (shorter !== undefined) {
        yield* goOn(shorter, outcome.message)
        continue
      }
      if (outcome.reason !== "broken_off" || !recovery.maySeal()) {
        yield* cancel("the reply broke off")
        return { ...ended(modelReason(outcome), outcome.message), error: outcome.reason }
      }
      tally.turns += 1
      yield* goOn("stream_sealed", outcome.message)
    } else {
      recovery.heardWell()
      if (heard.stopReason !== "model_context_window_exceeded") yield* compaction.answered
    }
    if (lastCall) {
      yield* cancel("the turn limit was reached")
      if (heard.text.trim() === "" && round.calls().length > 0 && !insists) {
        insists = true
        yield* goOn("next_turn", "a summary, without tools")
        continue
      }
      return ended("max_turns", `The turn limit of ${options.maxTurns} was reached.`)
    }
    if (heard.stopReason === "max_tokens" && !round.hasStarted() && recovery.escalates()) {
      tally.turns -= 1
      yield* emit({
        _tag: "ReplyAbandoned",
        requestId: heard.requestId,
        reason: "it did not fit the first output slot",
      })
      yield* goOn("max_output_tokens_escalate", `${recovery.slot()} tokens`)
      continue
    }

    // ── act ──────────────────────────────────────────────────────────────────────────────────────────────
    const acting = Effect.andThen(
      round.finish,
      Effect.suspend(() => moments.afterRound(round)),
    )
    const acted = yield* interrupts.race(acting, hasNews)
    if (Interrupts.isInterrupt(acted)) {
      yield* cancel(acted.says)
      if (acted.kind === "abort") return ended("aborted_tools")
      yield* goOn("submit_interrupt")
      continue
    }
    if (acted !== undefined) return ended(acted.ends ?? "hook_stopped", acted.reason)
    if (recovery.malformedTooOften(round.calls())) {
      return ended("malformed_tool_use_exhausted", "The model sent unreadable tool calls three times in a row.")
    }

    // ── go on, or end ────────────────────────────────────────────────────────────────────────────────────
    switch (heard.stopReason) {
      case "refusal":
        return ended("refusal", heard.stopDetail ?? "The model declined to answer. Rephrase the request or start anew.")
      case "model_context_window_exceeded": {
        const shorter = yield* interrupts.race(compaction.refused("too_long"), hasNews)
        if (Interrupts.isInterrupt(shorter) && shorter.kind === "abort") return ended("aborted_streaming")
        if (shorter === undefined) {
          return ended("prompt_too_long", "The conversation fills the model's context window. Start a new session.")
        }
        yield* goOn(Interrupts.isInterrupt(shorter) ? "submit_interrupt" : shorter)
        if (!history.awaitsReply()) yield* tell(Recovery.continuation)
        continue
      }
      case "pause_turn":
        yield* goOn("pause_turn_continue")
        continue
      case "max_tokens":
        if (!recovery.mayContinue()) {
          const why = "The reply kept exceeding the output limit. Ask for a smaller piece of work."
          return { ...ended("model_error", why), error: "max_output_tokens" }
        }
        yield* goOn("max_output_tokens_recovery")
        if (round.calls().length === 0) yield* tell(Recovery.continuation)
        continue
      case "end_turn":
      case "stop_sequence":
      case "tool_use":
      case null:
        break
    }
    if (history.awaitsReply()) {
      if (interrupts.stopRequested()) return ended("aborted_tools", "Stopped after the running tools had finished.")
      yield* goOn("next_turn")
      continue
    }
    if (output !== undefined) {
      const checked = yield* output.check(heard.text)
      if (checked._tag === "Failure") {
        if (!recovery.mayAskForOutputAgain()) return ended("structured_output_retry_exhausted", checked.failure)
        yield* tell(
          `Your answer does not fit the required output schema: ${checked.failure}\nAnswer again with JSON that does.`,
        )
        yield* goOn("next_turn", "structured output")
        continue
      }
      tally.structuredOutput = checked.success
    }
    const verdict = yield* interrupts.race(moments.beforeEnd({ text: heard.text, held, turns: tally.turns }), hasNews)
    if (Interrupts.isInterrupt(verdict)) {
      if (verdict.kind === "abort") return ended("aborted_streaming")
      yield* goOn("submit_interrupt")
      continue
    }
    if (verdict === undefined) return ended("completed")
    if (verdict._tag === "Stop") return ended("stop_hook_prevented", verdict.reason)
    held = true
    for (const words of verdict.words) yield* tell(words)
    yield* goOn("stop_hook_blocking")
  }
})

const countInto = (tally: Tally): Hearing.Count => ({
  used: (usage, costUsd) => {
    tally.usage = Usage.add(tally.usage, usage)
    tally.costUsd += costUsd
  },
  replied: (text, durationMs) => {
    tally.turns += 1
    tally.result = text
    tally.apiDurationMs += durationMs
  },
})

const ended = (reason: TerminalReason, detail?: string): Terminal => ({
  reason,
  ...(detail !== undefined && { detail }),
})

/** Every call without a result gets one that says why. */
const cancelOpenCalls = Effect.fnUntraced(function* (why: string) {
  const { history } = yield* Recorder
  const runner = yield* ToolRunner
  for (const call of history.pending()) {
    const ran = call.started === undefined ? "It was not run." : "It was stopped; it may have done part of its work."
    yield* runner.answer({ id: call.toolUseId, name: call.tool }, "cancelled", `Cancelled: ${why}. ${ran}`)
  }
})

/** Calls of an earlier turn that a crash cut off. */
const settleWhatACrashLeftOpen = Effect.gen(function* () {
  const { history } = yield* Recorder
  const runner = yield* ToolRunner
  yield* Effect.forEach(history.pending(), runner.settle, { discard: true })
})

const budgetReason = (spent: Budget.BudgetExceeded): TerminalReason =>
  spent.resource === "wall" ? "deadline" : spent.resource === "turns" ? "max_turns" : "budget_exhausted"

/** What the service has against a conversation; with less in it, it may be accepted. */
const objectionOf = ({ reason }: ModelError): "too_long" | "media" | undefined => {
  if (reason === "media_rejected") return "media"
  return reason === "prompt_too_long" || reason === "request_too_large" ? "too_long" : undefined
}

const modelReason = ({ reason }: ModelError): TerminalReason => {
  switch (reason) {
    case "prompt_too_long":
    case "request_too_large":
      return "prompt_too_long"
    case "media_rejected":
      return "image_error"
    case "malformed_stream":
    case "broken_off":
      return "model_error"
    default:
      return "api_error"
  }
}

const say = (bug: unknown): string => (bug instanceof Error ? bug.message : String(bug))

const summaryRequest = (limit: number): string =>
  `The limit of ${limit} turns is reached and no more tools can be used. Summarise in a few sentences what is done, what is not, and what to do next.`
