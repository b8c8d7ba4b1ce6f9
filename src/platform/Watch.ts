/** Owns the contract of watching files: what changed, a little later and once, until the stream is left. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PubSub from "effect/PubSub"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

export class WatchError extends Schema.TaggedError<WatchError>()("WatchError", {
  path: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `Cannot watch ${this.path}: ${this.detail}; changes are seen only after a restart`
  }
}

export interface Change {
  readonly type: "created" | "changed" | "removed"
  readonly path: string
}

export interface WatchOptions {
  /** Changes are held back until nothing happened for this long; default 100 ms. */
  readonly settleMs?: number
  /** Directories below the given ones too; default no. */
  readonly recursive?: boolean
  /** Not watched, by absolute path; `.git` and `node_modules` never are. */
  readonly ignore?: (path: string) => boolean
}

export interface WatchShape {
  /** Watching has begun when this returns; each element is everything that changed in one burst. */
  readonly open: (
    paths: ReadonlyArray<string>,
    options?: WatchOptions,
  ) => Effect.Effect<Stream.Stream<ReadonlyArray<Change>, WatchError>, WatchError, Scope.Scope>
  /** The same as one stream. A path need not exist: its creation is a change. */
  readonly files: (
    paths: ReadonlyArray<string>,
    options?: WatchOptions,
  ) => Stream.Stream<ReadonlyArray<Change>, WatchError>
}

/** One change per path: the last kind wins, and a path that came and went again was never there. */
export const collapse = (changes: ReadonlyArray<Change>): ReadonlyArray<Change> => {
  const last = new Map<string, { readonly first: Change["type"]; readonly type: Change["type"] }>()
  for (const { path, type } of changes) {
    const first = last.get(path)?.first ?? type
    last.set(path, { first, type: type === "changed" && first === "created" ? "created" : type })
  }
  return [...last].flatMap(([path, { first, type }]) => {
    if (first === "created" && type === "removed") return []
    // Editors save by removing and putting back: that is a change.
    return [{ path, type: first !== "created" && type === "created" ? ("changed" as const) : type }]
  })
}

export const make = (open: WatchShape["open"]): WatchShape => ({
  open,
  files: (paths, options) => Stream.unwrap(open(paths, options)),
})

export class Watch extends Context.Service<Watch, WatchShape>()("troupe/platform/Watch") {
  /** Nothing ever changes. */
  static readonly layerNone: Layer.Layer<Watch> = Layer.succeed(
    Watch,
    make(() => Effect.succeed(Stream.never)),
  )

  /** Changes come from a test. */
  static readonly layerOf = (changes: PubSub.PubSub<ReadonlyArray<Change>>): Layer.Layer<Watch> =>
    Layer.succeed(
      Watch,
      make((paths) =>
        Effect.map(PubSub.subscribe(changes), (subscription) =>
          Stream.fromSubscription(subscription).pipe(
            Stream.map((burst) => burst.filter(({ path }) => paths.includes(path))),
            Stream.filter((burst) => burst.length > 0),
          ),
        ),
      ),
    )
}
