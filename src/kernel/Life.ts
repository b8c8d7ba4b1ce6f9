/**
 * Owns what all children share, actors and plain tasks alike: a place in the tree, one life after another, and the stop ladder.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

/** Why somebody will not live again. */
export type End = "stopped" | "crashed" | "killed" | "gave-up"

/** What is kept between two lives of the same child: a mailbox, for instance. */
export interface Body<out A, out E = unknown, out R = unknown> {
  /** What whoever starts the child gets: a ref. */
  readonly value: A
  /** One life: becomes `ready`, works, and ends by itself only when drained or done. */
  readonly live: (ready: () => void) => Effect.Effect<void, E, R>
  /** Takes no more work and ends when the rest is done; `false` if this child knows no such thing. */
  readonly drain: () => boolean
  /** Tells whoever waits that there will be no further life, and counts the work nobody waits for that is lost with it. */
  readonly bury: (end: End, detail: string) => number
  /** Work that waits. */
  readonly depth: () => number
}

/** Anything that a supervisor can start. */
export interface Child<out A, out E, out R> {
  readonly embody: (life: Life) => Body<A, E, R>
}

/** A line of `troupe ps`. */
export interface Node {
  readonly address: string
  readonly state: State
  readonly depth: number
  readonly restarts: number
  readonly startedAt: number
  readonly children: ReadonlyArray<Node>
}
export type State = "starting" | "running" | "restarting" | "stopping" | "failed" | "dead"

/** How long each step of a stop may take: finishing what is queued, then unwinding after an interrupt. */
export interface Ladder {
  readonly drain: Duration.Input
  readonly interrupt: Duration.Input
}

/** The step of the ladder at which a stop succeeded. */
export type Stopped = "drained" | "interrupted" | "killed"

/** The ladder of children that bring none. */
export const Ladder = Context.Reference<Ladder>("troupe/kernel/Life/Ladder", {
  defaultValue: () => ({ drain: "5 seconds", interrupt: "5 seconds" }),
})

/** The place in the tree where the current fiber runs; `undefined` is the top. */
export const Here = Context.Reference<Place | undefined>("troupe/kernel/Life/Here", { defaultValue: () => undefined })

/** Something with an address that others can live under. */
export interface Place {
  readonly address: string
  tenants: Set<{ node(): Node }> | undefined
}

/** The address of `name` under a place. */
export const addressOf = (place: Place | undefined, name: string): string =>
  place === undefined ? name : `${place.address}/${name}`

/** Says in a line how a life ended. */
export const explain = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit) ? "its work is done" : String(Cause.squash(exit.cause))

/** Whoever fails by a bug or is interrupted wants out, not the rest of the work done. */
export const worthDraining = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) || exit.cause.reasons.every(Cause.isFailReason)

/** One child in its place. All its lives run in the context in which it was first started. */
export class Life<out A = unknown> implements Place {
  readonly address: string
  readonly body: Body<A>
  readonly ladder: Ladder
  state: State = "starting"
  restarts = 0
  startedAt = 0
  tenants: Set<{ node(): Node }> | undefined
  fiber: Fiber.Fiber<void, unknown> | undefined
  private readonly context: Context.Context<any>
  /** Whoever keeps a list strikes the child off. */
  onBury: (() => void) | undefined
  private whenReady: (() => void) | undefined

  constructor(child: Child<A, any, any>, address: string, context: Context.Context<any>, ladder?: Ladder) {
    this.address = address
    this.body = child.embody(this)
    this.ladder = ladder ?? Context.get(context, Ladder)
    // The span of whoever started the child may be long over; every letter brings its own.
    const spanned = Context.getOrUndefined(context, Tracer.ParentSpan) !== undefined
    this.context = Context.add(spanned ? Context.omit(Tracer.ParentSpan)(context) : context, Here, this)
  }

  /** Begins a life, after `first`. Whoever hears of its end decides what comes next. */
  begin(onEnd: (exit: Exit.Exit<void, unknown>) => void, first?: Effect.Effect<void>): void {
    const live = this.body.live(() => this.ready())
    const fiber = Effect.runForkWith(this.context)(first === undefined ? live : Effect.andThen(first, live))
    this.fiber = fiber
    fiber.addObserver((exit) => {
      // A life that was killed may end long after its successor began.
      if (this.fiber === fiber) onEnd(exit)
    })
  }

  private ready(): void {
    if (this.state !== "stopping") this.state = "running"
    this.startedAt = this.now()
    this.whenReady?.()
    this.whenReady = undefined
  }

  /** Succeeds when the current life is ready; fails as that life failed if it ended before. */
  readiness(): Effect.Effect<void, unknown> {
    const fiber = this.fiber
    if (this.state === "running" || fiber === undefined) return Effect.void
    return Effect.callback((resume) => {
      this.whenReady = () => resume(Effect.void)
      return Effect.sync(fiber.addObserver(resume))
    })
  }

  /** Ends the current life and waits for that, `true` if it came before the deadline. The body stays for the next life. */
  interrupt(): Effect.Effect<boolean> {
    return Effect.suspend(() => {
      this.fiber?.interruptUnsafe()
      return this.endsWithin(this.ladder.interrupt)
    })
  }

  /**
   * Drain, then interrupt, then kill. A killed life is no longer waited for, since nothing can end code that refuses to be
   * interrupted; but from then on it is dead to everybody else.
   */
  stop(drain = true): Effect.Effect<Stopped> {
    return Effect.gen({ self: this }, function* () {
      if (this.state !== "dead") this.state = "stopping"
      if (this.body.drain() && drain && (yield* this.endsWithin(this.ladder.drain))) {
        this.bury("stopped", "it was asked to stop")
        return "drained"
      }
      if (yield* this.interrupt()) {
        this.bury("stopped", "it was interrupted")
        return "interrupted"
      }
      this.bury("killed", "it did not react to an interrupt in time")
      return "killed"
    })
  }

  /** There will be no further life: everybody who waits is told. */
  bury(end: End, detail: string): void {
    if (this.state === "dead") return
    this.state = "dead"
    this.onBury?.()
    const lost = this.body.bury(end, detail)
    if (lost > 0) {
      const warning = Effect.logWarning(
        `${this.address} is gone (${end}: ${detail}); ${lost} letters in its mailbox are lost`,
      )
      Effect.runForkWith(this.context)(warning)
    }
  }

  node(): Node {
    return {
      address: this.address,
      state: this.state,
      depth: this.body.depth(),
      restarts: this.restarts,
      startedAt: this.startedAt,
      children: this.tenants ? Array.from(this.tenants, (tenant) => tenant.node()) : [],
    }
  }

  now(): number {
    return Context.get(this.context, Clock.Clock).currentTimeMillisUnsafe()
  }

  private endsWithin(deadline: Duration.Input): Effect.Effect<boolean> {
    const fiber = this.fiber
    if (fiber === undefined || fiber.pollUnsafe() !== undefined) return Effect.succeed(true)
    return Effect.map(Effect.timeoutOption(Fiber.await(fiber), deadline), Option.isSome)
  }
}
