/** Owns event sequences that the tests of the command share. */
import type { Content } from "../../src/protocol/Content.ts"
import type { Event, EventOf } from "../../src/protocol/Event.ts"
import type { StreamEvent } from "../../src/protocol/StreamEvent.ts"

export const usage = {
  input_tokens: 100,
  output_tokens: 20,
  cache_creation_input_tokens: 50,
  cache_read_input_tokens: 400,
  cache_creation_1h_input_tokens: 10,
}

export const prompted = (content: Content = "fix it"): Event => ({
  _tag: "PromptReceived",
  uuid: "u-prompt",
  promptId: "p1",
  content,
  delivery: "prompt",
})

export const chunk = (event: StreamEvent): Event => ({ _tag: "StreamChunk", requestId: "r1", event })

export const started = chunk({
  type: "message_start",
  message: { id: "m1", model: "claude-x", usage: { input_tokens: 100, output_tokens: 1 } },
})

export const delta = (text: string, index = 0): Event =>
  chunk({ type: "content_block_delta", index, delta: { type: "text_delta", text } })

export const block = (value: EventOf<"BlockReceived">["block"], index = 0): Event => ({
  _tag: "BlockReceived",
  uuid: `u-block-${index}`,
  messageId: "m1",
  requestId: "r1",
  model: "claude-x",
  index,
  block: value,
})

export const call = (id: string, name: string, input: unknown, index = 1): Event =>
  block({ type: "tool_use", id, name, input }, index)

export const replied = (more: Partial<EventOf<"ReplyEnded">> = {}): Event => ({
  _tag: "ReplyEnded",
  messageId: "m1",
  requestId: "r1",
  model: "claude-x",
  stopReason: "end_turn",
  usage,
  costUsd: 0.25,
  durationMs: 900,
  ...more,
})

export const toolStarted = (id: string, tool: string, input: unknown): Event => ({
  _tag: "ToolStarted",
  toolUseId: id,
  tool,
  input,
  idempotency: "once",
})

export const toolEnded = (id: string, tool: string, more: Partial<EventOf<"ToolEnded">> = {}): Event => ({
  _tag: "ToolEnded",
  uuid: `u-${id}`,
  toolUseId: id,
  tool,
  outcome: "completed",
  content: "fine",
  durationMs: 12,
  ...more,
})

export const denied: Event = {
  _tag: "PermissionDecided",
  toolUseId: "t1",
  tool: "Bash",
  behavior: "deny",
  reason: "nobody is there",
  by: "nobody",
}

export const ended = (more: Partial<EventOf<"TurnEnded">> = {}): Event => ({
  _tag: "TurnEnded",
  promptId: "p1",
  terminal: { reason: "completed" },
  result: "all done",
  turns: 2,
  durationMs: 1500,
  apiDurationMs: 900,
  usage,
  costUsd: 0.25,
  ...more,
})
