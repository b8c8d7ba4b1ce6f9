/** Owns one run of a hook: what it is told, how long it may take, who runs it, and the record of it. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Ids from "../kernel/Ids.ts"
import { Model } from "../model/Model.ts"
import { Host } from "../platform/Host.ts"
import { HttpFetch } from "../platform/HttpFetch.ts"
import { Process } from "../platform/Process.ts"
import type { ControlsShape } from "../session/Controls.ts"
import type { RecorderShape } from "../session/Recorder.ts"
import { describe, type Handler, placeOf } from "./Handler.ts"
import { usualSeconds } from "./HookEvent.ts"
import { type HookEventName, specOf } from "./HookEvents.ts"
import type { HookMemory } from "./HookMemory.ts"
import { isTerminalSequence } from "./HookOutput.ts"
import * as Reply from "./Reply.ts"
import type { HookRun } from "./run/HookRun.ts"
import * as RunCommand from "./run/RunCommand.ts"
import * as RunHttp from "./run/RunHttp.ts"
import * as RunMcp from "./run/RunMcp.ts"
import * as RunModel from "./run/RunModel.ts"

/** A session, as far as its hooks are told of it. */
export interface SessionFacts {
  readonly sessionId: string
  readonly recorder: RecorderShape
  readonly controls: Pick<ControlsShape, "current">
  readonly transcriptPath: string
  /** Where the session was opened. */
  readonly projectDir: string
  /** The shell's directory. */
  readonly cwd: () => string
  readonly promptId: () => string | undefined
  /** `--agent`: the session is one. */
  readonly agentType?: string | undefined
}

/** A subagent of it. */
export interface AgentFacts {
  readonly agentId: string
  readonly agentType: string
  /** Its own, where it has some. */
  readonly recorder?: RecorderShape | undefined
  readonly controls?: Pick<ControlsShape, "current"> | undefined
  readonly cwd?: (() => string) | undefined
}

/** One occurrence of an event. */
export interface Occurrence {
  readonly event: HookEventName
  readonly fields: object
  readonly subject: string | undefined
  readonly toolUseId: string | undefined
  readonly agent: AgentFacts | undefined
  readonly http: RunHttp.HttpLimits
}

/** Kept of what it printed, beside the record. */
const mostKept = 10_000

export const make = Effect.fnUntraced(function* (session: SessionFacts, memory: HookMemory) {
  const services = Context.pick(Process, Host)(yield* Effect.context<Process | Host>())
  const model = yield* Effect.serviceOption(Model)
  const fetch = yield* Effect.serviceOption(HttpFetch)
  const { env } = yield* Host
  // Those of the session; an event may be fired where nobody knows them.
  const mcp = yield* RunMcp.HookMcp
  const agent = yield* RunModel.HookAgent
  const endBudget = Number(env("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS"))

  /** Of the agent that the event is about. */
  const controlsOf = (agent: AgentFacts | undefined) => (agent?.controls ?? session.controls).current

  const inputOf = Effect.fnUntraced(function* ({ agent, event, fields }: Occurrence) {
    const { carries } = specOf(event)
    const promptId = session.promptId()
    const { effort, permissionMode } = yield* controlsOf(agent)
    const agentType = agent?.agentType ?? session.agentType
    const input: Readonly<Record<string, unknown>> = {
      session_id: session.sessionId,
      ...(promptId !== undefined && { prompt_id: promptId }),
      transcript_path: session.transcriptPath,
      cwd: (agent?.cwd ?? session.cwd)(),
      ...(carries.includes("permission_mode") && { permission_mode: permissionMode }),
      ...(carries.includes("effort") && effort !== undefined && { effort: { level: effort } }),
      ...(agent !== undefined && { agent_id: agent.agentId }),
      ...(agentType !== undefined && { agent_type: agentType }),
      hook_event_name: event,
      ...fields,
    }
    return input
  })

  /** Whoever runs it: nothing of it is lost, and its end is a value. */
  const perform = (handler: Handler, given: HookRun, http: RunHttp.HttpLimits): Effect.Effect<Reply.Ending> => {
    const { action } = handler
    if (action.type === "command") return Effect.provideContext(RunCommand.run(action, given), services)
    const work = (): Effect.Effect<Reply.Ending> => {
      switch (action.type) {
        case "http":
          return Effect.provideContext(RunHttp.run(action, given, http, fetch), services)
        case "mcp_tool":
          return Effect.provideService(RunMcp.run(action, given), RunMcp.HookMcp, mcp)
        case "prompt":
          return RunModel.prompt(action, given, model)
        case "agent":
          return Effect.provideService(RunModel.agent(action, given), RunModel.HookAgent, agent)
        case "function":
          return Effect.map(action.run(given.input, given.toolUseId), (value): Reply.Ending => ({
            _tag: "Returned",
            value: isAsyncOutput(value) ? undefined : value,
          }))
      }
    }
    return Effect.suspend(work).pipe(
      Effect.timeoutOption(given.seconds * 1000),
      Effect.map(Option.getOrElse((): Reply.Ending => ({ _tag: "TimedOut", seconds: given.seconds }))),
    )
  }

  const record = Effect.fnUntraced(function* (reply: Reply.Reply, id: string, begun: number, occurrence: Occurrence) {
    const { ending, handler, output } = reply
    const { agent, event, toolUseId } = occurrence
    const detail = reply.blocked ?? reply.stopped ?? reply.told ?? reply.problem ?? reply.shown
    const printed = ending._tag === "Exited" ? ending : { stdout: "", stderr: "" }
    const { terminalSequence } = output
    const source = placeOf(handler)
    const durationMs = (yield* Clock.currentTimeMillis) - begun
    const ran = {
      hookId: id,
      hookEvent: event,
      name: reply.name,
      what: describe(handler),
      source,
      kind: handler.action.type,
      outcome: reply.outcome,
      durationMs,
      ...(ending._tag === "Exited" && handler.action.type === "command" && { exitCode: ending.exitCode }),
      ...(toolUseId !== undefined && { toolUseId }),
      ...(detail !== undefined && { detail: detail.slice(0, mostKept) }),
      ...(printed.stdout !== "" && { stdout: printed.stdout.slice(0, mostKept) }),
      ...(printed.stderr !== "" && { stderr: printed.stderr.slice(0, mostKept) }),
      ...(terminalSequence !== undefined && isTerminalSequence(terminalSequence) && { terminalSequence }),
      ...(agent !== undefined && { agentId: agent.agentId }),
    }
    yield* Effect.logDebug(`Hook ${reply.name} ${reply.outcome}`).pipe(
      Effect.annotateLogs({ category: "hooks", source, durationMs }),
    )
    const recorder = agent?.recorder ?? session.recorder
    yield* recorder.emit({ _tag: "HookRan", ...ran }).pipe(Effect.catch((error) => Effect.logError(error.message)))
  })

  const runOne = Effect.fn("HookEngine.run")(function* (
    handler: Handler,
    given: HookRun,
    occurrence: Occurrence,
    id: string,
  ) {
    const { event, toolUseId } = occurrence
    const { action } = handler
    yield* Effect.annotateCurrentSpan({ event, name: given.name, kind: action.type, source: placeOf(handler) })
    const statusMessage = action.type === "function" ? undefined : action.statusMessage
    yield* (occurrence.agent?.recorder ?? session.recorder).show({
      _tag: "HookStarted",
      hookId: id,
      hookEvent: event,
      name: given.name,
      what: describe(handler),
      ...(statusMessage !== undefined && { statusMessage }),
      ...(toolUseId !== undefined && { toolUseId }),
    })
    const begun = yield* Clock.currentTimeMillis
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const exit = yield* Effect.exit(restore(perform(handler, given, occurrence.http)))
        const reply = yield* memory.boundedReply(
          Reply.read(event, handler, given.name, Exit.isSuccess(exit) ? exit.value : endingOf(exit.cause)),
          id,
        )
        const cancelled = Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)
        yield* record(cancelled ? { ...reply, outcome: "cancelled" } : reply, id, begun, occurrence)
        // Ours: whoever waits is gone. The hook's own: a failure like any other.
        if (cancelled) yield* restore(Effect.void)
        return reply
      }),
    )
  })

  /** Everything the hooks of one occurrence share is made once. */
  return Effect.fnUntraced(function* (occurrence: Occurrence, chosen: ReadonlyArray<Handler>) {
    const { event, subject, toolUseId } = occurrence
    const input = yield* inputOf(occurrence)
    const json = JSON.stringify(input)
    const name = subject === undefined ? event : `${event}:${subject}`
    const { effort } = yield* controlsOf(occurrence.agent)
    const budget = event === "SessionEnd" ? sessionEndSeconds(endBudget, chosen) : Number.POSITIVE_INFINITY
    return Effect.fnUntraced(function* (handler: Handler) {
      const { data, root } = handler.origin
      const id = yield* Ids.uuid
      const envFile =
        specOf(event).envFile === true && handler.action.type === "command"
          ? yield* memory.envFile(event, id)
          : undefined
      const given: HookRun = {
        event,
        name,
        input,
        json,
        seconds: Math.min(secondsOf(event, handler), budget),
        toolUseId,
        cwd: String(input["cwd"]),
        projectDir: session.projectDir,
        variables: {
          ...(effort !== undefined && { CLAUDE_EFFORT: effort }),
          ...(root !== undefined && { CLAUDE_PLUGIN_ROOT: root }),
          ...(data !== undefined && { CLAUDE_PLUGIN_DATA: data }),
          ...(envFile !== undefined && { CLAUDE_ENV_FILE: envFile }),
        },
      }
      const reply = yield* runOne(handler, given, occurrence, id)
      if (envFile !== undefined) yield* memory.keep(event, envFile)
      return reply
    })
  })
})

const endingOf = (cause: Cause.Cause<never>): Reply.Ending => {
  if (Cause.hasInterrupts(cause)) return { _tag: "Failed", why: "was interrupted" }
  const bug = Cause.squash(cause)
  return { _tag: "Failed", why: `crashed: ${bug instanceof Error ? bug.message : String(bug)}` }
}

const isAsyncOutput = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "async" in value && value.async === true

const secondsOf = (event: HookEventName, { action }: Handler): number => {
  if (action.timeout !== undefined) return action.timeout
  const usual = usualSeconds[action.type]
  return action.type === "prompt" || action.type === "agent" ? usual : (specOf(event).seconds ?? usual)
}

const longestEnd = 60

/** Nobody likes to wait at the end: all of them share a short time, which only a person's own settings make longer. */
const sessionEndSeconds = (fromEnv: number, chosen: ReadonlyArray<Handler>): number => {
  if (Number.isFinite(fromEnv) && fromEnv > 0) return fromEnv / 1000
  const asked = chosen.flatMap(({ action, origin }) =>
    action.timeout === undefined || origin.scope === "plugin" ? [] : [action.timeout],
  )
  return Math.min(longestEnd, Math.max(specOf("SessionEnd").seconds ?? 0, ...asked))
}

/** For people: which hook, where it stands, and what is wrong with it. */
export const trouble = (handler: Handler, name: string, problem: string): string =>
  `${placeOf(handler)}: the ${name} hook "${describe(handler).slice(0, 200)}" ${problem}. It is said once; the session goes on.`
