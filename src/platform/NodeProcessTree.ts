/** Owns finding and signalling everything a child started: its group, its descendants, and those that left both. */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import process from "node:process"

/** Children carry this variable, so that one which called setsid and lost its parent is still known as ours. */
export const cookieName = "TROUPE_PROCESS"

interface Entry {
  readonly pid: number
  readonly ppid: number
  readonly group: number
  readonly started: string
  readonly zombie: boolean
}

const entry = (pid: number): Entry | undefined => {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1")
    // The name in parentheses may contain anything, also parentheses.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return {
      pid,
      zombie: fields[0] === "Z" || fields[0] === "X",
      ppid: Number(fields[1]),
      group: Number(fields[2]),
      started: fields[19] ?? "",
    }
  } catch {
    return undefined
  }
}

const linux = process.platform === "linux"

const list = (): Array<Entry> => {
  const entries: Array<Entry> = []
  for (const name of fs.readdirSync("/proc")) {
    const code = name.charCodeAt(0)
    if (code < 48 || code > 57) continue
    const found = entry(Number(name))
    if (found !== undefined && !found.zombie) entries.push(found)
  }
  return entries
}

/** One of its variables begins like this: `NAME=value`. */
const carries = (pid: number, beginning: string): boolean => {
  try {
    const environ = fs.readFileSync(`/proc/${pid}/environ`, "latin1")
    return environ.startsWith(beginning) || environ.includes(`\0${beginning}`)
  } catch {
    return false
  }
}

/** The process is what it was when found: numbers are reused. */
export interface Target {
  readonly pid: number
  readonly group: number
  readonly started: string
}

/**
 * All living processes that a child started: its group, what carries its cookie, and the descendants of both. It reads one file
 * per process of the machine, so it is for killing, not for polling.
 */
export const members = (group: number | undefined, cookie: string): Array<Target> => {
  if (!linux) return []
  const entries = list()
  const found = new Map<number, Entry>()
  const mark = `${cookieName}=${cookie}`
  for (const one of entries) {
    if (one.pid !== process.pid && (one.group === group || carries(one.pid, mark))) found.set(one.pid, one)
  }
  for (let grew = true; grew;) {
    grew = false
    for (const one of entries) {
      if (!found.has(one.pid) && found.has(one.ppid)) {
        found.set(one.pid, one)
        grew = true
      }
    }
  }
  return [...found.values()]
}

/** Everything that has a variable of which this is the beginning (`NAME=value`). */
export const carriers = (beginning: string): Array<Target> =>
  linux ? list().filter((one) => one.pid !== process.pid && carries(one.pid, beginning)) : []

const isStill = (target: Target): boolean => {
  const now = entry(target.pid)
  return now !== undefined && !now.zombie && now.started === target.started
}

/** A group of only zombies (no init to reap them) still answers signal 0, so on Linux the states decide. */
export const groupAlive = (group: number): boolean => {
  try {
    process.kill(-group, 0)
  } catch {
    return false
  }
  return !linux || list().some((one) => one.group === group)
}

export const anyAlive = (group: number | undefined, targets: ReadonlyArray<Target>): boolean =>
  targets.some(isStill) || (group !== undefined && groupAlive(group))

/** To the group and to each target outside it. Failing to signal what is gone is no failure. */
export const signal = (group: number | undefined, targets: ReadonlyArray<Target>, name: NodeJS.Signals): void => {
  if (group !== undefined) {
    if (process.platform === "win32") return endTree(group)
    signalOne(-group, name)
  }
  for (const target of targets) if (target.group !== group && isStill(target)) signalOne(target.pid, name)
}

/** Windows has neither groups nor gentle signals; its own tool knows the tree. */
const endTree = (pid: number): void => {
  spawn("taskkill", ["/pid", String(pid), "/T", "/F"], { stdio: "ignore", windowsHide: true }).on("error", () => {})
}

export const signalOne = (pid: number, name: NodeJS.Signals): void => {
  try {
    process.kill(pid, name)
  } catch {
    // It ended between looking and signalling.
  }
}
