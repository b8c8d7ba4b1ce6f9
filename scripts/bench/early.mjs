// Runs one session through the library and tells when each of its tools started, on the clock that the server uses too.
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Agents, Runtime, Tools } from "../../dist/lib/index.js"
import { TroupeNode } from "../../dist/lib/node/index.js"
import { now } from "./clock.mjs"

const startedAt = []
const program = Effect.gen(function* () {
  const agents = yield* Agents
  const agent = yield* agents.open({ tools: Tools.coding, permissionMode: "bypassPermissions" })
  yield* agent.prompt("Read").pipe(
    Stream.runForEach((event) =>
      Effect.sync(() => {
        if (event._tag === "ToolStarted") startedAt.push(now())
      }),
    ),
  )
}).pipe(Effect.scoped, Effect.provide(Runtime.layer()), Effect.provide(TroupeNode.layer))

await Effect.runPromise(program)
process.send(startedAt)
process.disconnect()
