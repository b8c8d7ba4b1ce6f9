/** Owns what the scripted model says: steps of a playbook made into a message and its stream of events. */
import * as Schema from "effect/Schema"
import type { WholeReply } from "../model/Provider.ts"
import type { ContentBlock } from "../protocol/Content.ts"
import { StopReason, WireUsage } from "../protocol/StreamEvent.ts"
import type { StreamEvent } from "../protocol/StreamEvent.ts"
import * as PromptCache from "./PromptCache.ts"
import { Delay } from "./Timing.ts"

/** How a reply is streamed. */
const pace = {
  /** Characters in one delta. */
  chunk: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** Between two deltas. */
  delay: Schema.optionalKey(Delay),
  /** Before the first event of the block, or of the reply. */
  before: Schema.optionalKey(Delay),
}
export const Pace = Schema.Struct(pace)
export type Pace = typeof Pace.Type

const kinds = ["text", "thinking", "tool", "block"]
const StepShape = Schema.Struct({
  text: Schema.optionalKey(Schema.String),
  thinking: Schema.optionalKey(Schema.String),
  /** The name of the tool to call. */
  tool: Schema.optionalKey(Schema.String),
  /** Any other content block, given whole. */
  block: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  input: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  /** The arguments as text, sent as they are: for JSON that is not JSON. */
  raw: Schema.optionalKey(Schema.String),
  /** Only so many characters of the arguments are sent. */
  cut: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  id: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[a-zA-Z0-9_-]+$/))),
  signature: Schema.optionalKey(Schema.String),
  ...pace,
})

export const Step = StepShape.check(
  Schema.makeFilter((step: typeof StepShape.Type) => {
    const given = Object.keys(step).filter((key) => kinds.includes(key))
    if (given.length !== 1)
      return `a step has exactly one of ${kinds.join(", ")}; this one has ${given.join(", ") || "none"}`
    const stray = ["input", "raw", "cut", "id"].find((key) => key in step && step.tool === undefined)
    if (stray !== undefined) return { path: [stray], issue: `${stray} belongs to a tool step` }
    return step.raw === undefined || step.input === undefined || "give input or raw, not both"
  }),
)
export type Step = typeof Step.Type

/** What a rule may say about the end of its reply. */
export const Ending = {
  stop_reason: Schema.optionalKey(StopReason),
  stop_details: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  stop_sequence: Schema.optionalKey(Schema.String),
  /** Replaces single figures of the computed usage. */
  usage: Schema.optionalKey(WireUsage),
}
const EndingShape = Schema.Struct(Ending)
export type Ending = typeof EndingShape.Type

export interface TimedEvent {
  readonly event: StreamEvent
  readonly delay: Delay | undefined
}

export interface Reply {
  readonly events: ReadonlyArray<TimedEvent>
  readonly whole: WholeReply
}

export interface Plan {
  readonly id: string
  readonly model: string
  readonly steps: ReadonlyArray<Step>
  readonly ending: Ending
  readonly pace: Pace
  readonly prompt: PromptCache.PromptTokens
  /** The request's limit; a longer reply is cut there, as the API does. Nothing cuts without it. */
  readonly maxTokens: number | undefined
  readonly toolId: () => string
  /** What thinking is signed with, where a step does not say. */
  readonly signature?: string
}

export const make = (plan: Plan): Reply => {
  const cut = limited(
    plan.steps.map((step) =>
      part({ ...(plan.signature !== undefined && { signature: plan.signature }), ...step }, plan.toolId),
    ),
    plan.maxTokens,
  )
  const usesTools = cut.parts.some((made) => made.block.type === "tool_use")
  const stop = plan.ending.stop_reason ?? (cut.reached ? "max_tokens" : usesTools ? "tool_use" : "end_turn")
  const { input, output } = usage(plan, cut.tokens)
  const whole = {
    id: plan.id,
    model: plan.model,
    content: cut.parts.map((made) => made.block),
    stop_reason: stop,
    ...(plan.ending.stop_details !== undefined && { stop_details: plan.ending.stop_details }),
    usage: { ...input, ...output },
  }
  const message = { type: "message", role: "assistant", content: [], stop_reason: null, stop_sequence: null }
  const start = { ...message, id: plan.id, model: plan.model, usage: { ...input, output_tokens: 1 } }
  const events: Array<TimedEvent> = [{ event: { type: "message_start", message: start }, delay: plan.pace.before }]
  for (const [index, made] of cut.parts.entries()) {
    const step = { ...plan.pace, before: undefined, ...made.step }
    events.push({ event: { type: "content_block_start", index, content_block: made.opening }, delay: step.before })
    if (index === 0) events.push({ event: { type: "ping" }, delay: undefined })
    for (const [n, piece] of chunks(made.text, step.chunk ?? 48).entries()) {
      const delta = made.delta(piece)
      events.push({ event: { type: "content_block_delta", index, delta }, delay: n === 0 ? undefined : step.delay })
    }
    if (made.block.type === "thinking") {
      const delta = { type: "signature_delta", signature: made.block.signature } as const
      events.push({ event: { type: "content_block_delta", index, delta }, delay: undefined })
    }
    events.push({ event: { type: "content_block_stop", index }, delay: undefined })
  }
  const delta = {
    stop_reason: stop,
    stop_sequence: plan.ending.stop_sequence ?? null,
    ...(plan.ending.stop_details !== undefined && { stop_details: plan.ending.stop_details }),
  }
  events.push({ event: { type: "message_delta", delta, usage: { ...input, ...output } }, delay: undefined })
  events.push({ event: { type: "message_stop" }, delay: undefined })
  return { events, whole }
}

type Delta = Extract<StreamEvent, { readonly type: "content_block_delta" }>["delta"]

/** One block: as it opens, as it is streamed, as it is when whole. */
interface Part {
  readonly step: Step
  readonly opening: Readonly<Record<string, unknown>>
  readonly text: string
  readonly delta: (piece: string) => Delta
  readonly block: ContentBlock
}

const part = (step: Step, toolId: () => string): Part => {
  if (step.tool !== undefined) return toolPart(step, step.tool, step.id ?? toolId())
  if (step.thinking !== undefined) return thinkingPart(step, step.thinking)
  if (step.text !== undefined) return textPart(step, step.text)
  const block = { type: "server_tool_use" as const, ...step.block }
  return { step, opening: block, text: "", delta: (text) => ({ type: "text_delta", text }), block }
}

const textPart = (step: Step, text: string): Part => ({
  step,
  opening: { type: "text", text: "" },
  text,
  delta: (text) => ({ type: "text_delta", text }),
  block: { type: "text", text },
})

const thinkingPart = (step: Step, thinking: string): Part => ({
  step,
  opening: { type: "thinking", thinking: "", signature: "" },
  text: thinking,
  delta: (thinking) => ({ type: "thinking_delta", thinking }),
  block: { type: "thinking", thinking, signature: step.signature ?? "scripted-signature" },
})

const toolPart = (step: Step, name: string, id: string): Part => {
  const json = step.raw ?? JSON.stringify(step.input ?? {})
  const text = step.cut === undefined ? json : json.slice(0, step.cut)
  return {
    step: { ...step, id },
    opening: { type: "tool_use", id, name, input: {} },
    text,
    delta: (partial_json) => ({ type: "input_json_delta", partial_json }),
    block: { type: "tool_use", id, name, input: parsed(text) },
  }
}

/** A whole reply has no place for broken JSON; the API leaves such arguments out. */
const parsed = (json: string): unknown => {
  try {
    const value: unknown = JSON.parse(json)
    return value
  } catch {
    return {}
  }
}

// What the name and the frame of a call take.
const callTokens = 12

/** Cuts a reply where the limit falls: the block it falls into is shortened, those after it are not said. */
const limited = (parts: ReadonlyArray<Part>, maxTokens: number | undefined) => {
  const kept: Array<Part> = []
  let tokens = 0
  for (const made of parts) {
    const frame = made.block.type === "tool_use" ? callTokens : 0
    const cost = PromptCache.estimate(made.text)
    if (maxTokens === undefined || tokens + frame + cost <= maxTokens) {
      tokens += frame + cost
      kept.push(made)
      continue
    }
    const room = maxTokens - tokens - frame
    const text = room < 0 ? "" : head(made.text, Math.floor((made.text.length * room) / cost))
    if (made.block.type === "tool_use") {
      if (room >= 0) kept.push(toolPart({ ...made.step, cut: text.length }, made.block.name, made.block.id))
    } else if (text !== "") {
      kept.push(made.block.type === "thinking" ? thinkingPart(made.step, text) : textPart(made.step, text))
    }
    return { parts: kept, tokens: maxTokens, reached: true }
  }
  return { parts: kept, tokens, reached: false }
}

/** The first so many units of a text, less one where that would cut a character in two. */
const head = (text: string, length: number): string =>
  text.slice(0, (text.codePointAt(length - 1) ?? 0) > 0xffff ? length - 1 : length)

const usage = (plan: Plan, outputTokens: number) => {
  const { input, cacheRead, cacheWrite, cacheWriteHour } = plan.prompt
  const { output_tokens, ...replaced } = plan.ending.usage ?? {}
  return {
    input: {
      input_tokens: input,
      cache_creation_input_tokens: cacheWrite,
      cache_read_input_tokens: cacheRead,
      cache_creation: {
        ephemeral_5m_input_tokens: cacheWrite - cacheWriteHour,
        ephemeral_1h_input_tokens: cacheWriteHour,
      },
      ...replaced,
    },
    output: { output_tokens: output_tokens ?? Math.max(1, outputTokens) },
  }
}

/** Cuts a text into deltas: by characters, never inside one, and nothing is lost. */
export const chunks = (text: string, size: number): ReadonlyArray<string> => {
  const pieces: Array<string> = []
  let piece = ""
  let length = 0
  for (const character of text) {
    piece += character
    if (++length < size) continue
    pieces.push(piece)
    piece = ""
    length = 0
  }
  if (piece !== "") pieces.push(piece)
  return pieces
}
