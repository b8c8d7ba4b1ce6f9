/**
 * What the end-to-end tests share: a temporary world with a home, a configuration and a workspace of its own, the scripted
 * model behind real HTTP, and real processes of the built command in it.
 */
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import process from "node:process"
import type { Playbook } from "../../src/testing/Playbook.ts"
import type { Recording } from "../../src/testing/Recorder.ts"
import { ScriptedServer } from "../../src/testing/ScriptedServer.ts"

export const root = path.resolve(import.meta.dirname, "../..")
const command = path.join(root, "bin/troupe.js")

if (!fs.existsSync(path.join(root, "dist/cli/main.cjs"))) {
  throw new Error("The end-to-end tests run the built command, and dist/ is missing: run `npm run build` first.")
}

export interface Ended {
  /** `null` when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

export interface Options {
  /** On top of the clean environment; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** All of stdin. `"open"` leaves it to `Running.type`; without either it is empty. */
  readonly input?: string
  readonly cwd?: string
  /** Nobody reads stdout until the process has ended. */
  readonly unread?: boolean
  /** For node itself, in front of the script. */
  readonly nodeFlags?: ReadonlyArray<string>
}

export interface Running {
  readonly pid: number
  readonly signal: (name: NodeJS.Signals) => Effect.Effect<void>
  readonly type: (text: string) => Effect.Effect<void>
  readonly close: Effect.Effect<void>
  /** It has begun to listen for signals. Linux only, like the next. */
  readonly listens: Effect.Effect<void>
  /** The signals sent so far have reached it. */
  readonly heard: Effect.Effect<void>
  /** Begins to read stdout after all. */
  readonly read: Effect.Effect<void>
  /** Stops reading stdout, as `head` does when it has seen enough. */
  readonly leave: Effect.Effect<void>
  /** Waits until stdout satisfies this; fails the test when the process ends before it does. */
  readonly until: (seen: (out: string) => boolean) => Effect.Effect<void>
  /** Waits for a byte on the fourth descriptor. */
  readonly beckoned: Effect.Effect<boolean>
  readonly ended: Effect.Effect<Ended>
}

export interface World {
  readonly directory: string
  /** The workspace: where commands run. */
  readonly work: string
  readonly config: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Every request so far. */
  readonly requests: Effect.Effect<ReadonlyArray<Recording>>
  readonly atLeast: (count: number) => Effect.Effect<ReadonlyArray<Recording>>
  readonly start: (argv: ReadonlyArray<string>, options?: Options) => Effect.Effect<Running>
  readonly run: (argv: ReadonlyArray<string>, options?: Options) => Effect.Effect<Ended>
  readonly write: (name: string, text: string) => string
  readonly read: (name: string) => string
}

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "troupe-e2e-")))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true, maxRetries: 3 })),
)

/** A place without a model. */
export const place = Effect.fnUntraced(function* (more: Readonly<Record<string, string | undefined>> = {}) {
  const directory = yield* temporary
  const [work, config, home] = ["work", "config", "home"].map((name) => path.join(directory, name))
  assert(work !== undefined && config !== undefined && home !== undefined)
  for (const one of [work, home]) fs.mkdirSync(one)
  const env: Readonly<Record<string, string | undefined>> = {
    PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env["PATH"] ?? ""}`,
    HOME: home,
    TMPDIR: directory,
    CLAUDE_CONFIG_DIR: config,
    ...more,
  }
  const children = new Set<ChildProcess>()
  yield* Effect.addFinalizer(() => Effect.sync(() => children.forEach((child) => void child.kill("SIGKILL"))))

  const start = (argv: ReadonlyArray<string>, options: Options = {}) =>
    Effect.sync(() => {
      const child = spawn(process.execPath, [...(options.nodeFlags ?? []), command, ...argv], {
        cwd: options.cwd ?? work,
        env: { ...env, ...options.env },
        stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe", "pipe"],
      })
      children.add(child)
      return running(child, options, () => children.delete(child))
    })
  const run = (argv: ReadonlyArray<string>, options?: Options) =>
    Effect.flatMap(start(argv, options), (child) => child.ended)

  return {
    directory,
    work,
    config,
    env,
    start,
    run,
    write: (name: string, text: string) => {
      const file = path.resolve(work, name)
      fs.mkdirSync(path.dirname(file), { recursive: true })
      fs.writeFileSync(file, text)
      return file
    },
    read: (name: string) => fs.readFileSync(path.resolve(work, name), "utf8"),
  }
})

/** A place with a scripted model that its commands talk to. */
export const world = Effect.fnUntraced(function* (playbook: Playbook) {
  const { url, requests, atLeast } = yield* ScriptedServer.serve({ playbook })
  const made = yield* place({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "scripted" })
  return { ...made, requests, atLeast } satisfies World
})

const untilStatus = (child: ChildProcess, says: RegExp) =>
  Effect.repeat(
    Effect.sync(() => says.test(fs.readFileSync(`/proc/${child.pid}/status`, "utf8"))),
    { until: (yes) => yes, schedule: Schedule.spaced("5 millis") },
  )

const running = (child: ChildProcess, { input, unread }: Options, gone: () => void): Running => {
  const { stdin, stdout, stderr } = child
  const bell = child.stdio[3]
  assert(stdout !== null && stderr !== null && bell instanceof Object && "on" in bell)
  const done = Deferred.makeUnsafe<Ended>()
  const rung = Deferred.makeUnsafe<boolean>()
  const waiting = new Set<() => void>()
  let out = ""
  let err = ""
  let over = false
  stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text
    waiting.forEach((look) => look())
  })
  if (unread === true) stdout.pause()
  stderr.setEncoding("utf8").on("data", (text: string) => (err += text))
  bell.on("data", () => void Deferred.doneUnsafe(rung, Effect.succeed(true)))
  bell.on("error", () => {})
  stdin?.on("error", () => {})
  child.once("close", (code, signal) => {
    over = true
    gone()
    Deferred.doneUnsafe(done, Effect.succeed({ code, signal, out, err }))
    Deferred.doneUnsafe(rung, Effect.succeed(false))
    waiting.forEach((look) => look())
  })
  // A descendant that outlives the command would keep its pipes, and us, waiting.
  child.once("exit", () => {
    if ("destroy" in bell) bell.destroy()
    stdout.resume()
  })
  if (input !== undefined && input !== "open") stdin?.end(input)

  return {
    pid: child.pid ?? 0,
    signal: (name) => Effect.sync(() => void child.kill(name)),
    type: (text) => Effect.sync(() => void stdin?.write(text)),
    close: Effect.sync(() => void stdin?.end()),
    // Node itself catches the other signals from the start, but never SIGHUP, the first bit.
    listens: untilStatus(child, /SigCgt:\s*\w+[13579bdf]$/m),
    heard: untilStatus(child, /ShdPnd:\s*0+$/m),
    read: Effect.sync(() => void stdout.resume()),
    leave: Effect.sync(() => void stdout.destroy()),
    until: (seen) =>
      Effect.callback<void>((resume) => {
        const look = () => {
          if (seen(out)) resume(Effect.void)
          else if (over)
            resume(Effect.die(new Error(`it ended before that was printed.\nstdout: ${out}\nstderr: ${err}`)))
          else return
          waiting.delete(look)
        }
        waiting.add(look)
        look()
      }),
    beckoned: Deferred.await(rung),
    ended: Deferred.await(done),
  }
}

type Line = Readonly<Record<string, unknown>> & { readonly type: string; readonly subtype?: string }

const isLine = (value: unknown): value is Line =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

/** JSON lines, every one of which must be an object with a type. */
export const linesOf = (out: string): ReadonlyArray<Line> =>
  out
    .trimEnd()
    .split("\n")
    .map((text) => {
      const line: unknown = JSON.parse(text)
      assert(isLine(line), text)
      return line
    })

/** The result line: the only one of `json`, the last one of `stream-json`. */
export const resultOf = (ended: Ended): Line => {
  const last = linesOf(ended.out).at(-1)
  assert(last?.type === "result", `no result at the end of ${ended.out}\nstderr: ${ended.err}`)
  return last
}

/** What the model was told in the last message of a request: its text and its tool results. */
export const toldLast = (request: Recording | undefined): string => {
  const content = request?.body.messages.at(-1)?.content ?? ""
  return typeof content === "string" ? content : JSON.stringify(content)
}

/** The tools of a request, by name. */
export const offered = (request: Recording | undefined): ReadonlyArray<string> =>
  (request?.body.tools ?? []).map((tool) => String(tool.name))

/** The whole system prompt of a request. */
export const systemOf = (request: Recording | undefined): string => JSON.stringify(request?.body.system)

/** It ended like this, and otherwise what it printed is shown. */
export const endedWith = (ended: Ended, code: number): void => {
  assert.strictEqual(ended.code, code, `stdout: ${ended.out}\nstderr: ${ended.err}\nsignal: ${ended.signal}`)
  assert.notMatch(ended.err, /\n\s+at .+[:)]/, "a stack trace is printed")
}

/** Living processes that were started in this world: its directory is in their environment, their arguments, or where they stand. */
export const survivors = (directory: string): ReadonlyArray<string> =>
  fs.readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return []
    try {
      const args = fs.readFileSync(`/proc/${pid}/cmdline`, "latin1")
      const known = fs.readFileSync(`/proc/${pid}/environ`, "latin1") + args + fs.readlinkSync(`/proc/${pid}/cwd`)
      return known.includes(directory) ? [`${pid} ${args.replaceAll("\0", " ")}`] : []
    } catch {
      return []
    }
  })

/** Waits for a file to appear. */
export const appeared = (file: string): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const look = () => {
      if (!fs.existsSync(file)) return
      watcher.close()
      resume(Effect.void)
    }
    const watcher = fs.watch(path.dirname(file), look)
    look()
    return Effect.sync(() => watcher.close())
  })
