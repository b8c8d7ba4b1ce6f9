/** Owns the hooks of a session from its beginning to its end: its engine, who judges for them, and the two events around everything. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HookEngine from "../hooks/HookEngine.ts"
import { HookAgent, type HookAgentRequest } from "../hooks/run/RunModel.ts"
import type { Verdict } from "../hooks/Verdict.ts"
import * as Ids from "../kernel/Ids.ts"
import * as SideQuery from "../model/SideQuery.ts"
import { text } from "../protocol/Content.ts"
import type { ControlsShape } from "../session/Controls.ts"
import type { RecorderShape } from "../session/Recorder.ts"
import type { SettingsLayer } from "../settings/SettingsLayer.ts"
import type { AgentDefinition } from "./Definition.ts"
import { remind } from "./Remind.ts"
import type { SessionHook } from "./SessionHook.ts"
import type { Subagents } from "./Subagents.ts"

/** How often in a row a hook may keep a turn from ending (`CLAUDE_CODE_STOP_HOOK_BLOCK_CAP`). */
export const StopHoldCap = Context.Reference<number>("troupe/agents/SessionHooks/StopHoldCap", {
  defaultValue: () => 8,
})

export interface Hooked {
  readonly sessionId: string
  readonly cwd: string
  readonly shellDirectory: () => string
  /** The settings it begins with. */
  readonly layers: ReadonlyArray<SettingsLayer>
  /** The agent that the session is. */
  readonly agent: AgentDefinition | undefined
  /** Functions that hear of events. */
  readonly clients: ReadonlyArray<SessionHook>
  readonly recorder: RecorderShape
  readonly controls: ControlsShape
  /** Sends out the agent of a hook. */
  readonly judge: Subagents["Service"]["send"]
}

/** The engine with what settings, the agent and clients have for it. */
export const make = Effect.fnUntraced(function* (session: Hooked) {
  const { agent, controls, cwd, judge, layers, recorder, sessionId } = session
  const engine = yield* HookEngine.make({
    sessionId,
    recorder,
    controls,
    transcriptPath: recorder.transcript.path,
    projectDir: cwd,
    cwd: session.shellDirectory,
    promptId: () => recorder.history.lastPromptId,
    ...(agent !== undefined && { agentType: agent.name }),
    layers,
  }).pipe(Effect.provideService(HookAgent, { judge: (request) => judged(judge, request) }))
  const complain = (message: string) => recorder.emit({ _tag: "Diagnosed", level: "warning", message })
  if (agent?.hooks !== undefined) {
    const file = agent.origin.file === undefined ? {} : { file: agent.origin.file }
    const origin = { scope: "agent", name: agent.name, isSession: true, ...file } as const
    const problems = yield* engine.register(agent.hooks, origin)
    yield* Effect.forEach(problems, complain, { discard: true })
  }
  for (const { event, run, ...options } of session.clients) {
    yield* Effect.catchTag(engine.on(event, run, options), "BadMatcher", ({ message }) => complain(message))
  }
  return engine
})

export interface Beginning {
  readonly source: "startup" | "resume" | "fork"
  readonly model: string
  /** `--init`, `--maintenance`: the project is to be prepared first. */
  readonly setup: "init" | "maintenance" | undefined
  /** Said with the event that the session ends with. */
  readonly reason: () => string
}

/** Hears the hooks that a session begins with, and sees to those that it ends with. Answers what they want of the session. */
export const begin = Effect.fnUntraced(function* (
  engine: HookEngine.HookEngineShape,
  recorder: RecorderShape,
  { model, reason, setup, source }: Beginning,
) {
  yield* Effect.addFinalizer(() => Effect.suspend(() => engine.fire("SessionEnd", { reason: reason() })))
  const hear = (event: "Setup" | "SessionStart", { context }: Verdict) => remind(recorder, `hook ${event}`, context)
  if (setup !== undefined) yield* hear("Setup", yield* engine.fire("Setup", { trigger: setup }))
  const { title } = recorder.history
  const titled = title === undefined ? {} : { session_title: title }
  const started = yield* engine.fire("SessionStart", { source, model, ...titled })
  yield* hear("SessionStart", started)
  if (started.sessionTitle !== undefined) {
    yield* recorder.emit({ _tag: "SessionTitled", title: started.sessionTitle, by: "hook SessionStart" })
  }
  return { initialPrompt: started.initialUserMessage, reloadSkills: started.reloadSkills === true }
})

/** An agent that may look around, and around which no hooks run. */
const judged = Effect.fnUntraced(function* (send: Hooked["judge"], request: HookAgentRequest) {
  const errand = send({
    agentType: "hook",
    description: "judge for a hook",
    prompt: request.prompt,
    toolUseId: yield* Ids.short("hook"),
    system: [text("You judge for a hook of a coding agent. Look at what you need with your tools; change nothing.")],
    model: request.model ?? SideQuery.small,
    permissionMode: "dontAsk",
    tools: request.tools,
    maxTurns: request.maxTurns,
    unhooked: true,
  })
  const report = yield* Effect.mapError(errand, ({ message }) => message)
  return report.text
})
