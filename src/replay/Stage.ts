/**
 * Owns one opening of a session on stage: the real agent, its loop and its gate, over records instead of a machine. Agents that are sent
 * out stand on it too.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Agent from "../agents/Agent.ts"
import * as Interrupts from "../agents/Interrupts.ts"
import { Moments } from "../agents/Moments.ts"
import * as Turn from "../agents/Turn.ts"
import { Compaction } from "../context/compaction/Compaction.ts"
import type * as Actor from "../kernel/Actor.ts"
import * as Budget from "../kernel/Budget.ts"
import * as Supervisor from "../kernel/Supervisor.ts"
import * as ApiErrors from "../model/ApiErrors.ts"
import { Model, ModelError } from "../model/Model.ts"
import { type Event, type EventOf, isDurable } from "../protocol/Event.ts"
import type { Terminal } from "../protocol/Terminal.ts"
import * as Usage from "../protocol/Usage.ts"
import * as Controls from "../session/Controls.ts"
import * as History from "../session/History.ts"
import { RewindRefused } from "../session/Rewind.ts"
import type { Journal } from "../session/Journal.ts"
import * as Recorder from "../session/Recorder.ts"
import { MaxConcurrentCalls } from "../tools/Round.ts"
import type { Conductor, Player, Stage as Standing } from "./Conductor.ts"
import { noTranscript } from "./MemoryJournal.ts"
import * as RecordedCalls from "./RecordedCalls.ts"
import * as RecordedMoments from "./RecordedMoments.ts"
import * as Score from "./Score.ts"
import { type Entry, callOf, loopOf, main } from "./Tape.ts"
import type { World } from "./World.ts"

export interface Stage extends Standing, Player {
  readonly history: History.History
}

/** What all openings of a session share. */
export interface House {
  readonly conductor: Conductor
  readonly journal: Journal
  readonly world: Context.Context<World>
  readonly calls: ReadonlyMap<string, Score.CallFacts>
  readonly cascading: ReadonlySet<string>
}

interface Cast {
  /** Without limits: it is closed when the recording says that it was spent. Another one waits for the next prompt then. */
  budget: Budget.Level
  readonly recorder: Recorder.RecorderShape
  readonly controls: Controls.ControlsShape
}

/** Opens the session as its journal leaves it. It stands until the scope closes. */
export const open = Effect.fnUntraced(function* (house: House, life: number) {
  const { calls, cascading, conductor, journal, world } = house
  const { tape } = conductor
  const scope = yield* Effect.scope
  const standing: Standing = { life, isOpen: true, waits: new Set() }
  const cast = new Map<string, Cast>()

  /** Takes an agent on; what it records goes past the conductor. */
  const engage = Effect.fnUntraced(function* (
    agent: string,
    history: History.History,
    model: string,
    hear: (event: Event) => void = () => {},
  ) {
    const recorder = yield* Recorder.make({ agent, journal, transcript: noTranscript, history })
    const { effort, permissionMode = "default" } = history.controls ?? {}
    const controls = yield* Controls.make({
      model: history.controls?.model ?? model,
      permissionMode,
      ...(effort !== undefined && { effort }),
    })
    const budget = unlimited()
    cast.set(agent, { budget, recorder, controls })
    const isLatched = () => agent === main && history.latched !== undefined
    const emit = (event: Event) => {
      if (!isDurable(event)) return Effect.void
      hear(event)
      return conductor.offer(standing, agent, event, { system: isLatched() }, recorder.emit)
    }
    const gated: Recorder.RecorderShape = { ...recorder, emit, show: () => Effect.void }
    const records: RecordedCalls.CallRecords = {
      rest: (toolUseId) => tape.rest(callOf(agent, toolUseId), conductor.cursor, life),
      facts: (toolUseId) => calls.get(callOf(agent, toolUseId)),
      cascades: (tool) => cascading.has(tool),
      errand: (started) => errand(gated, started),
    }
    const loop: RecordedMoments.LoopRecords = {
      arrive: conductor.arrive(standing, agent),
      turn: () => tape.turn(agent, conductor.cursor, life),
    }
    const parts = Layer.mergeAll(Layer.succeed(Recorder.Recorder, gated), Layer.succeed(Controls.Controls, controls))
    const services = yield* RecordedCalls.layer(records).pipe(
      Layer.provideMerge(parts),
      Layer.provide(Layer.succeedContext(world)),
      Layer.build,
    )
    const context = services.pipe(
      Context.add(Model, withRecordedLimits(Context.get(world, Model), conductor, standing)),
      Context.add(Moments, RecordedMoments.make(loop)),
      Context.add(Compaction, { ...Compaction.defaultValue(), ...RecordedMoments.compaction(loop) }),
      // How many there were at a time shows in the order of their records.
      Context.add(MaxConcurrentCalls, 10_000),
    )
    return { budget, context, gated, loop }
  })

  /** One that was sent out, from its first words to its end. */
  const errand = (parent: Recorder.RecorderShape, started: EventOf<"SubagentStarted">): Effect.Effect<void> =>
    Effect.gen(function* () {
      const { agentId, agentType, model, toolUseId } = started
      const seen: { ended: EventOf<"TurnEnded"> | undefined; toolUses: number } = { ended: undefined, toolUses: 0 }
      const { budget, context, loop } = yield* engage(agentId, History.make(), model, (event) => {
        if (event._tag === "ToolEnded") seen.toolUses++
        if (event._tag === "TurnEnded") seen.ended = event
      })
      const end = (terminal: Terminal) => {
        const { ended, toolUses } = seen
        const { usage = Usage.none, costUsd = 0, turns = 0 } = ended ?? {}
        const spent = { terminal, turns, toolUses, durationMs: 0, usage, costUsd }
        return parent.emit({ _tag: "SubagentEnded", agentId, agentType, toolUseId, ...spent })
      }
      const work = Effect.gen(function* () {
        const order = tape.entries.find(({ agent, event }) => agent === agentId && event._tag === "PromptReceived")
        if (order?.event._tag !== "PromptReceived") return yield* Effect.never
        yield* conductor.passed(standing, order.at)
        const { maxTurns, fallbackModel, outputSlots } = Score.limitsOf(loop.turn())
        return yield* Turn.run({
          agent: agentId,
          promptId: order.event.promptId,
          system: [],
          maxTurns,
          fallbackModel,
          outputSlots,
          output: RecordedMoments.output(loop),
          interrupts: yield* Interrupts.make,
        }).pipe(Effect.provideContext(Context.add(context, Budget.Current, budget)))
      })
      yield* parent.emit(started)
      const aborted: Terminal = { reason: "aborted_tools", detail: "the call that sent it out was interrupted" }
      const terminal = yield* Effect.onInterrupt(work, () => Effect.ignore(end(aborted)))
      yield* end(terminal)
    }).pipe(Effect.scoped, Effect.ignore)

  const records = journal.reread.pipe(Effect.map((content) => content.records.filter(({ agent }) => agent === main)))
  const history = History.fold(yield* records)
  const star = yield* engage(main, history, "sonnet")
  const present = Deferred.makeUnsafe<Actor.Ref<typeof Agent.AgentProtocol>>()
  let begun = false

  const begin = Effect.gen(function* () {
    const limits = () => Score.limitsOf(star.loop.turn())
    // Read anew at each turn.
    const settings: Agent.TurnSettings = {
      agent: main,
      get system() {
        return history.latched?.system ?? []
      },
      get maxTurns() {
        return limits().maxTurns
      },
      get fallbackModel() {
        return limits().fallbackModel
      },
      get outputSlots() {
        return limits().outputSlots
      },
      get output() {
        return RecordedMoments.output(star.loop)
      },
    }
    const supervisor = yield* Supervisor.make("replay")
    // Going back is told where it stands; nobody asks for it here.
    const rewind = () => new RewindRefused({ why: "a replay goes back where the recording did", conflicts: [] })
    return yield* Effect.catchTag(supervisor.start(main, Agent.behavior(settings, { rewind })), "Escalated", Effect.die)
  }).pipe(Effect.provideContext(star.context), Scope.provide(scope))

  const stage: Stage = Object.assign(standing, {
    history,
    isThere: () => Deferred.isDoneUnsafe(present),
    said: () => history.saidSoFar(),
    tell: Effect.fnUntraced(function* ({ agent, event }: Entry) {
      const one = cast.get(agent)
      if (one === undefined) return yield* Effect.asVoid(journal.append(agent, event))
      yield* one.recorder.emit(event)
      if (event._tag !== "ControlsChanged") return undefined
      const { effort, model, permissionMode } = event
      yield* one.controls.change(event.by, { model, permissionMode, ...(effort !== undefined && { effort }) })
      return undefined
    }),
    ready: Effect.fnUntraced(function* ({ agent, event }: Entry) {
      // Sent out by something else than a call: a hook, a skill.
      if (event._tag === "SubagentStarted" && !tape.isCall(agent, event.toolUseId)) {
        yield* Effect.forkIn(errand(star.gated, event), scope)
      }
      if (agent !== main || begun) return
      begun = true
      // Not waited for: it may have a turn to close first, and that must be let pass.
      yield* Effect.forkIn(
        Effect.flatMap(begin, (ref) => Deferred.succeed(present, ref)),
        scope,
        { startImmediately: true },
      )
    }),
    send: Effect.fnUntraced(function* ({ event }: Entry) {
      const ref = yield* Deferred.await(present)
      if (event._tag !== "PromptReceived") return
      const { content, delivery, harness, promptId, uuid } = event
      const letter = { promptId, uuid, content, ...(harness !== undefined && { harness }) }
      const asking = delivery === "prompt" ? ref.ask.Prompt(letter) : ref.ask.Steer({ letter, delivery })
      yield* Effect.ignore(Effect.provideService(asking, Budget.Current, cast.get(main)?.budget))
    }),
    spend: (agent: string, spent: Budget.BudgetExceeded) =>
      Effect.sync(() => {
        const one = cast.get(agent)
        if (one === undefined) return
        const { budget } = one
        one.budget = unlimited()
        budget.closed = spent
        for (const look of budget.watchers ?? []) look()
      }),
    interrupt: Effect.fnUntraced(function* (kind: "abort" | "stop") {
      const ref = yield* Deferred.await(present)
      yield* Effect.ignore(ref.ask.Interrupt({ kind }))
    }),
  })
  return stage
})

const unlimited = () => new Budget.Level({ name: "recorded" }, undefined, 0, 0)

/** What a request may cost at most is a limit from outside: it is what it was. */
const withRecordedLimits = (model: Model["Service"], conductor: Conductor, standing: Standing): Model["Service"] => ({
  ...model,
  stream: (request) =>
    Stream.suspend(() => {
      const next = conductor.head(standing, loopOf(request.agent))?.event
      // It could not even be sent.
      if (next?._tag === "TurnEnded" && ApiErrors.isReason(next.terminal.error)) {
        const { detail = "", error } = next.terminal
        return Stream.fail(new ModelError({ reason: error, message: detail, model: request.model, attempts: 1 }))
      }
      return model.stream(next?._tag === "RequestSent" ? { ...request, maxTokens: next.maxTokens } : request)
    }),
})
