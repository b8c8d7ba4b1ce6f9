/** Owns `troupe context`: finds the session that is asked about, reads its records, and answers the exit code. */
import * as Effect from "effect/Effect"
import * as Measure from "../context/compaction/Health.ts"
import * as Thresholds from "../context/compaction/Thresholds.ts"
import * as ContextSettings from "../context/ContextSettings.ts"
import { Overrides } from "../cost/ModelSpec.ts"
import * as ModelTable from "../cost/ModelTable.ts"
import { Host } from "../platform/Host.ts"
import * as LedgerLine from "../protocol/LedgerLine.ts"
import * as History from "../session/History.ts"
import type { JournalRecord } from "../session/JournalRecord.ts"
import * as CacheLog from "../session/CacheLog.ts"
import * as Journal from "../session/Journal.ts"
import * as Sessions from "../session/Sessions.ts"
import { Settings } from "../settings/Settings.ts"
import * as CacheView from "./CacheView.ts"
import * as HealthView from "./HealthView.ts"
import { visible } from "./Reveal.ts"
import type { Stdio } from "./Stdio.ts"
import * as SessionNamed from "./SessionNamed.ts"

/** What is asked, and about which session; the last one of this directory unless told. */
export interface ContextAsk {
  readonly what: "cache" | "health"
  readonly session: string | undefined
}

interface Job {
  readonly ask: ContextAsk
  readonly json: boolean
}

export const contextCommand = Effect.fnUntraced(function* ({ ask, json }: Job, stdio: Pick<Stdio, "out" | "err">) {
  const { cwd } = yield* Host
  const id = ask.session === undefined ? yield* Sessions.latest(cwd) : yield* SessionNamed.idOf(ask.session)
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
  if (ask.what === "health") {
    const health = yield* healthOf(records, texts)
    yield* stdio.out.write(
      json
        ? `${JSON.stringify({ session: found.sessionId, ...health }, undefined, 2)}\n`
        : HealthView.view(health)
            .map(({ text }) => `${text}\n`)
            .join(""),
    )
    return 0
  }
  const asked = agents.filter(({ requests }) => requests.length > 0)
  yield* stdio.out.write(CacheView.shown(found.sessionId, asked, json))
  return 0
})

/** The session's own conversation, as it would be sent now. */
const healthOf = Effect.fnUntraced(function* (
  records: ReadonlyArray<JournalRecord>,
  texts: ReadonlyMap<string, string>,
) {
  const own = records.filter(({ agent }) => agent === "main")
  const history = History.fold(own)
  const { value = {} } = yield* (yield* Settings).slice("troupe.models", Overrides)
  const table = ModelTable.make(value, (yield* Host).env)
  const { spec } = table.resolve(history.controls?.model ?? table.defaultModel)
  const { compaction } = yield* ContextSettings.read
  const tools = own.findLast(({ event }) => event._tag === "RequestSent")?.event
  const lines = tools?._tag === "RequestSent" ? LedgerLine.read(tools.ledger)?.layers : undefined
  const toolText = (["tools", "mcp tools"] as const).map((layer) => texts.get(lines?.get(layer) ?? "") ?? "").join("")
  return Measure.of({
    history,
    system: history.latched?.system ?? [],
    tools: toolText,
    limit: Thresholds.of(spec, compaction),
  })
})
