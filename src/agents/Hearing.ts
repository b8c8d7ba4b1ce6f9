/**
 * Owns hearing one reply: every event is recorded in the order it was heard, and complete calls go to the round at once.
 *
 * A reply that breaks off is sealed: what is complete of it stands, what is not is void.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { BudgetExceeded } from "../kernel/Budget.ts"
import * as Ids from "../kernel/Ids.ts"
import { Model, ModelError, type ModelRequest } from "../model/Model.ts"
import type { ModelEvent } from "../model/ModelEvent.ts"
import * as UsageReport from "../model/UsageReport.ts"
import { type ContentBlock, text as textBlock, type ToolUseBlock } from "../protocol/Content.ts"
import type { StopReason, StreamEvent } from "../protocol/StreamEvent.ts"
import * as Usage from "../protocol/Usage.ts"
import type { JournalError } from "../session/JournalError.ts"
import { Recorder } from "../session/Recorder.ts"
import type { Round } from "../tools/Round.ts"

/** What the model has said. */
export interface Heard {
  readonly requestId: string
  readonly stopReason: StopReason | null
  readonly stopDetail: string | undefined
  readonly text: string
}

/** Who keeps count. Told at once: a reply that overruns a budget ends whoever would have added it up afterwards. */
export interface Count {
  /** Something was used, be it for a reply that is void. */
  readonly used: (usage: Usage.Usage, costUsd: number) => void
  /** The model has said all it wanted to. */
  readonly replied: (text: string, durationMs: number) => void
}

/** What a reply has used, as far as the service told. */
interface Used {
  readonly usage?: Usage.Usage
  readonly costUsd?: number | null
}

export interface Hearing {
  readonly listen: (
    request: Omit<ModelRequest, "restartable">,
    /** How many blocks of what was said since the newest reply the request contains. */
    containing: number,
  ) => Effect.Effect<Heard, JournalError | ModelError | BudgetExceeded>
  /** Keeps what is complete of a reply that will not go on, the text of an unfinished block included. */
  readonly seal: (reason: string, used?: Used) => Effect.Effect<Heard, JournalError>
}

/** A reply that is being heard. */
interface Open {
  readonly requestId: string
  readonly model: string
  messageId: string
  blocks: number
  /** The text block that is still growing. */
  unfinished: string
  usage: Usage.Usage
}

export const make = Effect.fnUntraced(function* (round: Round, count: Count) {
  const model = yield* Model
  const recorder = yield* Recorder
  let open: Open | undefined
  let said: Array<string> = []
  let heard: Heard | undefined
  let contained = 0
  let attempts = 0

  const book = ({ usage = Usage.none, costUsd }: Used) => count.used(usage, costUsd ?? 0)

  const keep = Effect.fnUntraced(function* (
    reply: Open,
    index: number,
    received: ContentBlock,
    malformedInput: string | undefined,
  ) {
    const block = received.type === "tool_use" ? yield* identified(received) : received
    // First, so that an interrupt in the middle of recording finds nothing left to keep.
    reply.blocks++
    reply.unfinished = ""
    if (block.type === "text") said.push(block.text)
    yield* recorder.emit({
      _tag: "BlockReceived",
      uuid: yield* Ids.uuid,
      messageId: reply.messageId,
      requestId: reply.requestId,
      model: reply.model,
      index,
      block,
      ...(malformedInput !== undefined && { malformedInput }),
    })
    if (block.type === "tool_use")
      yield* round.add({ id: block.id, name: block.name, input: block.input, malformedInput })
  })

  /** Gateways number their calls as they like; here an id is unique in the session and fit for the API and for a file name. */
  const identified = Effect.fnUntraced(function* (call: ToolUseBlock) {
    if (/^[a-zA-Z0-9_-]{1,128}$/.test(call.id) && !recorder.history.knowsCall(call.id)) return call
    return { ...call, id: yield* Ids.short("toolu") }
  })

  const hear = Effect.fnUntraced(function* (event: ModelEvent) {
    switch (event._tag) {
      case "Attempt": {
        open = {
          requestId: event.requestId,
          model: event.model,
          messageId: "",
          blocks: 0,
          unfinished: "",
          usage: Usage.none,
        }
        said = []
        const { _tag, segments, ...attempt } = event
        for (const segment of segments) {
          if (!recorder.cache.texts.has(segment.hash)) yield* recorder.emit({ _tag: "SegmentKept", ...segment })
        }
        const repeats = attempts++ > 0
        return yield* recorder.emit({ _tag: "RequestSent", ...attempt, said: contained, ...(repeats && { repeats }) })
      }
      case "Chunk": {
        if (open) follow(open, event.event)
        return yield* recorder.emit({ _tag: "StreamChunk", requestId: event.requestId, event: event.event })
      }
      case "Block": {
        open ??= { ...event, blocks: 0, unfinished: "", usage: Usage.none }
        open.messageId = event.messageId
        return yield* keep(open, event.index, event.block, event.malformedInput)
      }
      case "Waiting": {
        const { _tag, ...waiting } = event
        return yield* recorder.emit({ _tag: "RetryWaiting", ...waiting })
      }
      case "Stalling": {
        const seconds = (ms: number) => Math.round(ms / 1000)
        const message = `The model has sent nothing for ${seconds(event.quietMs)} s; the attempt is given up at ${seconds(event.abortAfterMs)} s.`
        return yield* recorder.emit({ _tag: "Diagnosed", level: "warning", message })
      }
      case "Abandoned": {
        const { _tag, transition, ...abandoned } = event
        // A call began just when the stream died: what has begun cannot be asked for again.
        if (round.hasStarted()) return yield* brokenOff(event)
        open = undefined
        round.clear()
        book(event)
        yield* recorder.emit({ _tag: "ReplyAbandoned", ...abandoned })
        return yield* recorder.emit({ _tag: "TransitionTaken", transition, detail: event.reason })
      }
      case "Reply": {
        open = undefined
        book(event)
        const { _tag, ...reply } = event
        heard = {
          ...nothing(reply.requestId),
          stopReason: reply.stopReason,
          stopDetail: reply.stopDetail,
        }
        count.replied(heard.text, reply.durationMs)
        yield* recorder.emit({ _tag: "ReplyEnded", ...reply })
        return yield* Effect.forEach(recorder.cache.takeFindings(), recorder.emit, { discard: true })
      }
    }
  })

  const nothing = (requestId: string): Heard => ({
    requestId,
    stopReason: null,
    stopDetail: undefined,
    text: said.join("\n"),
  })

  const brokenOff = (event: Extract<ModelEvent, { readonly _tag: "Abandoned" }>) =>
    new ModelError({
      reason: "broken_off",
      message: event.reason,
      model: open?.model ?? "",
      attempts: 1,
      requestId: event.requestId,
      ...(event.usage !== undefined && { usage: event.usage }),
      ...(event.costUsd !== undefined && { costUsd: event.costUsd }),
    })

  const hearing: Hearing = {
    listen: Effect.fnUntraced(function* (request, containing) {
      heard = undefined
      contained = containing
      attempts = 0
      recorder.cache.sees(request.messages)
      yield* Stream.runForEach(model.stream({ ...request, restartable: () => !round.hasStarted() }), hear)
      return heard ?? nothing(open?.requestId ?? "")
    }),
    seal: Effect.fnUntraced(function* (reason, used = {}) {
      const reply = open
      open = undefined
      if (reply === undefined) return heard ?? nothing("")
      if (reply.unfinished.trim() !== "" && reply.messageId !== "") {
        yield* keep(reply, reply.blocks, textBlock(reply.unfinished), undefined)
      }
      if (reply.blocks === 0) {
        const { usage = reply.messageId === "" ? undefined : reply.usage, costUsd } = used
        book({ ...(usage !== undefined && { usage }), ...(costUsd !== undefined && { costUsd }) })
        yield* recorder.emit({
          _tag: "ReplyAbandoned",
          requestId: reply.requestId,
          reason,
          ...(usage !== undefined && { usage }),
          ...(costUsd !== undefined && { costUsd }),
        })
        return nothing(reply.requestId)
      }
      const { usage = reply.usage, costUsd = null } = used
      book({ usage, costUsd })
      yield* recorder.emit({
        _tag: "ReplyEnded",
        messageId: reply.messageId,
        requestId: reply.requestId,
        model: reply.model,
        stopReason: null,
        stopDetail: reason,
        usage,
        costUsd,
        durationMs: 0,
      })
      return nothing(reply.requestId)
    }),
  }
  return hearing
})

/** What a piece of the stream tells about a reply that may never be completed. */
const follow = (reply: Open, event: StreamEvent): void => {
  if (event.type === "content_block_delta") {
    if (event.delta.type === "text_delta") reply.unfinished += event.delta.text
  } else if (event.type === "message_start") {
    reply.messageId = event.message.id
    const { usage } = event.message
    if (usage) reply.usage = { ...UsageReport.over(Usage.none, usage), output_tokens: 0 }
  }
}
