/**
 * A fleet of agents under supervision: each works on its own, one that fails is resumed with its history, one that takes too
 * long is stopped, and none outlives the program.
 * Needs ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL for a gateway).
 *
 *   node supervised-fleet.js
 */
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { Agents, Runtime, Terminal, Tools } from "troupe"
import { TroupeNode } from "troupe/node"

const tasks = ["List the entry points.", "Find unfinished work.", "Explain how it is tested."]

class Unfinished extends Data.TaggedError("Unfinished")<{ readonly message: string }> {}

const member = Effect.fn(function* (task: string) {
  const agents = yield* Agents
  let sessionId: string | undefined
  // One attempt is one scope: when it ends, however it ends, the agent and all it has started are gone.
  const attempt = Effect.gen(function* () {
    const agent = yield* sessionId === undefined
      ? agents.open({ tools: Tools.coding, permissionMode: "plan" })
      : agents.resume(sessionId, { tools: Tools.coding, permissionMode: "plan" })
    const prompt = sessionId === undefined ? task : "Go on where you were."
    sessionId = agent.sessionId
    let text = ""
    yield* Stream.runForEach(agent.prompt(prompt), (event) => {
      if (event._tag !== "TurnEnded") return Effect.void
      if (Terminal.isError(event.terminal))
        return new Unfinished({ message: event.terminal.detail ?? event.terminal.reason })
      text = event.result
      return Effect.void
    })
    return text
  }).pipe(Effect.scoped, Effect.timeout("5 minutes"))

  return yield* attempt.pipe(
    Effect.tapError((error) => Console.error(`${task} ${error.message}`)),
    Effect.retry({ schedule: Schedule.exponential("200 millis"), times: 2 }),
    Effect.match({ onSuccess: (text) => `${task} ${text}`, onFailure: () => `${task} gave up` }),
  )
})

const program = Effect.forEach(tasks, member, { concurrency: "unbounded" }).pipe(
  Effect.flatMap((lines) => Console.log(lines.join("\n"))),
  Effect.provide(Runtime.layer().pipe(Layer.provide(TroupeNode.layer))),
)

await Effect.runPromise(program)
