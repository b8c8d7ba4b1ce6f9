/** Owns `troupe rewind`: shows what a session can go back to, or goes back, and answers the exit code. */
import * as Effect from "effect/Effect"
import { Agents } from "../agents/Agents.ts"
import { Host } from "../platform/Host.ts"
import * as Journal from "../session/Journal.ts"
import type { RewindReport, What } from "../session/Rewind.ts"
import type { Checkpoint } from "../session/RewindPlan.ts"
import { CannotStart } from "./OpenSession.ts"
import { visibleJson } from "./Reveal.ts"
import * as RewindView from "./RewindView.ts"
import * as SessionNamed from "./SessionNamed.ts"
import type { Stdio } from "./Stdio.ts"

export interface RewindJob {
  /** The latest one of this directory unless told. */
  readonly session: string | undefined
  /** Without it the points are listed. */
  readonly to: string | undefined
  readonly what: What
  readonly dryRun: boolean
  readonly force: boolean
  readonly json: boolean
}

type Writers = Pick<Stdio, "out" | "err">

export const rewindCommand = Effect.fnUntraced(function* (job: RewindJob, { err, out }: Writers) {
  const agents = yield* Agents
  const { cwd: here } = yield* Host
  const id = job.session === undefined ? yield* agents.latest(here) : yield* SessionNamed.idOf(job.session)
  if (id === undefined) {
    const message = `There is no session in ${here}. Name one: troupe rewind <session>.`
    return yield* new CannotStart({ message })
  }
  const { records } = yield* Effect.orElseSucceed(Journal.read(id), () => ({ records: [] }))
  const started = records.map(({ event }) => event).findLast((event) => event._tag === "SessionStarted")
  const cwd = started?.cwd ?? here
  // Whoever only looks keeps nothing, but may go back: what was kept is there.
  const agent = yield* agents.resume(id, { cwd, checkpoints: true })
  const print = (value: object, lines: ReadonlyArray<string>) =>
    out.write(job.json ? `${visibleJson(JSON.stringify(value, undefined, 2))}\n` : `${lines.join("\n")}\n`)
  if (job.to === undefined) {
    const points = yield* agent.checkpoints
    yield* print({ sessionId: id, checkpoints: points.map(numbered) }, RewindView.points(points))
    return 0
  }
  const { dryRun, force, to, what } = job
  const went = yield* Effect.result(agent.rewind(to, { what, dryRun, force }))
  if (went._tag === "Success") {
    const report: RewindReport = went.success
    yield* print({ sessionId: id, ...report }, (dryRun ? RewindView.preview : RewindView.done)(report, cwd))
    return report.files.some(({ problem }) => problem !== undefined) ? 1 : 0
  }
  const failure = went.failure
  if (job.json && failure._tag === "RewindRefused") {
    yield* print({ sessionId: id, refused: failure.why, conflicts: failure.conflicts }, [])
  }
  yield* err.write(`troupe: ${failure.message}\n`)
  return 1
}, Effect.scoped)

const numbered = (point: Checkpoint, index: number) => ({ number: index + 1, ...point })
