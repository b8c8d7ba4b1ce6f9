/**
 * Owns what may be spent: nested budget scopes, inherited by every fiber, in which spending is counted or reserved beforehand.
 *
 * A level stands for one `within`. What is charged to a level is charged to all its parents, or to none of them.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Fiber } from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"

const counted = ["usd", "inputTokens", "outputTokens", "turns", "toolCalls", "spawns"] as const

/** What is counted by adding up. `wall` and `depth` are limits too, but of time and of nesting. */
export type Counted = (typeof counted)[number]
export type Resource = Counted | "wall" | "depth"

/** How much of each counted resource. */
export type Amounts = { readonly [K in Counted]?: number | undefined }

/** The limits of one scope; what is left out is limited by the parents only. */
export interface Limits extends Amounts {
  readonly name?: string | undefined
  readonly wall?: Duration.Input | undefined
  readonly depth?: number | undefined
}

/** Somebody wanted more than a scope allows, or the scope is already closed. */
export class BudgetExceeded extends Schema.TaggedError<BudgetExceeded>("troupe/kernel/Budget/BudgetExceeded")(
  "BudgetExceeded",
  {
    scope: Schema.String,
    resource: Schema.Literals([...counted, "wall", "depth"]),
    limit: Schema.Finite,
    spent: Schema.Finite,
    requested: Schema.Finite,
    /** The scope was closed (deadline, overrun), so nothing more can be spent in it at all. */
    closed: Schema.Boolean,
  },
) {
  override get message(): string {
    const unit = this.resource === "wall" ? " ms" : ""
    const state = `${this.spent}${unit} of ${this.limit}${unit} used`
    return this.closed
      ? `Budget "${this.scope}" is closed: ${this.resource}, ${state}. Raise its ${this.resource} limit to go on.`
      : `Budget "${this.scope}" has not enough ${this.resource}: ${state}, ${this.requested} more requested. Raise the limit or ask for less.`
  }
}

type Tally = Record<Counted, number>
const tally = (value: number): Tally => ({
  usd: value,
  inputTokens: value,
  outputTokens: value,
  turns: value,
  toolCalls: value,
  spawns: value,
})

/** Money is a float: a sum that is off by less than this fits. */
const epsilon = 1e-9

/** One scope of the tree. Opaque to everybody but this file. */
export class Level {
  readonly name: string
  readonly parent: Level | undefined
  readonly limit: Tally
  readonly wall: number
  readonly depth: number
  /** How many spawns deep this level is. */
  readonly nesting: number
  readonly startedAt: number
  readonly spent = tally(0)
  readonly reserved = tally(0)
  readonly overrun = tally(0)
  holders = 0
  closed: BudgetExceeded | undefined
  watchers: Set<() => void> | undefined

  constructor(limits: Limits, parent: Level | undefined, nesting: number, startedAt: number) {
    this.name = limits.name ?? (parent ? `${parent.name}/budget` : "budget")
    this.parent = parent
    this.limit = tally(Infinity)
    for (const resource of counted) this.limit[resource] = limitOf(resource, limits[resource])
    this.wall = limits.wall === undefined ? Infinity : Duration.toMillis(limits.wall)
    this.depth = limitOf("depth", limits.depth)
    this.nesting = nesting
    this.startedAt = startedAt
  }
}

const limitOf = (resource: Resource, value: number | undefined) => {
  if (value === undefined) return Infinity
  if (value >= 0) return value
  throw new RangeError(`A budget's ${resource} limit must be 0 or more, not ${value}.`)
}

/** The budget in force; forks inherit it, an actor works on that of whoever asked. `undefined` is the unlimited root. */
export const Current = Context.Reference<Level | undefined>("troupe/kernel/Budget/Current", {
  defaultValue: () => undefined,
})

/**
 * Limits everything that `effect` and its fibers spend.
 *
 * @example
 * const careful = program.pipe(Budget.within({ usd: 2, wall: "10 minutes" }))
 */
export const within =
  (limits: Limits) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | BudgetExceeded, R> =>
    Effect.withFiber((fiber) => {
      const parent = fiber.getRef(Current)
      return enter(new Level(limits, parent, parent?.nesting ?? 0, now(fiber)), effect)
    })

/** A child's scope: counts one spawn to all parents, respects their `depth`, and nests. */
export const spawn =
  (name: string, limits: Omit<Limits, "name"> = {}) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | BudgetExceeded, R> =>
    Effect.withFiber((fiber) => {
      const parent = fiber.getRef(Current)
      const nesting = (parent?.nesting ?? 0) + 1
      for (let level = parent; level; level = level.parent) {
        if (nesting - level.nesting > level.depth) {
          return Effect.fail(exceeded(level, "depth", level.depth, nesting - level.nesting - 1, 1))
        }
      }
      const refused = spend(parent, { spawns: 1 })
      if (refused) return Effect.fail(refused)
      return enter(new Level({ ...limits, name }, parent, nesting, now(fiber)), effect)
    })

const enter = <A, E, R>(level: Level, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | BudgetExceeded, R> => {
  const contenders: Array<Effect.Effect<A, E | BudgetExceeded, R>> = [
    Effect.provideService(effect, Current, level),
    closing(level),
  ]
  if (level.wall < Infinity) {
    const deadline = Effect.suspend(() => {
      close(level, "wall", level.wall, level.wall)
      return closing(level)
    })
    contenders.push(Effect.delay(deadline, level.wall))
  }
  return Effect.raceAllFirst(contenders)
}

/** Fails as soon as the level or one above it closes. */
const closing = (level: Level): Effect.Effect<never, BudgetExceeded> =>
  Effect.callback((resume) => {
    const look = () => {
      const closed = closedAt(level)
      if (closed) resume(Effect.fail(closed))
    }
    const unwatch = watch(level, look)
    look()
    return Effect.sync(unwatch)
  })

/** Counts something that just happens, such as a turn: all levels take it, or it fails and none does. */
export const charge = (amounts: Amounts): Effect.Effect<void, BudgetExceeded> =>
  Effect.withFiber((fiber) => {
    const refused = spend(fiber.getRef(Current), amounts)
    return refused ? Effect.fail(refused) : Effect.void
  })

const spend = (from: Level | undefined, amounts: Amounts): BudgetExceeded | undefined => {
  for (let level = from; level; level = level.parent) {
    if (level.closed) return level.closed
    for (const key in amounts) {
      const resource = key as Counted
      const amount = amountOf(amounts, resource)
      if (!(level.spent[resource] + level.reserved[resource] + amount <= level.limit[resource] + epsilon)) {
        return exceeded(level, resource, level.limit[resource], level.spent[resource], amount)
      }
    }
  }
  for (let level = from; level; level = level.parent) {
    for (const key in amounts) level.spent[key as Counted] += amounts[key as Counted] ?? 0
  }
  return undefined
}

/** What to put aside: `fixed`, and `unit` as often as fits, `want` times at best and `least` times at worst. */
export interface Request {
  readonly fixed?: Amounts | undefined
  readonly elastic?: { readonly unit: Amounts; readonly want: number; readonly least: number } | undefined
}

/** Something put aside at every level until it is settled. */
export interface Reservation {
  /** How many elastic units fitted. */
  readonly granted: number
  /** What is put aside in total. */
  readonly amounts: Amounts
  /**
   * Books what was really spent and gives the rest back; only the first call counts. Spending more than was put aside is
   * recorded as an overrun and closes the nearest scope that limits the resource.
   */
  readonly settle: (actual: Amounts) => Effect.Effect<void>
  /** Gives everything back: nothing was spent. */
  readonly release: Effect.Effect<void>
}

/**
 * Puts an amount aside at every level before it is spent. When even the least does not fit, it waits while other reservations
 * are outstanding, and fails once waiting cannot help. The scope releases what is not settled by then, so nothing leaks.
 */
export const reserve = (request: Request): Effect.Effect<Reservation, BudgetExceeded, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.Scope
      const level = yield* Current
      while (true) {
        // Watching begins before the attempt, in the same step, so no settlement can pass unnoticed between the two.
        let news = false
        let notify = (): void => {
          news = true
        }
        const unwatch = watch(level, () => notify())
        const outcome = attempt(level, request)
        if (outcome !== "wait") unwatch()
        if (outcome instanceof BudgetExceeded) return yield* outcome
        if (outcome !== "wait") {
          yield* Scope.addFinalizer(scope, outcome.release)
          return outcome
        }
        const settlement = Effect.callback<void>((resume) => {
          notify = () => resume(Effect.void)
          if (news) notify()
        })
        yield* Effect.ensuring(restore(settlement), Effect.sync(unwatch))
      }
    }),
  )

const attempt = (from: Level | undefined, request: Request): Reservation | BudgetExceeded | "wait" => {
  const { fixed = {}, elastic } = request
  let granted = elastic?.want ?? 0
  const least = Math.min(elastic?.least ?? 0, granted)
  let wait = false
  for (let level = from; level; level = level.parent) {
    if (level.closed) return level.closed
    for (const resource of counted) {
      const unit = elastic ? amountOf(elastic.unit, resource) : 0
      const base = amountOf(fixed, resource)
      if (base === 0 && unit === 0) continue
      const free = level.limit[resource] - level.spent[resource]
      if (units(free, base, unit, least) < least) {
        return exceeded(level, resource, level.limit[resource], level.spent[resource], base + unit * least)
      }
      granted = Math.min(granted, units(free - level.reserved[resource], base, unit, granted))
      if (granted < least) wait = true
    }
  }
  return wait ? "wait" : hold(from, granted, sum(fixed, elastic?.unit ?? {}, granted))
}

/** How many units fit beside the base, at most `most`; -1 when not even the base does. */
const units = (free: number, base: number, unit: number, most: number): number => {
  const rest = free - base + epsilon
  if (!(rest >= 0)) return -1
  return unit === 0 ? most : Math.min(most, Math.floor(rest / unit))
}

const hold = (from: Level | undefined, granted: number, amounts: Tally): Reservation => {
  for (let level = from; level; level = level.parent) {
    level.holders++
    for (const resource of counted) level.reserved[resource] += amounts[resource]
  }
  let settled = false
  const settle = (actual: Amounts) =>
    Effect.sync(() => {
      if (settled) return
      settled = true
      book(from, amounts, actual)
    })
  return { granted, amounts, settle, release: settle({}) }
}

const book = (from: Level | undefined, amounts: Tally, actual: Amounts): void => {
  for (let level = from; level; level = level.parent) {
    level.holders--
    for (const resource of counted) {
      // With nobody left, rounding must not leave crumbs behind.
      level.reserved[resource] = level.holders === 0 ? 0 : level.reserved[resource] - amounts[resource]
      level.spent[resource] += amountOf(actual, resource)
    }
  }
  for (const resource of counted) {
    const over = amountOf(actual, resource) - amounts[resource]
    if (over > epsilon) overran(from, resource, over)
  }
  for (let level = from; level; level = level.parent) wake(level)
}

const overran = (from: Level | undefined, resource: Counted, over: number): void => {
  let nearest = true
  for (let level = from; level; level = level.parent) {
    level.overrun[resource] += over
    const limit = level.limit[resource]
    if (limit < Infinity && (nearest || level.spent[resource] > limit + epsilon)) {
      nearest = false
      close(level, resource, limit, level.spent[resource])
    }
  }
}

/** An allowance for another process, as plain data that `Budget.within` accepts there. */
export const Grant = Schema.Struct({
  name: Schema.String,
  usd: Schema.optionalKey(Schema.Finite),
  inputTokens: Schema.optionalKey(Schema.Finite),
  outputTokens: Schema.optionalKey(Schema.Finite),
  turns: Schema.optionalKey(Schema.Finite),
  toolCalls: Schema.optionalKey(Schema.Finite),
  spawns: Schema.optionalKey(Schema.Finite),
  /** Milliseconds. */
  wall: Schema.optionalKey(Schema.Finite),
  depth: Schema.optionalKey(Schema.Finite),
})
export type Grant = typeof Grant.Type

/**
 * Carves an allowance out of the current budget. It holds what was asked for, and of every limited resource that was not
 * named all that is left. Settle it with what the other process reports at its exit; a scope that closes without such a
 * report counts the whole grant as spent, since nobody knows better.
 */
export const grant = Effect.fnUntraced(function* (name: string, wanted: Amounts) {
  const level = yield* Current
  const at = yield* Clock.currentTimeMillis
  const scope = yield* Scope.Scope
  const fixed: { [K in Counted]?: number } = {}
  for (const resource of counted) {
    const amount = wanted[resource] ?? left(level, resource)
    if (amount < Infinity) fixed[resource] = amount
  }
  // The order of finalizers is reversed: "all spent" runs before the reservation's own "nothing spent".
  const reservation = yield* reserve({ fixed })
  yield* Scope.addFinalizer(scope, reservation.settle(fixed))
  let wall = Infinity
  let depth = Infinity
  for (let l = level; l; l = l.parent) {
    wall = Math.min(wall, Math.max(0, l.startedAt + l.wall - at))
    depth = Math.min(depth, Math.max(0, l.depth - ((level?.nesting ?? 0) - l.nesting)))
  }
  const data: Grant = {
    name,
    ...fixed,
    ...(wall < Infinity ? { wall } : {}),
    ...(depth < Infinity ? { depth } : {}),
  }
  return { ...reservation, data }
})

const left = (from: Level | undefined, resource: Counted) => {
  let least = Infinity
  for (let level = from; level; level = level.parent) {
    least = Math.min(least, level.limit[resource] - level.spent[resource] - level.reserved[resource])
  }
  return Math.max(0, least)
}

/** What one level allows, has spent and holds back. */
export interface Snapshot {
  readonly name: string
  readonly limits: { readonly [K in Resource]?: number }
  readonly spent: Readonly<Tally> & { readonly wall: number }
  readonly reserved: Readonly<Tally>
  readonly overrun: Readonly<Tally>
  readonly closed: BudgetExceeded | undefined
}

/** The budgets in force, the innermost first; empty outside of any. */
export const snapshot: Effect.Effect<ReadonlyArray<Snapshot>> = Effect.withFiber((fiber) => {
  const levels: Array<Snapshot> = []
  for (let level = fiber.getRef(Current); level; level = level.parent) {
    const limits = { ...level.limit, wall: level.wall, depth: level.depth }
    levels.push({
      name: level.name,
      limits: Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit < Infinity)),
      spent: { ...level.spent, wall: now(fiber) - level.startedAt },
      reserved: { ...level.reserved },
      overrun: { ...level.overrun },
      closed: level.closed,
    })
  }
  return Effect.succeed(levels)
})

const close = (level: Level, resource: Resource, limit: number, spent: number): void => {
  level.closed ??= exceeded(level, resource, limit, spent, 0, true)
  wake(level)
}

const closedAt = (from: Level | undefined): BudgetExceeded | undefined => {
  for (let level = from; level; level = level.parent) if (level.closed) return level.closed
  return undefined
}

/** Watches a level and all above it: any of them can settle, or close. */
const watch = (from: Level | undefined, look: () => void): (() => void) => {
  for (let level = from; level; level = level.parent) (level.watchers ??= new Set()).add(look)
  return () => {
    for (let level = from; level; level = level.parent) level.watchers?.delete(look)
  }
}

const wake = (level: Level): void => {
  if (level.watchers) for (const look of Array.from(level.watchers)) look()
}

const exceeded = (level: Level, resource: Resource, limit: number, spent: number, requested: number, closed = false) =>
  new BudgetExceeded({ scope: level.name, resource, limit, spent, requested, closed })

const amountOf = (amounts: Amounts, resource: Counted): number => {
  const amount = amounts[resource] ?? 0
  if (amount >= 0) return amount
  throw new RangeError(`A budget cannot count ${amount} ${resource}: amounts are 0 or more.`)
}

const sum = (fixed: Amounts, unit: Amounts, times: number): Tally => {
  const total = tally(0)
  for (const resource of counted) total[resource] = (fixed[resource] ?? 0) + (unit[resource] ?? 0) * times
  return total
}

const now = (fiber: Fiber<unknown, unknown>): number => fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
