/**
 * Owns the actor: one fiber that reads one mailbox, letter by letter, and keeps a state that nobody else can touch.
 *
 * A typed failure answers whoever asked. A defect is a crash: the asker is told, and the next life, if a supervisor grants
 * one, rebuilds the state with `start` and goes on with the letters that wait.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as Life from "./Life.ts"
import type * as Protocol from "./Protocol.ts"
import * as Refs from "./Ref.ts"

export { ActorDown } from "./Ref.ts"
export type { Any, Ref, Self } from "./Ref.ts"

/** Answers each message with `[next state, reply]`. */
export type Handlers<P extends Protocol.Any, State, R> = {
  readonly [K in keyof P["messages"]]: (
    state: State,
    payload: Protocol.Payload<P["messages"][K]>,
    self: Refs.Self<P>,
  ) => Effect.Effect<readonly [State, Protocol.Success<P["messages"][K]>], Protocol.Failure<P["messages"][K]>, R>
}

type ServicesOf<H> = {
  [K in keyof H]: H[K] extends (...args: any) => infer Handled ? Effect.Services<Extract<Handled, AnyEffect>> : never
}[keyof H]
type AnyEffect = Effect.Effect<any, any, any>

/** A kind of actor; it can be started any number of times, with `Actor.spawn` or `supervisor.start`. */
export interface Behavior<P extends Protocol.Any, out E, out R> extends Life.Child<Refs.Ref<P>, E, R> {
  readonly protocol: P
}

/**
 * Describes a kind of actor. `start` builds the state of each life in that life's own scope, which handlers see as well:
 * `Effect.forkScoped` in a handler starts work that ends with the life and reports with `self.tell`.
 *
 * @example
 * const Counter = Protocol.make({ Add: { payload: Schema.Finite, success: Schema.Finite } })
 * const counter = Actor.make(Counter, {
 *   start: Effect.succeed(0),
 *   handlers: { Add: (n, by) => Effect.succeed([n + by, n + by]) },
 * })
 */
export const make = <
  P extends Protocol.Any,
  Start extends AnyEffect,
  H extends Handlers<P, Effect.Success<Start>, any>,
>(
  protocol: P,
  behavior: {
    readonly start: Start | ((self: Refs.Self<P>) => Start)
    readonly handlers: H
    /** How many letters may wait before senders have to (64 unless told). */
    readonly capacity?: number
  },
): Behavior<P, Effect.Error<Start>, Exclude<Effect.Services<Start> | ServicesOf<H>, Scope.Scope>> => ({
  protocol,
  embody: (life) => new Incarnation(protocol, behavior, life),
})

/** Starts an actor that nobody restarts; it is stopped when the scope closes. */
export const spawn = Effect.fnUntraced(function* <P extends Protocol.Any, E, R>(
  name: string,
  behavior: Behavior<P, E, R>,
  options?: { readonly ladder?: Life.Ladder },
): Effect.fn.Return<Refs.Ref<P>, E, R | Scope.Scope> {
  const context = yield* Effect.context<R | Scope.Scope>()
  const place = Context.get(context, Life.Here)
  const life = new Life.Life(behavior, Life.addressOf(place, name), context, options?.ladder)
  const scope = yield* Scope.fork(Context.get(context, Scope.Scope))
  yield* Scope.addFinalizerExit(scope, (exit) => life.stop(Life.worthDraining(exit)))
  const tenants = place && (place.tenants ??= new Set())
  tenants?.add(life)
  life.onBury = () => {
    tenants?.delete(life)
    // Nothing is left to stop; closing only makes the parent forget this scope.
    Scope.closeUnsafe(scope, Exit.void)
  }
  life.begin((exit) =>
    life.state === "stopping" ? life.bury("stopped", "it was asked to stop") : life.bury("crashed", Life.explain(exit)),
  )
  yield* life.readiness() as Effect.Effect<void, E>
  return life.body.value
})

/** Stops an actor: drain, interrupt, kill. Called by one of its own handlers it does not wait: the rest is drained first. */
export const stop = (ref: Refs.Any): Effect.Effect<Life.Stopped> =>
  Effect.withFiber((fiber) => {
    const post = Refs.postOf(ref)
    if (!post.isHandling(fiber)) return post.life.stop()
    post.life.state = "stopping"
    post.mailbox.drain()
    return Effect.succeed("drained")
  })

/** Waits until an actor is gone for good, and says why. */
export const awaitDown = (ref: Refs.Any): Effect.Effect<Refs.ActorDown> => Refs.postOf(ref).awaitDown()

/** How an actor is doing. */
export const status = (ref: Refs.Any): Effect.Effect<Life.Node> => Effect.sync(() => Refs.postOf(ref).life.node())

/** An actor between and during its lives. */
class Incarnation implements Life.Body<any, any, any> {
  readonly value: any
  readonly self: any
  readonly post: Refs.Post
  readonly behavior: { readonly start: any; readonly handlers: any }
  /** Counts the lives: one that was given up on can tell by it that it must touch nothing any more. */
  epoch = 0

  constructor(protocol: Protocol.Any, behavior: { start: any; handlers: any; capacity?: number }, life: Life.Life) {
    this.behavior = behavior
    this.post = new Refs.Post(life, protocol.messages, behavior.capacity ?? 64)
    this.self = Refs.make(protocol.messages, this.post)
    this.value = protocol.public === protocol.messages ? this.self : Refs.make(protocol.public, this.post)
  }

  live(ready: () => void): Effect.Effect<void, any, any> {
    return Effect.scoped(
      Effect.suspend(() => {
        const epoch = ++this.epoch
        // Somebody may still wait for a life that was given up on.
        this.post.dropCurrent("killed", "it did not react to an interrupt in time")
        return Effect.onExit(work(this, epoch, ready), (exit) => Effect.sync(() => this.ended(epoch, exit)))
      }),
    )
  }

  /** Comes before the life's scope is closed: whoever asked hears of the crash at once. */
  private ended(epoch: number, exit: Exit.Exit<unknown, unknown>): void {
    const reason = this.post.life.state === "running" ? "crashed" : "stopped"
    if (this.epoch === epoch) this.post.dropCurrent(reason, Life.explain(exit))
  }

  drain(): boolean {
    this.post.mailbox.drain()
    return true
  }

  bury(reason: Life.End, detail: string): number {
    this.epoch++
    return this.post.close(reason, detail)
  }

  depth(): number {
    return this.post.mailbox.depth
  }
}

/** One life, letter by letter. */
const work = Effect.fnUntraced(function* (actor: Incarnation, epoch: number, ready: () => void): any {
  const { post, self, behavior } = actor
  const { start, handlers } = behavior
  const context = yield* Effect.context<any>()
  let state = yield* typeof start === "function" ? start(self) : start
  if (actor.epoch === epoch) ready()
  while (actor.epoch === epoch) {
    const letter = post.mailbox.poll()
    if (letter === undefined) {
      if (post.mailbox.state !== "open") return
      yield* post.mailbox.arrival()
      continue
    }
    post.current = letter
    const handled = Effect.suspend(() => handlers[letter.tag](state, letter.payload, self))
    const exit: Exit.Exit<any, any> = yield* Effect.exit(
      Effect.updateContext(handled, () => Refs.onBehalf(context, letter)),
    )
    if (Exit.isSuccess(exit)) {
      const [next, reply] = exit.value
      state = next
      post.answer(letter, Exit.succeed(reply))
    } else if (exit.cause.reasons.every(Cause.isFailReason)) {
      post.answer(letter, exit)
    } else {
      return yield* exit
    }
  }
})
