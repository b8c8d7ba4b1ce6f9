/**
 * Owns the service of a replay: it answers each request with what was recorded of the answer, failures and silence included. Retries and
 * fallbacks are worked out anew from that.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as ApiErrors from "../model/ApiErrors.ts"
import { type Provider, ProviderError, type WholeReply } from "../model/Provider.ts"
import type { EventOf } from "../protocol/Event.ts"
import type { StreamEvent } from "../protocol/StreamEvent.ts"
import type { Transition } from "../protocol/Transition.ts"
import type { Usage } from "../protocol/Usage.ts"
import type { Entry, Tape } from "./Tape.ts"

/** What was heard of one attempt, and what came then. */
export interface Answer {
  readonly messageId: string
  readonly model: string
  readonly blocks: ReadonlyArray<EventOf<"BlockReceived">>
  /** What the service told about it, where it began at all. */
  readonly usage: Usage | undefined
  readonly end:
    | { readonly _tag: "Complete"; readonly reply: EventOf<"ReplyEnded"> }
    | { readonly _tag: "Failed"; readonly error: ProviderError }
    /** A bug ended the turn in the middle of it. */
    | { readonly _tag: "Bug"; readonly message: string }
    /** Somebody else ended it, or nobody. */
    | { readonly _tag: "Silence" }
}

/** The words with which a turn ends its own reply. */
const ownWords = new Set([
  "the user interrupted",
  "the user sent a message that comes first",
  "the budget was spent",
  "it did not fit the first output slot",
])

/** What came of the request that a record announces. */
export const answerTo = (tape: Tape, sent: Entry): Answer => {
  if (sent.event._tag !== "RequestSent") return { ...silence, model: "" }
  const { model, requestId } = sent.event
  const blocks: Array<EventOf<"BlockReceived">> = []
  const rest = tape.turn(sent.agent, sent.at + 1, sent.life)
  for (const [index, { event }] of rest.entries()) {
    if (event._tag === "RequestSent" || event._tag === "TurnEnded") break
    if (!("requestId" in event) || event.requestId !== requestId) continue
    const messageId = blocks[0]?.messageId ?? "msg_replay"
    const answer = { messageId, model, blocks }
    if (event._tag === "BlockReceived") blocks.push(event)
    if (event._tag === "ReplyEnded") {
      const { messageId, stopDetail = "", stopReason, usage } = event
      if (stopReason !== null) return { ...answer, messageId, usage, end: { _tag: "Complete", reply: event } }
      if (ownWords.has(stopDetail)) return { ...answer, messageId, usage, end: { _tag: "Silence" } }
      return { ...answer, messageId, usage, end: failure(stopDetail, rest.slice(index + 1)) }
    }
    if (event._tag === "ReplyAbandoned") {
      const { reason, usage } = event
      const end = ownWords.has(reason) ? ({ _tag: "Silence" } as const) : failure(reason, rest.slice(index + 1))
      return { ...answer, usage, end }
    }
  }
  const last = rest.at(-1)?.event
  const bug = last?._tag === "TurnEnded" ? /^A defect: ([\s\S]*)$/.exec(last.terminal.detail ?? "")?.[1] : undefined
  const cut = { ...silence, messageId: blocks[0]?.messageId ?? "msg_replay", model, blocks, usage: noUsage(blocks) }
  return bug === undefined ? cut : { ...cut, end: { _tag: "Bug", message: bug } }
}

const silence = { messageId: "msg_replay", blocks: [], usage: undefined, end: { _tag: "Silence" } } as const

const noUsage = (blocks: ReadonlyArray<unknown>): Usage | undefined =>
  blocks.length === 0
    ? undefined
    : { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

/** Ways on that the turn found, with less in the conversation. */
const shorter: ReadonlySet<Transition> = new Set(["collapse_drain_retry", "reactive_compact_retry"])

/**
 * What the service must have said, from what was made of it: the record of the wait and of the way on, or the turn's end. The words in
 * front and behind are ours.
 */
const failure = (said: string, next: ReadonlyArray<Entry>): Answer["end"] => {
  const failed = (reason: ProviderError["reason"], more: Partial<ProviderError> = {}): Answer["end"] => ({
    _tag: "Failed",
    error: new ProviderError({
      reason,
      message: ownedNothing(said),
      retryable: more.retryable ?? true,
      ...(more.status !== undefined && { status: more.status }),
      ...(more.retryAfterMs !== undefined && { retryAfterMs: more.retryAfterMs }),
    }),
  })
  const [way, wait] = next.map(({ event }) => event)
  if (way?._tag === "TransitionTaken" && way.transition !== "stream_sealed") {
    if (shorter.has(way.transition)) return failed("prompt_too_long", { retryable: false })
    const waited = wait?._tag === "RetryWaiting" ? wait : undefined
    const status = waited?.status === undefined ? {} : { status: waited.status }
    // What was waited is what the service asked for, as far as anybody can tell.
    const more = { ...status, ...(waited !== undefined && { retryAfterMs: waited.delayMs }) }
    if (waited !== undefined && ApiErrors.isReason(waited.reason)) return failed(waited.reason, more)
    if (way.transition === "model_fallback") return failed("overloaded")
    if (way.transition === "non_streaming_fallback") return failed("not_an_event_stream")
    if (way.transition === "rate_limit_wait") return failed("rate_limited", { retryAfterMs: 0 })
    return failed("invalid_request", { retryable: false })
  }
  const end = next.find(({ event }) => event._tag === "TurnEnded")?.event
  const error = end?._tag === "TurnEnded" && way?._tag !== "TransitionTaken" ? end.terminal.error : undefined
  const reason = error !== undefined && ApiErrors.isReason(error) ? error : "connection_lost"
  const minutes = /The service asks to wait (\d+) minutes\.$/.exec(said)?.[1]
  if (minutes !== undefined) return failed(reason, { retryAfterMs: Number(minutes) * 60_000 })
  // Where nothing is said of attempts, another one was never thought of.
  return failed(reason, { retryable: error === undefined || /Gave up after \d+ attempts\.$/.test(said) })
}

const ownedNothing = (said: string): string =>
  said
    .replace(/^The reply broke off after one of its tools had started, so it cannot be asked for again\. /, "")
    .replace(/ (?:Gave up after \d+ attempts\.|The service asks to wait \d+ minutes\.)$/, "")
    .replace(/ The service has no model "[^"]*"\.(?: Did you mean "[^"]*"\?)? Choose another with --model\.$/, "")

/** `answerOf` knows what was recorded for a request by the id it has now. */
export const make = (answerOf: (requestId: string) => Answer | undefined): Provider["Service"] => ({
  name: "replay",
  stream: ({ requestId }) => {
    const answer = answerOf(requestId)
    return answer === undefined ? Stream.never : Stream.concat(Stream.fromIterable(eventsOf(answer)), endOf(answer))
  },
  whole: ({ requestId }) => {
    const answer = answerOf(requestId)
    if (answer === undefined) return Effect.never
    const { end } = answer
    switch (end._tag) {
      case "Complete":
        return Effect.succeed(wholeOf(answer, end.reply))
      case "Failed":
        return Effect.fail(end.error)
      case "Bug":
        return Effect.die(new Error(end.message))
      case "Silence":
        return Effect.never
    }
  },
})

const endOf = ({ end }: Answer): Stream.Stream<never, ProviderError> => {
  switch (end._tag) {
    case "Complete":
      return Stream.empty
    case "Failed":
      return Stream.fail(end.error)
    case "Bug":
      return Stream.die(new Error(end.message))
    case "Silence":
      return Stream.never
  }
}

const eventsOf = ({ blocks, end, messageId, model, usage }: Answer): ReadonlyArray<StreamEvent> => {
  if (usage === undefined) return []
  return [
    { type: "message_start", message: { id: messageId, model, usage: wire(usage) } },
    ...blocks.flatMap(blockEvents),
    ...(end._tag === "Complete" ? ending(end.reply) : []),
  ]
}

/** A block comes whole, but for the arguments of a call, which are text until somebody reads them. */
const blockEvents = ({ block, index, malformedInput }: EventOf<"BlockReceived">): ReadonlyArray<StreamEvent> => {
  const stop = { type: "content_block_stop", index } as const
  if (block.type !== "tool_use") {
    return [{ type: "content_block_start", index, content_block: { ...block } }, stop]
  }
  const partial_json = malformedInput ?? JSON.stringify(block.input)
  return [
    { type: "content_block_start", index, content_block: { ...block, input: {} } },
    { type: "content_block_delta", index, delta: { type: "input_json_delta", partial_json } },
    stop,
  ]
}

const ending = ({ stopDetail, stopReason, usage }: EventOf<"ReplyEnded">): ReadonlyArray<StreamEvent> => [
  {
    type: "message_delta",
    delta: { stop_reason: stopReason, ...(stopDetail !== undefined && { stop_details: { category: stopDetail } }) },
    usage: wire(usage),
  },
  { type: "message_stop" },
]

const wholeOf = ({ blocks, messageId, model }: Answer, reply: EventOf<"ReplyEnded">): WholeReply => ({
  id: messageId,
  model,
  content: blocks.map(({ block, malformedInput }) =>
    block.type === "tool_use" && malformedInput !== undefined ? { ...block, input: malformedInput } : block,
  ),
  stop_reason: reply.stopReason,
  ...(reply.stopDetail !== undefined && { stop_details: { category: reply.stopDetail } }),
  usage: wire(reply.usage),
})

/** As the service spells it. */
const wire = ({ cache_creation_1h_input_tokens: hour, web_search_requests: searches, ...usage }: Usage) => ({
  ...usage,
  ...(hour !== undefined && { cache_creation: { ephemeral_1h_input_tokens: hour } }),
  ...(searches !== undefined && { server_tool_use: { web_search_requests: searches } }),
})
