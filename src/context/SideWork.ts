/**
 * Owns the questions the harness asks a small model beside the conversation: bounded in time and length, answered in JSON of a known
 * shape or not at all. They are metered like every request, and are not asked when the budget runs low: the work comes first.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Budget from "../kernel/Budget.ts"
import type { Model } from "../model/Model.ts"
import * as SideQuery from "../model/SideQuery.ts"

export interface Question<S> {
  /** On whose account. */
  readonly agent: string
  readonly system: string
  readonly prompt: string
  readonly answer: S
  readonly maxTokens: number
  readonly timeout: Duration.Input
}

/** Of every limited resource this share is left to the conversation. */
const reserve = 0.2

const isAffordable = Effect.map(Budget.snapshot, (levels) =>
  levels.every(
    ({ closed, limits, reserved, spent }) =>
      closed === undefined &&
      (["usd", "inputTokens", "outputTokens"] as const).every((resource) => {
        const limit = limits[resource]
        return limit === undefined || spent[resource] + reserved[resource] < limit * (1 - reserve)
      }),
  ),
)

/** Never fails. What goes wrong is a line in the log. */
export const ask = <S extends Schema.ConstraintDecoder<unknown>>(
  question: Question<S>,
): Effect.Effect<Option.Option<S["Type"]>, never, Model> =>
  Effect.gen(function* () {
    if (!(yield* isAffordable)) return Option.none()
    const { agent, answer, maxTokens, prompt, system, timeout } = question
    const { text } = yield* SideQuery.ask({
      agent,
      model: SideQuery.small,
      maxTokens,
      system,
      messages: [{ role: "user", content: prompt }],
    }).pipe(Effect.timeout(timeout))
    const json = /\{[^]*\}/.exec(text)?.[0] ?? ""
    const decoded = Schema.decodeUnknownOption(Schema.fromJsonString(answer))(json)
    if (Option.isNone(decoded)) yield* Effect.logDebug(`${agent}: the answer has another form than asked for`)
    return decoded
  }).pipe(
    Effect.catch((error) =>
      Effect.as(Effect.logDebug(`${question.agent}: no answer: ${error.message}`), Option.none()),
    ),
  )
