/**
 * Owns what the harness tells the model between its replies: sources that speak at a prompt or after a round, each origin once
 * unless its content has changed.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Something to tell. `origin` says what it is about, stable across the lives of a session. */
export interface FeedFragment {
  readonly origin: string
  readonly content: string
}

export type Moment =
  | { readonly kind: "prompt"; readonly text: string }
  /** A round of calls ended; they read or changed these files (absolute paths). */
  | { readonly kind: "round"; readonly touched: ReadonlyArray<string> }

/** Never fails and does not keep the turn waiting: whoever needs long answers at a later moment. */
export type FeedSource = (moment: Moment) => Effect.Effect<ReadonlyArray<FeedFragment>>

export interface Feed<E = never> {
  /** Until the scope closes. The same source twice is two registrations. */
  readonly register: (source: FeedSource) => Effect.Effect<void, never, Scope.Scope>
  /** Asks every source in the order of registration, and emits what is new. */
  readonly gather: (moment: Moment) => Effect.Effect<ReadonlyArray<FeedFragment>, E>
  /** The conversation went back, and only this is still in it: the rest is told again. */
  readonly wentBack: (told: Iterable<FeedFragment>) => void
}

export interface FeedOptions<E = never> {
  readonly emit: (fragment: FeedFragment) => Effect.Effect<void, E>
  /** What the model was told in an earlier life of the session. */
  readonly told?: Iterable<FeedFragment>
}

export const make = <E = never>(options: FeedOptions<E>): Feed<E> => {
  const told = new Map<string, string>()
  for (const { content, origin } of options.told ?? []) told.set(origin, content)
  const sources = new Map<symbol, FeedSource>()
  /** Told once, and gone with the conversation: the sources take it for known. */
  let owed: ReadonlyArray<FeedFragment> = []
  const isNew = ({ content, origin }: FeedFragment) => content !== "" && told.get(origin) !== content
  return {
    register: (source) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => {
            const key = Symbol()
            sources.set(key, source)
            return key
          }),
          (key) => Effect.sync(() => sources.delete(key)),
        ),
      ),
    gather: Effect.fnUntraced(function* (moment) {
      const said = yield* Effect.forEach([...sources.values()], (source) => source(moment), {
        concurrency: "unbounded",
      })
      const fresh: Array<FeedFragment> = []
      const again = owed
      owed = []
      for (const fragment of [...again, ...said.flat()]) {
        if (!isNew(fragment)) continue
        yield* options.emit(fragment)
        told.set(fragment.origin, fragment.content)
        fresh.push(fragment)
      }
      return fresh
    }),
    wentBack: (still) => {
      const lost = new Map([...owed.map(({ content, origin }) => [origin, content] as const), ...told])
      told.clear()
      for (const { content, origin } of still) told.set(origin, content)
      owed = [...lost].flatMap(([origin, content]) => (told.get(origin) === content ? [] : [{ origin, content }]))
    },
  }
}
