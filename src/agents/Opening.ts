/**
 * Owns the opening of a session: its parts, in the order in which they stand on each other. What is recorded comes first, then who may
 * do what, then what it knows from people's files, then its tools, then the agent; closing its scope ends them in reverse.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Compaction from "../context/compaction/Compaction.ts"
import { ModelTable } from "../cost/ModelTable.ts"
import * as FileHooks from "../hooks/FileHooks.ts"
import { HookEngine } from "../hooks/HookEngine.ts"
import * as ModelHooks from "../hooks/ModelHooks.ts"
import type * as Actor from "../kernel/Actor.ts"
import * as Ids from "../kernel/Ids.ts"
import * as Supervisor from "../kernel/Supervisor.ts"
import { Host } from "../platform/Host.ts"
import { Watch } from "../platform/Watch.ts"
import * as RuleBook from "../permissions/RuleBook.ts"
import * as PathForm from "../policy/PathForm.ts"
import * as RuleMatch from "../policy/RuleMatch.ts"
import type { Effort } from "../protocol/Effort.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import * as About from "../session/About.ts"
import { Checkpoints } from "../session/Checkpoints.ts"
import * as Controls from "../session/Controls.ts"
import type * as History from "../session/History.ts"
import { Settings } from "../settings/Settings.ts"
import * as Skill from "../skills/Skill.ts"
import { SkillFork } from "../skills/SkillTool.ts"
import { FileMemory } from "../tools/FileMemory.ts"
import { Tasks } from "../tools/Tasks.ts"
import type { Tool } from "../tools/Tool.ts"
import { Workspace } from "../tools/Workspace.ts"
import * as Agent from "./Agent.ts"
import type { EndReason } from "./Agent.ts"
import * as AgentListing from "./AgentListing.ts"
import * as Being from "./Being.ts"
import { Briefing } from "./Briefing.ts"
import * as Definition from "./Definition.ts"
import * as Definitions from "./Definitions.ts"
import * as Errands from "./Errands.ts"
import * as Front from "./Front.ts"
import { Moments } from "./Moments.ts"
import * as PromptLatch from "./PromptLatch.ts"
import { remind } from "./Remind.ts"
import * as Rewinding from "./Rewinding.ts"
import * as SessionCheckpoints from "./SessionCheckpoints.ts"
import * as SessionContext from "./SessionContext.ts"
import * as SessionDefaults from "./SessionDefaults.ts"
import type { SessionHook } from "./SessionHook.ts"
import * as SessionHooks from "./SessionHooks.ts"
import * as SessionRoom from "./SessionRoom.ts"
import * as SessionRecord from "./SessionRecord.ts"
import * as SessionMoments from "./SessionMoments.ts"
import * as SessionTools from "./SessionTools.ts"
import * as StructuredOutput from "./StructuredOutput.ts"
import * as SkillForks from "./SkillForks.ts"
import type { Subagents } from "./Subagents.ts"

export const version = "0.1.0"

/** The id of a session's own agent. */
const main = "main"

/** The output limit of a request, and the one for a reply that needs more. */
export const OutputSlots = Context.Reference<readonly [first: number, large: number]>(
  "troupe/agents/Agents/OutputSlots",
  {
    defaultValue: () => [8_192, 64_000],
  },
)

export interface OpenOptions<R = never> {
  /** Where the agent works; the host's directory unless told. */
  readonly cwd?: string | undefined
  /** A model's name or alias. */
  readonly model?: string | undefined
  /** Takes over when the model is overloaded. */
  readonly fallbackModel?: string | undefined
  readonly permissionMode?: PermissionMode | undefined
  /** How hard the model is to try; its own default unless told. */
  readonly effort?: Effort | undefined
  /** How many replies a turn may take. */
  readonly maxTurns?: number | undefined
  readonly systemPrompt?: string | undefined
  readonly appendSystemPrompt?: string | undefined
  /** Permission rules: `Read`, `Bash(npm test *)`. */
  readonly allowedTools?: ReadonlyArray<string> | undefined
  readonly disallowedTools?: ReadonlyArray<string> | undefined
  /** The tools the model is offered. */
  readonly tools?: ReadonlyArray<Tool<R>> | undefined
  /** More directories to work in. */
  readonly addDirs?: ReadonlyArray<string> | undefined
  /** A JSON Schema that the final answer must fit. */
  readonly jsonSchema?: unknown
  /** The project is to be prepared, or looked after, by its `Setup` hooks first. */
  readonly setup?: "init" | "maintenance" | undefined
  /** Agents of one's own, as JSON: `{"name":{"description":…,"prompt":…}}`. They count more than those in files. */
  readonly agents?: string | undefined
  /** The session is to be this agent: its text, its tools, its model. */
  readonly agent?: string | undefined
  /** Functions that hear of events of this session. */
  readonly hooks?: ReadonlyArray<SessionHook> | undefined
  /** Files are kept before they are changed, so that one can go back; not unless told, and not where settings forbid it. */
  readonly checkpoints?: boolean | undefined
  /** A UUID of one's own choice for a new session. */
  readonly sessionId?: string | undefined
}

/** How a session comes to be opened, and what had to be put right before. */
export interface Origin {
  readonly source: SessionRecord.Source
  readonly problems: ReadonlyArray<string>
}

export const open = Effect.fnUntraced(function* <R>(sessionId: string, origin: Origin, options: OpenOptions<R>) {
  const host = yield* Host
  const table = yield* ModelTable
  const defaults = yield* (yield* SessionDefaults.SessionDefaults).current
  const output = options.jsonSchema === undefined ? undefined : yield* StructuredOutput.make(options.jsonSchema)
  const cwd = options.cwd ?? host.cwd
  const ahead = yield* SessionContext.ahead(cwd)
  const { past, recorder } = yield* SessionRecord.open({ sessionId, agent: main, cwd, version, source: origin.source })
  const { history } = recorder
  const addDirs = [...(defaults.addDirs ?? []), ...(options.addDirs ?? [])]

  // Which agents there are; the session itself may be one of them.
  const definitions = yield* Definitions.make({
    cwd,
    addDirs,
    agents: options.agents,
    trusted: yield* (yield* Settings).trusted,
  })
  const being = yield* Being.become(options.agent ?? defaults.agent, definitions)
  const inherited = being?.definition.model === "inherit" ? undefined : being?.definition.model
  const model = options.model ?? history.controls?.model ?? inherited ?? defaults.model ?? table.defaultModel
  const permissionMode =
    options.permissionMode ?? being?.definition.permissionMode ?? defaults.permissionMode ?? "default"
  const effort = options.effort ?? history.controls?.effort ?? being?.definition.effort ?? defaults.effort
  const began = { model, permissionMode, ...(effort !== undefined && { effort }) }
  // A copy says itself where it comes from.
  const { source } = origin
  const begins = source === "startup" ? { traceId: About.traceOf(sessionId) } : {}
  if (source !== "fork") yield* recorder.emit({ _tag: "SessionStarted", sessionId, cwd, version, source, ...begins })
  yield* recorder.emit({ _tag: "ControlsChanged", ...began, by: source })
  const complain = (message: string) => recorder.emit({ _tag: "Diagnosed", level: "warning", message })
  const problems = [...origin.problems, ...recorder.journal.problems]
  yield* Effect.forEach(problems, complain, { discard: true })

  // Its controls: whoever changes them, one reaction records it.
  const controls = yield* Controls.make(began)
  yield* controls.changes.pipe(
    Stream.runForEach(({ by, after }) => recorder.emit({ _tag: "ControlsChanged", ...after, by })),
    Effect.catchTag("JournalError", (error) => Effect.logError(error.message)),
    Effect.forkScoped({ startImmediately: true }),
  )

  // Its hooks, and what settings say while it is open.
  let shellDirectory = () => cwd
  let isBusy = () => false
  const engine = yield* SessionHooks.make({
    sessionId,
    cwd,
    shellDirectory: () => shellDirectory(),
    recorder,
    controls,
    layers: defaults.layers ?? [],
    agent: being?.definition,
    clients: options.hooks ?? [],
    judge: (errand) => subagents.send(errand),
  })
  const book = yield* SessionDefaults.follow({
    defaults,
    recorder,
    controls,
    cwd,
    home: host.home,
    defaultModel: options.model === undefined ? table.defaultModel : undefined,
    allowedTools: options.allowedTools ?? [],
    disallowedTools: [...(options.disallowedTools ?? []), ...(being?.definition.disallowedTools ?? [])],
  }).pipe(Effect.provideService(HookEngine, engine))

  // What it knows from people's files.
  const start = yield* SessionContext.begin(
    {
      ...ahead,
      cwd,
      addDirs,
      systemPrompt: options.systemPrompt ?? being?.prompt,
      appendSystemPrompt: options.appendSystemPrompt,
      model: table.resolve(model).id,
      hides: (path) => RuleMatch.hidesFile(book.rules().deny, path),
    },
    recorder,
  )
  const isDenied = (agent: string) => RuleMatch.removesAgent(book.rules().deny, agent)
  const { active, failed, reviews } = yield* definitions.current
  const listings = history.latched?.listings ?? { Agent: AgentListing.text(AgentListing.listing(active, isDenied)) }

  // Its tools, the gate before them, and whom they may send out.
  const tools = being === undefined ? (options.tools ?? []) : being.toolsOf(options.tools ?? [])
  const fallbackModel = options.fallbackModel ?? defaults.fallbackModel
  const outputSlots = yield* OutputSlots
  const mostHolds = yield* SessionHooks.StopHoldCap
  const shared = { sessionId, cwd, addDirs, book, recorder, engine, definitions, listings, tools }
  const sender = { ...shared, version, mostHolds, forSkills: [], fallbackModel, outputSlots, depth: 0 }
  const kept = yield* SessionCheckpoints.make({
    recorder,
    wanted: options.checkpoints ?? defaults.checkpoints?.unasked ?? false,
    allowed: defaults.checkpoints?.allowed ?? true,
    cwd,
    addDirs,
    isBusy: () => isBusy(),
  })
  const checkpointed = Effect.provideService(Checkpoints, kept.shape)
  const subagents: Subagents["Service"] = yield* Errands.make(sender).pipe(checkpointed)
  const { catalog, loans, session, skills } = yield* SessionTools.make({
    ...shared,
    controls,
    subagents,
    skills: { told: toldOfSkills(history) },
    model: table.resolve(model).spec,
    past,
  }).pipe(
    Effect.provideService(Briefing, { facts: start.parts.facts, instructions: start.parts.instructions }),
    checkpointed,
  )
  const workspace = Context.get(session, Workspace)
  kept.worksIn(workspace.fence)
  isBusy = () =>
    Context.get(session, Tasks)
      .list()
      .some(({ status }) => status === "running")
  shellDirectory = workspace.cwd
  if (start.memory !== undefined) book.grant(memoryRules(start.memory.directory.path))
  const wrong = [
    ...start.diagnostics,
    ...failed.flatMap(({ diagnostics }) => diagnostics.map(Definition.render)),
    ...reviews.map(
      ({ keys, source: { name } }) =>
        `${name}: ${keys.join(", ")} not in force until you agree to it: look at it with \`troupe config trust\``,
    ),
    ...(yield* skills.catalog).failed.flatMap((one) => one.problems.map(Skill.describe)),
  ]
  yield* Effect.forEach(wrong, complain, { discard: true })

  // The agent, which rebuilds its state from the journal should it crash.
  const fresh = { system: yield* SessionContext.system(start, skills), listings }
  const { system } = yield* PromptLatch.latch(recorder, fresh, cwd)
  const agents = listings["Agent"] ?? ""
  const known = { recorder, engine, start, skills, definitions, toolNews: catalog.news, agents, isDenied }
  const learn = yield* SessionContext.extraction(start, recorder)
  const fork = yield* Effect.provideContext(SkillForks.make, session)
  const feed = yield* SessionContext.feed(known)
  const memory = Context.get(session, FileMemory)
  const settle = yield* SessionRoom.settling({ cwd, recorder }, PromptLatch.latch(recorder, fresh, cwd))
  const rewinding = yield* Rewinding.make({ ground: kept.ground, recorder, feed, skills, memory, settle })
  yield* SessionRoom.recall({ cwd, recorder, skills }, source === "resume")
  const compaction = yield* SessionRoom.make({
    agent: main,
    cwd,
    recorder,
    controls,
    engine,
    system,
    session,
    skills,
    isMain: true,
  })
  const moments = SessionMoments.make({
    engine,
    recorder,
    does: SessionRoom.typed(compaction),
    feed,
    tasks: Context.get(session, Tasks).list,
    mostHolds,
    expand: SessionContext.expanding(skills, fork),
    newPrompt: (promptId) =>
      Effect.all([kept.shape.promptBegan(promptId), loans.end, skills.turnBegan], { discard: true }),
    ended: Option.match(learn, {
      onNone: () => Effect.void,
      onSome: (turnEnded) => Effect.suspend(() => turnEnded(history.messages())),
    }),
  })
  const supervisor = yield* Supervisor.make(`session ${sessionId}`, { strategy: "rest-for-one" })
  const turns = {
    agent: main,
    system,
    maxTurns: options.maxTurns ?? being?.definition.maxTurns ?? Number.MAX_SAFE_INTEGER,
    fallbackModel,
    outputSlots,
    output,
    rests: host.isInteractive,
  }
  const behavior = Agent.behavior(turns, rewinding)
  const ref = yield* supervisor.start(main, behavior).pipe(
    // At its first start an agent has nothing to crash on but a bug.
    Effect.catchTag("Escalated", Effect.die),
    Effect.provideContext(
      session.pipe(
        Context.add(Moments, moments),
        Context.add(SkillFork, fork),
        Context.add(Compaction.Compaction, compaction),
      ),
    ),
  )

  // What goes on beside it: work in the background, hooks that wake it, files that change.
  const tell = (content: string) => notify(ref, content)
  yield* Effect.forkScoped(Stream.runForEach(Context.get(session, Tasks).notices, ({ text }) => tell(text)))
  yield* Effect.forkScoped(Stream.runForEach(engine.wakes, tell))
  yield* FileHooks.follow(engine, shellDirectory)
  yield* ModelHooks.follow(engine, controls, {
    resolve: (name) => table.resolve(name).id,
    say: (message) => Effect.ignore(complain(message)),
    tell: (said) => Effect.ignore(remind(recorder, "hook PostModelSwitch", [said])),
  })
  yield* keepInStep(definitions, skills.follow)

  let endReason: EndReason = "other"
  const { initialPrompt, reloadSkills } = yield* SessionHooks.begin(engine, recorder, {
    source: origin.source,
    model,
    setup: options.setup,
    reason: () => endReason,
  })
  if (reloadSkills) yield* skills.reload
  return Agent.make(ref, {
    cwd,
    problems: [...problems, ...book.rules().problems.map(RuleBook.describe), ...wrong],
    recorder,
    controls,
    catalog,
    initialPrompt: initialPrompt ?? being?.definition.initialPrompt,
    leaving: (reason) => (endReason = reason),
    outputStyle: start.style.name,
    context: compaction.health,
    agentTypes: Effect.map(definitions.current, (now) => now.active),
    commands: skills.help,
    hooks: engine.list,
    front: Front.make({ engine, recorder, workspace, addDirs }),
    checkpoints: rewinding.checkpoints,
  })
})

/** What an earlier life of the session was told of skills, the oldest first. */
const toldOfSkills = ({ latched, told }: History.History): ReadonlyArray<string> => {
  const news = told.get("skills")
  return [...(latched?.system.map(({ text }) => text) ?? []), ...(news === undefined ? [] : [news])]
}

/** The model may read and write what it is to remember. */
const memoryRules = (directory: string): ReadonlyArray<string> =>
  ["Read", "Edit"].map((tool) => `${tool}(/${PathForm.escape(directory)}/**)`)

/** Agents and skills follow their files, where the platform can watch. It begins when the first request is on its way. */
const keepInStep = Effect.fnUntraced(function* (
  definitions: Definitions.DefinitionsShape,
  skills: Effect.Effect<void, never, Watch>,
) {
  const watch = yield* Effect.serviceOption(Watch)
  if (Option.isNone(watch)) return
  const following = Effect.all([Definitions.follow, skills], { concurrency: 2, discard: true }).pipe(
    Effect.provideService(Definitions.Definitions, definitions),
    Effect.provideService(Watch, watch.value),
  )
  yield* Effect.forkScoped(Effect.delay(following, "1 second"))
})

const notify = Effect.fnUntraced(function* (ref: Actor.Ref<typeof Agent.AgentProtocol>, content: string) {
  const letter = { promptId: yield* Ids.uuid, uuid: yield* Ids.uuid, content, harness: true }
  // A session that cannot take it any more has said why.
  yield* Effect.ignore(ref.ask.Steer({ letter, delivery: "between_rounds" }))
})
