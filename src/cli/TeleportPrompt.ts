/** Owns `/teleport` and `/desktop`: the session that is open here goes into a file, or to another process. */
import * as Effect from "effect/Effect"
import type { Agent } from "../agents/Agent.ts"
import { Git } from "../platform/Git.ts"
import * as NodeLocalSocket from "../platform/NodeLocalSocket.ts"
import * as HandOver from "../session/HandOver.ts"
import { TeleportError } from "../session/TeleportFile.ts"
import { handedOver, packed, writeOut } from "./TeleportCommand.ts"

/** The journal is written before anything is shown, so the file has all that the person has seen. */
export const toFile = (sessionId: string, file: string | undefined) =>
  writeOut(sessionId, { output: file, workTree: false }).pipe(
    Effect.map(({ notes, path }) => [
      `Written: ${path}. It goes on here as well; over there: troupe teleport import ${path.slice(path.lastIndexOf("/") + 1)}`,
      ...notes,
    ]),
    Effect.provide(Git.layer),
  )

export const handOver = Effect.fnUntraced(function* (agent: Agent, address: string) {
  const what = "The session cannot be handed over"
  const { busy, queued } = yield* agent.status
  if (busy || queued > 0)
    return yield* new TeleportError({ what, why: "something runs. Wait for its end, or press Ctrl-C" })
  const context = yield* Effect.context<Effect.Services<ReturnType<typeof packed>>>()
  const sent = yield* HandOver.send({
    address,
    sessionId: agent.sessionId,
    packed: Effect.provideContext(packed(agent.sessionId), context),
    commit: agent.handedOver,
  })
  return handedOver(agent.sessionId, sent)
}, Effect.provide(NodeLocalSocket.layer))
