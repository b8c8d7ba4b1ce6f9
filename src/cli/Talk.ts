/**
 * Owns a conversation over stdin and stdout with `--input-format stream-json`: the first line opens the session, user messages
 * go to the agent as they come, control requests are answered in their order, and the end of stdin lets what runs finish. The
 * client's own answers are heard at once, also while the session is being opened: its hooks may be asked then.
 *
 * A line that cannot be read is answered and passed over. A client that does not read is not waited for by the agent: what is
 * durable waits for it, pieces of the stream are dropped after a while, and nothing more is read from it.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Agent } from "../agents/Agent.ts"
import { Person } from "../permissions/Permissions.ts"
import type { Event } from "../protocol/Event.ts"
import type { SessionHook } from "../agents/SessionHook.ts"
import * as ControlAnswers from "./ControlAnswers.ts"
import * as ControlChannel from "./ControlChannel.ts"
import * as ControlHooks from "./ControlHooks.ts"
import * as ControlLines from "./ControlLines.ts"
import * as ControlPerson from "./ControlPerson.ts"
import type { Initialize } from "./ControlWire.ts"
import { encode } from "./Output.ts"
import type { SessionState } from "./SdkLine.ts"
import type { Stdio } from "./Stdio.ts"
import { answer, decode, refusal, type ControlRequest, UserInputError, type UserMessage } from "./UserInput.ts"

export interface Talking<E1, E2> {
  /** Opens the session, as the client's `initialize` wants it if that comes first. */
  readonly open: (
    asked: Initialize | undefined,
    hooks: ReadonlyArray<SessionHook>,
  ) => Effect.Effect<Agent, E1, Scope.Scope>
  readonly show: (agent: Agent, event: Event) => Effect.Effect<void, E2>
  /** The result of a message that could not be taken. */
  readonly refuse: (why: string) => Effect.Effect<void, E2>
  /** The client wants to know whether something runs. */
  readonly state: ((state: SessionState) => Effect.Effect<void, E2>) | undefined
  /** Returns when a signal came: nothing more is read. */
  readonly stopped: Effect.Effect<void>
  /** The client is asked whether a call may run. */
  readonly asks: boolean
  readonly facts: ControlAnswers.Facts
}

/** Runs until stdin ends and the agent is idle. Answers whether there was anything to understand in what came. */
export const talk = Effect.fnUntraced(function* <E1, E2>(stdio: Stdio, talking: Talking<E1, E2>) {
  // The agent has a scope of its own: closing it ends its events, and all of them are printed before that.
  const session = yield* Scope.make()
  yield* Effect.addFinalizer((exit) => Scope.close(session, exit))
  const conversation = make(stdio, talking, session)
  const read = yield* Effect.raceAllFirst([
    Effect.as(talking.stopped, Exit.void),
    // A failure ends the reading, not the work that is under way.
    Effect.exit(conversation.reading),
    conversation.broken,
  ])
  yield* conversation.hushed
  yield* Effect.raceFirst(conversation.resting, conversation.broken)
  yield* Scope.close(session, Exit.void)
  yield* conversation.printed
  yield* read
  return conversation.understood()
})

/** A line that waits for those before it, readable or not. */
type Letter = UserMessage | ControlRequest | UserInputError
type Inbox = Queue.Queue<Letter, Cause.Done>
/** Whoever sends more than this while nothing is taken is not read any more. */
const mostWaiting = 64

/** The agent takes note of the end of a turn a moment after it was told to everybody. */
const moment = "20 millis"
/** An agent that is gone for good ends no turn; so often is it looked after while one runs. */
const patience = "1 second"

/** A session that was opened, and what the conversation about it knows. */
interface Opened<E2> extends ControlAnswers.Answering {
  readonly printing: Fiber.Fiber<void, E2>
  /** Closed while a turn runs. */
  readonly between: Latch.Latch
}

const make = <E1, E2>(stdio: Stdio, talking: Talking<E1, E2>, scope: Scope.Scope) => {
  let opened: Opened<E2> | undefined
  const lines = { understood: 0, refused: 0 }
  const channel = ControlChannel.make(stdio.out.write)
  const note = noting(stdio)
  const opening = Latch.makeUnsafe(false)

  const asked = talking.asks ? ControlPerson.person({ channel, agent: () => opened?.agent, note }) : undefined

  const open = Effect.fnUntraced(function* (init?: Initialize) {
    if (opened !== undefined) return opened
    const hooks = yield* ControlHooks.hooks(init?.hooks ?? {}, channel, note)
    const agent = yield* talking.open(init, hooks).pipe(Effect.provideService(Person, asked), Scope.provide(scope))
    const { model } = yield* agent.controls
    const between = yield* Latch.make(true)
    const queued = new Map<string, Fiber.Fiber<unknown, unknown>>()
    const tell = yield* telling(agent, between, talking.state)
    const events = yield* agent.watch
    const show = Effect.fnUntraced(function* (event: Event) {
      if (event._tag === "PromptReceived") queued.delete(event.uuid)
      const begins = event._tag === "PromptReceived" && event.delivery === "prompt"
      if (begins) between.closeUnsafe()
      if (begins) yield* tell.running
      if (event._tag === "TurnEnded") between.openUnsafe()
      yield* talking.show(agent, event)
      if (event._tag === "TurnEnded") yield* tell.ended
    })
    const printing = yield* Effect.forkScoped(Stream.runForEach(events, show), { startImmediately: true })
    opened = { agent, model, between, queued, note, facts: talking.facts, printing }
    yield* opening.open
    return opened
  })

  /** Hears an answer; everything else waits for its turn. */
  const receive = Effect.fnUntraced(function* (incoming: ControlLines.Incoming, inbox: Inbox) {
    const decoded = yield* Effect.result(decode(incoming))
    if (decoded._tag === "Failure") {
      if (decoded.failure.answersId !== undefined) return yield* complain(decoded.failure)
      return yield* Queue.offer(inbox, decoded.failure)
    }
    const input = decoded.success
    if (input === undefined) return
    lines.understood++
    if (input.type === "control_response") return yield* channel.receive(input)
    return yield* Queue.offer(inbox, input)
  })

  const handle = Effect.fnUntraced(function* (letter: Letter) {
    if (letter instanceof UserInputError) return yield* complain(letter)
    if (letter.type === "user") return yield* deliver(yield* open(), letter)
    return yield* stdio.out.write(encode(yield* control(letter)))
  })

  const control = Effect.fnUntraced(function* ({ request, request_id: id }: ControlRequest) {
    const granted = Effect.gen(function* () {
      const wanted = yield* ControlAnswers.read(request)
      const init = wanted.subtype === "initialize" ? wanted : undefined
      // The client waits for an answer, also when there will be no session.
      const session = yield* Effect.tapError(open(init), (error) =>
        stdio.out.write(encode(refusal(id, error instanceof Error ? error.message : "The session cannot be opened."))),
      )
      return answer(id, yield* ControlAnswers.answer(session, wanted))
    })
    return yield* Effect.catchIf(
      granted,
      (error) => error instanceof ControlAnswers.Refused,
      ({ message }) => Effect.succeed(refusal(id, message)),
    )
  })

  /** Whoever waits for an answer hears why there is none, and so does whoever looks at stderr. */
  const complain = Effect.fnUntraced(function* (error: UserInputError) {
    lines.refused++
    yield* Effect.ignore(stdio.err.write(`troupe: ${error.message}\n`))
    if (error.answersId !== undefined) {
      const { answersId: request_id, message } = error
      yield* channel.receive({ type: "control_response", response: { subtype: "error", request_id, error: message } })
    }
    if (error.requestId !== undefined) yield* stdio.out.write(encode(refusal(error.requestId, error.message)))
    if (!error.isPrompt) return
    yield* open()
    yield* talking.refuse(error.message)
  })

  /** Nobody answers any more. */
  const hushed = channel.close("its end of the conversation is closed")

  const reading = Effect.gen(function* () {
    const inbox = yield* Queue.make<Letter, Cause.Done>({ capacity: mostWaiting })
    const cut = ControlLines.make()
    const sort = (found: ReadonlyArray<ControlLines.Incoming>) =>
      Effect.forEach(found, (incoming) => receive(incoming, inbox), { discard: true })
    const reader = yield* Stream.runForEach(stdio.input, (piece) => sort(cut.push(piece))).pipe(
      Effect.andThen(Effect.suspend(() => sort(cut.end()))),
      Effect.ensuring(Effect.andThen(hushed, Queue.end(inbox))),
      Effect.forkChild({ startImmediately: true }),
    )
    yield* Stream.runForEach(Stream.fromQueue(inbox), handle)
    yield* Fiber.join(reader)
  })

  return {
    reading,
    hushed,
    /** Output that cannot be written ends everything; events never end before the session does. */
    broken: Effect.suspend(() =>
      Effect.andThen(
        opening.await,
        Effect.suspend(() =>
          opened === undefined ? Effect.never : Effect.andThen(Fiber.join(opened.printing), Effect.never),
        ),
      ),
    ),
    resting: Effect.suspend(() => (opened === undefined ? Effect.void : idle(opened.agent, opened.between))),
    printed: Effect.suspend(() => (opened === undefined ? Effect.void : Fiber.join(opened.printing))),
    understood: () => lines.understood > 0 || lines.refused === 0,
  }
}

/** Each text once, on stderr. Nobody stops working because that is closed. */
const noting = ({ err }: Stdio) => {
  const said = new Set<string>()
  return (text: string): Effect.Effect<void> => {
    if (said.has(text)) return Effect.void
    said.add(text)
    return Effect.ignore(err.write(`troupe: ${text}\n`))
  }
}

/** Tells the client when something begins to run and when nothing does any more: between two turns it is not idle. */
const telling = Effect.fnUntraced(function* <E>(agent: Agent, between: Latch.Latch, state: Talking<never, E>["state"]) {
  const scope = yield* Effect.scope
  if (state === undefined) return { running: Effect.void, ended: Effect.void }
  let turns = 0
  let current: SessionState = "idle"
  const change = (to: SessionState) =>
    Effect.suspend(() => {
      if (current === to) return Effect.void
      current = to
      return state(to)
    })
  const ended = Effect.gen(function* () {
    const turn = turns
    yield* idle(agent, between)
    if (turn === turns) yield* change("idle")
  })
  return {
    running: Effect.suspend(() => {
      turns++
      return change("running")
    }),
    ended: Effect.asVoid(Effect.forkIn(Effect.ignore(ended), scope)),
  }
})

/** Returns when nothing runs and nothing waits. */
const idle = Effect.fnUntraced(function* (agent: Agent, between: Latch.Latch) {
  const resting = Effect.match(agent.status, {
    onSuccess: ({ busy, queued }) => !busy && queued === 0,
    onFailure: () => true,
  })
  while (!(yield* resting)) {
    yield* Effect.timeoutOption(between.await, patience)
    yield* Effect.sleep(moment)
  }
})

const deliver = Effect.fnUntraced(function* ({ agent, queued }: ControlAnswers.Answering, input: UserMessage) {
  const { message, priority, uuid } = input
  const named = typeof uuid === "string" ? { uuid } : {}
  if (priority === "later") {
    // It waits in the agent's own queue; its events come with all the others.
    const waiting = Effect.suspend(() => Stream.runDrain(agent.prompt(message.content, named)))
    if (typeof uuid !== "string") return yield* Effect.forkScoped(waiting, { startImmediately: true })
    const { busy } = yield* agent.status
    const fiber = yield* Effect.forkScoped(waiting, { startImmediately: true })
    if (busy) queued.set(uuid, fiber)
    return
  }
  // Without a running turn this is a prompt like any other.
  yield* agent.steer(message.content, {
    delivery: priority === "now" ? "submit_interrupt" : "between_rounds",
    ...named,
  })
})
