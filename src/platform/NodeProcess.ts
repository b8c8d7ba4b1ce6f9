/** Owns child processes on node: runs with capped output, scoped handles, and the promise that none outlives us. */
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { Capture } from "./Capture.ts"
import * as NodeChild from "./NodeChild.ts"
import * as Tree from "./NodeProcessTree.ts"
import {
  type Command,
  type Handle,
  type Output,
  Process,
  ProcessError,
  type RunOptions,
  type RunResult,
  type SpawnOptions,
} from "./Process.ts"

const defaultGrace = Duration.seconds(2)

/** Every child of one service: who lives, who is being killed. */
class Nursery {
  private readonly id = `${process.pid}-${process.hrtime.bigint().toString(36)}`
  private count = 0
  private readonly live = new Map<string, NodeChild.Child>()
  private readonly ladders = new Map<string, NodeChild.Ladder>()

  cookie(): string {
    return `${this.id}.${++this.count}.`
  }

  add(child: NodeChild.Child): void {
    this.live.set(child.cookie, child)
  }

  forget(child: NodeChild.Child): void {
    this.live.delete(child.cookie)
  }

  kill(child: NodeChild.Child, grace: Duration.Input | undefined): NodeChild.Ladder {
    const running = this.ladders.get(child.cookie)
    if (running !== undefined) return running
    const made = NodeChild.ladder(child, Duration.toMillis(grace ?? defaultGrace), () => {
      this.ladders.delete(child.cookie)
      this.live.delete(child.cookie)
    })
    this.ladders.set(child.cookie, made)
    return made
  }

  readonly settled = Effect.suspend(() =>
    Effect.forEach([...this.ladders.values()], (one) => Deferred.await(one.done), { discard: true }),
  )

  /** The process is ending now: no time for graces. */
  readonly sweep = (): void => {
    if (this.count === 0) return
    for (const child of this.live.values()) if (!child.groupGone) Tree.signal(child.pid, [], "SIGKILL")
    for (const one of this.ladders.values()) one.killNow()
    for (const one of Tree.carriers(`${this.id}.`)) Tree.signalOne(one.pid, "SIGKILL")
  }

  /** Orderly: everything gets its TERM, also what left its group and outlived its leader. */
  readonly close = Effect.suspend(() => {
    if (this.count === 0) return Effect.void
    for (const child of this.live.values()) this.kill(child, "200 millis")
    const rest = NodeChild.ladder({ pid: 0, cookie: `${this.id}.`, groupGone: true }, 200, () => {})
    return Effect.andThen(this.settled, Deferred.await(rest.done))
  })
}

/** Where output goes once memory is full: the whole of it, up to a limit, written as it comes. */
class Spill {
  private readonly path: string
  private readonly limit: number
  private fd: number | undefined
  private written = 0
  opened = false

  constructor(path: string, limit: number) {
    this.path = path
    this.limit = limit
  }

  write(bytes: Uint8Array): void {
    try {
      if (!this.opened) {
        fs.mkdirSync(path.dirname(this.path), { recursive: true, mode: 0o700 })
        const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = fs.constants
        this.fd = fs.openSync(this.path, O_CREAT | O_NOFOLLOW | O_TRUNC | O_WRONLY, 0o600)
        this.opened = true
      }
      if (this.fd === undefined) return
      const part = bytes.subarray(0, this.limit - this.written)
      for (let done = 0; done < part.length;) done += fs.writeSync(this.fd, part, done)
      this.written += part.length
    } catch {
      // A full disk must not end the command; memory still has its first and last part.
      this.close()
    }
  }

  close(): void {
    if (this.fd !== undefined) fs.closeSync(this.fd)
    this.fd = undefined
  }
}

const collect = (child: NodeChild.Child, options: RunOptions) => {
  const stdout = new Capture(options.maxOutputBytes)
  const stderr = new Capture(options.maxOutputBytes)
  const combined = new Capture(options.maxOutputBytes)
  const spill =
    options.spillTo === undefined ? undefined : new Spill(options.spillTo, options.maxSpillBytes ?? 256 * 1024 * 1024)
  const listen = (from: Output["from"], capture: Capture) => {
    const decoder = new TextDecoder()
    child.leader[from]?.on("data", (bytes: Uint8Array) => {
      if (spill !== undefined && combined.total + bytes.length > combined.limit) {
        if (!combined.truncated) spill.write(combined.whole())
        spill.write(bytes)
      }
      capture.push(bytes)
      combined.push(bytes)
      options.onOutput?.({ from, text: decoder.decode(bytes, { stream: true }) })
    })
  }
  listen("stdout", stdout)
  listen("stderr", stderr)
  return {
    close: () => spill?.close(),
    result: () => ({
      stdout: stdout.text(),
      stderr: stderr.text(),
      combined: combined.text(),
      truncated: combined.truncated,
      totalBytes: combined.total,
      ...(spill?.opened ? { spilledTo: options.spillTo ?? "" } : {}),
    }),
  }
}

const run = (nursery: Nursery, options: RunOptions): Effect.Effect<RunResult, ProcessError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const stdin = options.stdin === undefined ? "ignore" : "pipe"
      const child = yield* NodeChild.start(options, nursery.cookie(), [stdin, "pipe", "pipe"])
      nursery.add(child)
      const output = collect(child, options)
      if (options.stdin !== undefined) child.leader.stdin?.end(options.stdin)
      const exited = Deferred.await(child.exit)
      const inTime =
        options.timeout === undefined ? Effect.asSome(exited) : Effect.timeoutOption(exited, options.timeout)
      return yield* restore(
        Effect.gen(function* () {
          const timedOut = Option.isNone(yield* inTime)
          if (timedOut) yield* Deferred.await(nursery.kill(child, options.killGrace).done)
          const status = yield* exited
          yield* Deferred.await(child.drained)
          const leftoversKilled =
            !timedOut && options.leftovers !== "keep" && !child.groupGone && Tree.groupAlive(child.pid)
          if (leftoversKilled) nursery.kill(child, options.killGrace)
          else if (options.leftovers !== "keep") nursery.forget(child)
          return { ...status, ...output.result(), timedOut, pid: child.pid, leftoversKilled }
        }),
      ).pipe(
        Effect.onInterrupt(() => Effect.sync(() => nursery.kill(child, options.killGrace))),
        Effect.ensuring(Effect.sync(output.close)),
      )
    }),
  )

/** Delivers output to a bounded queue; when it is full the child waits, not our memory. */
const pipeOutput = (child: NodeChild.Child, queue: Queue.Queue<Output, Cause.Done>): void => {
  const { stderr, stdout } = child.leader
  const listen = (from: Output["from"]) => {
    const decoder = new TextDecoder()
    child.leader[from]?.on("data", (bytes: Uint8Array) => {
      const output = { from, text: decoder.decode(bytes, { stream: true }) }
      if (Queue.offerUnsafe(queue, output)) return
      child.held = true
      stdout?.pause()
      stderr?.pause()
      Effect.runCallback(Queue.offer(queue, output), {
        onExit: () => {
          child.held = false
          stdout?.resume()
          stderr?.resume()
        },
      })
    })
  }
  listen("stdout")
  listen("stderr")
  Effect.runCallback(Deferred.await(child.drained), { onExit: () => Queue.endUnsafe(queue) })
}

const openLog = (file: string, command: Command) =>
  Effect.try({
    try: () => {
      fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
      return fs.openSync(file, "a", 0o600)
    },
    catch: (cause) =>
      new ProcessError({
        command: command.command,
        cwd: command.cwd,
        reason: "Unknown",
        detail: `cannot open its log ${file}: ${cause instanceof Error ? cause.message : String(cause)}`,
      }),
  })

const launch = Effect.fnUntraced(function* (nursery: Nursery, options: SpawnOptions) {
  const stdin = options.stdin === "pipe" ? "pipe" : "ignore"
  if (options.logTo === undefined) return yield* NodeChild.start(options, nursery.cookie(), [stdin, "pipe", "pipe"])
  const log = yield* openLog(options.logTo, options)
  return yield* Effect.ensuring(
    NodeChild.start(options, nursery.cookie(), [stdin, log, log]),
    Effect.sync(() => fs.closeSync(log)),
  )
})

const spawn = Effect.fnUntraced(function* (nursery: Nursery, options: SpawnOptions) {
  const child = yield* Effect.acquireRelease(
    Effect.tap(launch(nursery, options), (child) => Effect.sync(() => nursery.add(child))),
    (child) => Effect.sync(() => nursery.kill(child, options.killGrace)),
  )
  const queue = yield* Queue.make<Output, Cause.Done>({ capacity: 64 })
  pipeOutput(child, queue)
  const { stdin } = child.leader
  const closed = new ProcessError({
    command: options.command,
    cwd: options.cwd,
    reason: "Unknown",
    detail: "its input is closed",
  })
  const handle: Handle = {
    pid: child.pid,
    output: Stream.fromQueue(queue),
    exit: Deferred.await(child.exit),
    write: (data) =>
      Effect.callback((resume) => {
        if (stdin === null || !stdin.writable) return resume(Effect.fail(closed))
        stdin.write(data, (cause) => resume(cause ? Effect.fail(closed) : Effect.void))
      }),
    closeStdin: Effect.sync(() => {
      stdin?.end()
    }),
    signal: (name) => Effect.sync(() => Tree.signal(child.groupGone ? undefined : child.pid, [], name)),
    kill: Effect.suspend(() => Deferred.await(nursery.kill(child, options.killGrace).done)),
  }
  return handle
})

export const layer: Layer.Layer<Process> = Layer.effect(
  Process,
  Effect.gen(function* () {
    const nursery = new Nursery()
    // `process.exit` runs no finalizers, but it does run this.
    process.on("exit", nursery.sweep)
    yield* Effect.addFinalizer(() =>
      Effect.andThen(
        nursery.close,
        Effect.sync(() => process.off("exit", nursery.sweep)),
      ),
    )
    return {
      run: (options) => run(nursery, options),
      spawn: (options) => spawn(nursery, options),
      settled: nursery.settled,
    }
  }),
)
