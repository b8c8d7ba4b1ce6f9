/** Owns the profile of a start: moments from the birth of the process to the first word of the model, when `TROUPE_PROFILE=1` asks for it. */
import { performance } from "node:perf_hooks"
import process from "node:process"

export const isOn = process.env["TROUPE_PROFILE"] === "1"

const prefix = "troupe: "

/** Notes a moment, the first time it comes. */
export const mark = (moment: string): void => {
  if (isOn && performance.getEntriesByName(prefix + moment).length === 0) performance.mark(prefix + moment)
}

interface Moment {
  readonly name: string
  /** Milliseconds since the process began. */
  readonly at: number
}

const moments = (): ReadonlyArray<Moment> => [
  { name: "node is ready", at: performance.nodeTiming.bootstrapComplete },
  ...performance
    .getEntriesByType("mark")
    .filter((entry) => entry.name.startsWith(prefix))
    .map((entry) => ({ name: entry.name.slice(prefix.length), at: entry.startTime })),
]

/** A line per moment: when it came, how long after the one before it, and a bar for that. */
export const table = (found: ReadonlyArray<Moment> = moments()): string => {
  const rows = found.toSorted((a, b) => a.at - b.at)
  const widest = Math.max(...rows.map((row) => row.name.length))
  const steps = rows.map((row, index) => row.at - (rows[index - 1]?.at ?? 0))
  const longest = Math.max(...steps)
  const lines = rows.map(({ name, at }, index) => {
    const step = steps[index] ?? 0
    const bar = "█".repeat(Math.max(1, Math.round((step / longest) * 30)))
    return `${name.padEnd(widest)}  ${at.toFixed(1).padStart(8)}  ${`+${step.toFixed(1)}`.padStart(8)}  ${bar}`
  })
  return [`${"moment".padEnd(widest)}  ${"ms".padStart(8)}  ${"step".padStart(8)}`, ...lines, ""].join("\n")
}

/** Printed when the process leaves, wherever it leaves. */
if (isOn) process.on("exit", () => process.stderr.write(table()))
