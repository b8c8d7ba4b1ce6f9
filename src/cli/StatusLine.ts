/**
 * Owns the status line: a command of the user's that is told about the session and prints what stands above the prompt.
 *
 * It runs beside everything else and nobody waits for it: a newer occasion ends a run that is under way, and several in a row make
 * one. What it prints is bounded and cleaned; if it fails, there is no status line.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import * as Latch from "effect/Latch"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type { Process } from "../platform/Process.ts"
import type { Event } from "../protocol/Event.ts"
import type { Settings } from "../settings/Settings.ts"
import { slice } from "../settings/Slice.ts"
import * as StatusInput from "./StatusInput.ts"
import { fit } from "./Styled.ts"

export const Setting = Schema.Struct({
  type: Schema.Literal("command"),
  command: Schema.String.check(Schema.isPattern(/\S/)),
  /** Columns before it. */
  padding: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 }))),
  /** Seconds between two runs without an occasion. */
  refreshInterval: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(1))),
  hideVimModeIndicator: Schema.optionalKey(Schema.Boolean),
})
export type Setting = typeof Setting.Type

/** What settings want; only the machine's where hooks of others are off. A folder's counts when a person agreed to it. */
export const configured = Effect.fnUntraced(function* (settings: Settings["Service"]) {
  const { layers } = yield* settings.current
  const managed = layers.filter(({ source }) => source.kind === "managed")
  const isOn = (key: string, among: typeof layers) => slice(among, key, Schema.Boolean).value === true
  if (isOn("disableAllHooks", managed)) return undefined
  const only = isOn("allowManagedHooksOnly", managed) || isOn("disableAllHooks", layers)
  return slice(only ? managed : layers, "statusLine", Setting).value
})

export interface StatusLine {
  /** Takes note of what happened, and runs the command again if that matters. */
  readonly hear: (event: Event) => Effect.Effect<void>
  readonly lines: () => ReadonlyArray<string>
  /** Returns when `lines` says something else than it did. */
  readonly changed: Effect.Effect<void>
}

export interface StatusLineOptions {
  readonly setting: Setting
  readonly process: Process["Service"]
  readonly env: Readonly<Record<string, string>>
  readonly facts: StatusInput.StatusFacts
  readonly model: Effect.Effect<StatusInput.StatusModel>
  readonly columns: () => number
  readonly rows: () => number
  readonly color: boolean
}

const debounce = "300 millis"
const timeout = "10 seconds"
const maxOutputBytes = 64 * 1024
const mostLines = 10

/** Until the scope closes. */
export const make = Effect.fnUntraced(function* (options: StatusLineOptions) {
  const { facts, process, setting } = options
  const handle = yield* FiberHandle.make()
  const latch = yield* Latch.make(false)
  let state = StatusInput.empty
  let printed: ReadonlyArray<string> = []
  let running = false

  const run = Effect.gen(function* () {
    const stdin = StatusInput.encode(facts, state, yield* options.model, yield* Clock.currentTimeMillis)
    const size = { COLUMNS: String(options.columns()), LINES: String(options.rows()) }
    const { exitCode, stderr, stdout } = yield* process.run({
      command: "/bin/sh",
      args: ["-c", setting.command],
      cwd: facts.cwd,
      env: { ...options.env, ...size },
      stdin,
      timeout,
      maxOutputBytes,
    })
    if (exitCode !== 0) yield* Effect.logDebug(`The status line's command ended with ${exitCode}: ${stderr.trim()}`)
    return exitCode === 0 ? stdout : ""
  }).pipe(Effect.catch((error) => Effect.as(Effect.logDebug(error.message), "")))

  const show = (output: string) => {
    const lines = output.trimEnd() === "" ? [] : output.trimEnd().split("\n").slice(0, mostLines)
    if (lines.join("\n") === printed.join("\n")) return Effect.void
    printed = lines
    return latch.open
  }

  const renew = Effect.suspend(() => {
    running = true
    return Effect.flatMap(run, show)
  }).pipe(Effect.ensuring(Effect.sync(() => (running = false))))

  yield* FiberHandle.run(handle, renew)
  if (setting.refreshInterval !== undefined) {
    // A command slower than its interval is not ended by it.
    const tick = Effect.suspend(() => (running ? Effect.void : FiberHandle.run(handle, renew)))
    const every = Schedule.spaced(`${setting.refreshInterval} seconds`)
    yield* Effect.forkScoped(Effect.schedule(tick, every))
  }

  const padding = " ".repeat(setting.padding ?? 0)
  const status: StatusLine = {
    hear: (event) => {
      state = StatusInput.hear(state, event)
      if (!StatusInput.matters(event)) return Effect.void
      return Effect.asVoid(FiberHandle.run(handle, Effect.delay(renew, debounce)))
    },
    lines: () => {
      latch.closeUnsafe()
      return printed.map((line) => padding + fit(line, options.columns() - padding.length, options.color))
    },
    changed: latch.await,
  }
  return status
})
