/**
 * Owns how long sessions are kept: `cleanupPeriodDays` of the settings, and what goes when the time is over.
 *
 * Nothing is deleted while it is not certain how long to keep it: a value that makes no sense, or a settings file that cannot be read
 * and might have one, stops the deletion and is told.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as FileSystem from "effect/FileSystem"
import { Files } from "../platform/Files.ts"
import { Host } from "../platform/Host.ts"
import { Settings } from "../settings/Settings.ts"
import { place } from "../settings/SettingsLayer.ts"
import type { JournalError } from "./JournalError.ts"
import type { FileError } from "../platform/FileError.ts"
import * as SessionIndex from "./SessionIndex.ts"
import * as SessionPaths from "./SessionPaths.ts"
import * as SessionRemoval from "./SessionRemoval.ts"

const usualDays = 30

/** How many days a session is kept after it was last used, or why nobody can say. */
export const period: Effect.Effect<Result.Result<number, string>, never, Settings> = Effect.gen(function* () {
  const { diagnostics, layers } = yield* (yield* Settings).current
  const layer = layers.findLast(({ value }) => value["cleanupPeriodDays"] !== undefined)
  const value = layer?.value["cleanupPeriodDays"]
  if (layer?.source.kind !== "managed") {
    const broken = diagnostics.find(({ key, severity }) => severity === "error" && key === "")
    if (broken !== undefined) return Result.fail(`${place(broken.source, broken)} cannot be read, and may say how long`)
  }
  if (value === undefined) return Result.succeed(usualDays)
  if (typeof value === "number" && Number.isInteger(value) && value >= 1) return Result.succeed(value)
  const where = layer === undefined ? "" : ` (${place(layer.source, layer.locate(["cleanupPeriodDays"]))})`
  return Result.fail(
    `cleanupPeriodDays must be a whole number of days, at least 1, and is ${JSON.stringify(value)}${where}; a large one keeps sessions for long`,
  )
})

export interface Cleaned {
  readonly days: number
  /** Those that went, or would. */
  readonly removed: ReadonlyArray<SessionIndex.SessionSummary>
  /** Those whose time is over and that stay all the same, and why. */
  readonly kept: ReadonlyArray<{ readonly session: SessionIndex.SessionSummary; readonly why: string }>
}

type Needs = Files | FileSystem.FileSystem | Host

/** Deletes our sessions that nobody has used for so many days. Those of other programs are theirs to delete. */
export const clean: (options: {
  readonly days: number
  readonly dryRun?: boolean
}) => Effect.Effect<Cleaned, never, Needs> = Effect.fnUntraced(function* ({ days, dryRun = false }) {
  const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(Duration.days(days))
  const removed: Array<SessionIndex.SessionSummary> = []
  const kept: Array<Cleaned["kept"][number]> = []
  if (!dryRun) yield* SessionRemoval.finish
  for (const session of yield* SessionIndex.list) {
    if (session.kind !== "own" || session.modified >= before) continue
    // Another program may have gone on with its transcript.
    if ((yield* SessionRemoval.lastUse(session.sessionId)) >= before) continue
    const done = dryRun ? Result.succeed(undefined) : yield* Effect.result(SessionRemoval.remove(session.sessionId))
    if (Result.isSuccess(done)) removed.push(session)
    else kept.push({ session, why: whyOf(done.failure) })
  }
  return { days, removed, kept }
})

const whyOf = (error: SessionRemoval.RemovalError | JournalError | FileError): string => error.message

/** Cleans once a day, whoever comes first. Answers what is to be told, if anything is. */
export const daily: Effect.Effect<string | undefined, never, Needs | Settings> = Effect.gen(function* () {
  const files = yield* Files
  const stamp = `${SessionPaths.sessionsDirectory(yield* Host)}.cleaned`
  const now = yield* Clock.currentTimeMillis
  const [last] = yield* files.stamps([stamp])
  if (last !== undefined && now - last.mtime < Duration.toMillis(Duration.days(1))) return undefined
  const days = yield* period
  // Before the work: another process that starts now need not do it too.
  yield* Effect.ignore(files.writeAtomic(stamp, "", { mode: 0o600, makeParents: true }))
  if (Result.isFailure(days)) return `Old sessions are not cleaned up: ${days.failure}.`
  yield* clean({ days: days.success })
  return undefined
})
