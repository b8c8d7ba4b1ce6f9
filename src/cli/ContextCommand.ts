/** Owns `troupe context`: finds the session that is asked about, reads its records, and answers the exit code. */
import * as Effect from "effect/Effect"
import { Host } from "../platform/Host.ts"
import * as CacheLog from "../session/CacheLog.ts"
import * as Journal from "../session/Journal.ts"
import * as Sessions from "../session/Sessions.ts"
import * as CacheView from "./CacheView.ts"
import { visible } from "./Reveal.ts"
import type { Stdio } from "./Stdio.ts"

/** What is asked, and about which session; the last one of this directory unless told. */
export interface ContextAsk {
  readonly what: "cache"
  readonly session: string | undefined
}

interface Job {
  readonly ask: ContextAsk
  readonly json: boolean
}

export const contextCommand = Effect.fnUntraced(function* ({ ask, json }: Job, stdio: Pick<Stdio, "out" | "err">) {
  const { cwd } = yield* Host
  const id = ask.session ?? (yield* Sessions.latest(cwd))
  const found = id === undefined ? undefined : yield* Sessions.locate(id)
  if (id === undefined || found === undefined) {
    const what = id === undefined ? `no session in ${cwd}` : `no session ${visible(id)}`
    yield* stdio.err.write(`troupe: there is ${what}. Check the id, the directory and CLAUDE_CONFIG_DIR.\n`)
    return 1
  }
  if (found.kind === "foreign") {
    yield* stdio.err.write(
      `troupe: ${found.path} is another client's transcript, which does not tell what was cached.\n`,
    )
    return 1
  }
  const read = yield* Effect.result(Journal.read(found.sessionId))
  if (read._tag === "Failure") {
    yield* stdio.err.write(`troupe: ${read.failure.message}\n`)
    return 1
  }
  const { records } = read.success
  const texts = new Map<string, string>()
  for (const { event } of records) if (event._tag === "SegmentKept") texts.set(event.hash, event.text)
  const agents = [...new Set(records.map(({ agent }) => agent))].map((agent) => {
    const own = records.filter((record) => record.agent === agent)
    return { agent, requests: CacheLog.requests(own, texts) }
  })
  const asked = agents.filter(({ requests }) => requests.length > 0)
  yield* stdio.out.write(CacheView.shown(found.sessionId, asked, json))
  return 0
})
