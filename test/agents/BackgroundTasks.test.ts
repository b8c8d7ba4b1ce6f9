/** Background tasks as parts of a whole session: they end with it, and the next life knows that they did. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agents } from "../../src/agents/Agents.ts"
import { Bash } from "../../src/tools/builtin/Bash.ts"
import { Tasks } from "../../src/tools/Tasks.ts"
import * as Tool from "../../src/tools/Tool.ts"
import { becomes, living, marker } from "../tools/processes.ts"
import { realWorld, temporary } from "./realWorld.ts"
import { only } from "./session.ts"

/** What a tool of the session sees of its tasks. */
const look = Tool.make({
  name: "Look",
  description: "Lists the background tasks.",
  input: Schema.Struct({}),
  readOnly: true,
  run: () =>
    Effect.gen(function* () {
      const tasks = yield* Tasks
      return {
        content: tasks
          .list()
          .map(({ description, status }) => `${description}: ${status}`)
          .join("\n"),
      }
    }),
})

describe("a session with background tasks", () => {
  it.live("ends them when it closes, though the program goes on, and finds them gone when it is resumed", () =>
    Effect.gen(function* () {
      const temp = yield* temporary("background")
      const mark = marker()
      const command = `(setsid bash -c 'trap "" HUP; sleep ${mark}; true' &); sleep ${mark}`
      const book = {
        rules: [
          {
            when: { turn: 1 },
            reply: [{ tool: "Bash", input: { command, description: "a server", run_in_background: true } }],
          },
          { when: { turn: 2 }, reply: "It runs." },
          { when: { turn: 3 }, reply: [{ tool: "Look", input: {} }] },
          { when: { turn: 4 }, reply: "I see." },
        ],
      }
      yield* Effect.gen(function* () {
        const agents = yield* Agents
        const options = { permissionMode: "bypassPermissions", tools: [Bash, look] } as const
        const sessionId = yield* Effect.gen(function* () {
          const agent = yield* agents.open(options)
          const events = yield* Stream.runCollect(agent.prompt("start"))
          assert.include(String(only(events, "ToolEnded")[0]?.content), "Command running in background with ID: bash-")
          // Not only the shells on their way there, whose command lines name it too.
          yield* becomes("both sleep", () => living(`sleep\0${mark}\0`).length === 2)
          return agent.sessionId
        }).pipe(Effect.scoped)
        assert.deepStrictEqual(living(mark), [])

        yield* Effect.gen(function* () {
          const agent = yield* agents.resume(sessionId, options)
          const events = yield* Stream.runCollect(agent.prompt("look"))
          assert.strictEqual(only(events, "ToolEnded")[0]?.content, "a server: killed")
        }).pipe(Effect.scoped)
      }).pipe(Effect.provide(realWorld(book, temp)))
    }).pipe(Effect.scoped),
  )
})
