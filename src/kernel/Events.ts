/**
 * Owns the observers' bus: whoever publishes never waits, and an observer that falls behind loses the oldest events and can tell.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/** One observer's view of the bus, alive as long as the scope it was opened in. */
export interface Subscription<A> {
  readonly events: Stream.Stream<A>
  /** How many events this observer lost so far because it was slow. */
  readonly dropped: Effect.Effect<number>
}

/** A lossy bus: for screens, dashboards and telemetry, never for control. */
export interface Events<A> {
  /** Hands the event to every observer and returns at once. */
  readonly publish: (event: A) => Effect.Effect<void>
  /** The events from the moment the stream starts to run. */
  readonly stream: Stream.Stream<A>
  /** Subscribes now, so that nothing published later is missed for being early. */
  readonly subscribe: Effect.Effect<Subscription<A>, never, Scope.Scope>
  /** Ends every observer's stream after what it still holds. */
  readonly end: Effect.Effect<void>
}

/** A number per event makes the losses visible: a gap between two numbers is what the observer missed. */
interface Numbered<A> {
  readonly seq: number
  readonly event: A
}

/** Makes a bus on which each observer may lag `capacity` events (1,024 unless told) before it loses the oldest. */
export const make = Effect.fnUntraced(function* <A>(options?: { readonly capacity?: number }) {
  // `undefined` is the end of the bus.
  const pubsub = yield* PubSub.sliding<Numbered<A> | undefined>(options?.capacity ?? 1024)
  let published = 0
  const subscribe = Effect.gen(function* () {
    const subscription = yield* PubSub.subscribe(pubsub)
    let seen = published
    let dropped = 0
    const events = Stream.fromSubscription(subscription).pipe(
      Stream.takeWhile(Predicate.isNotUndefined),
      Stream.map(({ seq, event }) => {
        dropped += seq - seen - 1
        seen = seq
        return event
      }),
    )
    return { events, dropped: Effect.sync(() => dropped) } satisfies Subscription<A>
  })
  const bus: Events<A> = {
    publish: (event) => Effect.suspend(() => Effect.asVoid(PubSub.publish(pubsub, { seq: ++published, event }))),
    subscribe,
    stream: Stream.unwrap(Effect.map(subscribe, (subscription) => subscription.events)),
    end: Effect.asVoid(PubSub.end(pubsub, undefined)),
  }
  return bus
})
