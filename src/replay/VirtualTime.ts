/**
 * Owns time in a replay: nobody waits. The clock says what the records say, and a timer goes off when there is nothing else left to do.
 *
 * Whether there is, the scheduler knows: everything that runs in a replay is run by this one.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Scheduler from "effect/Scheduler"

interface Timer {
  readonly due: number
  readonly ring: () => void
}

export interface VirtualTime {
  /** What a replay runs in: this clock and this scheduler. */
  readonly context: Context.Context<never>
  /** It is at least this late. */
  readonly reach: (time: number) => void
  /** Lets the next timer go off; `false` where there is none. */
  readonly skip: () => boolean
  /** Called whenever nothing can go on by itself; answers whether that set something going. */
  onIdle: () => boolean
}

export const make = (start: number): VirtualTime => {
  const timers = new Set<Timer>()
  let now = start
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => now,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanosUnsafe: () => BigInt(Math.round(now)) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => BigInt(Math.round(now)) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => BigInt(Math.round(now)) * 1_000_000n,
    monotonicTimeNanos: Effect.sync(() => BigInt(Math.round(now)) * 1_000_000n),
    sleep: (duration) => {
      const ms = Duration.toMillis(duration)
      if (ms <= 0) return Effect.yieldNow
      if (!Number.isFinite(ms)) return Effect.never
      return Effect.callback((resume) => {
        const timer: Timer = { due: now + ms, ring: () => resume(Effect.void) }
        timers.add(timer)
        return Effect.sync(() => timers.delete(timer))
      })
    },
  }
  const time: VirtualTime = {
    context: Context.empty(),
    reach: (at) => {
      now = Math.max(now, at)
    },
    skip: () => {
      const [next] = [...timers].toSorted((a, b) => a.due - b.due)
      if (next === undefined) return false
      timers.delete(next)
      now = Math.max(now, next.due)
      next.ring()
      return true
    },
    onIdle: () => false,
  }
  const scheduler = new OneQueue(() => time.onIdle())
  return Object.assign(time, {
    context: Context.make(Clock.Clock, clock).pipe(Context.add(Scheduler.Scheduler, scheduler)),
  })
}

/** Runs tasks in the order they come, and says when none is left. */
class OneQueue implements Scheduler.Scheduler, Scheduler.SchedulerDispatcher {
  readonly executionMode = "async"
  private tasks: Array<() => void> = []
  private next = 0
  private isRunning = false
  /** How often something has been run. */
  private ran = 0
  /** Of the platform: what it runs comes after everything that is ready, promises included. */
  private readonly turns = new Scheduler.MixedScheduler().makeDispatcher()
  private readonly onIdle: () => boolean

  constructor(onIdle: () => boolean) {
    this.onIdle = onIdle
  }

  shouldYield(fiber: Parameters<Scheduler.Scheduler["shouldYield"]>[0]): boolean {
    return fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield
  }

  makeDispatcher(): Scheduler.SchedulerDispatcher {
    return this
  }

  scheduleTask(task: () => void): void {
    this.tasks.push(task)
    if (this.isRunning) return
    this.isRunning = true
    void Promise.resolve().then(() => this.run())
  }

  flush(): void {
    while (this.next < this.tasks.length) this.tasks[this.next++]?.()
    this.tasks = []
    this.next = 0
  }

  private run(): void {
    this.flush()
    this.isRunning = false
    const ran = ++this.ran
    this.turns.scheduleTask(() => {
      // What is woken may run at once, without a task of its own: look again.
      if (!this.isRunning && this.ran === ran && this.onIdle()) this.scheduleTask(() => {})
    }, 0)
  }
}
