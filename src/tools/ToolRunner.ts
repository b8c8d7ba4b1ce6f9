/**
 * Owns the one gate that every tool call passes, from look-up to answer; `attempt` reads as the list of its steps.
 *
 * A call never fails towards the model's side: whatever goes wrong becomes a result the model can act on. Only a journal that
 * cannot be written and a budget that is spent end the work.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import { HookEngine } from "../hooks/HookEngine.ts"
import * as Budget from "../kernel/Budget.ts"
import * as Ids from "../kernel/Ids.ts"
import { type Decision, Permissions } from "../permissions/Permissions.ts"
import type { Files } from "../platform/Files.ts"
import type { Git } from "../platform/Git.ts"
import type { Host } from "../platform/Host.ts"
import type { Ripgrep } from "../platform/Ripgrep.ts"
import type { ToolResultContent } from "../protocol/Content.ts"
import type { EventOf, ToolOutcome } from "../protocol/Event.ts"
import { type Change, Checkpoints } from "../session/Checkpoints.ts"
import { Controls } from "../session/Controls.ts"
import type { PendingCall } from "../session/HistoryReply.ts"
import type { JournalError } from "../session/JournalError.ts"
import { Recorder } from "../session/Recorder.ts"
import * as Examine from "./Examine.ts"
import * as Results from "./Results.ts"
import type { RawOutput } from "./Tool.ts"
import * as ToolHooks from "./ToolHooks.ts"
import type { ToolCatalog } from "./ToolCatalog.ts"
import type { Workspace } from "./Workspace.ts"

export type { Call, Prepared } from "./Examine.ts"
type Call = Examine.Call
type Prepared = Examine.Prepared
type Ready = Examine.Ready

export type ToolEnded = EventOf<"ToolEnded">

export class ToolRunner extends Context.Service<
  ToolRunner,
  {
    /** Finds out what a call would do. Nothing runs and nobody is asked. */
    readonly prepare: (call: Call) => Effect.Effect<Prepared, JournalError>
    /** It only reads, may run beside others, and nobody has a say in it: it may start while the model still speaks. */
    readonly mayStartEarly: (prepared: Prepared) => Effect.Effect<boolean>
    /** Runs a call to its recorded end, and answers how it ended; an interrupted one is left to whoever interrupted it. */
    readonly run: (prepared: Prepared) => Effect.Effect<ToolOutcome, JournalError | Budget.BudgetExceeded>
    /** After a crash: what can be repeated without harm is run again, what cannot is reported as unknown. */
    readonly settle: (call: PendingCall) => Effect.Effect<void, JournalError | Budget.BudgetExceeded>
    /** Answers a call that will not run. */
    readonly answer: (
      call: Pick<Call, "id" | "name">,
      outcome: Exclude<ToolOutcome, "completed">,
      why: string,
    ) => Effect.Effect<ToolOutcome, JournalError>
  }
>()("troupe/tools/ToolRunner") {
  static readonly layer: Layer.Layer<
    ToolRunner,
    never,
    ToolCatalog | Recorder | Controls | Workspace | Permissions | Files | FileSystem.FileSystem | Git | Host | Ripgrep
  > = Layer.effect(
    ToolRunner,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const recorder = yield* Recorder
  const controls = yield* Controls
  const permissions = yield* Permissions
  const examine = yield* Examine.make
  const bounded = yield* Results.make
  const hooks = yield* ToolHooks.make
  const checkpoints = yield* Checkpoints

  /** Calls that may have changed something: a link, the directory that paths start from. */
  let changes = 0
  const look = (call: Call) => Effect.suspend(() => examine(call, changes))

  const end = Effect.fnUntraced(function* (
    call: Pick<Call, "id" | "name">,
    outcome: ToolOutcome,
    { content, display, structured }: Pick<RawOutput, "content" | "structured" | "display">,
    startedAt: number,
  ) {
    yield* recorder.emit({
      _tag: "ToolEnded",
      uuid: yield* Ids.uuid,
      toolUseId: call.id,
      tool: call.name,
      outcome,
      content,
      ...(structured !== undefined && { structured }),
      ...(display !== undefined && { display }),
      durationMs: (yield* Clock.currentTimeMillis) - startedAt,
    })
    return outcome
  })

  const answer: ToolRunner["Service"]["answer"] = Effect.fnUntraced(function* (call, outcome, why) {
    return yield* end(call, outcome, { content: why }, yield* Clock.currentTimeMillis)
  })

  /** A tool's bug is the tool's: the call is answered, the session goes on and says what happened. */
  const crashed = Effect.fnUntraced(function* (tool: string, bug: unknown) {
    const why = `${tool} crashed: ${bug instanceof Error ? bug.message : String(bug)}`
    yield* recorder.emit({ _tag: "Diagnosed", level: "error", message: why })
    return `${why}. This is a defect of the tool, not of the call.`
  })

  const prepare = (call: Call): Effect.Effect<Prepared, JournalError> =>
    Effect.catchDefect(look(call), (bug) =>
      Effect.map(crashed(call.name, bug), (why): Prepared => ({ _tag: "Rejected", call, why })),
    )

  /** Without asking anybody. */
  const isAllowed = (prepared: Prepared) =>
    prepared._tag === "Rejected"
      ? Effect.succeed(false)
      : Effect.map(permissions.settle(prepared.ask.call), ({ decision }) => decision === "allow")

  const mayStartEarly = Effect.fnUntraced(function* (prepared: Prepared) {
    if (prepared._tag === "Rejected" || !prepared.invocation.readOnly || !prepared.invocation.concurrencySafe)
      return false
    const { concerns } = yield* HookEngine
    return !concerns("PreToolUse", prepared.tool.name) && (yield* isAllowed(prepared))
  })

  /**
   * The steps of a call: look-up with aliases, schema and effects (`look`), semantic checks, the classifier's early start, whoever
   * speaks before a tool, the decision, the denial, the budget, the record of the attempt, the run, the bounds of its result, whoever
   * speaks after a tool, what else it says to the model, and what kind of end it was.
   */
  const attempt = Effect.fnUntraced(function* (prepared: Ready) {
    // What a call would touch is judged by the world as it is now, not as it was when the model made the call.
    const found = prepared.asOf === changes ? prepared : yield* look(prepared.call)
    if (found._tag === "Rejected") return yield* answer(found.call, "failed", found.why)
    const valid = yield* Effect.result(found.invocation.validate)
    if (valid._tag === "Failure") return yield* answer(found.call, "failed", valid.failure.message)

    // Hooks may take their time; the classifier judges meanwhile.
    const { concerns } = yield* HookEngine
    const foreseen = concerns("PreToolUse", found.tool.name) ? yield* permissions.foresee(found.ask) : undefined
    const spoken = yield* spokenAbout(found)
    if (spoken._tag === "Rejected") return yield* answer(spoken.call, "failed", spoken.why)

    const decided = yield* permissions.decide(spoken.ask, foreseen)
    const { ready, decision } = yield* rewritten(spoken, decided)
    if (ready._tag === "Rejected") return yield* answer(ready.call, "failed", ready.why)
    const { call } = ready
    yield* decidedOn(ready, decision)
    if (decision.behavior === "deny") return yield* answer(call, "denied", `Permission denied: ${decision.reason}`)
    if (decision.by === "person" && !(yield* isStill(ready))) {
      return yield* answer(
        call,
        "denied",
        "While the user was asked, what this call would touch has changed. Look again.",
      )
    }

    yield* Budget.charge({ toolCalls: 1 })
    const startedAt = yield* Clock.currentTimeMillis
    const evidence = yield* ready.invocation.evidence
    const change = yield* changeOf(ready)
    if (change !== undefined) yield* checkpoints.before(change)
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        yield* began(ready, evidence)
        const exit = yield* running(ready, startedAt, restore)
        const { outcome, result } = yield* judged(ready, exit, restore)
        const content = yield* bounded(result.content, ready.tool.maxResultChars, call.id)
        const after = yield* heardAfter(ready, outcome, { ...result, content }, startedAt, restore)
        yield* end(call, outcome, { ...result, content: after.updatedOutput ?? content }, startedAt)
        yield* also(ready, [...(result.messages ?? []), ...after.context], result.controls)
        return outcome
      }).pipe(Effect.ensuring(change === undefined ? Effect.void : checkpoints.after(change))),
    )
  })

  /** What it may change: the files it names, any if it names none, or if hooks run behind it. */
  const changeOf = Effect.fnUntraced(function* ({ ask, call, invocation, tool }: Ready) {
    if (invocation.readOnly) return undefined
    const { executes, writes } = yield* invocation.effects
    if (writes?.length === 0) return undefined
    const { concerns } = yield* HookEngine
    const isNamed = executes === undefined && writes !== undefined && !concerns("PostToolUse", tool.name)
    const paths = isNamed ? ask.call.paths?.flatMap(({ kind, real }) => (kind === "write" ? [real] : [])) : undefined
    const change: Change = { id: call.id, ...(paths !== undefined && { paths }) }
    return change
  })

  /** PreToolUse. What is said there goes into the decision; other arguments are looked at like the model's. */
  const spokenAbout = Effect.fnUntraced(function* (found: Ready) {
    const { answers, context, hook, updatedInput } = yield* hooks.before(found)
    yield* also(found, context, undefined)
    const ready = updatedInput === undefined ? found : yield* look({ ...found.call, input: updatedInput })
    if (ready._tag === "Rejected" || hook === undefined) return ready
    const { opinion, ...unasked } = ready.ask.call
    const call = answers || opinion === undefined ? unasked : { ...unasked, opinion }
    return { ...ready, ask: { ...ready.ask, call: { ...call, hook } } }
  })

  /** PostToolUse. An interrupt ends the hooks, never the record of what the tool has done. */
  const heardAfter = Effect.fnUntraced(function* (
    ready: Ready,
    outcome: ToolOutcome,
    result: RawOutput,
    startedAt: number,
    restore: Restore,
  ) {
    const silence: ToolHooks.After = { context: [] }
    if (outcome !== "completed" && outcome !== "failed") return silence
    const durationMs = (yield* Clock.currentTimeMillis) - startedAt
    const heard = yield* Effect.exit(restore(hooks.after(ready, outcome, result, durationMs)))
    if (heard._tag === "Success") return heard.value
    if (!Cause.hasInterrupts(heard.cause)) yield* Effect.logError("Hooks after a tool crashed", heard.cause)
    return silence
  })

  /** Arguments that a person put in are judged like the model's, except that nobody is asked again. */
  const rewritten = Effect.fnUntraced(function* (found: Ready, decision: Decision) {
    if (decision.updatedInput === undefined) return { ready: found, decision }
    const ready = yield* look({ ...found.call, input: decision.updatedInput })
    if (ready._tag === "Rejected") return { ready, decision }
    const valid = yield* Effect.result(ready.invocation.validate)
    if (valid._tag === "Failure") {
      const rejected: Prepared = { _tag: "Rejected", call: found.call, why: valid.failure.message }
      return { ready: rejected, decision }
    }
    const settled = yield* permissions.settle(ready.ask.call)
    // A hook answers for a person, but a rule that wants a person to be asked is about what the person would see.
    const isOpen = settled.decision === "deny" || (decision.by === "hook" && settled.step === "ask-rule")
    const denied: Decision = { behavior: "deny", reason: settled.reason, by: "rule", step: settled.step }
    return { ready, decision: isOpen ? denied : decision }
  })

  const decidedOn = Effect.fnUntraced(function* ({ call, tool, ask }: Ready, decision: Decision) {
    const { behavior, by, reason, step } = decision
    yield* recorder.emit({
      _tag: "PermissionDecided",
      toolUseId: call.id,
      tool: tool.name,
      behavior,
      reason,
      by,
      step,
      ...(decision.rules !== undefined && { rules: decision.rules }),
      ...(ask.call.touches.length > 0 && { effects: ask.call.touches.slice(0, mostRecorded) }),
    })
  })

  /** A person answers when they like, and the world goes on meanwhile. */
  const isStill = Effect.fnUntraced(function* ({ call, ask }: Ready) {
    const now = yield* look(call)
    return now._tag === "Ready" && JSON.stringify(now.ask) === JSON.stringify(ask)
  })

  const began = Effect.fnUntraced(function* (
    { call, tool, invocation }: Ready,
    evidence: Readonly<Record<string, string>>,
  ) {
    yield* recorder.emit({
      _tag: "ToolStarted",
      toolUseId: call.id,
      tool: tool.name,
      input: call.input,
      idempotency: invocation.idempotency,
      ...(Object.keys(evidence).length > 0 && { evidence }),
    })
    // What may not happen twice must be known to have begun, whatever happens to the machine.
    if (invocation.idempotency === "once") yield* recorder.journal.sync
  })

  /** An interrupt reaches the work, never the records around it. */
  const running = Effect.fnUntraced(function* ({ call, tool, invocation }: Ready, startedAt: number, restore: Restore) {
    const progress = (text: string, data?: unknown) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        recorder.show({
          _tag: "ToolProgressed",
          toolUseId: call.id,
          tool: tool.name,
          text,
          ...(data !== undefined && { data }),
          elapsedMs: now - startedAt,
        }),
      )
    if (!invocation.readOnly) changes++
    const work = invocation.run({ toolUseId: call.id, progress })
    const exit = yield* Effect.exit(tool.interruptBehavior === "block" ? work : restore(work))
    if (!invocation.readOnly) changes++
    return exit
  })

  /** How it ended: done, failed with what the tool says, interrupted, or by a bug. */
  const judged = Effect.fnUntraced(function* (
    { tool }: Ready,
    exit: Effect.Success<ReturnType<typeof running>>,
    restore: Restore,
  ): Effect.fn.Return<{ readonly outcome: ToolOutcome; readonly result: RawOutput }, JournalError> {
    if (exit._tag === "Success") return { outcome: "completed", result: exit.value }
    const failed = (content: ToolResultContent, structured?: unknown) =>
      ({ outcome: "failed", result: { content, ...(structured !== undefined && { structured }) } }) as const
    const failure = Cause.findErrorOption(exit.cause)
    if (failure._tag === "Some") return failed(failure.value.message, failure.value.structured)
    if (Cause.hasInterrupts(exit.cause)) {
      // Ours: the turn ends and answers the call. The tool's own: it is a failure like any other.
      yield* restore(Effect.void)
      return failed(`${tool.name} was interrupted from within.`)
    }
    return failed(yield* crashed(tool.name, Cause.squash(exit.cause)))
  })

  /** What else comes of it: words for the model, and another mode or model if the tool ran alone. */
  const also = Effect.fnUntraced(function* (
    { call, invocation }: Ready,
    messages: ReadonlyArray<string>,
    change: RawOutput["controls"],
  ) {
    const { lastPromptId } = recorder.history
    for (const content of messages) {
      yield* recorder.emit({
        _tag: "PromptReceived",
        uuid: yield* Ids.uuid,
        promptId: lastPromptId ?? call.id,
        content,
        delivery: "between_rounds",
        harness: true,
        toolUseId: call.id,
      })
    }
    if (change !== undefined && !invocation.concurrencySafe) yield* controls.change(call.name, change)
  })

  const run = (prepared: Prepared) =>
    prepared._tag === "Rejected"
      ? answer(prepared.call, "failed", prepared.why)
      : Effect.catchDefect(attempt(prepared), (bug) =>
          Effect.flatMap(crashed(prepared.tool.name, bug), (why) => answer(prepared.call, "failed", why)),
        )

  const settle = Effect.fnUntraced(function* ({
    toolUseId: id,
    tool: name,
    input,
    malformedInput,
    started,
    asked,
  }: PendingCall) {
    const call = { id, name, input, malformedInput }
    // The question outlived the session: it is put again.
    if (started === undefined && asked === true) return yield* run(yield* prepare(call))
    if (started === undefined) {
      return yield* answer(call, "cancelled", "The session ended before this call was started. It was not run.")
    }
    const prepared = yield* prepare(call)
    if (started.idempotency !== "once" && (yield* isAllowed(prepared))) return yield* run(prepared)
    const found = prepared._tag === "Ready" ? yield* prepared.invocation.judge(started.evidence) : undefined
    return yield* answer(call, "unknown", found === undefined ? unknown : `${unknown}\n${found}`)
  })

  return ToolRunner.of({ prepare, mayStartEarly, run, settle: (call) => Effect.asVoid(settle(call)), answer })
})

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** A command line may touch more than anybody wants to read. */
const mostRecorded = 50

const unknown =
  "The session ended while this call was running, so its outcome is unknown: it may have happened completely, in part or not at " +
  "all. It was not repeated. Find out what is the case before you do it again."
