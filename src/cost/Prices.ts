/** Owns what a reply costs, and the most it can cost. Pure; an unknown price is `null`, never a guess. */
import * as DateTime from "effect/DateTime"
import { promptTokens, type Usage } from "../protocol/Usage.ts"
import type { ModelSpec, PriceRow } from "./ModelSpec.ts"

const million = 1_000_000
const webSearch = 0.01

/** What a reply cost, in USD. */
export const costOf = (spec: ModelSpec, usage: Usage, atMs: number): number | null => {
  const row = rowFor(spec, promptTokens(usage), atMs, usage.speed)
  if (row === undefined) return null
  const hourWrites = Math.min(usage.cache_creation_1h_input_tokens ?? 0, usage.cache_creation_input_tokens)
  const writes = usage.cache_creation_input_tokens - hourWrites
  const input =
    usage.input_tokens +
    usage.cache_read_input_tokens * readFactor(row) +
    writes * writeFactor(row) +
    hourWrites * hourFactor(row)
  const tokens = (input * row.input + usage.output_tokens * row.output) / million
  return tokens + (usage.web_search_requests ?? 0) * webSearch
}

/** The dearest that one more token of prompt or of reply can be, in USD; `null` where the price is unknown. */
export interface Rates {
  readonly input: number
  readonly output: number
}

/** What is known about a request before it is sent. */
export interface Terms {
  readonly speed?: string | undefined
  /** It may write to the 1-hour cache, the dearest there is; unless told it may. */
  readonly hourCache?: boolean | undefined
}

/**
 * The rates to reckon with before anything is known about caching: the dearest cache write that may apply, and the dearest band
 * that a prompt of at most `inputTokens` can fall into.
 */
export const dearest = (spec: ModelSpec, inputTokens: number, atMs: number, terms: Terms = {}): Rates | null => {
  const rows = rowsAt(spec, atMs, terms.speed).filter((row) => (row.abovePrompt ?? 0) <= inputTokens)
  if (rows.length === 0) return null
  const factor = (row: PriceRow) =>
    Math.max(1, readFactor(row), writeFactor(row), terms.hourCache === false ? 0 : hourFactor(row))
  return {
    input: Math.max(...rows.map((row) => row.input * factor(row))) / million,
    output: Math.max(...rows.map((row) => row.output)) / million,
  }
}

/** The most that a request can cost: no reply within these limits costs more. */
export const upperBound = (
  spec: ModelSpec,
  request: Terms & { readonly inputTokens: number; readonly maxTokens: number },
  atMs: number,
): number | null => {
  const rates = dearest(spec, request.inputTokens, atMs, request)
  return rates && request.inputTokens * rates.input + request.maxTokens * rates.output
}

const readFactor = (row: PriceRow) => row.cacheRead ?? 0.1
const writeFactor = (row: PriceRow) => row.cacheWrite ?? 1.25
const hourFactor = (row: PriceRow) => row.cacheWriteHour ?? 2

/** The rows in force on a day: those of the latest date that has come. A tier without rows of its own costs the ordinary price. */
const rowsAt = (spec: ModelSpec, atMs: number, speed: string | undefined): ReadonlyArray<PriceRow> => {
  const tier = spec.prices.filter((row) => row.speed === speed)
  const rows = tier.length > 0 ? tier : spec.prices.filter((row) => row.speed === undefined)
  if (rows.every((row) => row.from === undefined)) return rows
  // Days compare as text, so no date has to be parsed.
  const today = DateTime.formatIsoDateUtc(DateTime.makeUnsafe(atMs))
  const come = rows.filter((row) => (row.from ?? "") <= today)
  const latest = come.reduce((day, row) => ((row.from ?? "") > day ? (row.from ?? "") : day), "")
  return come.filter((row) => (row.from ?? "") === latest)
}

const rowFor = (spec: ModelSpec, prompt: number, atMs: number, speed: string | undefined): PriceRow | undefined => {
  let best: PriceRow | undefined
  for (const row of rowsAt(spec, atMs, speed)) {
    const above = row.abovePrompt ?? -1
    if (prompt > above && above >= (best?.abovePrompt ?? -1)) best = row
  }
  return best
}
