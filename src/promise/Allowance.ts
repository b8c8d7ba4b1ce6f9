/** Owns budgets without a block to stand around: one that is in force from when it is opened until its scope closes. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Budget from "../kernel/Budget.ts"

/**
 * Opens a budget inside another. Nobody is interrupted when it is spent: the turns that work on it notice and end themselves,
 * with what they did up to then.
 */
export const open = Effect.fnUntraced(function* (
  limits: Budget.Limits | undefined,
  parent: Budget.Level | undefined,
): Effect.fn.Return<Budget.Level | undefined, never, Scope.Scope> {
  if (limits === undefined) return parent
  const opened = yield* Deferred.make<Budget.Level | undefined>()
  yield* Effect.gen(function* () {
    yield* Deferred.succeed(opened, yield* Budget.Current)
    return yield* Effect.never
  }).pipe(
    Budget.within(limits),
    Effect.provideService(Budget.Current, parent),
    Effect.ignore,
    Effect.forkScoped({ startImmediately: true }),
  )
  return yield* Deferred.await(opened)
})
