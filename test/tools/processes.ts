/** Real processes as tests look at them: who lives, and a moment that something becomes true. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as fs from "node:fs"

/** Living (not zombie) processes whose command line names the marker. */
export const living = (marker: string): ReadonlyArray<number> =>
  fs
    .readdirSync("/proc")
    .filter((name) => {
      try {
        if (!/^\d+$/.test(name) || Number(name) === process.pid) return false
        if (/\) [ZX] /.test(fs.readFileSync(`/proc/${name}/stat`, "utf8"))) return false
        return fs.readFileSync(`/proc/${name}/cmdline`, "utf8").includes(marker)
      } catch {
        return false
      }
    })
    .map(Number)

let serial = 0

/** A duration no other sleep has: who sleeps for so long is ours. */
export const marker = (): string => `87${process.pid}.${++serial}`

/** Looks often, until it is so. */
export const becomes = Effect.fnUntraced(function* (what: string, isSo: () => boolean) {
  const seen = yield* Effect.timeoutOption(
    Effect.repeat(Effect.sync(isSo), { until: (yes) => yes, schedule: Schedule.spaced("10 millis") }),
    "10 seconds",
  )
  assert.isTrue(seen._tag === "Some", `never: ${what}`)
})
