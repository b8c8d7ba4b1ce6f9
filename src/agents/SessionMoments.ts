/**
 * Owns what a session does at the moments of a turn: hooks are heard, a typed command becomes what it stands for, and the model is told
 * what the harness has learnt meanwhile.
 */
import * as Effect from "effect/Effect"
import * as Repetition from "../context/compaction/Repetition.ts"
import type { Feed } from "../context/Feed.ts"
import type { HookEngineShape } from "../hooks/HookEngine.ts"
import type { HookEventName } from "../hooks/HookEvents.ts"
import type { Verdict } from "../hooks/Verdict.ts"
import type { BudgetExceeded } from "../kernel/Budget.ts"
import * as Ids from "../kernel/Ids.ts"
import type { Model } from "../model/Model.ts"
import { type ContentBlock, plainText, text } from "../protocol/Content.ts"
import { reminder } from "../protocol/Reminder.ts"
import type { Terminal, TerminalReason } from "../protocol/Terminal.ts"
import type { JournalError } from "../session/JournalError.ts"
import type { RecorderShape } from "../session/Recorder.ts"
import type { Task } from "../tools/Task.ts"
import type { Ending, MomentsShape, Stop } from "./Moments.ts"
import { remind } from "./Remind.ts"

/** What a typed command stands for, or why it stands for nothing. Nothing is done for it before its text is asked for. */
export type Expansion =
  | {
      readonly _tag: "Command"
      readonly command: string
      readonly args: string
      readonly source: string
      /** Fails with what the person is told. */
      readonly texts: Effect.Effect<ReadonlyArray<string>, string>
    }
  | { readonly _tag: "Refused"; readonly message: string }

export interface Circumstances {
  readonly engine: HookEngineShape
  readonly recorder: RecorderShape
  readonly feed: Feed<JournalError>
  /** Work in the background, which goes on when the turn ends. */
  readonly tasks: () => ReadonlyArray<Task>
  /** How often in a row a hook may keep a turn from ending. */
  readonly mostHolds: number
  /** `undefined` for text that is no command. Only of the main agent: nobody types to another. */
  readonly expand: (typed: string) => Effect.Effect<Expansion | undefined>
  /** What the harness does itself when it is typed, and says what came of it. */
  readonly does: (typed: string) => Effect.Effect<string, JournalError | BudgetExceeded, Model> | undefined
  /** A person says something new. */
  readonly newPrompt: Effect.Effect<void>
  /** A turn has ended as it should. */
  readonly ended: Effect.Effect<void>
  /** The agent that was sent out, if it is one. */
  readonly agent?: { readonly agentId: string; readonly agentType: string; readonly transcriptPath: string } | undefined
}

export const make = (circumstances: Circumstances): MomentsShape => {
  const { agent, does, engine, expand, feed, mostHolds, newPrompt, recorder, tasks } = circumstances
  const { emit, history } = recorder
  const looked = new Set<string>()
  const repetition = Repetition.make(history.messages(), () => history.compactions)
  let holds = 0
  let begun = false

  const tell = (origin: string, pieces: ReadonlyArray<string>) => remind(recorder, origin, pieces)
  const heard = (event: HookEventName, { context }: Verdict) => tell(`hook ${event}`, context)

  const refuse = Effect.fnUntraced(function* (promptId: string, reason: string, ends?: Stop["ends"]) {
    yield* emit({ _tag: "PromptRefused", promptId, reason })
    return stop(reason, ends)
  })

  /** Answers why the prompt is not put to the model, if it is not. */
  const look = Effect.fnUntraced(function* (promptId: string, content: ReadonlyArray<ContentBlock>) {
    const prompt = plainText(content)
    const doing = does(prompt)
    if (doing !== undefined) {
      // First, so that it is not itself a part of what it is about.
      yield* emit({ _tag: "PromptRefused", promptId, reason: prompt.trim(), done: true })
      return stop(yield* doing, "completed")
    }
    // What ended a turn has ended that one; only a hook that did not let the session begin means this prompt.
    const before = yield* engine.takeStop
    const unwanted = begun ? undefined : before
    begun = true
    yield* newPrompt
    if (unwanted !== undefined) return yield* refuse(promptId, unwanted.reason)
    const submitted = yield* engine.fire("UserPromptSubmit", { prompt })
    const objection = submitted.block ?? submitted.stop
    if (objection !== undefined) return yield* refuse(promptId, objection.reason)
    if (submitted.sessionTitle !== undefined) {
      yield* emit({ _tag: "SessionTitled", title: submitted.sessionTitle, by: "hook UserPromptSubmit" })
    }
    const expansion = yield* expand(prompt)
    if (expansion?._tag === "Refused") return yield* refuse(promptId, expansion.message, "turn_setup_failed")
    if (expansion !== undefined) {
      const { args, command, source, texts } = expansion
      const expanded = yield* engine.fire("UserPromptExpansion", {
        expansion_type: "slash_command",
        command_name: command,
        command_args: args,
        command_source: source,
        prompt,
      })
      const stopped = expanded.block ?? expanded.stop
      if (stopped !== undefined) return yield* refuse(promptId, stopped.reason)
      const used = yield* Effect.result(texts)
      if (used._tag === "Failure") return yield* refuse(promptId, used.failure, "turn_setup_failed")
      const rest = content.filter(({ type }) => type !== "text")
      yield* emit({
        _tag: "PromptExpanded",
        uuid: yield* Ids.uuid,
        promptId,
        command,
        content: [text(commandTags(command, args)), ...used.success.map(text), ...rest],
      })
      yield* heard("UserPromptExpansion", expanded)
    }
    yield* heard("UserPromptSubmit", submitted)
    yield* feed.gather({ kind: "prompt", text: prompt })
    return undefined
  })

  const beforeAsking = Effect.gen(function* () {
    const prompts = history.unasked().filter(({ promptId }) => !looked.has(promptId))
    const objections: Array<Stop> = []
    if (agent === undefined) {
      for (const { promptId, content } of prompts) {
        looked.add(promptId)
        const objection = yield* look(promptId, content)
        if (objection !== undefined) objections.push(objection)
      }
      // Whoever objected to one prompt has nothing against the others.
      if (prompts.length > 0) yield* engine.takeStop
    }
    yield* tell("hook in the background", yield* engine.takeContext)
    // Whatever else there is to answer is answered.
    const [first] = objections
    if (first === undefined || history.hasResults() || objections.length < prompts.length) return undefined
    const reasons = objections.map(({ reason }) => reason)
    const { ends } = first
    return stop(reasons.join("\n"), objections.every((one) => one.ends === ends) ? ends : undefined)
  })

  const afterRound: MomentsShape["afterRound"] = Effect.fnUntraced(function* (round) {
    if (round.calls().length === 0) return undefined
    if (engine.concerns("PostToolBatch")) {
      const calls = history.answered().map(({ input, result, tool, toolUseId }) => ({
        tool_name: tool,
        tool_input: input,
        tool_use_id: toolUseId,
        tool_response: result.content,
      }))
      const verdict = yield* engine.fire("PostToolBatch", { tool_calls: calls })
      yield* heard("PostToolBatch", verdict)
      if (verdict.block !== undefined) {
        yield* tell("hook PostToolBatch", [verdict.block.reason])
        return stop(verdict.block.reason)
      }
    }
    const { circles, hint } = repetition.after(
      history
        .answered()
        .filter(({ tool }) => !waits.has(tool))
        .map(({ input, result, tool }) => ({ tool, input, ...result })),
    )
    if (circles)
      return stop(`The model repeated calls that fail, ${Repetition.mostInARow} times in a row.`, "repetition_stopped")
    if (hint !== undefined) yield* tell("repetition", [hint])
    const stopped = yield* engine.takeStop
    if (stopped !== undefined) return stop(stopped.reason)
    yield* feed.gather({ kind: "round", touched: round.touched() })
    return undefined
  })

  const beforeEnd = Effect.fnUntraced(function* ({ held, text, turns }: Ending) {
    const stopping = {
      stop_hook_active: held,
      ...(text !== "" && { last_assistant_message: text }),
      background_tasks: tasks().filter(({ status }) => status === "running"),
      // Hooks go through both lists; nothing is planned ahead here.
      session_crons: [],
    }
    const verdict = yield* agent === undefined
      ? engine.fire("Stop", stopping)
      : engine.fire("SubagentStop", {
          ...stopping,
          agent_id: agent.agentId,
          agent_type: agent.agentType,
          agent_transcript_path: agent.transcriptPath,
          agent_name: agent.agentType,
          exit_reason: "complete",
          turns_used: turns,
        })
    if (verdict.stop !== undefined) return stop(verdict.stop.reason)
    const words = [...(verdict.block === undefined ? [] : [verdict.block.reason]), ...verdict.context]
    if (words.length === 0) {
      yield* circumstances.ended
      return undefined
    }
    if (!held) holds = 0
    if (++holds <= mostHolds) return { _tag: "GoOn", words: words.map(reminder) } as const
    const message = `A hook kept this turn from ending ${mostHolds} times in a row; it ends all the same. (CLAUDE_CODE_STOP_HOOK_BLOCK_CAP sets the limit.)`
    yield* emit({ _tag: "Diagnosed", level: "warning", message })
    return undefined
  })

  const failed = Effect.fnUntraced(function* (terminal: Terminal, said: string) {
    if (!ofTheService.has(terminal.reason)) return
    yield* engine.fire("StopFailure", {
      error: errorNames[terminal.error ?? ""] ?? "unknown",
      ...(terminal.detail !== undefined && { error_details: terminal.detail }),
      ...(said !== "" && { last_assistant_message: said }),
    })
  })

  return { beforeAsking, afterRound, beforeEnd, failed }
}

const stop = (reason: string, ends?: Stop["ends"]): Stop => ({
  _tag: "Stop",
  reason,
  ...(ends !== undefined && { ends }),
})

/** They are called again until something has happened. */
const waits: ReadonlySet<string> = new Set(["TaskOutput", "BashOutput", "Monitor", "TaskList", "TaskGet"])

/** As other clients put it, so that a transcript shows what was typed. */
const commandTags = (command: string, args: string): string =>
  `<command-name>/${command}</command-name>${args === "" ? "" : `\n<command-args>${args}</command-args>`}`

/** Ends that the service is the cause of. */
const ofTheService: ReadonlySet<TerminalReason> = new Set([
  "api_error",
  "model_error",
  "prompt_too_long",
  "image_error",
])

/** What hooks call the ways in which a service fails. */
const errorNames: Readonly<Record<string, string>> = {
  rate_limited: "rate_limit",
  overloaded: "overloaded",
  unauthenticated: "authentication_failed",
  forbidden: "authentication_failed",
  spend_cap: "billing_error",
  billing: "billing_error",
  invalid_request: "invalid_request",
  model_not_found: "model_not_found",
  server_error: "server_error",
  max_output_tokens: "max_output_tokens",
}
