/** Owns time in playbooks: durations as people write them, and waits that a seed decides. */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"

const unit: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }
const pattern = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h)\s*$/

/** Milliseconds, or text such as `250ms`, `2s`, `1.5m`. */
export const Time = Schema.Union([
  Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)),
  Schema.String.check(Schema.isPattern(pattern, { expected: "a time such as 250ms, 2s or 1.5m" })),
])
export type Time = typeof Time.Type

/** A fixed wait, or one drawn between two bounds from the seeded `Random`. */
export const Delay = Schema.Union([Time, Schema.Struct({ min: Time, max: Time })])
export type Delay = typeof Delay.Type

export const millis = (time: Time): number => {
  if (typeof time === "number") return time
  const [, amount, name] = pattern.exec(time) ?? []
  return Number(amount ?? 0) * (unit[name ?? "ms"] ?? 1)
}

/** It passes without anybody noticing. */
export const isNone = (delay: Delay | undefined): boolean =>
  delay === undefined || (typeof delay !== "object" && millis(delay) === 0)

/** Waits by Clock. Nothing at all happens for no delay, so untimed playbooks never need the clock to move. */
export const wait = (delay: Delay | undefined): Effect.Effect<void> => {
  if (delay === undefined || isNone(delay)) return Effect.void
  return typeof delay === "object" ? latency(delay.min, delay.max) : Effect.sleep(millis(delay))
}

/** A latency drawn from `Random`: with `Random.withSeed` the same seed waits the same. For scripted tools and models. */
export const latency = (min: Time, max: Time): Effect.Effect<void> =>
  Effect.flatMap(Random.nextBetween(millis(min), millis(max)), (ms) => Effect.sleep(Math.round(ms)))
