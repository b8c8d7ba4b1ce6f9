/**
 * One prompt to a coding agent in this directory; the answer on stdout, what it does on stderr, and an exit code.
 * Needs ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL for a gateway).
 *
 *   node one-shot.js "Why does the test fail?"
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agents, type Event, Runtime, Terminal, Tools } from "troupe"
import { TroupeNode } from "troupe/node"

// What happens is one typed stream; what is not interesting here is left out.
const show = (event: Event) => {
  switch (event._tag) {
    case "ToolStarted":
      return Console.error(`${event.tool} ${JSON.stringify(event.input)}`)
    case "RetryWaiting":
      return Console.error(`${event.reason} Trying again in ${event.delayMs} ms.`)
    case "TurnEnded":
      process.exitCode = Terminal.exitCode(event.terminal)
      return Terminal.isError(event.terminal)
        ? Console.error(`${event.terminal.reason}: ${event.terminal.detail ?? event.result}`)
        : Console.log(event.result)
    default:
      return Effect.void
  }
}

const program = Effect.gen(function* () {
  const agents = yield* Agents
  // It may read whatever is in this directory, and change nothing: nobody is there to be asked.
  const agent = yield* agents.open({ tools: Tools.coding })
  yield* Stream.runForEach(agent.prompt(process.argv[2] ?? "What is in this directory?"), show)
}).pipe(Effect.scoped, Effect.provide(Runtime.layer({ settings: "project" }).pipe(Layer.provide(TroupeNode.layer))))

await Effect.runPromise(program)
