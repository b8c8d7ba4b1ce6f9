/**
 * Owns what a recording does not say in so many words, but shows: when a person interrupted, which letters came too late for a request,
 * which calls ran beside each other, what a turn's limits were. Read from the tape; pure.
 */
import * as Schema from "effect/Schema"
import { BudgetExceeded } from "../kernel/Budget.ts"
import type { DurableEvent, EventOf } from "../protocol/Event.ts"
import { type Entry, callOf, loopOf, main, type Tape } from "./Tape.ts"

const interrupted = "the user interrupted"
const stopped = "Stopped after the running tools had finished."

const isAbort = (event: DurableEvent): boolean => {
  switch (event._tag) {
    case "ReplyEnded":
      return event.stopReason === null && event.stopDetail === interrupted
    case "ReplyAbandoned":
      return event.reason === interrupted
    case "ToolEnded":
      return event.outcome === "cancelled" && String(event.content).startsWith(`Cancelled: ${interrupted}.`)
    case "TurnEnded":
      return event.terminal.reason.startsWith("aborted_") && event.terminal.detail !== stopped
    default:
      return false
  }
}

/** Something outside ended a turn, or was about to: a person, or a budget. */
export interface Cut {
  readonly agent: string
  /** Where the turn ends. */
  readonly end: number
  readonly spent: BudgetExceeded | undefined
}

/** What must have ended the turn that a record belongs to, or the one around it. */
export const cutOf = (tape: Tape, entry: Entry): Cut | undefined => {
  for (const agent of new Set([entry.agent, main])) {
    const turn = tape.turn(agent, entry.at, entry.life)
    const last = turn.at(-1)
    const spent = last?.event._tag === "TurnEnded" ? budgetOf(last.event) : undefined
    if (last !== undefined && spent !== undefined) return { agent, end: last.at, spent }
    const end = last?.event._tag === "TurnEnded" ? last.at : tape.entries.length
    const isCut = tape.entries
      .slice(entry.at, end + 1)
      .some((one) => one.agent === main && one.life === entry.life && isAbort(one.event))
    if (agent === main && isCut) return { agent, end, spent: undefined }
  }
  return undefined
}

/** The budget that ended a turn, from its own words. */
export const budgetOf = ({ terminal }: EventOf<"TurnEnded">): BudgetExceeded | undefined => {
  const said = terminal.detail ?? ""
  const closed = /^Budget "(.*)" is closed: (\w+), (\S+?)(?: ms)? of (\S+?)(?: ms)? used\./.exec(said)
  const small =
    /^Budget "(.*)" has not enough (\w+): (\S+?)(?: ms)? of (\S+?)(?: ms)? used, (\S+) more requested\./.exec(said)
  const [, scope = "", resource, spent, limit, requested = 0] = closed ?? small ?? []
  if (!isResource(resource)) return undefined
  return new BudgetExceeded({
    scope,
    resource,
    limit: Number(limit),
    spent: Number(spent),
    requested: Number(requested),
    closed: closed !== null,
  })
}

const isResource = Schema.is(BudgetExceeded.fields.resource)

/** The last call that a turn waited for before it stopped, as it had been asked to. */
export const isStopBefore = (tape: Tape, { agent, at, event, life }: Entry): boolean => {
  if (agent !== main || event._tag !== "ToolEnded") return false
  const next = tape.head(loopOf(main), at + 1, life)
  if (next?.event._tag !== "TurnEnded" || next.event.terminal.detail !== stopped) return false
  const between = tape.entries.slice(at + 1, next.at)
  return !between.some((one) => one.agent === main && one.event._tag === "ToolEnded")
}

/**
 * The loop had looked already when the letter came: it does not stand in the request behind it, or the turn ended all the same. `said` is
 * how much was waiting without it.
 */
export const isLate = (tape: Tape, letter: Entry, next: Entry, said: number): boolean => {
  const { event } = next
  if (event._tag === "TurnEnded")
    return (
      event.terminal.reason === "completed" &&
      letter.event._tag === "PromptReceived" &&
      letter.event.delivery !== "prompt"
    )
  if (event._tag !== "RequestSent" || event.said === undefined || event.repeats === true) return false
  const between = tape.entries.slice(letter.at + 1, next.at)
  return event.said === said && !between.some((one) => one.agent === letter.agent && one.plays === "told")
}

/** It came after a wait. */
export const isTimed = (tape: Tape, entry: Entry): boolean =>
  (entry.event._tag === "RequestSent" || entry.event._tag === "RetryWaiting") &&
  tape.before(entry)?.event._tag === "RetryWaiting"

/** How a call is to be played: what is known of it before it runs. */
export interface CallFacts {
  /** It began while the model still spoke. */
  readonly early: boolean
  /** It ran beside another one. */
  readonly beside: boolean
}

const cascaded = /^Cancelled: parallel tool call (.+) errored\.$/

/** The calls of each reply, in order, with what the records show of them. */
export const callsOf = (tape: Tape): ReadonlyMap<string, CallFacts> => {
  const facts = new Map<string, CallFacts>()
  const replies = new Map<string, Array<{ readonly id: string; first: number; last: number; cascaded: boolean }>>()
  const ends = new Map<string, { readonly at: number; readonly isSealed: boolean }>()
  const where = new Map<string, { first: number; last: number; cascaded: boolean }>()
  for (const { agent, at, event } of tape.entries) {
    if (event._tag === "ReplyEnded") ends.set(event.requestId, { at, isSealed: isBrokenOff(event) })
    if (event._tag === "BlockReceived" && event.block.type === "tool_use") {
      const call = { id: callOf(agent, event.block.id), first: Number.POSITIVE_INFINITY, last: -1, cascaded: false }
      where.set(call.id, call)
      replies.set(event.requestId, [...(replies.get(event.requestId) ?? []), call])
    }
    if (event._tag === "PermissionDecided" || event._tag === "ToolStarted" || event._tag === "ToolEnded") {
      const call = where.get(callOf(agent, event.toolUseId))
      if (call === undefined) continue
      call.first = Math.min(call.first, at)
      call.last = Math.max(call.last, at)
      if (event._tag === "ToolEnded") call.cascaded = cascaded.test(String(event.content))
    }
  }
  for (const [requestId, calls] of replies) {
    const end = ends.get(requestId)
    /** Of those up to a place and those behind it, some ran at the same time. */
    const isJoined = (place: number): boolean => {
      const [before, after] = [calls.slice(0, place + 1), calls.slice(place + 1)]
      const ends = Math.max(-1, ...before.map(({ last }) => last))
      const cut = [before.at(-1), after[0]].some((call) => call?.cascaded === true)
      return after.length > 0 && before.length > 0 && (cut || after.some(({ first }) => first < ends))
    }
    for (const [place, { first, id }] of calls.entries()) {
      const early =
        end === undefined ? first !== Number.POSITIVE_INFINITY : first < end.at || (end.isSealed && place === 0)
      facts.set(id, { early, beside: early || isJoined(place - 1) || isJoined(place) })
    }
  }
  return facts
}

/** It died when it could not be asked for again. */
const isBrokenOff = (event: Extract<DurableEvent, { readonly _tag: "ReplyEnded" }>): boolean =>
  event.stopReason === null && event.stopDetail?.startsWith("The reply broke off after") === true

/** Tools whose failure ended the calls beside them. */
export const cascading = (tape: Tape): ReadonlySet<string> =>
  new Set(
    tape.entries.flatMap(({ event }) =>
      event._tag === "ToolEnded" ? (cascaded.exec(String(event.content))?.slice(1, 2) ?? []) : [],
    ),
  )

/** What a turn was allowed, as far as it shows. */
export interface TurnLimits {
  readonly maxTurns: number
  readonly outputSlots: readonly [first: number, large: number]
  readonly fallbackModel: string | undefined
}

export const limitsOf = (turn: ReadonlyArray<Entry>): TurnLimits => {
  const ending = turn.at(-1)?.event
  const detail = ending?._tag === "TurnEnded" && ending.terminal.reason === "max_turns" ? ending.terminal.detail : ""
  const limit = /turn limit of (\d+)/.exec(detail ?? "")?.[1]
  const sent = turn.flatMap(({ event }) => (event._tag === "RequestSent" ? [event] : []))
  const escalation = turn.findIndex(
    ({ event }) => event._tag === "TransitionTaken" && event.transition === "max_output_tokens_escalate",
  )
  const first = Math.max(1, ...(escalation === -1 ? sent : sent.slice(0, 1)).map((event) => event.maxTokens))
  const escalated = escalation === -1 ? undefined : turn[escalation]?.event
  const large =
    escalated?._tag === "TransitionTaken" ? Number(/^(\d+)/.exec(escalated.detail ?? "")?.[1] ?? first + 1) : first
  const fallback = turn.findIndex(
    ({ event }) => event._tag === "TransitionTaken" && event.transition === "model_fallback",
  )
  const taken =
    fallback === -1 ? undefined : turn.slice(fallback).find(({ event }) => event._tag === "RequestSent")?.event
  return {
    maxTurns: limit === undefined ? Number.MAX_SAFE_INTEGER : Number(limit),
    outputSlots: [first, large],
    fallbackModel: taken?._tag === "RequestSent" ? taken.model : undefined,
  }
}
