/**
 * A hook in this process that guards every session, and an agent of one's own that the model may send out.
 * Needs ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN and ANTHROPIC_BASE_URL for a gateway).
 *
 *   node guarded-agent.js "Which files are here, and is the licence a good one?"
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agents, Hooks, Runtime, Tools } from "troupe"
import { TroupeNode } from "troupe/node"

// As a settings file would have it, but typed, and for as long as the scope is open.
const guard = Effect.gen(function* () {
  const hooks = yield* Hooks
  yield* hooks.on(
    "PreToolUse",
    ({ tool_input }) =>
      Effect.succeed(
        JSON.stringify(tool_input).includes(".env")
          ? {
              hookSpecificOutput: {
                hookEventName: "PreToolUse",
                permissionDecision: "deny",
                permissionDecisionReason: "Environment files are nobody's business.",
              },
            }
          : undefined,
      ),
    { name: "no environment files" },
  )
})

// To send out agents is a capability: with `Tools.coding` the model has none.
const lawyer = {
  description: "Reads licences and says what they mean",
  prompt: "You are a lawyer. Answer in one line.",
  tools: ["Read"],
}

const program = Effect.gen(function* () {
  yield* guard
  const agents = yield* Agents
  const agent = yield* agents.open({ tools: Tools.all, agents: JSON.stringify({ lawyer }) })
  yield* Stream.runForEach(agent.prompt(process.argv[2] ?? "Is the licence a good one?"), (event) => {
    if (event._tag === "SubagentStarted") return Console.error(`→ ${event.agentType}: ${event.description}`)
    if (event._tag !== "TurnEnded") return Effect.void
    return event.terminal.reason === "completed" ? Console.log(event.result) : Console.error(event.terminal.detail)
  })
}).pipe(Effect.scoped, Effect.provide(Runtime.layer().pipe(Layer.provide(TroupeNode.layer))))

await Effect.runPromise(program)
