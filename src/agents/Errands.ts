/**
 * Owns how an agent that was sent out lives: its own recorder over the session's journal, its own tools behind the same gate, one turn,
 * and its end, whatever that is. Everything belongs to the call that sent it out: interrupting the call ends all of it.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Feed from "../context/Feed.ts"
import { Account } from "../cost/Account.ts"
import * as Compaction from "../context/compaction/Compaction.ts"
import { ModelTable } from "../cost/ModelTable.ts"
import * as HookEngine from "../hooks/HookEngine.ts"
import * as Budget from "../kernel/Budget.ts"
import * as Ids from "../kernel/Ids.ts"
import type { RuleBook } from "../permissions/RuleBook.ts"
import type { Event, EventOf } from "../protocol/Event.ts"
import type { Terminal } from "../protocol/Terminal.ts"
import * as Usage from "../protocol/Usage.ts"
import * as Controls from "../session/Controls.ts"
import * as History from "../session/History.ts"
import * as Recorder from "../session/Recorder.ts"
import * as Transcript from "../session/Transcript.ts"
import { Tasks } from "../tools/Tasks.ts"
import { type Tool, ToolFailure } from "../tools/Tool.ts"
import { Workspace } from "../tools/Workspace.ts"
import type { DefinitionsShape } from "./Definitions.ts"
import * as Interrupts from "./Interrupts.ts"
import { Moments } from "./Moments.ts"
import { remind } from "./Remind.ts"
import * as SessionRoom from "./SessionRoom.ts"
import * as SessionMoments from "./SessionMoments.ts"
import * as SessionTools from "./SessionTools.ts"
import { type Errand, MaxDepth, type Report, Subagents } from "./Subagents.ts"
import * as Turn from "./Turn.ts"

/** Whoever sends agents out: the session's main agent, or one that was sent out itself. */
export interface Sender<R> {
  readonly sessionId: string
  readonly cwd: string
  readonly addDirs: ReadonlyArray<string>
  readonly version: string
  readonly book: RuleBook
  readonly recorder: Recorder.RecorderShape
  readonly engine: HookEngine.HookEngineShape
  readonly mostHolds: number
  readonly definitions: DefinitionsShape
  /** Skills it works for itself. */
  readonly forSkills: ReadonlyArray<string>
  /** The kinds it may send out; any unless told. */
  readonly only?: ReadonlyArray<string> | undefined
  readonly listings: Readonly<Record<string, string>>
  readonly tools: ReadonlyArray<Tool<R>>
  readonly fallbackModel: string | undefined
  readonly outputSlots: readonly [first: number, large: number]
  /** How deep it is itself; the main agent is 0. */
  readonly depth: number
}

export const make: <R>(sender: Sender<R>) => Effect.Effect<Subagents["Service"], never, SessionTools.Needs<R>> =
  Effect.fnUntraced(function* <R>(sender: Sender<R>) {
    const maxDepth = yield* MaxDepth
    // What belongs to the call that sends one out is the call's: its scope, its budget, its account.
    const context = Context.omit(Scope.Scope, Budget.Current, Account)(yield* Effect.context<SessionTools.Needs<R>>())
    const allowed = sender.depth < maxDepth
    return Subagents.of({
      allowed,
      only: sender.only,
      send: Effect.fnUntraced(function* (errand) {
        if (!allowed) return yield* tooDeep(maxDepth)
        return yield* send(sender, errand).pipe(
          Effect.scoped,
          Budget.spawn(`${errand.agentType} agent`),
          Effect.provideContext(context),
          Effect.catchTags({
            BudgetExceeded: (error) => Effect.fail(new ToolFailure({ message: error.message })),
            JournalError: (error) => Effect.fail(new ToolFailure({ message: error.message })),
          }),
        )
      }),
    })
  })

const tooDeep = (depth: number) =>
  new ToolFailure({
    message: `Agents may be nested ${depth} deep, and this one is. Do the work yourself, or report what is left.`,
  })

const send = Effect.fnUntraced(function* <R>(sender: Sender<R>, errand: Errand) {
  const { agentType, description, effort, model, permissionMode, prompt, toolUseId } = errand
  const parent = sender.recorder
  const table = yield* ModelTable
  const account = yield* Account
  const agentId = yield* Ids.short("agent")
  const startedAt = yield* Clock.currentTimeMillis

  const transcript = yield* Transcript.open({
    sessionId: sender.sessionId,
    cwd: sender.cwd,
    version: sender.version,
    path: Transcript.ofAgent(parent.transcript.path, agentId),
    agentId,
  })
  const own = yield* Recorder.make({ agent: agentId, journal: parent.journal, transcript, history: History.make() })
  const seen: Seen = { toolUses: 0, ended: undefined }
  const recorder = shownTo(parent, own, { agentId, toolUseId }, seen)
  const controls = yield* Controls.make({ model, permissionMode, ...(effort !== undefined && { effort }) })
  const transcriptPath = transcript.path
  let shellDirectory = () => sender.cwd
  const engine =
    errand.unhooked === true
      ? HookEngine.silent
      : sender.engine.forAgent({ agentId, agentType, recorder, controls, cwd: () => shellDirectory() })

  const end = Effect.fnUntraced(function* (terminal: Terminal) {
    const { toolUses, ended } = seen
    const { usage = Usage.none, costUsd = 0, turns = 0 } = ended ?? {}
    const durationMs = (yield* Clock.currentTimeMillis) - startedAt
    const spent = { terminal, turns, toolUses, durationMs, usage, costUsd }
    account(usage, costUsd)
    yield* parent.emit({ _tag: "SubagentEnded", agentId, agentType, toolUseId, ...spent })
    const report: Report = { agentId, text: ended?.result ?? "", ...spent }
    return ended?.structuredOutput === undefined ? report : { ...report, structuredOutput: ended.structuredOutput }
  })

  const work = Effect.gen(function* () {
    if (errand.hooks !== undefined && errand.hooksFrom !== undefined) {
      for (const message of yield* engine.register(errand.hooks, errand.hooksFrom)) {
        yield* parent.emit({ _tag: "Diagnosed", level: "warning", message })
      }
    }
    const forSkills = [...sender.forSkills, ...(errand.forSkills ?? [])]
    const only = errand.agents
    const subagents = yield* make({ ...sender, recorder, engine, forSkills, only, depth: sender.depth + 1 })
    const { loans, session, skills } = yield* SessionTools.make({
      sessionId: sender.sessionId,
      cwd: sender.cwd,
      addDirs: sender.addDirs,
      book: sender.book,
      within: errand.within,
      recorder,
      controls,
      engine,
      definitions: sender.definitions,
      listings: sender.listings,
      skills: { within: forSkills },
      subagents,
      tools: sender.tools.filter(({ name }) => errand.tools.includes(name)),
      model: table.resolve(model).spec,
    })
    shellDirectory = Context.get(session, Workspace).cwd
    const moments = SessionMoments.make({
      engine,
      recorder,
      feed: Feed.make({ emit: () => Effect.void }),
      tasks: Context.get(session, Tasks).list,
      mostHolds: sender.mostHolds,
      expand: () => Effect.undefined,
      does: () => undefined,
      newPrompt: () => Effect.void,
      ended: loans.end,
      agent: { agentId, agentType, transcriptPath },
    })
    const compaction = yield* SessionRoom.make({
      agent: agentId,
      cwd: sender.cwd,
      recorder,
      controls,
      engine,
      system: errand.system,
      session,
      skills,
      isMain: false,
    })
    if (errand.rules !== undefined) yield* lent(sender.book, errand.rules)
    for (const name of errand.skills ?? []) {
      // No person typed it: what only people may start is not started by an agent's file.
      const used = yield* Effect.result(skills.invoke(name, "", "model"))
      if (used._tag === "Failure") {
        yield* parent.emit({ _tag: "Diagnosed", level: "warning", message: `${agentType}: ${used.failure.message}` })
        continue
      }
      for (const content of used.success.messages) {
        yield* recorder.emit({ _tag: "ContextAdded", uuid: yield* Ids.uuid, origin: `skill ${name}`, content })
      }
    }
    const began = yield* engine.fire("SubagentStart", { agent_id: agentId, agent_type: agentType })
    yield* remind(recorder, "hook SubagentStart", began.context)
    const promptId = yield* Ids.uuid
    yield* recorder.emit({ _tag: "PromptReceived", uuid: promptId, promptId, content: prompt, delivery: "prompt" })
    return yield* Turn.run({
      agent: agentId,
      promptId,
      system: errand.system,
      maxTurns: errand.maxTurns ?? Number.MAX_SAFE_INTEGER,
      fallbackModel: sender.fallbackModel,
      outputSlots: sender.outputSlots,
      output: errand.output,
      interrupts: yield* Interrupts.make,
    }).pipe(
      Effect.provideContext(
        session.pipe(Context.add(Moments, moments), Context.add(Compaction.Compaction, compaction)),
      ),
    )
  })

  yield* parent.emit({ _tag: "SubagentStarted", agentId, agentType, toolUseId, description, prompt, model })
  const terminal = yield* Effect.onInterrupt(work, () => Effect.ignore(end(interrupted)))
  return yield* end(terminal)
})

/** Rules for as long as it works. */
const lent = (book: RuleBook, { allow, deny }: NonNullable<Errand["rules"]>) => {
  const source = { kind: "session" } as const
  const rules = [
    ...allow.map((text) => ({ behavior: "allow", text, source }) as const),
    ...deny.map((text) => ({ behavior: "deny", text, source }) as const),
  ]
  return Effect.acquireRelease(
    Effect.sync(() => book.lend(rules)),
    (takeBack) => Effect.sync(takeBack),
  )
}

const interrupted: Terminal = { reason: "aborted_tools", detail: "the call that sent it out was interrupted" }

/** What has been seen of its work so far. */
interface Seen {
  toolUses: number
  ended: EventOf<"TurnEnded"> | undefined
}

/** Records for itself, and shows everything where it was sent from. */
const shownTo = (
  parent: Recorder.RecorderShape,
  own: Recorder.RecorderShape,
  who: { readonly agentId: string; readonly toolUseId: string },
  seen: Seen,
): Recorder.RecorderShape => {
  const show = (event: Event) => {
    if (event._tag === "SubagentShown") return parent.show(event)
    if (event._tag === "ToolEnded") seen.toolUses++
    if (event._tag === "TurnEnded") seen.ended = event
    return parent.show({ _tag: "SubagentShown", ...who, event })
  }
  return {
    ...own,
    emit: (event) => Effect.andThen(own.emit(event), show(event)),
    show: (event) => Effect.andThen(own.show(event), show(event)),
  }
}
