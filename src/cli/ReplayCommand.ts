/** Owns `troupe replay`: finds the recording, runs it again or goes on from it, shows what came of that, and answers the exit code. */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Path from "effect/Path"
import * as Stream from "effect/Stream"
import { Agents, SessionNotFound, version } from "../agents/Agents.ts"
import * as Toolset from "../agents/Toolset.ts"
import * as Ids from "../kernel/Ids.ts"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import type { DurableEvent } from "../protocol/Event.ts"
import { isDurable } from "../protocol/Event.ts"
import * as Counterfactual from "../replay/Counterfactual.ts"
import * as Edits from "../replay/Edits.ts"
import * as Fixture from "../replay/Fixture.ts"
import { NotReplayable, run } from "../replay/Replay.ts"
import * as ReportText from "../replay/ReportText.ts"
import * as Journal from "../session/Journal.ts"
import type { JournalRecord } from "../session/JournalRecord.ts"
import * as Sessions from "../session/Sessions.ts"
import * as ForkView from "./ForkView.ts"
import { visible, visibleJson } from "./Reveal.ts"
import type { Stdio } from "./Stdio.ts"
import * as SessionNamed from "./SessionNamed.ts"

export interface ReplayJob {
  /** What names a session, `latest`, or the file of an exported recording. */
  readonly session: string
  readonly until: number | undefined
  /** `12=text`, `12={"content":…}`, `12=@file` */
  readonly edits: ReadonlyArray<string>
  readonly fork: ForkJob | undefined
  readonly json: boolean
}

export interface ForkJob {
  readonly at: number
  readonly model: string
  readonly liveTools: boolean
}

export interface ExportJob {
  readonly session: string
  readonly output: string
  readonly json: boolean
}

/** Exit code 0: identical; 1: not. */
export const replayed = Effect.fnUntraced(function* (job: ReplayJob, stdio: Stdio) {
  const records = yield* recordingOf(job.session, stdio)
  const edits = new Map<number, DurableEvent>()
  for (const edit of job.edits) {
    const seq = Number(edit.slice(0, edit.indexOf("=")))
    edits.set(seq, yield* Edits.apply(records, seq, yield* valueOf(edit.slice(edit.indexOf("=") + 1))))
  }
  const report = yield* run(records, { edits, ...(job.until !== undefined && { until: job.until }) })
  const withState = job.until !== undefined
  const text = job.json
    ? visibleJson(JSON.stringify(ReportText.json(report, withState), undefined, 2))
    : visible(ReportText.text(report, records) + (withState ? ReportText.state(report) : ""))
  yield* stdio.out.write(job.json ? `${text}\n` : text)
  return report.differences.length === 0 ? 0 : 1
})

/** Another model from a place on, and both ways beside each other. */
export const forked = Effect.fnUntraced(function* (job: ReplayJob, fork: ForkJob, stdio: Stdio) {
  const records = yield* recordingOf(job.session, stdio)
  yield* stdio.err.write(
    fork.liveTools
      ? `troupe: goes on with ${fork.model} in a copy of the session. Tools really run.\n`
      : `troupe: goes on with ${fork.model}. No tool is run: calls that were made before get their recorded results.\n`,
  )
  const found = yield* fork.liveTools ? live(records, fork) : Counterfactual.run(records, fork)
  yield* stdio.out.write(
    job.json
      ? `${visibleJson(JSON.stringify(found, undefined, 2))}\n`
      : visible(ForkView.sideBySide(found, stdio.outputIsTerminal ? stdio.columns() : 120)),
  )
  return 0
})

/** In a copy that ends before the turn's prompt, which is put again. */
const live = Effect.fnUntraced(function* (records: ReadonlyArray<JournalRecord>, { at, model }: ForkJob) {
  const agents = yield* Agents
  const { place, prompt, rest } = yield* Counterfactual.placeOf(records, at)
  if (prompt?.event._tag !== "PromptReceived") return yield* new NotReplayable({ why: "the turn has no prompt" })
  const { seq } = prompt
  const kept = records.filter((record) => record.seq < seq)
  const begun = kept.map(({ event }) => event).findLast((event) => event._tag === "SessionStarted")
  if (begun === undefined) return yield* new NotReplayable({ why: "it has no beginning" })
  const sessionId = yield* Ids.uuid
  const forkedFrom = { sessionId: begun.sessionId, sequence: seq - 1 }
  const started: DurableEvent = { ...begun, sessionId, version, source: "fork", forkedFrom }
  yield* Journal.create(sessionId, [...kept, { seq, time: prompt.time, agent: "main", event: started }])
  const mode = records.map(({ event }) => event).findLast((event) => event._tag === "ControlsChanged")?.permissionMode
  const agent = yield* agents.resume(sessionId, { model, tools: Toolset.all, permissionMode: mode })
  const events = yield* Stream.runCollect(agent.prompt(prompt.event.content))
  const since = records.filter((record) => record.agent === "main" && record.seq > seq && record.seq <= place)
  const found: Counterfactual.Fork = {
    at: seq,
    prompt: typeof prompt.event.content === "string" ? prompt.event.content : "",
    recorded: Counterfactual.outcomeOf([...since, ...rest].map(({ event }) => event)),
    counterfactual: Counterfactual.outcomeOf(events.filter(isDurable)),
  }
  return found
})

/** Recording, playbook and test, side by side in a directory. */
export const exported = Effect.fnUntraced(function* (job: ExportJob, stdio: Stdio) {
  const path = yield* Path.Path
  const files = yield* Files
  const { cwd, home } = yield* Host
  const records = yield* recordingOf(job.session, stdio)
  const at = records.map(({ event }) => event).find((event) => event._tag === "SessionStarted")?.cwd ?? cwd
  const fixture = yield* Fixture.make(records, { cwd: at, home })
  const directory = path.resolve(cwd, job.output)
  const name = path.basename(directory)
  const written = {
    "recording.json": `${JSON.stringify(fixture, undefined, 1)}\n`,
    "playbook.json": `${JSON.stringify(Fixture.playbook(fixture.records, name), undefined, 2)}\n`,
    [`${name}.test.ts`]: testOf(name),
  }
  for (const [file, text] of Object.entries(written)) {
    yield* files.writeAtomic(path.join(directory, file), text, { makeParents: true })
  }
  const names = Object.keys(written).map((file) => path.join(job.output, file))
  const said = `Wrote ${names.join(", ")}: ${fixture.records.length} records, replayed once and identical.\nLook at them before you share them: what looks like a secret is out, what does not is not.\n`
  yield* stdio.out.write(
    job.json ? `${visibleJson(JSON.stringify({ files: names, records: fixture.records.length }))}\n` : visible(said),
  )
  return 0
})

const testOf = (name: string): string => `import { readFileSync } from "node:fs"
import * as Effect from "effect/Effect"
import { Replay } from "troupe/testing"
import { expect, test } from "vitest"

test(${JSON.stringify(name)}, async () => {
  const recording: unknown = JSON.parse(readFileSync(new URL("recording.json", import.meta.url), "utf8"))
  const report = await Effect.runPromise(Replay.fixture(recording))
  expect(report.differences).toEqual([])
})
`

const recordingOf = Effect.fnUntraced(function* (session: string, { err }: Stdio) {
  const { cwd } = yield* Host
  const path = yield* Path.Path
  const fs = yield* FileSystem.FileSystem
  if (session.endsWith(".json")) {
    const file = path.resolve(cwd, session)
    const text = yield* Effect.mapError(
      fs.readFileString(file),
      () => new NotReplayable({ why: `${file} cannot be read` }),
    )
    return yield* Fixture.records(parsed(text))
  }
  const found = yield* Sessions.locate(yield* SessionNamed.idOf(session))
  if (found === undefined) return yield* new SessionNotFound({ sessionId: session })
  if (found.kind !== "own") {
    const why = `${found.path} is a transcript of another client, which does not say what was observed`
    return yield* new NotReplayable({ why })
  }
  const { problems, records } = yield* Journal.read(found.sessionId)
  for (const problem of problems) yield* err.write(`troupe: warning: ${problem}\n`)
  return records
})

/** JSON, the content of a file, or text as it is. */
const valueOf = Effect.fnUntraced(function* (given: string) {
  if (!given.startsWith("@")) return parsed(given) ?? given
  const { cwd } = yield* Host
  const path = yield* Path.Path
  const fs = yield* FileSystem.FileSystem
  const file = path.resolve(cwd, given.slice(1))
  const text = yield* Effect.mapError(
    fs.readFileString(file),
    () => new NotReplayable({ why: `the file of an edit, ${file}, cannot be read` }),
  )
  return file.endsWith(".json") ? (parsed(text) ?? text) : text
})

const parsed = (text: string): unknown => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" || typeof value === "string" ? value : undefined
  } catch {
    return undefined
  }
}
