/** Owns child processes on node: runs with capped output, scoped handles, and the promise that none outlives us. */
import type * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import process from "node:process"
import { Capture } from "./Capture.ts"
import * as NodeChild from "./NodeChild.ts"
import * as Tree from "./NodeProcessTree.ts"
import { Spill } from "./NodeSpill.ts"
import {
  type Handle,
  type Output,
  Process,
  ProcessError,
  type RunOptions,
  type RunResult,
  type SpawnOptions,
} from "./Process.ts"

const defaultGrace = Duration.seconds(2)
const megabyte = 1024 * 1024

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
    const made = NodeChild.ladder(NodeChild.preyOf(child), Duration.toMillis(grace ?? defaultGrace), () => {
      this.ladders.delete(child.cookie)
      this.live.delete(child.cookie)
      // From now on its number may belong to somebody else, and a second kill must not meet them.
      child.groupGone ||= !Tree.groupAlive(child.pid)
      if (!child.keepsOutput) return
      this.alive(child)
      Effect.runCallback(Deferred.await(child.drained), { onExit: () => NodeChild.closeOutput(child) })
    })
    this.ladders.set(child.cookie, made)
    return made
  }

  /** Something of it is alive; what is gone once stays gone. */
  alive(child: NodeChild.Child): boolean {
    if (child.gone) return false
    const { group, find } = NodeChild.preyOf(child)
    if (find().length > 0 || (group !== undefined && Tree.groupAlive(group))) return true
    child.gone = true
    this.forget(child)
    return false
  }

  private readonly carriers = () => Tree.carriers(`${Tree.cookieName}=${this.id}.`)

  readonly settled = Effect.suspend(() =>
    Effect.forEach([...this.ladders.values()], (one) => Deferred.await(one.done), { discard: true }),
  )

  /** The process is ending now: no time for graces. */
  readonly sweep = (): void => {
    if (this.count === 0) return
    for (const child of this.live.values()) if (!child.groupGone) Tree.signal(child.pid, [], "SIGKILL")
    for (const one of this.ladders.values()) one.killNow()
    for (const one of this.carriers()) Tree.signalOne(one.pid, "SIGKILL")
  }

  /** Orderly: everything gets its TERM, also what left its group and outlived its leader. */
  readonly close = Effect.suspend(() => {
    if (this.count === 0) return Effect.void
    for (const child of this.live.values()) this.kill(child, "200 millis")
    const rest = NodeChild.ladder({ find: this.carriers }, 200, () => {})
    return Effect.andThen(this.settled, Deferred.await(rest.done))
  })
}

const collect = (child: NodeChild.Child, options: RunOptions) => {
  const stdout = new Capture(options.maxOutputBytes)
  const stderr = new Capture(options.maxOutputBytes)
  const combined = new Capture(options.maxOutputBytes)
  const spill =
    options.spillTo === undefined ? undefined : new Spill(options.spillTo, options.maxSpillBytes ?? 256 * megabyte)
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
      ...(spill?.opened && { spilledTo: options.spillTo ?? "" }),
      ...(spill?.problem !== undefined && { spillProblem: spill.problem }),
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
          const left = !timedOut && !child.groupGone && Tree.groupAlive(child.pid)
          const leftoversKilled = left && options.leftovers !== "keep"
          if (leftoversKilled) nursery.kill(child, options.killGrace)
          else if (!left) nursery.forget(child)
          return { ...status, ...output.result(), timedOut, pid: child.pid, leftoversKilled }
        }),
      ).pipe(
        Effect.onInterrupt(() => Effect.sync(() => nursery.kill(child, options.killGrace))),
        Effect.ensuring(Effect.sync(output.close)),
      )
    }),
  )

/** Delivers output to a bounded queue; when it is full the child waits, not our memory. */
const pipeOutput = (
  child: NodeChild.Child,
  queue: Queue.Queue<Output, Cause.Done>,
  onOutput: SpawnOptions["onOutput"],
): void => {
  const { stderr, stdout } = child.leader
  const listen = (from: Output["from"]) => {
    const decoder = new TextDecoder()
    child.leader[from]?.on("data", (bytes: Uint8Array) => {
      const output = { from, text: decoder.decode(bytes, { stream: true }) }
      onOutput?.(output)
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

/** Delivers output to a file, until nobody holds it any more. */
const logOutput = (child: NodeChild.Child, log: Spill, onOutput: SpawnOptions["onOutput"]): void => {
  const listen = (from: Output["from"]) => {
    const decoder = new TextDecoder()
    child.leader[from]?.on("data", (bytes: Uint8Array) => {
      log.write(bytes)
      onOutput?.({ from, text: decoder.decode(bytes, { stream: true }) })
    })
  }
  listen("stdout")
  listen("stderr")
  child.leader.once("close", () => log.close())
}

const openLog = (file: string, options: SpawnOptions) =>
  Effect.try({
    try: () => {
      const limit = options.maxLogBytes ?? 64 * megabyte
      const log = new Spill(file, limit, `\n[The output is longer than ${limit} bytes; the rest of it was not kept.]\n`)
      log.open()
      return log
    },
    catch: (cause) =>
      new ProcessError({
        command: options.command,
        cwd: options.cwd,
        reason: "Unknown",
        detail: `cannot open its log ${file}: ${cause instanceof Error ? cause.message : String(cause)}`,
      }),
  })

const launch = Effect.fnUntraced(function* (nursery: Nursery, options: SpawnOptions) {
  const stdin = options.stdin === "pipe" ? "pipe" : "ignore"
  const log = options.logTo === undefined ? undefined : yield* openLog(options.logTo, options)
  const started = NodeChild.start(options, nursery.cookie(), [stdin, "pipe", "pipe"], {
    keepsOutput: log !== undefined,
  })
  const child = yield* Effect.tapError(started, () => Effect.sync(() => log?.close()))
  nursery.add(child)
  const queue = yield* Queue.make<Output, Cause.Done>({ capacity: 64 })
  if (log === undefined) pipeOutput(child, queue, options.onOutput)
  else {
    logOutput(child, log, options.onOutput)
    Queue.endUnsafe(queue)
  }
  return { child, queue, log }
})

const spawn = Effect.fnUntraced(function* (nursery: Nursery, options: SpawnOptions) {
  const { child, queue, log } = yield* Effect.acquireRelease(launch(nursery, options), ({ child }) =>
    Effect.sync(() => {
      if (!child.gone) nursery.kill(child, options.killGrace)
    }),
  )
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
    drained: Deferred.await(child.drained),
    log: () => log?.state() ?? { totalBytes: 0, writtenBytes: 0 },
    alive: Effect.sync(() => nursery.alive(child)),
    write: (data) =>
      Effect.callback((resume) => {
        if (stdin === null || !stdin.writable) return resume(Effect.fail(closed))
        stdin.write(data, (cause) => resume(cause ? Effect.fail(closed) : Effect.void))
      }),
    closeStdin: Effect.sync(() => {
      stdin?.end()
    }),
    signal: (name) => Effect.sync(() => Tree.signal(child.groupGone ? undefined : child.pid, [], name)),
    kill: Effect.suspend(() =>
      child.gone ? Effect.void : Deferred.await(nursery.kill(child, options.killGrace).done),
    ),
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
      endStrays: (name, value) =>
        Effect.suspend(() => {
          const find = () => Tree.carriers(`${name}=${value}\0`)
          if (find().length === 0) return Effect.succeed(false)
          return Effect.as(Deferred.await(NodeChild.ladder({ find }, 500, () => {}).done), true)
        }),
      settled: nursery.settled,
    }
  }),
)
