/** Owns the money side of an attempt: what is put aside before it, and what is booked after it. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { CostGovernor } from "../cost/CostGovernor.ts"
import type { Resolved } from "../cost/ModelTable.ts"
import * as Prices from "../cost/Prices.ts"
import * as Budget from "../kernel/Budget.ts"
import { promptTokens, type Usage } from "../protocol/Usage.ts"
import * as ApiErrors from "./ApiErrors.ts"
import * as InputBound from "./InputBound.ts"

/** A shorter reply is not worth its prompt. */
const least = 1_024

/** What is put aside for one attempt. */
export interface Booking {
  /** What the budget allows, at most what was wanted. */
  readonly maxTokens: number
  /** Books what was used; `undefined`: nothing. Only the first call counts. */
  readonly settle: (usage: Usage | undefined) => Effect.Effect<void>
}

/** Somebody put a limit on what a prompt uses up. */
const isPriced = ({ limits }: Budget.Snapshot): boolean => limits.usd !== undefined || limits.inputTokens !== undefined

/** Without a price nothing would ever be counted against the limit: silence would be a broken promise. */
const unpriced = (scope: string, id: string) =>
  ApiErrors.make(
    "misconfigured",
    `The budget "${scope}" limits what may be spent in USD, but nobody knows what "${id}" costs, so nothing was sent. ` +
      `Give its price in settings under troupe.models.${id}.prices, for example [{ "input": 3, "output": 15 }] (USD per ` +
      `million tokens), or limit turns (--max-turns) or tokens instead of money.`,
  )

export const make = (governor: CostGovernor["Service"]) => {
  let bound: InputBound.InputBound | undefined
  // Measuring costs time and a module, and without a limit nobody wants to know.
  const measure = Effect.suspend(() =>
    bound === undefined
      ? Effect.map(
          Effect.promise(() => import("../platform/Tokens.ts")),
          (tokens) => (bound = InputBound.make(tokens.estimate)),
        )
      : Effect.succeed(bound),
  )

  const reserve = Effect.fnUntraced(function* (
    agent: string,
    { id, spec }: Resolved,
    prompt: InputBound.Prompt & { readonly hourCache: boolean },
    wanted: number,
  ) {
    const want = Math.min(wanted, spec.maxOutput)
    const levels = yield* Budget.snapshot
    const input = levels.some(isPriced) ? yield* measure : undefined
    const inputTokens = input?.of(id, prompt) ?? 0
    const now = yield* Clock.currentTimeMillis
    const hourCache = prompt.hourCache || prompt.system.some((block) => block.cache_control?.ttl === "1h")
    const rates = Prices.dearest(spec, inputTokens, now, { hourCache })
    const limited = rates === null ? levels.find((level) => level.limits.usd !== undefined) : undefined
    if (limited !== undefined) return yield* unpriced(limited.name, id)
    const reservation = yield* Budget.reserve({
      fixed: { inputTokens, ...(rates && { usd: inputTokens * rates.input }) },
      elastic: { unit: { outputTokens: 1, ...(rates && { usd: rates.output }) }, want, least: Math.min(least, want) },
    })
    let settled = false
    // To its end: an overrun closes the scope, and whoever books it is in that scope.
    const settle = Effect.fnUntraced(function* (usage: Usage | undefined) {
      if (settled) return
      settled = true
      if (usage === undefined) return yield* reservation.release
      const tokens = promptTokens(usage)
      const costUsd = Prices.costOf(spec, usage, yield* Clock.currentTimeMillis)
      if (tokens > 0) input?.learn(id, prompt, tokens)
      yield* reservation.settle({
        inputTokens: tokens,
        outputTokens: usage.output_tokens,
        ...(costUsd !== null && { usd: costUsd }),
      })
      // A ledger that is down is its supervisor's problem, and no reason to lose a reply that is paid for.
      yield* Effect.ignore(governor.tell.Record({ agent, model: id, usage, costUsd }))
    }, Effect.uninterruptible)
    const booking: Booking = { maxTokens: reservation.granted, settle }
    return booking
  })

  return { reserve }
}
