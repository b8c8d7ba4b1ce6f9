/**
 * Owns the making of a reply from its events: blocks are handed out as soon as they are complete, and the arguments of a tool call
 * are collected as text and parsed once.
 */
import * as Schema from "effect/Schema"
import { ContentBlock } from "../protocol/Content.ts"
import { StopReason, type StreamEvent, WireUsage } from "../protocol/StreamEvent.ts"
import { none, type Usage } from "../protocol/Usage.ts"
import * as ApiErrors from "./ApiErrors.ts"
import * as Nesting from "./Nesting.ts"
import type { ProviderError, WholeReply } from "./Provider.ts"
import * as UsageReport from "./UsageReport.ts"

/** A complete block. */
export interface Piece {
  readonly index: number
  readonly block: ContentBlock
  readonly malformedInput?: string
}

/** A block that still grows. */
interface Open {
  readonly start: Readonly<Record<string, unknown>>
  text: string
  signature: string
  citations: Array<unknown> | undefined
  /** Its end was announced; only an empty tool call waits then, to hear whether the reply was cut off. */
  closed: boolean
}

const isBlock = Schema.is(ContentBlock)
const isStopReason = Schema.is(StopReason)
const isWireUsage = Schema.is(WireUsage)

/** The reply ended because there was no room for more. */
const isCut = (reason: string | null | undefined) =>
  reason === "max_tokens" || reason === "model_context_window_exceeded"

export class ReplyBuilder {
  id = ""
  /** The model that answers, as the service names it. */
  model = ""
  usage: Usage = none
  stopReason: StopReason | null = null
  stopDetail: string | undefined
  /** Something came. */
  started = false
  complete = false
  private readonly open = new Map<number, Open>()
  private usesTools = false
  private characters = 0
  /** Everything that is kept, in characters. */
  private size = 0
  /** The service's figure for the reply's length cannot be. */
  private doubtful = false

  /** What became complete with this event, or what is wrong with it. */
  accept(event: StreamEvent): ReadonlyArray<Piece> | ProviderError {
    if (this.complete) return nothing
    switch (event.type) {
      case "content_block_delta":
        return this.grow(event.index, event.delta)
      case "message_start":
        this.started = true
        this.id = event.message.id
        this.model = event.message.model
        this.count(event.message.usage)
        return nothing
      case "content_block_start": {
        const before = this.close(undefined)
        const start = event.content_block
        const grown = this.keep(JSON.stringify(start).length)
        if (grown !== undefined) return grown
        this.open.set(event.index, { start, text: "", signature: "", citations: undefined, closed: false })
        if (start["type"] === "tool_use") this.usesTools = true
        return before
      }
      case "content_block_stop": {
        const block = this.open.get(event.index)
        if (block === undefined) return malformed(`the end of block ${event.index}, which never began`)
        block.closed = true
        if (block.start["type"] === "tool_use" && block.text === "") return nothing
        return this.finish(event.index, block, false)
      }
      case "message_delta":
        this.count(event.usage)
        if (event.delta.stop_reason) this.stop(event.delta.stop_reason, event.delta)
        return this.close(event.delta.stop_reason)
      case "message_stop": {
        if (!this.started) return malformed("the end of a message that never began")
        const rest = this.close(undefined, true)
        if (Array.isArray(rest)) this.complete = true
        return rest
      }
      case "ping":
        return nothing
      case "error":
        return ApiErrors.fromRefusal({ ...event.error, firstParty: false })
    }
  }

  /** A reply that came in one piece. */
  acceptWhole(reply: WholeReply): ReadonlyArray<Piece> | ProviderError {
    this.started = true
    this.id = reply.id
    this.model = reply.model
    this.usesTools = reply.content.some((block) => block.type === "tool_use")
    if (isWireUsage(reply.usage)) this.count(reply.usage)
    this.stop(reply.stop_reason ?? "end_turn", { stop_details: reply.stop_details ?? null })
    this.complete = true
    const deep = reply.content.findIndex((block) => block.type !== "tool_use" && Nesting.isTooDeep(block))
    if (deep >= 0) return malformed(`block ${deep}, which is nested too deep`)
    for (const block of reply.content) this.characters += lengthOf(block)
    const last = reply.content.length - 1
    return reply.content.map((block, index) => {
      if (block.type !== "tool_use") return { index, block }
      // Not written out: that is what it is too deep for.
      if (Nesting.isTooDeep(block.input)) {
        return { index, block: { ...block, input: {} }, malformedInput: Nesting.refusal.trim() }
      }
      const input = isObject(block.input) ? block.input : undefined
      // A call that the limit fell into has arguments that were never finished, whatever is left of them.
      const broken = input === undefined || (index === last && isCut(reply.stop_reason))
      return broken
        ? { index, block: { ...block, input: {} }, malformedInput: JSON.stringify(block.input ?? null) }
        : { index, block }
    })
  }

  /** Nothing more comes. Some gateways leave out the last event; a reply whose end was announced is whole without it. */
  end(): void {
    if (this.stopReason !== null && this.open.size === 0) this.complete = true
  }

  /** What a reply has used: what the service told, and a guess for the text where it told nothing that can be. */
  get usedSoFar(): Usage {
    return this.complete && !this.doubtful
      ? this.usage
      : { ...this.usage, output_tokens: Math.max(this.usage.output_tokens, Math.ceil(this.characters / 3)) }
  }

  private grow(
    index: number,
    delta: Extract<StreamEvent, { type: "content_block_delta" }>["delta"],
  ): ReadonlyArray<Piece> | ProviderError {
    const block = this.open.get(index)
    if (block === undefined || block.closed) return malformed(`a part of block ${index}, which is not open`)
    switch (delta.type) {
      case "text_delta":
        return this.add(block, delta.text)
      case "input_json_delta":
        return this.add(block, delta.partial_json)
      case "thinking_delta":
        return this.add(block, delta.thinking)
      case "signature_delta":
        block.signature += delta.signature
        return this.keep(delta.signature.length) ?? nothing
      case "citations_delta":
        ;(block.citations ??= []).push(delta.citation)
        return this.keep(JSON.stringify(delta.citation ?? null).length) ?? nothing
    }
  }

  private add(block: Open, text: string): ReadonlyArray<Piece> | ProviderError {
    block.text += text
    this.characters += text.length
    return this.keep(text.length) ?? nothing
  }

  private keep(characters: number): ProviderError | undefined {
    this.size += characters
    return this.size > largest ? tooLarge() : undefined
  }

  /** Hands out what waits: closed blocks always, those still open only at the end of the message. */
  private close(stopReason: string | null | undefined, end = false): ReadonlyArray<Piece> | ProviderError {
    if (this.open.size === 0) return nothing
    const pieces: Array<Piece> = []
    for (const [index, block] of this.open) {
      if (!block.closed && !end) continue
      const made = this.finish(index, block, !block.closed || isCut(stopReason ?? this.stopReason))
      if (!Array.isArray(made)) return made
      pieces.push(...made)
    }
    return pieces
  }

  private finish(index: number, block: Open, cut: boolean): ReadonlyArray<Piece> | ProviderError {
    this.open.delete(index)
    const made = blockOf(block)
    if (made === undefined) return malformed(`block ${index}, which is no content block`)
    if (made.type !== "tool_use") return [{ index, block: made }]
    if (Nesting.isTextTooDeep(block.text)) {
      return [{ index, block: { ...made, input: {} }, malformedInput: Nesting.refusal + block.text }]
    }
    const input = block.text === "" ? (cut ? undefined : given(block.start["input"])) : parsed(block.text)
    return input === undefined
      ? [{ index, block: { ...made, input: {} }, malformedInput: block.text }]
      : [{ index, block: { ...made, input } }]
  }

  private count(usage: WireUsage | null | undefined): void {
    if (!usage) return
    this.usage = UsageReport.over(this.usage, usage)
    this.doubtful = UsageReport.isDoubtful(usage)
  }

  private stop(
    reason: string,
    more: {
      readonly stop_sequence?: string | null
      readonly stop_details?: Readonly<Record<string, unknown>> | null
    },
  ): void {
    const details = more.stop_details ?? undefined
    const category = details?.["category"]
    if (isStopReason(reason)) {
      this.stopReason = reason
      this.stopDetail =
        typeof category === "string" ? category : details ? JSON.stringify(details) : (more.stop_sequence ?? undefined)
    } else {
      // A reason of tomorrow: what the reply contains says best how to go on.
      this.stopReason = this.usesTools ? "tool_use" : "end_turn"
      this.stopDetail = reason
    }
  }
}

const nothing: ReadonlyArray<Piece> = []

/** Far more than the longest reply of any model. */
const largest = 64 * 1024 * 1024

/** The next reply would be no shorter, and as dear. */
const tooLarge = (): ProviderError =>
  ApiErrors.make(
    "malformed_stream",
    "The reply is larger than 64 MB, which no model writes, so it was given up. Check what answers at ANTHROPIC_BASE_URL.",
    { retryable: false },
  )

const malformed = (what: string): ProviderError =>
  ApiErrors.make("malformed_stream", `The reply makes no sense: it has ${what}.`)

const blockOf = ({ start, text, signature, citations }: Open): ContentBlock | undefined => {
  const whole = (() => {
    switch (start["type"]) {
      case "text":
        return { ...start, text: join(start["text"], text), ...(citations && { citations }) }
      case "thinking":
        return { ...start, thinking: join(start["thinking"], text), signature: join(start["signature"], signature) }
      case "tool_use":
        return start
      default:
        // Something the service runs itself: its arguments are streamed like those of a tool call.
        return text === "" ? start : { ...start, input: parsed(text) ?? {} }
    }
  })()
  return isBlock(whole) ? whole : undefined
}

const join = (start: unknown, rest: string): string => (typeof start === "string" ? start + rest : rest)

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const given = (input: unknown): object => (isObject(input) ? input : {})

/** Roughly what the model wrote in a block. */
const lengthOf = (block: ContentBlock): number => {
  switch (block.type) {
    case "text":
      return block.text.length
    case "thinking":
      return block.thinking.length
    case "tool_use":
      return Nesting.isTooDeep(block.input) ? 0 : JSON.stringify(block.input ?? null).length
    default:
      return 0
  }
}

/** Arguments are an object, or they are not arguments. */
const parsed = (json: string): object | undefined => {
  if (Nesting.isTextTooDeep(json)) return undefined
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
