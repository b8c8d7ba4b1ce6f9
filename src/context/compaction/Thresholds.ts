/** Owns how full a conversation may become: when room is made by itself, when nothing more may be said, and who changes that. Pure. */
import type { ModelSpec } from "../../cost/ModelSpec.ts"

/** What people say about it. */
export interface Wishes {
  /** `autoCompactEnabled`, `DISABLE_AUTO_COMPACT`. */
  readonly auto: boolean
  /** `DISABLE_COMPACT`: not even when somebody asks for it. */
  readonly manual: boolean
  /** `autoCompactWindow`, `CLAUDE_CODE_AUTO_COMPACT_WINDOW`: a window smaller than the model's. */
  readonly window?: number | undefined
  /** `CLAUDE_AUTOCOMPACT_PCT_OVERRIDE`: room is made earlier, never later. */
  readonly percent?: number | undefined
}

export const usual: Wishes = { auto: true, manual: true }

export interface Thresholds {
  /** What fits into a request beside the reply. */
  readonly window: number
  /** From here on room is made by itself. */
  readonly auto: number
  /** How much may be left when room has been made: closer to the limit it would have to be made again at once. */
  readonly target: number
  /** From here on nothing is asked any more. */
  readonly block: number
}

/** A reply and the request for a summary must always fit. */
const forReply = 20_000
const untilAuto = 13_000
const untilBlock = 3_000
const smallest = 100_000
const largest = 1_000_000
const left = 0.6

export const of = (spec: Pick<ModelSpec, "contextWindow" | "maxOutput">, wishes: Wishes = usual): Thresholds => {
  const asked = wishes.window === undefined ? largest : Math.min(largest, Math.max(smallest, wishes.window))
  const window = Math.min(spec.contextWindow, asked) - Math.min(spec.maxOutput, forReply)
  // Models with a tiny window, as servers of one's own have them, still get most of it.
  const usually = Math.max(window - untilAuto, Math.floor(window / 2))
  const percent = wishes.percent === undefined ? 100 : Math.min(100, Math.max(1, wishes.percent))
  const auto = Math.min(usually, Math.floor((window * percent) / 100))
  return { window, auto, target: Math.floor(auto * left), block: Math.max(window - untilBlock, auto) }
}
