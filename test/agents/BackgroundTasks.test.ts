/** Background tasks as parts of a whole session: they end with it, and the next life knows that they did. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Agents } from "../../src/agents/Agents.ts"
import { Host } from "../../src/platform/Host.ts"
import { HttpFetch } from "../../src/platform/HttpFetch.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import * as NodeProcess from "../../src/platform/NodeProcess.ts"
import * as NodeRipgrep from "../../src/platform/NodeRipgrep.ts"
import * as Runtime from "../../src/Runtime.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import { Bash } from "../../src/tools/builtin/Bash.ts"
import { Tasks } from "../../src/tools/Tasks.ts"
import * as Tool from "../../src/tools/Tool.ts"
import { becomes, living, marker } from "../tools/processes.ts"
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
      const temp = fs.mkdtempSync(path.join(os.tmpdir(), "troupe-background-"))
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
      const env = { PATH: process.env.PATH }
      const platform = NodeRipgrep.layer.pipe(
        Layer.provideMerge(
          Layer.mergeAll(
            Host.layerTest({ env, cwd: temp, home: temp, configDir: path.join(temp, "config") }),
            NodeFiles.layer,
            NodeFileSystem.layer,
            NodePath.layer,
            NodeProcess.layer,
            Layer.succeed(HttpFetch, () => Promise.reject(new Error("There is no network in this test."))),
          ),
        ),
      )
      const world = Runtime.layer({ provider: ScriptedModel.layer(book) }).pipe(Layer.provideMerge(platform))
      yield* Effect.gen(function* () {
        const agents = yield* Agents
        const options = { permissionMode: "bypassPermissions", tools: [Bash, look] } as const
        const sessionId = yield* Effect.gen(function* () {
          const agent = yield* agents.open(options)
          const events = yield* Stream.runCollect(agent.prompt("start"))
          assert.include(String(only(events, "ToolEnded")[0]?.content), "Command running in background with ID: bash-")
          yield* becomes("both sleep", () => living(mark).length >= 2)
          return agent.sessionId
        }).pipe(Effect.scoped)
        assert.deepStrictEqual(living(mark), [])

        yield* Effect.gen(function* () {
          const agent = yield* agents.resume(sessionId, options)
          const events = yield* Stream.runCollect(agent.prompt("look"))
          assert.strictEqual(only(events, "ToolEnded")[0]?.content, "a server: killed")
        }).pipe(Effect.scoped)
      }).pipe(Effect.provide(world))
      fs.rmSync(temp, { recursive: true })
    }),
  )
})
