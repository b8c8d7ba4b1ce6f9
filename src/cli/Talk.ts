/**
 * Owns a conversation over stdin and stdout with `--input-format stream-json`: user messages go to the agent as they come,
 * control requests are answered at once, and the end of stdin lets what runs finish.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Agent } from "../agents/Agent.ts"
import type { Event } from "../protocol/Event.ts"
import { parse as parseMode } from "../protocol/PermissionMode.ts"
import { encode } from "./Output.ts"
import type { Stdio } from "./Stdio.ts"
import { answer, decode, refusal, type ControlRequest, type UserMessage } from "./UserInput.ts"

export interface Talking<E1, E2> {
  readonly open: Effect.Effect<Agent, E1, Scope.Scope>
  readonly show: (agent: Agent, event: Event) => Effect.Effect<void, E2>
  /** Returns when a signal came: nothing more is read. */
  readonly stopped: Effect.Effect<void>
}

/** Runs until stdin ends and the agent is idle. */
export const talk = Effect.fnUntraced(function* <E1, E2>(stdio: Stdio, talking: Talking<E1, E2>) {
  // The agent has a scope of its own: closing it ends its events, and all of them are printed before that.
  const session = yield* Scope.make()
  yield* Effect.addFinalizer((exit) => Scope.close(session, exit))
  const agent = yield* Scope.provide(talking.open, session)
  const events = yield* agent.watch
  /** Closed while a turn runs. */
  const between = yield* Latch.make(true)
  const show = (event: Event) => {
    if (event._tag === "PromptReceived" && event.delivery === "prompt") between.closeUnsafe()
    if (event._tag === "TurnEnded") between.openUnsafe()
    return talking.show(agent, event)
  }
  const printing = yield* Effect.forkScoped(Stream.runForEach(events, show), { startImmediately: true })
  let number = 0
  const reading = stdio.input.pipe(
    Stream.splitLines,
    Stream.runForEach((line) => receive(agent, stdio, line, ++number)),
    // A line that cannot be read ends the reading, not the work that is under way.
    Effect.exit,
  )
  const read = yield* Effect.raceAllFirst([
    Effect.as(talking.stopped, Exit.void),
    reading,
    // Output that cannot be written ends everything; events never end before the session does.
    Effect.andThen(Fiber.join(printing), Effect.never),
  ])
  yield* Effect.raceFirst(idle(agent, between), Effect.andThen(Fiber.join(printing), Effect.never))
  yield* Scope.close(session, Exit.void)
  yield* Fiber.join(printing)
  yield* read
})

/** The agent takes note of the end of a turn a moment after it was told to everybody. */
const moment = "20 millis"
/** An agent that is gone for good ends no turn; so often is it looked after while one runs. */
const patience = "1 second"

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

const receive = Effect.fnUntraced(function* (agent: Agent, stdio: Stdio, line: string, number: number) {
  const input = yield* decode(line, number)
  if (input === undefined) return
  if (input.type === "user") return yield* deliver(agent, input)
  yield* stdio.out.write(encode(yield* control(agent, input)))
})

const deliver = Effect.fnUntraced(function* (agent: Agent, { message, priority, uuid }: UserMessage) {
  const named = typeof uuid === "string" ? { uuid } : {}
  if (priority === "later") {
    // It waits in the agent's own queue; its events come with all the others.
    yield* Effect.forkScoped(Stream.runDrain(agent.prompt(message.content, named)), { startImmediately: true })
    return
  }
  // Without a running turn this is a prompt like any other.
  yield* agent.steer(message.content, {
    delivery: priority === "now" ? "submit_interrupt" : "between_rounds",
    ...named,
  })
})

const control = Effect.fnUntraced(function* (agent: Agent, { request, request_id: id }: ControlRequest) {
  switch (request.subtype) {
    case "initialize":
      return answer(id, {
        commands: [],
        models: [],
        agents: [],
        account: {},
        output_style: "default",
        available_output_styles: ["default"],
      })
    case "interrupt":
      yield* agent.interrupt()
      return answer(id)
    case "set_model": {
      const { model } = request
      if (typeof model !== "string" || model === "")
        return refusal(id, "set_model needs the name of a model in `model`.")
      yield* agent.setModel(model, "control_request")
      return answer(id)
    }
    case "set_permission_mode": {
      const mode = typeof request.mode === "string" ? parseMode(request.mode) : undefined
      if (mode === undefined) return refusal(id, `There is no permission mode ${JSON.stringify(request.mode)}.`)
      yield* agent.setPermissionMode(mode, "control_request")
      return answer(id, { mode })
    }
    default:
      return refusal(id, `This version has no control request "${request.subtype}".`)
  }
})
