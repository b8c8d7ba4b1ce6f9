/**
 * Owns the model and the permission mode of a session: their one observable home. Flags, control messages and tools
 * change them here, and whoever must react follows the changes.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { Effort } from "../protocol/Effort.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"

export interface ControlsState {
  readonly model: string
  readonly permissionMode: PermissionMode
  /** How hard the model is to try; its own default unless told. */
  readonly effort?: Effort
}

/** One real change: a request for what is already so makes none. */
export interface ControlsChange {
  readonly by: string
  readonly before: ControlsState
  readonly after: ControlsState
}

/** Asked before the model changes. Answers why it must not; whoever answers so tells people. */
export type ModelGuard = (change: ControlsChange) => Effect.Effect<string | undefined>

export interface ControlsShape {
  readonly current: Effect.Effect<ControlsState>
  /** Answers with the change, or with nothing when all was so already, or a guard keeps the model. */
  readonly change: (by: string, to: Partial<ControlsState>) => Effect.Effect<ControlsChange | undefined>
  /** Adds a guard until the scope closes. */
  readonly guard: (guard: ModelGuard) => Effect.Effect<void, never, Scope.Scope>
  /** Every change from the moment of subscription on; none is skipped for a slow reader. */
  readonly changes: Stream.Stream<ControlsChange>
}

export class Controls extends Context.Service<Controls, ControlsShape>()("troupe/session/Controls") {}

interface Held {
  readonly state: ControlsState
  readonly last: ControlsChange | undefined
}

export const make = Effect.fnUntraced(function* (initial: ControlsState) {
  const ref = yield* SubscriptionRef.make<Held>({ state: initial, last: undefined })
  const guards = new Set<ModelGuard>()
  const current = Effect.map(SubscriptionRef.get(ref), (held) => held.state)

  const apply = (by: string, to: Partial<ControlsState>) =>
    SubscriptionRef.modifySome(ref, (held) => {
      const before = held.state
      const after = merged(before, to)
      const same =
        after.model === before.model && after.permissionMode === before.permissionMode && after.effort === before.effort
      if (same) return [undefined, Option.none()]
      const last = { by, before, after }
      return [last, Option.some({ state: after, last })]
    })

  const isKept = Effect.fnUntraced(function* (by: string, to: Partial<ControlsState>) {
    const before = yield* current
    if (to.model === undefined || to.model === before.model) return false
    for (const guard of guards) if ((yield* guard({ by, before, after: merged(before, to) })) !== undefined) return true
    return false
  })

  return Controls.of({
    current,
    change: Effect.fnUntraced(function* (by, { model, ...rest }) {
      const to =
        model === undefined || (guards.size > 0 && (yield* isKept(by, { ...rest, model }))) ? rest : { ...rest, model }
      return yield* apply(by, to)
    }),
    guard: (guard) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => guards.add(guard)),
          () => Effect.sync(() => guards.delete(guard)),
        ),
      ),
    changes: SubscriptionRef.changes(ref).pipe(
      // A new subscriber is first told the present value, which is no change.
      Stream.drop(1),
      Stream.flatMap((held) => (held.last === undefined ? Stream.empty : Stream.succeed(held.last))),
    ),
  })
})

const merged = (before: ControlsState, to: Partial<ControlsState>): ControlsState => ({ ...before, ...to })
