/** A provider that answers each attempt with the next of some given answers, and remembers what it was asked. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { CostGovernor } from "../../src/cost/CostGovernor.ts"
import { ModelTable } from "../../src/cost/ModelTable.ts"
import type { Overrides } from "../../src/cost/ModelSpec.ts"
import * as ApiErrors from "../../src/model/ApiErrors.ts"
import { Model, type ModelRequest } from "../../src/model/Model.ts"
import type { ModelEvent } from "../../src/model/ModelEvent.ts"
import { Provider, type ProviderError, type ProviderRequest, type WholeReply } from "../../src/model/Provider.ts"
import { Files } from "../../src/platform/Files.ts"
import { Host } from "../../src/platform/Host.ts"
import { MemoryDisk } from "../../src/platform/MemoryDisk.ts"
import type { StreamEvent } from "../../src/protocol/StreamEvent.ts"

export interface Answer {
  readonly stream?: Stream.Stream<StreamEvent, ProviderError>
  readonly whole?: Effect.Effect<WholeReply, ProviderError>
}

export interface Asked extends ProviderRequest {
  readonly streaming: boolean
}

export interface Script {
  readonly asked: Array<Asked>
  /** How many connections are open. */
  open: number
  readonly layer: Layer.Layer<Provider>
}

/** Answers in order; the last one again and again. */
export const script = (...answers: ReadonlyArray<Answer>): Script => {
  const asked: Array<Asked> = []
  const take = (request: ProviderRequest, streaming: boolean): Answer => {
    asked.push({ ...request, streaming })
    return answers[Math.min(asked.length, answers.length) - 1] ?? {}
  }
  const state: Script = {
    asked,
    open: 0,
    layer: Layer.succeed(Provider, {
      name: "by hand",
      stream: (request) =>
        Stream.suspend(() => {
          state.open++
          return take(request, true).stream ?? Stream.die("not meant to be streamed")
        }).pipe(Stream.ensuring(Effect.sync(() => void state.open--))),
      whole: (request) => Effect.suspend(() => take(request, false).whole ?? Effect.die("meant to be streamed")),
    }),
  }
  return state
}

export interface Setting {
  readonly env?: Readonly<Record<string, string>>
  readonly models?: Overrides
}

export const layer = (provider: Script, { env = {}, models = {} }: Setting = {}) =>
  Layer.provideMerge(
    Model.layer,
    Layer.mergeAll(
      provider.layer,
      ModelTable.layer(models),
      CostGovernor.layer(),
      Layer.provide(Files.layerMemory, MemoryDisk.layer()),
    ),
  ).pipe(Layer.provideMerge(Host.layerTest({ env })))

export const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  agent: "main",
  model: "opus",
  maxTokens: 8_000,
  system: [{ type: "text", text: "Be brief." }],
  tools: [],
  messages: [{ role: "user", content: "Hello" }],
  restartable: () => true,
  ...more,
})

export const collect = (asked: ModelRequest) =>
  Effect.flatMap(Model, (model) => Effect.map(Stream.runCollect(model.stream(asked)), (events) => Array.from(events)))

/** Tags only, without the chunks. */
export const tags = (events: ReadonlyArray<ModelEvent>) =>
  events.flatMap((event) => (event._tag === "Chunk" ? [] : [event._tag]))

export const only = <Tag extends ModelEvent["_tag"]>(events: ReadonlyArray<ModelEvent>, tag: Tag) =>
  events.flatMap((event) => (isTagged(event, tag) ? [event] : []))

const isTagged = <Tag extends ModelEvent["_tag"]>(
  event: ModelEvent,
  tag: Tag,
): event is Extract<ModelEvent, { readonly _tag: Tag }> => event._tag === tag

export const start = (usage = { input_tokens: 100, output_tokens: 1 }): StreamEvent => ({
  type: "message_start",
  message: { id: "msg_1", model: "claude-x", usage },
})
export const textBlock = (index: number, text: string): ReadonlyArray<StreamEvent> => [
  { type: "content_block_start", index, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index, delta: { type: "text_delta", text } },
  { type: "content_block_stop", index },
]
export const toolBlock = (index: number, ...json: ReadonlyArray<string>): ReadonlyArray<StreamEvent> => [
  {
    type: "content_block_start",
    index,
    content_block: { type: "tool_use", id: `toolu_${index}`, name: "Read", input: {} },
  },
  ...json.map((partial_json): StreamEvent => ({
    type: "content_block_delta",
    index,
    delta: { type: "input_json_delta", partial_json },
  })),
  { type: "content_block_stop", index },
]
export const end = (stop_reason = "end_turn", output_tokens = 20): ReadonlyArray<StreamEvent> => [
  { type: "message_delta", delta: { stop_reason }, usage: { output_tokens } },
  { type: "message_stop" },
]

export const says = (text: string): Answer => ({
  stream: Stream.fromIterable([start(), ...textBlock(0, text), ...end()]),
})
export const wholly = (text: string): Answer => ({
  whole: Effect.succeed({
    id: "msg_w",
    model: "claude-x",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    usage: { input_tokens: 100, output_tokens: 20 },
  }),
})
export const fails = (
  reason: ProviderError["reason"],
  facts: { readonly status?: number; readonly retryAfterMs?: number } = {},
  message = `It is ${reason}.`,
): Answer => {
  const error = ApiErrors.make(reason, message, facts)
  return { stream: Stream.fail(error), whole: Effect.fail(error) }
}
/** Some events, and then that error. */
export const breaks = (
  events: ReadonlyArray<StreamEvent>,
  reason: ProviderError["reason"] = "connection_lost",
): Answer => ({
  stream: Stream.concat(Stream.fromIterable(events), Stream.fail(ApiErrors.make(reason, `It is ${reason}.`))),
})
/** Some events, and then nothing for ever. */
export const stalls = (events: ReadonlyArray<StreamEvent>): Answer => ({
  stream: Stream.concat(Stream.fromIterable(events), Stream.never),
})
