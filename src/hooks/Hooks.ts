/**
 * Owns the hooks of whoever embeds the runtime: functions in this process, for all its sessions, for as long as a scope is open.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Handler } from "./Handler.ts"
import { type HookEventName, type InputOf, specOf } from "./HookEvents.ts"
import type { HookJson } from "./HookOutput.ts"
import * as Matcher from "./Matcher.ts"

/** What every hook is told beside the event's own fields. */
export interface CommonInput {
  readonly session_id: string
  readonly transcript_path: string
  readonly cwd: string
  readonly hook_event_name: string
  readonly prompt_id?: string
  readonly permission_mode?: string
  readonly effort?: { readonly level: string }
  readonly agent_id?: string
  readonly agent_type?: string
}

export interface OnOptions {
  /** As in settings: names, or a pattern. Default: every occurrence. */
  readonly matcher?: string | undefined
  readonly timeoutSeconds?: number | undefined
  /** For lists and records. */
  readonly name?: string | undefined
}

/** The matcher of a hook in this process cannot be read. */
export class BadMatcher extends Schema.TaggedError<BadMatcher>()("BadMatcher", {
  event: Schema.String,
  why: Schema.String,
}) {
  override get message(): string {
    return `The hook for ${this.event} cannot be registered: ${this.why}.`
  }
}

export type HookFunction<E extends HookEventName, R = never> = (
  input: InputOf<E> & CommonInput,
  toolUseId: string | undefined,
) => Effect.Effect<HookJson | void, never, R>

export type On = <E extends HookEventName, R = never>(
  event: E,
  run: HookFunction<E, R>,
  options?: OnOptions,
) => Effect.Effect<void, BadMatcher, R | Scope.Scope>

export class Hooks extends Context.Service<
  Hooks,
  {
    /** Adds a hook until the scope closes. */
    readonly on: On
    /** Those that are registered now. A new array after each change. */
    readonly registered: () => ReadonlyArray<Handler>
  }
>()("troupe/hooks/Hooks") {
  static readonly layer: Layer.Layer<Hooks> = Layer.sync(Hooks, () => {
    const { on, registered } = registry("the embedding program")
    return { on, registered }
  })
}

/** A list that hooks are added to, each for as long as its scope is open. */
export const registry = (origin: string) => {
  let handlers: ReadonlyArray<Handler> = []
  let count = 0
  const add = (added: ReadonlyArray<Handler>) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          handlers = [...handlers, ...added]
        }),
        () =>
          Effect.sync(() => {
            handlers = handlers.filter((handler) => !added.includes(handler))
          }),
      ),
    )
  const on: On = Effect.fnUntraced(function* <E extends HookEventName, R>(
    event: E,
    run: HookFunction<E, R>,
    options: OnOptions = {},
  ) {
    const made = Matcher.make(event, options.matcher ?? "")
    if ("problem" in made) return yield* new BadMatcher({ event, why: made.problem })
    const context = yield* Effect.context<R>()
    const fits = guardOf(event)
    yield* add([
      {
        event,
        matcher: made.matcher,
        origin: { scope: "embedder", name: origin },
        identity: `function ${++count}`,
        action: {
          type: "function",
          name: options.name ?? (run.name === "" ? "a function" : run.name),
          run: (input, toolUseId) =>
            fits(input) ? Effect.provideContext(run(input, toolUseId), context) : Effect.void,
          ...(options.timeoutSeconds !== undefined && { timeout: options.timeoutSeconds }),
        },
      },
    ])
  })
  return { on, add, registered: () => handlers }
}

/** By the row of the event. */
const guardOf = <E extends HookEventName>(event: E) => {
  const check = Schema.is(Schema.Struct(specOf(event).input))
  return (input: unknown): input is InputOf<E> & CommonInput => check(input)
}
