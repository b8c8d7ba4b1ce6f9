/** Owns what `--debug` adds to a command: its log, and the services that write into it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { randomUUID } from "node:crypto"
import process from "node:process"
import { fromEnv } from "../model/Secrets.ts"
import { TroupeNode } from "../node/index.ts"
import { Host } from "../platform/Host.ts"
import type { DebugWish, Job } from "./Argv.ts"
import * as DebugLog from "./DebugLog.ts"
import { version } from "./PackageRoot.ts"
import type { Stdio } from "./Stdio.ts"

export type Debugged = Effect.Success<ReturnType<typeof debugged>>

/** A log is named by its session, so a new session gets its id here. */
const withId = (job: Job): Job => {
  if (job._tag !== "Session" || job.which.sessionId !== undefined) return job
  if (job.which._tag !== "New" && !job.which.fork) return job
  return { ...job, which: { ...job.which, sessionId: randomUUID() } }
}

const idOf = (job: Job): string | undefined => {
  if (job._tag !== "Session") return undefined
  return job.which.sessionId ?? (job.which._tag === "Resume" ? job.which.id : undefined)
}

/** Opens the log, and says where it is. */
export const debugged = Effect.fnUntraced(function* (job: Job, wish: DebugWish, stdio: Stdio) {
  const { configDir, cwd, env, platform } = yield* Host
  const named = withId(job)
  const name = idOf(named) ?? `${yield* Clock.currentTimeMillis}`
  const { redact } = fromEnv(env)
  const log = yield* DebugLog.open(wish, { directory: `${configDir}/troupe/debug`, cwd, name, redact })
  yield* Effect.ignore(stdio.err.write(`troupe: the debug log is ${log.path}\n`))
  const facts = {
    version: version(),
    node: process.version,
    platform,
    cwd,
    pid: process.pid,
    upMs: Math.round(process.uptime() * 1000),
  }
  return {
    named,
    log,
    categoryOf: DebugLog.categoryOf,
    settings: DebugLog.settings,
    watched: DebugLog.watched,
    started: DebugLog.note("startup", named._tag, facts),
    platform: DebugLog.watchedFetch.pipe(Layer.provideMerge(TroupeNode.layer)),
  }
}, Effect.provide(TroupeNode.layer))
