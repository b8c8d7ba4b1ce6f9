/**
 * Owns restarts: children start in order, stop in reverse, and live again after a crash, unless that happens too often. Then the
 * supervisor stops them all and fails itself, with a reason that its parent can see.
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as Life from "./Life.ts"

/** A child crashed more often than its supervisor puts up with, so the whole group was stopped. */
export class Escalated extends Schema.TaggedError<Escalated>("troupe/kernel/Supervisor/Escalated")("Escalated", {
  supervisor: Schema.String,
  child: Schema.String,
  /** More than `max` crashes within `period` milliseconds. */
  max: Schema.Finite,
  period: Schema.Finite,
  detail: Schema.String,
}) {
  override get message(): string {
    return `Supervisor "${this.supervisor}" gave up: more than ${this.max} crashes in ${this.period} ms, the last of "${this.child}": ${this.detail}`
  }
}

/** Who is restarted with a child that crashed: nobody else, those started after it, or everybody. */
export type Strategy = "one-for-one" | "rest-for-one" | "one-for-all"

/** When a child lives again: after a crash; also when it simply ended (tasks only); never. */
export type Restart = "on-crash" | "always" | "never"

export interface Options {
  readonly strategy?: Strategy
  /** How many crashes within a period are put up with; 3 in 60 seconds unless told. */
  readonly intensity?: { readonly max: number; readonly period: Duration.Input }
  /** The pause before a restart: `first`, doubled each time up to `most`, forgotten after a quiet period. None unless told. */
  readonly backoff?: { readonly first: Duration.Input; readonly most: Duration.Input }
}

export interface ChildOptions {
  readonly restart?: Restart
  readonly ladder?: Life.Ladder
}

/** A running supervisor. */
export interface Supervisor {
  readonly address: string
  /**
   * Starts a child and waits until it is ready. A child that fails at its first start is not restarted: its failure is the
   * caller's. A name is unique among living children.
   */
  readonly start: <A, E, R>(
    name: string,
    child: Life.Child<A, E, R>,
    options?: ChildOptions,
  ) => Effect.Effect<A, E | Escalated, R>
  /** Stops a child for good; `undefined` if there is none of that name. */
  readonly stop: (name: string) => Effect.Effect<Life.Stopped | undefined>
  /** Never succeeds; fails when the supervisor gave up, after all children are stopped. */
  readonly failure: Effect.Effect<never, Escalated>
  /** Everybody below, live. */
  readonly tree: Effect.Effect<Life.Node>
}

/** Makes a supervisor; its children are stopped, last first, when the scope closes. */
export const make = Effect.fnUntraced(function* (name: string, options: Options = {}) {
  const parent = yield* Life.Here
  const supervisor = yield* open(new Spot(Life.addressOf(parent, name), yield* Clock.currentTimeMillis), options)
  const { place } = supervisor
  if (parent && place instanceof Spot) {
    ;(parent.tenants ??= new Set()).add(place)
    yield* Effect.addFinalizer(() => Effect.sync(() => parent.tenants?.delete(place)))
  }
  return supervisor satisfies Supervisor as Supervisor
})

/** A plain effect as a child: a loop, a watcher, a connection. It is ready at once, or when it says so. */
export const task = <E, R>(
  run: Effect.Effect<unknown, E, R> | ((ready: Effect.Effect<void>) => Effect.Effect<unknown, E, R>),
): Life.Child<void, E, Exclude<R, Scope.Scope>> => ({
  embody: () => ({
    value: undefined,
    live: (ready) => {
      const signal = Effect.sync(ready)
      return Effect.scoped(Effect.asVoid(Effect.isEffect(run) ? Effect.andThen(signal, run) : run(signal)))
    },
    drain: () => false,
    bury: () => 0,
    depth: () => 0,
  }),
})

/**
 * A supervisor as a child of another: each of its lives makes a new group and fills it with `setup`. When the group gives up,
 * this child fails with `Escalated`, which its parent treats like any other crash.
 */
export const group = <E, R>(
  options: Options,
  setup: (supervisor: Supervisor) => Effect.Effect<unknown, E, R>,
): Life.Child<void, E | Escalated, Exclude<R, Scope.Scope>> => ({
  embody: (life) =>
    task((ready) =>
      Effect.gen(function* () {
        const supervisor = yield* open(life, options)
        yield* setup(supervisor)
        yield* ready
        return yield* supervisor.failure
      }),
    ).embody(life),
})

const open = Effect.fnUntraced(function* (place: Spot | Life.Life, options: Options) {
  const supervisor = new Group(place, options, yield* Effect.context())
  yield* Effect.addFinalizer((exit) => supervisor.close(Life.worthDraining(exit)))
  return supervisor
})

/** The place of a supervisor that is nobody's child. */
class Spot implements Life.Place {
  readonly address: string
  state: Life.State = "running"
  tenants: Life.Place["tenants"]
  private readonly startedAt: number

  constructor(address: string, startedAt: number) {
    this.address = address
    this.startedAt = startedAt
  }

  node(): Life.Node {
    const children = this.tenants ? Array.from(this.tenants, (tenant) => tenant.node()) : []
    return { address: this.address, state: this.state, depth: 0, restarts: 0, startedAt: this.startedAt, children }
  }
}

/** One child, in the order of starting. */
interface Entry {
  readonly life: Life.Life<any>
  readonly restart: Restart
  /** Crashes in a row, for the backoff. */
  streak: number
  /** Its life is ended on purpose, with its group: not a crash. */
  halted: boolean
}

class Group implements Supervisor {
  readonly place: Spot | Life.Life
  private readonly context: Context.Context<never>
  private readonly strategy: Strategy
  private readonly limit: Intensity
  private readonly backoff: Options["backoff"]
  private readonly children = new Map<string, Entry>()
  private readonly gaveUp = Deferred.makeUnsafe<never, Escalated>()
  private readonly recoveries = new Set<Fiber.Fiber<unknown, unknown>>()
  /** Only strategies that touch siblings need one thing to happen at a time. */
  private readonly inTurn: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  private phase: "open" | "failed" | "closed" = "open"

  constructor(place: Spot | Life.Life, options: Options, context: Context.Context<never>) {
    this.place = place
    this.context = context
    this.strategy = options.strategy ?? "one-for-one"
    this.limit = new Intensity(options.intensity ?? { max: 3, period: "60 seconds" })
    this.backoff = options.backoff
    this.inTurn = this.strategy === "one-for-one" ? identity : Semaphore.makeUnsafe(1).withPermits(1)
  }

  get address(): string {
    return this.place.address
  }

  get tree(): Effect.Effect<Life.Node> {
    return Effect.sync(() => this.place.node())
  }

  get failure(): Effect.Effect<never, Escalated> {
    return Deferred.await(this.gaveUp)
  }

  start<A, E, R>(name: string, child: Life.Child<A, E, R>, options?: ChildOptions): Effect.Effect<A, E | Escalated, R> {
    const start = Effect.contextWith((context: Context.Context<R>): Effect.Effect<A, E | Escalated> => {
      if (this.phase === "failed") return this.failure
      if (this.phase === "closed") return Effect.interrupt
      if (this.children.has(name)) throw new Error(`Supervisor "${this.address}" already has a living child "${name}".`)
      const life = new Life.Life(child, Life.addressOf(this.place, name), context, options?.ladder)
      const entry: Entry = { life, restart: options?.restart ?? "on-crash", streak: 0, halted: false }
      const tenants = (this.place.tenants ??= new Set())
      tenants.add(life)
      this.children.set(name, entry)
      life.onBury = () => {
        tenants.delete(life)
        this.children.delete(name)
      }
      this.begin(entry)
      if (life.state === "running") return Effect.succeed(life.body.value)
      return Effect.as(
        Effect.onInterrupt(life.readiness() as Effect.Effect<void, E>, () => life.stop()),
        life.body.value,
      )
    })
    return this.inTurn(start)
  }

  stop(name: string): Effect.Effect<Life.Stopped | undefined> {
    return this.inTurn(Effect.suspend(() => this.children.get(name)?.life.stop() ?? Effect.undefined))
  }

  /** Stops everybody, last first. */
  close(drain = true): Effect.Effect<void> {
    return Effect.gen({ self: this }, function* () {
      if (this.phase === "open") this.phase = "closed"
      yield* Fiber.interruptAll(this.recoveries)
      for (const entry of Array.from(this.children.values()).toReversed()) yield* entry.life.stop(drain)
    })
  }

  private begin(entry: Entry, first?: Effect.Effect<void>): void {
    entry.halted = false
    entry.life.begin((exit) => this.ended(entry, exit), first)
  }

  private ended(entry: Entry, exit: Exit.Exit<void, unknown>): void {
    const { life } = entry
    if (entry.halted || this.phase !== "open") return
    if (life.state === "stopping") return life.bury("stopped", "it was asked to stop")
    if (Exit.isSuccess(exit) && entry.restart !== "always") return life.bury("stopped", "its work is done")
    // A child that never was ready is its starter's to judge.
    if (entry.restart === "never" || life.state === "starting") return life.bury("crashed", Life.explain(exit))
    const now = life.now()
    if (life.state === "running" && now - life.startedAt >= this.limit.period) entry.streak = 0
    if (!this.limit.tolerates(now)) return this.escalate(entry, exit)
    life.state = "restarting"
    const pause = this.pause(entry)
    if (this.strategy === "one-for-one") {
      life.restarts++
      this.begin(entry, pause)
    } else {
      this.fork(this.inTurn(this.regroup(entry, pause)))
    }
  }

  /** At least a yield: a child that crashes at once must not restart on the stack of its own end. */
  private pause(entry: Entry): Effect.Effect<void> {
    if (this.backoff === undefined) return Effect.yieldNow
    const first = Duration.toMillis(this.backoff.first)
    return Effect.sleep(Math.min(first * 2 ** entry.streak++, Duration.toMillis(this.backoff.most)))
  }

  /** Ends the lives of the siblings that share the child's fate, last first, and lets all of them live again in order. */
  private regroup(crashed: Entry, pause: Effect.Effect<void>): Effect.Effect<void> {
    const fiber = crashed.life.fiber
    return Effect.gen({ self: this }, function* () {
      // Somebody else's recovery may have come first.
      if (crashed.life.fiber !== fiber) return
      const everybody = Array.from(this.children.values())
      const affected = this.strategy === "one-for-all" ? everybody : everybody.slice(everybody.indexOf(crashed))
      for (const entry of affected.toReversed()) {
        if (entry.restart === "never") {
          yield* entry.life.stop()
        } else {
          entry.halted = true
          entry.life.state = "restarting"
          yield* entry.life.interrupt()
        }
      }
      yield* pause
      for (const entry of affected) {
        if (entry.life.state !== "restarting") continue
        entry.life.restarts++
        this.begin(entry)
        // One that fails to start has crashed again, and its own recovery takes the rest along.
        if (Exit.isFailure(yield* Effect.exit(entry.life.readiness()))) return
      }
    })
  }

  private escalate({ life }: Entry, exit: Exit.Exit<void, unknown>): void {
    this.phase = "failed"
    const detail = Life.explain(exit)
    life.bury("gave-up", detail)
    const { max, period } = this.limit
    const reason = new Escalated({ supervisor: this.address, child: life.address, max, period, detail })
    const fail = Effect.andThen(this.close(), Deferred.fail(this.gaveUp, reason))
    Effect.runForkWith(this.context)(Effect.andThen(Effect.logError(reason.message), fail))
  }

  private fork(effect: Effect.Effect<void>): void {
    const fiber = Effect.runForkWith(this.context)(Effect.andThen(Effect.yieldNow, effect))
    this.recoveries.add(fiber)
    fiber.addObserver(() => this.recoveries.delete(fiber))
  }
}

/** Remembers the last `max` crashes, in a ring: deciding costs the same however large `max` is. */
class Intensity {
  readonly max: number
  readonly period: number
  private readonly ring: Array<number> = []
  private at = 0

  constructor(options: { readonly max: number; readonly period: Duration.Input }) {
    this.max = options.max
    this.period = Duration.toMillis(options.period)
  }

  tolerates(now: number): boolean {
    if (this.max === Infinity) return true
    if (this.max <= 0) return false
    const oldest = this.ring[this.at]
    this.ring[this.at] = now
    this.at = (this.at + 1) % this.max
    return oldest === undefined || now - oldest >= this.period
  }
}
