/** Owns how hard a model is to try: a signal to it, not a budget. */
import * as Schema from "effect/Schema"

/** From the least to the most. */
export const efforts = ["low", "medium", "high", "xhigh", "max"] as const

export const Effort = Schema.Literals(efforts)
export type Effort = typeof Effort.Type
