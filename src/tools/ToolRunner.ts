/**
 * Owns the one gate that every tool call passes: look up, decode, validate, permit, record, run, bound, answer.
 *
 * A call never fails towards the model's side: whatever goes wrong becomes a result the model can act on. Only a journal that
 * cannot be written and a budget that is spent end the work.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Budget from "../kernel/Budget.ts"
import * as Ids from "../kernel/Ids.ts"
import * as Permissions from "../permissions/Permissions.ts"
import { Files } from "../platform/Files.ts"
import type { ToolResultContent } from "../protocol/Content.ts"
import type { EventOf, ToolOutcome } from "../protocol/Event.ts"
import { Controls } from "../session/Controls.ts"
import type { PendingCall } from "../session/History.ts"
import type { JournalError } from "../session/JournalError.ts"
import { Recorder } from "../session/Recorder.ts"
import type { Invocation, Tool } from "./Tool.ts"
import { ToolCatalog } from "./ToolCatalog.ts"
import { Workspace } from "./Workspace.ts"

/** A call as the model made it. */
export interface Call {
  readonly id: string
  readonly name: string
  readonly input: unknown
  /** The arguments as they arrived, when they are not JSON. Nobody guesses what was meant. */
  readonly malformedInput?: string | undefined
}

/** A call that may be tried, with what it would do. */
export interface Ready {
  readonly _tag: "Ready"
  readonly call: Call
  readonly tool: Tool<never>
  readonly invocation: Invocation<never>
  readonly ask: Permissions.Ask
  /** How many calls had changed something when this was found out. */
  readonly asOf: number
}

/** A call that cannot be tried, and why, in words for the model. */
export interface Rejected {
  readonly _tag: "Rejected"
  readonly call: Call
  readonly why: string
}

export type Prepared = Ready | Rejected
export type ToolEnded = EventOf<"ToolEnded">

export class ToolRunner extends Context.Service<
  ToolRunner,
  {
    /** Finds out what a call would do. Nothing runs and nobody is asked. */
    readonly prepare: (call: Call) => Effect.Effect<Prepared, JournalError>
    /** It only reads, may run beside others, and nobody has to be asked: it may start while the model still speaks. */
    readonly mayStartEarly: (prepared: Prepared) => Effect.Effect<boolean>
    /** Runs a call to its recorded end; an interrupted one is left to whoever interrupted it. */
    readonly run: (prepared: Prepared) => Effect.Effect<void, JournalError | Budget.BudgetExceeded>
    /** After a crash: what can be repeated without harm is run again, what cannot is reported as unknown. */
    readonly settle: (call: PendingCall) => Effect.Effect<void, JournalError | Budget.BudgetExceeded>
    /** Answers a call that will not run. */
    readonly answer: (
      call: Pick<Call, "id" | "name">,
      outcome: Exclude<ToolOutcome, "completed">,
      why: string,
    ) => Effect.Effect<void, JournalError>
  }
>()("troupe/tools/ToolRunner") {
  static readonly layer = (
    rules: Permissions.Rules,
  ): Layer.Layer<ToolRunner, never, ToolCatalog | Recorder | Controls | Workspace | Files> =>
    Layer.effect(ToolRunner, make(rules))
}

const make = Effect.fnUntraced(function* (rules: Permissions.Rules) {
  const catalog = yield* ToolCatalog
  const recorder = yield* Recorder
  const controls = yield* Controls
  const workspace = yield* Workspace
  const files = yield* Files

  const end = Effect.fnUntraced(function* (
    call: Pick<Call, "id" | "name">,
    outcome: ToolOutcome,
    result: { readonly content: ToolResultContent; readonly structured?: unknown },
    startedAt: number,
  ) {
    yield* recorder.emit({
      _tag: "ToolEnded",
      uuid: yield* Ids.uuid,
      toolUseId: call.id,
      tool: call.name,
      outcome,
      content: result.content,
      ...(result.structured !== undefined && { structured: result.structured }),
      durationMs: (yield* Clock.currentTimeMillis) - startedAt,
    })
  })

  const answer: ToolRunner["Service"]["answer"] = Effect.fnUntraced(function* (call, outcome, why) {
    yield* end(call, outcome, { content: why }, yield* Clock.currentTimeMillis)
  })

  /** A tool's bug is the tool's: the call is answered, the session goes on and says what happened. */
  const crashed = Effect.fnUntraced(function* (tool: string, bug: unknown) {
    const why = `${tool} crashed: ${bug instanceof Error ? bug.message : String(bug)}`
    yield* recorder.emit({ _tag: "Diagnosed", level: "error", message: why })
    return `${why}. This is a defect of the tool, not of the call.`
  })

  const prepare = (call: Call): Effect.Effect<Prepared, JournalError> =>
    Effect.catchDefect(examine(call), (bug) =>
      Effect.map(crashed(call.name, bug), (why): Prepared => ({ _tag: "Rejected", call, why })),
    )

  const examine = Effect.fnUntraced(function* (call: Call): Effect.fn.Return<Prepared> {
    const rejected = (why: string): Rejected => ({ _tag: "Rejected", call, why })
    if (call.malformedInput !== undefined) return rejected(malformed(call.name, call.malformedInput))
    const tool = catalog.find(call.name)
    if (tool === undefined) {
      return rejected(
        `There is no tool named ${call.name}. The tools of this session are: ${catalog.names().join(", ")}.`,
      )
    }
    const decoded = yield* Effect.result(tool.decode(call.input))
    if (decoded._tag === "Failure") return rejected(decoded.failure.message)
    const invocation = decoded.success
    const { reads = [], writes = [], executes } = yield* invocation.effects
    const paths = [...new Set([...reads, ...writes])]
    const outside = yield* Effect.filter(paths, (path) => Effect.map(workspace.contains(path), (inside) => !inside))
    // By the name it was given and by the place it leads to: a link must not make a guarded file look harmless.
    const sensitive = yield* Effect.filter(writes, (path) =>
      Effect.map(workspace.real(path), (real) => workspace.isSensitive(path) || workspace.isSensitive(real)),
    )
    const ask: Permissions.Ask = {
      toolUseId: call.id,
      tool: tool.name,
      input: invocation.input,
      summary: invocation.summary,
      readOnly: invocation.readOnly,
      reads,
      writes,
      executes,
      outside,
      sensitive,
    }
    return { _tag: "Ready", call, tool, invocation, ask, asOf: changes }
  })

  /** Calls that may have changed something: a link, the directory that paths start from. */
  let changes = 0

  /** Without asking anybody. */
  const isAllowed = Effect.fnUntraced(function* (prepared: Prepared) {
    if (prepared._tag === "Rejected") return false
    const { permissionMode } = yield* controls.current
    const decision = Permissions.settle(prepared.ask, permissionMode, rules)
    return decision !== "ask" && decision.behavior === "allow"
  })

  const mayStartEarly = Effect.fnUntraced(function* (prepared: Prepared) {
    if (prepared._tag === "Rejected" || !prepared.invocation.readOnly || !prepared.invocation.concurrencySafe)
      return false
    return yield* isAllowed(prepared)
  })

  /** A person answers when they like, and the world goes on meanwhile. */
  const isStill = Effect.fnUntraced(function* ({ call, ask }: Ready) {
    const now = yield* examine(call)
    return now._tag === "Ready" && JSON.stringify(now.ask) === JSON.stringify(ask)
  })

  /** Everything between "may be tried" and "has run"; what fails here is an answer to the model. */
  const attempt = Effect.fnUntraced(function* (prepared: Ready) {
    // What a call would touch is judged by the world as it is now, not as it was when the model made the call.
    const ready = prepared.asOf === changes ? prepared : yield* examine(prepared.call)
    if (ready._tag === "Rejected") return yield* answer(ready.call, "failed", ready.why)
    const { call, tool, invocation, ask } = ready
    const valid = yield* Effect.result(invocation.validate)
    if (valid._tag === "Failure") return yield* answer(call, "failed", valid.failure.message)

    const { permissionMode } = yield* controls.current
    const decision = yield* Permissions.decide(ask, permissionMode, rules)
    yield* recorder.emit({
      _tag: "PermissionDecided",
      toolUseId: call.id,
      tool: tool.name,
      behavior: decision.behavior,
      reason: decision.reason,
      by: decision.by,
    })
    if (decision.behavior === "deny") return yield* answer(call, "denied", `Permission denied: ${decision.reason}`)
    if (decision.by === "person" && !(yield* isStill(ready))) {
      return yield* answer(
        call,
        "denied",
        "While the user was asked, what this call would touch has changed. Look again.",
      )
    }
    const startedAt = yield* Clock.currentTimeMillis

    yield* Budget.charge({ toolCalls: 1 })
    const evidence = yield* invocation.evidence
    return yield* Effect.uninterruptibleMask((restore) => perform(ready, evidence, startedAt, restore))
  })

  /** From the record that it begins to the record of how it ended: an interrupt reaches the work, never the records. */
  const perform = Effect.fnUntraced(function* (
    { call, tool, invocation }: Ready,
    evidence: Readonly<Record<string, string>>,
    startedAt: number,
    restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>,
  ) {
    yield* recorder.emit({
      _tag: "ToolStarted",
      toolUseId: call.id,
      tool: tool.name,
      input: call.input,
      idempotency: invocation.idempotency,
      ...(Object.keys(evidence).length > 0 && { evidence }),
    })
    if (!invocation.readOnly) changes++
    // What may not happen twice must be known to have begun, whatever happens to the machine.
    if (invocation.idempotency === "once") yield* recorder.journal.sync

    const progress = (text: string) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        recorder.show({
          _tag: "ToolProgressed",
          toolUseId: call.id,
          tool: tool.name,
          text,
          elapsedMs: now - startedAt,
        }),
      )
    const work = invocation.run({ toolUseId: call.id, progress })
    const exit = yield* Effect.exit(tool.interruptBehavior === "block" ? work : restore(work))
    if (!invocation.readOnly) changes++
    if (exit._tag === "Success") {
      const content = yield* bounded(exit.value.content, tool.maxResultChars, call.id)
      return yield* end(call, "completed", { ...exit.value, content }, startedAt)
    }
    const failure = Cause.findErrorOption(exit.cause)
    if (failure._tag === "Some") {
      const { message, structured } = failure.value
      const content = yield* bounded(message, tool.maxResultChars, call.id)
      return yield* end(call, "failed", { content, structured }, startedAt)
    }
    if (Cause.hasInterrupts(exit.cause)) {
      // Ours: the turn ends and answers the call. The tool's own: it is a failure like any other.
      yield* restore(Effect.void)
      return yield* end(call, "failed", { content: `${tool.name} was interrupted from within.` }, startedAt)
    }
    return yield* end(call, "failed", { content: yield* crashed(tool.name, Cause.squash(exit.cause)) }, startedAt)
  })

  /** A result that is too long goes to disk; the model gets its beginning and the way to the rest. */
  const bounded = Effect.fnUntraced(function* (content: ToolResultContent, limit: number, callId: string) {
    if (typeof content !== "string" || content.length <= limit) return content
    const path = `${workspace.spillDir}/${callId}.txt`
    const saved = yield* Effect.result(files.writeAtomic(path, content, { mode: 0o600, makeParents: true }))
    const rest =
      saved._tag === "Success" ? `The whole output is in ${path}` : `The rest is lost: ${saved.failure.message}`
    return [
      "<persisted-output>",
      `The output has ${content.length} characters, more than fit here. ${rest}`,
      "",
      `Its first ${previewChars} characters:`,
      content.slice(0, previewChars),
      "</persisted-output>",
    ].join("\n")
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
  }: PendingCall) {
    const call = { id, name, input, malformedInput }
    if (started === undefined) {
      return yield* answer(call, "cancelled", "The session ended before this call was started. It was not run.")
    }
    const prepared = yield* prepare(call)
    if (started.idempotency !== "once" && (yield* isAllowed(prepared))) return yield* run(prepared)
    const found = prepared._tag === "Ready" ? yield* prepared.invocation.judge(started.evidence) : undefined
    yield* answer(call, "unknown", found === undefined ? unknown : `${unknown}\n${found}`)
  })

  return ToolRunner.of({
    prepare,
    mayStartEarly,
    run,
    settle,
    answer,
  })
})

const previewChars = 2_000

const unknown =
  "The session ended while this call was running, so its outcome is unknown: it may have happened completely, in part or not at " +
  "all. It was not repeated. Find out what is the case before you do it again."

const malformed = (tool: string, raw: string): string => {
  const shown = raw.length > 200 ? `${raw.slice(0, 200)}… (${raw.length} characters)` : raw
  return (
    `The arguments of this ${tool} call are not complete, valid JSON, so it was not run: ${shown}\n` +
    "Send the call again with complete arguments; split a very long one into several calls."
  )
}
