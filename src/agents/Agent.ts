/**
 * Owns one agent: an actor that takes prompts and steering, runs one turn at a time beside its mailbox, and so can always be
 * interrupted. Its state is what the journal says; a new life finds it there.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Health } from "../protocol/Compaction.ts"
import type { Explained } from "../hooks/HookIndex.ts"
import * as Actor from "../kernel/Actor.ts"
import * as Budget from "../kernel/Budget.ts"
import * as Ids from "../kernel/Ids.ts"
import * as Protocol from "../kernel/Protocol.ts"
import type { Model } from "../model/Model.ts"
import { Content } from "../protocol/Content.ts"
import { Delivery, type Event, type EventOf } from "../protocol/Event.ts"
import type { Message } from "../protocol/Message.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import * as Usage from "../protocol/Usage.ts"
import type { Controls, ControlsState } from "../session/Controls.ts"
import { JournalError } from "../session/JournalError.ts"
import { Recorder, type RecorderShape } from "../session/Recorder.ts"
import { RewindRefused, RewindReport, type What } from "../session/Rewind.ts"
import type { Checkpoint } from "../session/RewindPlan.ts"
import type { HelpEntry } from "../skills/Skills.ts"
import type { ToolCatalog } from "../tools/ToolCatalog.ts"
import type { ToolRunner } from "../tools/ToolRunner.ts"
import type { AgentDefinition } from "./Definition.ts"
import type { Front } from "./Front.ts"
import * as Interrupts from "./Interrupts.ts"
import { RewindRequest, type Rewinding } from "./Rewinding.ts"
import * as Turn from "./Turn.ts"

/** The agent cannot take a message any more: it is gone, or its journal cannot be written. */
export type AgentError = Actor.ActorDown | JournalError

const Letter = Schema.Struct({
  promptId: Schema.String,
  uuid: Schema.String,
  content: Content,
  /** Written by the harness, not by a person. */
  harness: Schema.optionalKey(Schema.Boolean),
})
type Letter = typeof Letter.Type

export const AgentProtocol = Protocol.make({
  /** Starts a turn, or waits for the running one to end. */
  Prompt: { payload: Letter, error: JournalError },
  /** Reaches the running turn; without one it is a prompt. */
  Steer: { payload: Schema.Struct({ letter: Letter, delivery: Delivery }), error: JournalError },
  /**
   * `abort` ends the turn at once, `stop` after the running tools. With a `promptId` only that one: it may still wait, and is
   * withdrawn. Answers whether there was something to end.
   */
  Interrupt: {
    payload: Schema.Struct({ kind: Schema.Literals(["abort", "stop"]), promptId: Schema.optionalKey(Schema.String) }),
    success: Schema.Boolean,
    control: true,
  },
  /** Goes back, if no turn runs. */
  Rewind: {
    payload: RewindRequest,
    success: RewindReport,
    error: Schema.Union([JournalError, RewindRefused]),
  },
  Status: { success: Schema.Struct({ busy: Schema.Boolean, queued: Schema.Int }), control: true },
})

const Internal = Protocol.extend(AgentProtocol, {
  EndTurn: { payload: Schema.String },
  /** Takes the next prompt that waits, if the agent is free. */
  TakeNext: {},
})
type Self = Actor.Self<typeof Internal>

interface State {
  readonly turn: { readonly promptId: string; readonly interrupts: Interrupts.Interrupts } | undefined
}

/** A prompt that waits for the running turn to end, with the budget of whoever sent it. */
interface Waiting {
  readonly letter: Letter
  readonly budget: Budget.Level | undefined
}

export type TurnSettings = Omit<Turn.TurnOptions, "promptId" | "interrupts">
export type Needs = Model | Recorder | Controls | ToolCatalog | ToolRunner

/** The actor. */
export const behavior = (settings: TurnSettings, { rewind }: Pick<Rewinding, "rewind">) => {
  /** Outlives a life, as the letters in the mailbox do: whoever sent one still waits for it. */
  const queue: Array<Waiting> = []

  const begin = Effect.fnUntraced(function* (self: Self, promptId: string, budget: Budget.Level | undefined) {
    const interrupts = yield* Interrupts.make
    yield* Turn.run({ ...settings, promptId, interrupts }).pipe(
      Effect.andThen(Effect.ignore(self.tell.EndTurn(promptId))),
      Effect.provideService(Budget.Current, budget),
      Effect.forkScoped,
    )
    return { promptId, interrupts }
  })

  const receive = Effect.fnUntraced(function* (letter: Letter, delivery: Delivery) {
    const recorder = yield* Recorder
    yield* recorder.emit({ _tag: "PromptReceived", ...letter, delivery })
  })

  const prompt = Effect.fnUntraced(function* (state: State, letter: Letter, self: Self) {
    const budget = yield* Budget.Current
    if (state.turn !== undefined) {
      queue.push({ letter, budget })
      return [state, undefined] as const
    }
    yield* receive(letter, "prompt")
    return [{ turn: yield* begin(self, letter.promptId, budget) }, undefined] as const
  })

  const takeNext = Effect.fnUntraced(function* (self: Self) {
    const recorder = yield* Recorder
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { letter, budget } = next
      const received = yield* Effect.result(receive(letter, "prompt"))
      if (received._tag === "Success") return { turn: yield* begin(self, letter.promptId, budget) }
      // It cannot even be recorded; whoever waits for it must hear that.
      yield* recorder.show(unfinished(letter.promptId, received.failure.message))
    }
    return { turn: undefined }
  })

  return Actor.make(Internal, {
    start: (self: Self) =>
      Effect.gen(function* () {
        yield* closeOpenTurn
        if (queue.length > 0) yield* Effect.ignore(self.tell.TakeNext())
        const idle: State = { turn: undefined }
        return idle
      }),
    handlers: {
      Prompt: prompt,
      Steer: Effect.fnUntraced(function* (state: State, { letter, delivery }, self) {
        if (state.turn === undefined) return yield* prompt(state, letter, self)
        yield* receive(letter, delivery)
        if (delivery === "submit_interrupt") yield* state.turn.interrupts.submit
        return [state, undefined] as const
      }),
      Interrupt: Effect.fnUntraced(function* (state: State, { kind, promptId }) {
        if (state.turn !== undefined && (promptId === undefined || promptId === state.turn.promptId)) {
          yield* state.turn.interrupts[kind]
          return [state, true] as const
        }
        const at = queue.findIndex(({ letter }) => letter.promptId === promptId)
        if (at !== -1) queue.splice(at, 1)
        return [state, at !== -1] as const
      }),
      Rewind: Effect.fnUntraced(function* (state: State, request) {
        // What runs would go on changing files, and its end would belong to nothing.
        if (state.turn !== undefined && !request.dryRun) {
          const why = "A turn is running. Interrupt it, or wait for its end."
          return yield* new RewindRefused({ why, conflicts: [] })
        }
        return [state, yield* rewind(request)] as const
      }),
      Status: (state: State) =>
        Effect.succeed([state, { busy: state.turn !== undefined, queued: queue.length }] as const),
      EndTurn: Effect.fnUntraced(function* (state: State, promptId, self) {
        if (state.turn?.promptId !== promptId) return [state, undefined] as const
        const { history } = yield* Recorder
        // A message that came while the turn was ending is not left without an answer.
        if (history.waiting() && history.lastPromptId !== undefined && history.lastPromptId !== promptId) {
          return [{ turn: yield* begin(self, history.lastPromptId, yield* Budget.Current) }, undefined] as const
        }
        return [yield* takeNext(self), undefined] as const
      }),
      TakeNext: Effect.fnUntraced(function* (state: State, _: void, self) {
        return [state.turn === undefined ? yield* takeNext(self) : state, undefined] as const
      }),
    },
  })
}

/** A turn that a crash cut off has ended; the next one settles what it left open. */
const closeOpenTurn = Effect.gen(function* () {
  const recorder = yield* Recorder
  const { openPromptId } = recorder.history
  if (openPromptId === undefined) return
  yield* recorder.emit(unfinished(openPromptId, "The session ended before this turn did."))
})

const unfinished = (promptId: string, detail: string): EventOf<"TurnEnded"> => ({
  _tag: "TurnEnded",
  promptId,
  terminal: { reason: "session_failed", detail },
  result: "",
  turns: 0,
  durationMs: 0,
  apiDurationMs: 0,
  usage: Usage.none,
  costUsd: 0,
})

export type EndReason = "clear" | "resume" | "logout" | "prompt_input_exit" | "other"

/** How to go back: files, conversation or both (unless told); only looking; also over what others have changed. */
export interface RewindOptions {
  readonly what?: What
  readonly dryRun?: boolean
  readonly force?: boolean
}

/** An open agent, for those who talk to it. It ends with the scope it was opened in. */
export interface Agent extends Front {
  readonly sessionId: string
  readonly cwd: string
  readonly journalPath: string
  readonly transcriptPath: string
  /** The tools the model is offered. */
  readonly tools: () => ReadonlyArray<string>
  /** The conversation so far, as the next request would say it. */
  readonly messages: () => ReadonlyArray<Message>
  readonly controls: Effect.Effect<ControlsState>
  /** What was wrong and was put right when the session was opened. */
  readonly problems: ReadonlyArray<string>
  /** Runs a turn: everything that happens, up to and with its `TurnEnded`. Leaving the stream early aborts the turn. */
  readonly prompt: (content: Content, options?: { readonly uuid?: string }) => Stream.Stream<Event, AgentError>
  /** A message for the running turn: between two tool rounds, or at once. */
  readonly steer: (
    content: Content,
    options?: { readonly delivery?: "between_rounds" | "submit_interrupt"; readonly uuid?: string },
  ) => Effect.Effect<void, AgentError>
  /** Ends the running turn; answers whether there was one. */
  readonly interrupt: (kind?: "abort" | "stop") => Effect.Effect<boolean>
  readonly setModel: (model: string, by?: string) => Effect.Effect<void>
  readonly setPermissionMode: (mode: PermissionMode, by?: string) => Effect.Effect<void>
  /** What a hook wants to begin with, where nobody says anything else. */
  readonly initialPrompt: string | undefined
  readonly outputStyle: string
  /** How full its conversation is, and of what. */
  readonly context: Effect.Effect<Health>
  /** The kinds of agents that it could send out. */
  readonly agentTypes: Effect.Effect<ReadonlyArray<AgentDefinition>>
  /** What may be typed as `/name`: skills and commands, with where they stand. */
  readonly commands: Effect.Effect<ReadonlyArray<HelpEntry>>
  /** Its hooks, and for each that does not run, why not. */
  readonly hooks: () => ReadonlyArray<Explained>
  /** Why the session is about to end, for the hooks that hear of it. */
  readonly leaving: (reason: EndReason) => void
  /** What can be gone back to, in its order: the prompts, and earlier goings back. */
  readonly checkpoints: Effect.Effect<ReadonlyArray<Checkpoint>, JournalError>
  /**
   * Goes back to before a prompt (its id, its message's id, or its number in `checkpoints`, from 1): files, conversation or both.
   * Git is left alone. It can itself be taken back. Refused while a turn runs, and where others have changed the same files,
   * unless `force` says otherwise.
   */
  readonly rewind: (to: string, options?: RewindOptions) => Effect.Effect<RewindReport, RewindRefused | AgentError>
  readonly status: Effect.Effect<{ readonly busy: boolean; readonly queued: number }, Actor.ActorDown>
  /** Everything that happens from now on, whoever caused it. */
  readonly watch: RecorderShape["watch"]
}

export const make = (
  ref: Actor.Ref<typeof AgentProtocol>,
  session: {
    readonly cwd: string
    readonly problems: ReadonlyArray<string>
    readonly recorder: RecorderShape
    readonly controls: Controls["Service"]
    readonly catalog: ToolCatalog["Service"]
    readonly initialPrompt: string | undefined
    readonly leaving: (reason: EndReason) => void
    readonly outputStyle: string
    readonly context: Agent["context"]
    readonly agentTypes: Agent["agentTypes"]
    readonly commands: Agent["commands"]
    readonly hooks: Agent["hooks"]
    readonly front: Front
    readonly checkpoints: Agent["checkpoints"]
  },
): Agent => {
  const { recorder, controls, catalog } = session
  const letter = Effect.fnUntraced(function* (content: Content, uuid: string | undefined) {
    const promptId = yield* Ids.uuid
    return { promptId, uuid: uuid ?? promptId, content }
  })
  const interrupt = (kind: "abort" | "stop" = "abort", promptId?: string) =>
    Effect.catchTag(ref.ask.Interrupt({ kind, ...(promptId !== undefined && { promptId }) }), "ActorDown", () =>
      Effect.succeed(false),
    )
  const down = Stream.fromEffect(Effect.flatMap(Actor.awaitDown(ref), Effect.fail))

  return {
    ...session.front,
    sessionId: recorder.sessionId,
    cwd: session.cwd,
    journalPath: recorder.journal.path,
    transcriptPath: recorder.transcript.path,
    problems: session.problems,
    tools: catalog.names,
    messages: () => recorder.history.messages(),
    controls: controls.current,
    initialPrompt: session.initialPrompt,
    outputStyle: session.outputStyle,
    context: session.context,
    agentTypes: session.agentTypes,
    commands: session.commands,
    hooks: session.hooks,
    leaving: session.leaving,
    prompt: (content, options) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const events = yield* recorder.watch
          const sent = yield* letter(content, options?.uuid)
          let ended = false
          const isIts = (event: Event, tag: "PromptReceived" | "TurnEnded") =>
            event._tag === tag && event.promptId === sent.promptId
          yield* Effect.addFinalizer(() => (ended ? Effect.void : interrupt("abort", sent.promptId)))
          yield* ref.ask.Prompt(sent)
          return Stream.merge(events, down, { haltStrategy: "left" }).pipe(
            Stream.dropWhile((event) => !isIts(event, "PromptReceived") && !isIts(event, "TurnEnded")),
            Stream.takeUntil((event) => (ended = isIts(event, "TurnEnded"))),
          )
        }),
      ),
    steer: Effect.fnUntraced(function* (content, options) {
      const sent = yield* letter(content, options?.uuid)
      yield* ref.ask.Steer({ letter: sent, delivery: options?.delivery ?? "between_rounds" })
    }),
    interrupt: (kind) => interrupt(kind),
    setModel: (model, by = "embedder") => Effect.asVoid(controls.change(by, { model })),
    setPermissionMode: (permissionMode, by = "embedder") => Effect.asVoid(controls.change(by, { permissionMode })),
    checkpoints: session.checkpoints,
    rewind: (to, { dryRun = false, force = false, what = "both" } = {}) => ref.ask.Rewind({ to, what, dryRun, force }),
    status: ref.ask.Status(),
    watch: recorder.watch,
  }
}
