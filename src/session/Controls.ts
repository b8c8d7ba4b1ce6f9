/**
 * Owns the model and the permission mode of a session: their one observable home. Flags, control messages and tools
 * change them here, and whoever must react follows the changes.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { PermissionMode } from "../protocol/PermissionMode.ts"

export interface ControlsState {
  readonly model: string
  readonly permissionMode: PermissionMode
}

/** One real change: a request for what is already so makes none. */
export interface ControlsChange {
  readonly by: string
  readonly before: ControlsState
  readonly after: ControlsState
}

export interface ControlsShape {
  readonly current: Effect.Effect<ControlsState>
  /** Answers with the change, or with nothing when all was so already. */
  readonly change: (by: string, to: Partial<ControlsState>) => Effect.Effect<ControlsChange | undefined>
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
  return Controls.of({
    current: Effect.map(SubscriptionRef.get(ref), (held) => held.state),
    change: (by, to) =>
      SubscriptionRef.modifySome(ref, (held) => {
        const before = held.state
        const after = { model: to.model ?? before.model, permissionMode: to.permissionMode ?? before.permissionMode }
        const same = after.model === before.model && after.permissionMode === before.permissionMode
        if (same) return [undefined, Option.none()]
        const last = { by, before, after }
        return [last, Option.some({ state: after, last })]
      }),
    changes: SubscriptionRef.changes(ref).pipe(
      // A new subscriber is first told the present value, which is no change.
      Stream.drop(1),
      Stream.flatMap((held) => (held.last === undefined ? Stream.empty : Stream.succeed(held.last))),
    ),
  })
})
