/**
 * Owns one agent: an actor that takes prompts and steering, runs one turn at a time beside its mailbox, and so can always be
 * interrupted. Its state is what the journal says; a new life finds it there.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Actor from "../kernel/Actor.ts"
import * as Ids from "../kernel/Ids.ts"
import * as Protocol from "../kernel/Protocol.ts"
import type { Model } from "../model/Model.ts"
import { Content } from "../protocol/Content.ts"
import { Delivery, type Event } from "../protocol/Event.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import * as Usage from "../protocol/Usage.ts"
import type { Controls, ControlsState } from "../session/Controls.ts"
import { JournalError } from "../session/JournalError.ts"
import { Recorder, type RecorderShape } from "../session/Recorder.ts"
import type { ToolCatalog } from "../tools/ToolCatalog.ts"
import type { ToolRunner } from "../tools/ToolRunner.ts"
import * as Interrupts from "./Interrupts.ts"
import * as Turn from "./Turn.ts"

/** The agent cannot take a message any more: it is gone, or its journal cannot be written. */
export type AgentError = Actor.ActorDown | JournalError

const Letter = Schema.Struct({ promptId: Schema.String, uuid: Schema.String, content: Content })
type Letter = typeof Letter.Type

export const AgentProtocol = Protocol.make({
  /** Starts a turn, or waits for the running one to end. */
  Prompt: { payload: Letter, error: JournalError },
  /** Reaches the running turn; without one it is a prompt. */
  Steer: { payload: Schema.Struct({ letter: Letter, delivery: Delivery }), error: JournalError },
  /** `abort` ends the turn at once, `stop` after the running tools. Answers whether there was one. */
  Interrupt: { payload: Schema.Literals(["abort", "stop"]), success: Schema.Boolean, control: true },
  Status: { success: Schema.Struct({ busy: Schema.Boolean, queued: Schema.Int }), control: true },
})

const Internal = Protocol.extend(AgentProtocol, { EndTurn: { payload: Schema.String } })

interface State {
  readonly turn: { readonly promptId: string; readonly interrupts: Interrupts.Interrupts } | undefined
  readonly queue: ReadonlyArray<Letter>
}

const idle: State = { turn: undefined, queue: [] }

export type TurnSettings = Omit<Turn.TurnOptions, "promptId" | "interrupts">
export type Needs = Model | Recorder | Controls | ToolCatalog | ToolRunner

/** The actor. */
export const behavior = (settings: TurnSettings) => {
  const begin = Effect.fnUntraced(function* (self: Actor.Self<typeof Internal>, promptId: string) {
    const interrupts = yield* Interrupts.make
    yield* Effect.forkScoped(
      Effect.andThen(Turn.run({ ...settings, promptId, interrupts }), Effect.ignore(self.tell.EndTurn(promptId))),
    )
    return { promptId, interrupts }
  })

  const receive = Effect.fnUntraced(function* (letter: Letter, delivery: Delivery) {
    const recorder = yield* Recorder
    yield* recorder.emit({ _tag: "PromptReceived", ...letter, delivery })
  })

  const prompt = Effect.fnUntraced(function* (state: State, letter: Letter, self: Actor.Self<typeof Internal>) {
    if (state.turn !== undefined) return [{ ...state, queue: [...state.queue, letter] }, undefined] as const
    yield* receive(letter, "prompt")
    return [{ ...state, turn: yield* begin(self, letter.promptId) }, undefined] as const
  })

  return Actor.make(Internal, {
    start: Effect.as(closeOpenTurn, idle),
    handlers: {
      Prompt: prompt,
      Steer: Effect.fnUntraced(function* (state: State, { letter, delivery }, self) {
        if (state.turn === undefined) return yield* prompt(state, letter, self)
        yield* receive(letter, delivery)
        if (delivery === "submit_interrupt") yield* state.turn.interrupts.submit
        return [state, undefined] as const
      }),
      Interrupt: Effect.fnUntraced(function* (state: State, kind: "abort" | "stop") {
        if (state.turn === undefined) return [state, false] as const
        yield* state.turn.interrupts[kind]
        return [state, true] as const
      }),
      Status: (state: State) =>
        Effect.succeed([state, { busy: state.turn !== undefined, queued: state.queue.length }] as const),
      EndTurn: Effect.fnUntraced(function* (state: State, promptId, self) {
        if (state.turn?.promptId !== promptId) return [state, undefined] as const
        const { history } = yield* Recorder
        // A message that came while the turn was ending is not left without an answer.
        if (history.waiting() && history.lastPromptId !== promptId)
          return [{ ...state, turn: yield* begin(self, history.lastPromptId ?? promptId) }, undefined] as const
        const [next, ...queue] = state.queue
        if (next === undefined) return [{ turn: undefined, queue }, undefined] as const
        const received = yield* Effect.result(receive(next, "prompt"))
        const turn = received._tag === "Success" ? yield* begin(self, next.promptId) : undefined
        return [{ turn, queue }, undefined] as const
      }),
    },
  })
}

/** A turn that a crash cut off has ended; the next one settles what it left open. */
const closeOpenTurn = Effect.gen(function* () {
  const recorder = yield* Recorder
  const { openPromptId: promptId } = recorder.history
  if (promptId === undefined) return
  yield* recorder.emit({
    _tag: "TurnEnded",
    promptId,
    terminal: { reason: "session_failed", detail: "The session ended before this turn did." },
    result: "",
    turns: 0,
    durationMs: 0,
    apiDurationMs: 0,
    usage: Usage.none,
    costUsd: 0,
  })
})

/** An open agent, for those who talk to it. It ends with the scope it was opened in. */
export interface Agent {
  readonly sessionId: string
  readonly cwd: string
  readonly journalPath: string
  readonly transcriptPath: string
  /** The tools the model is offered. */
  readonly tools: () => ReadonlyArray<string>
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
  },
): Agent => {
  const { recorder, controls, catalog } = session
  const letter = Effect.fnUntraced(function* (content: Content, uuid: string | undefined) {
    const promptId = yield* Ids.uuid
    return { promptId, uuid: uuid ?? promptId, content }
  })
  const interrupt = (kind: "abort" | "stop" = "abort") =>
    Effect.catchTag(ref.ask.Interrupt(kind), "ActorDown", () => Effect.succeed(false))

  return {
    sessionId: recorder.sessionId,
    cwd: session.cwd,
    journalPath: recorder.journal.path,
    transcriptPath: recorder.transcript.path,
    problems: session.problems,
    tools: catalog.names,
    controls: controls.current,
    prompt: (content, options) =>
      Stream.unwrap(
        Effect.gen(function* () {
          const events = yield* recorder.watch
          const sent = yield* letter(content, options?.uuid)
          let ended = false
          yield* Effect.addFinalizer(() => (ended ? Effect.void : interrupt()))
          yield* ref.ask.Prompt(sent)
          return events.pipe(
            Stream.dropWhile((event) => !(event._tag === "PromptReceived" && event.promptId === sent.promptId)),
            Stream.takeUntil((event) => (ended = event._tag === "TurnEnded" && event.promptId === sent.promptId)),
          )
        }),
      ),
    steer: Effect.fnUntraced(function* (content, options) {
      const sent = yield* letter(content, options?.uuid)
      yield* ref.ask.Steer({ letter: sent, delivery: options?.delivery ?? "between_rounds" })
    }),
    interrupt,
    setModel: (model, by = "embedder") => Effect.asVoid(controls.change(by, { model })),
    setPermissionMode: (permissionMode, by = "embedder") => Effect.asVoid(controls.change(by, { permissionMode })),
    status: ref.ask.Status(),
    watch: recorder.watch,
  }
}
