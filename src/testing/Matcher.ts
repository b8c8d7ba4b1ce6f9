/** Owns the conditions of a playbook: whether a rule answers what the model was told, what it captured, or why not. */
import * as Schema from "effect/Schema"
import type { Told, ToldResult } from "./Told.ts"

const isRegExp = Schema.makeFilter((source: string) => {
  try {
    return new RegExp(source) instanceof RegExp
  } catch (cause) {
    return cause instanceof Error ? cause.message : "not a regular expression"
  }
})

const textConditions = {
  contains: Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  /** None of these may occur. */
  lacks: Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  equals: Schema.optionalKey(Schema.String),
  /** A regular expression; `^` and `$` mean lines. Its groups are captures: `${1}`, `${name}`. */
  matches: Schema.optionalKey(Schema.String.check(isRegExp)),
  ignore_case: Schema.optionalKey(Schema.Boolean),
}

/** A plain string means `contains`. */
export const TextMatch = Schema.Union([Schema.String, Schema.Struct(textConditions)])
export type TextMatch = typeof TextMatch.Type

export const ResultMatch = Schema.Struct({
  name: Schema.optionalKey(Schema.String),
  is_error: Schema.optionalKey(Schema.Boolean),
  ...textConditions,
})

/** A plain number means exactly. */
export const Range = Schema.Union([
  Schema.Int,
  Schema.Struct({ min: Schema.optionalKey(Schema.Int), max: Schema.optionalKey(Schema.Int) }),
])
export type Range = typeof Range.Type

const Conditions = Schema.Struct({
  user: Schema.optionalKey(TextMatch),
  prompt: Schema.optionalKey(TextMatch),
  tool: Schema.optionalKey(Schema.Union([Schema.String, ResultMatch])),
  system: Schema.optionalKey(TextMatch),
  history: Schema.optionalKey(TextMatch),
  model: Schema.optionalKey(TextMatch),
  request: Schema.optionalKey(Range),
  turn: Schema.optionalKey(Range),
  messages: Schema.optionalKey(Range),
})

export type Predicate = (told: Told) => boolean
const Predicate = Schema.declare((value): value is Predicate => typeof value === "function", {
  expected: "conditions",
})

/** All given conditions must hold. In TypeScript a function will do too. */
export const When = Schema.Union([Conditions, Predicate])
export type When = typeof When.Type

export interface Captures {
  readonly groups: ReadonlyArray<string>
  readonly named: Readonly<Record<string, string>>
  /** The tool result that satisfied `tool`. */
  readonly result?: ToldResult
}

export type Verdict =
  | { readonly matched: true; readonly captures: Captures }
  | { readonly matched: false; readonly why: string }

export const nothing: Captures = { groups: [], named: {} }

export const match = (when: When | undefined, told: Told): Verdict => {
  if (when === undefined) return { matched: true, captures: nothing }
  if (typeof when === "function") {
    return when(told) ? { matched: true, captures: nothing } : { matched: false, why: "its function said no" }
  }
  const failure =
    rangeFailure("request", when.request, told.request) ??
    rangeFailure("turn", when.turn, told.turn) ??
    rangeFailure("messages", when.messages, told.body.messages.length)
  if (failure !== undefined) return { matched: false, why: failure }

  const groups: Array<string> = []
  const named: Record<string, string> = {}
  const texts: ReadonlyArray<readonly [string, TextMatch | undefined, () => string]> = [
    ["model", when.model, () => told.model],
    ["user", when.user, () => told.user],
    ["prompt", when.prompt, () => told.prompt],
    ["system", when.system, () => told.system],
    ["history", when.history, told.history],
  ]
  for (const [name, condition, text] of texts) {
    if (condition === undefined) continue
    const outcome = textMatch(condition, text())
    if (typeof outcome === "string") return { matched: false, why: `${name} ${outcome}` }
    groups.push(...outcome.groups)
    Object.assign(named, outcome.named)
  }
  if (when.tool === undefined) return { matched: true, captures: { groups, named } }

  const outcome = resultMatch(typeof when.tool === "string" ? { name: when.tool } : when.tool, told.results)
  if (typeof outcome === "string") return { matched: false, why: `tool ${outcome}` }
  return {
    matched: true,
    captures: {
      groups: [...groups, ...outcome.groups],
      named: { ...named, ...outcome.named },
      ...(outcome.result !== undefined && { result: outcome.result }),
    },
  }
}

/** The last result that satisfies everything; else why the last one did not. */
const resultMatch = (condition: typeof ResultMatch.Type, results: ReadonlyArray<ToldResult>): Captures | string => {
  let why: string | undefined
  for (const result of results.toReversed()) {
    const outcome = oneResult(condition, result)
    if (typeof outcome !== "string") return { ...outcome, result }
    why ??= outcome
  }
  return why ?? "results: there are none"
}

const oneResult = (condition: typeof ResultMatch.Type, result: ToldResult): Captures | string => {
  if (condition.name !== undefined && condition.name !== result.tool) {
    return `result is of ${result.tool || "an unknown tool"}, not ${condition.name}`
  }
  if (condition.is_error !== undefined && condition.is_error !== result.isError) {
    return `result ${result.isError ? "is" : "is not"} an error`
  }
  const outcome = textMatch(condition, result.text)
  return typeof outcome === "string" ? `result ${outcome}` : outcome
}

const list = (value: string | ReadonlyArray<string> | undefined): ReadonlyArray<string> =>
  value === undefined ? [] : typeof value === "string" ? [value] : value

const textMatch = (condition: TextMatch, text: string): Captures | string => {
  const { contains, lacks, equals, matches, ignore_case } =
    typeof condition === "string" ? { contains: condition, ...blank } : { ...blank, ...condition }
  const fold = (value: string) => (ignore_case === true ? value.toLowerCase() : value)
  const missing = list(contains).find((part) => !fold(text).includes(fold(part)))
  if (missing !== undefined) return `does not contain ${JSON.stringify(missing)}`
  const unwanted = list(lacks).find((part) => fold(text).includes(fold(part)))
  if (unwanted !== undefined) return `contains ${JSON.stringify(unwanted)}`
  if (equals !== undefined && fold(text) !== fold(equals)) return `is not ${JSON.stringify(equals)}`
  if (matches === undefined) return nothing
  const found = new RegExp(matches, ignore_case === true ? "mi" : "m").exec(text)
  if (found === null) return `does not match /${matches}/`
  return { groups: found.slice(1).map((group) => group ?? ""), named: { ...found.groups } }
}

const blank: typeof ResultMatch.Type = {}

const rangeFailure = (name: string, range: Range | undefined, value: number): string | undefined => {
  if (range === undefined) return undefined
  const { min, max } = typeof range === "number" ? { min: range, max: range } : range
  if (min !== undefined && value < min) return `${name} is ${value}, before ${min}`
  return max !== undefined && value > max ? `${name} is ${value}, past ${max}` : undefined
}
