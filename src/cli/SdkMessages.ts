/**
 * Owns the lines of print mode: a fold of what happens in a session into the messages that SDK clients read.
 *
 * Deterministic: ids come in from outside, and time only through the events.
 */
import type { ContentBlock, ToolResultContent } from "../protocol/Content.ts"
import type { Event, EventOf } from "../protocol/Event.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import type { WireUsage } from "../protocol/StreamEvent.ts"
import * as Terminal from "../protocol/Terminal.ts"
import * as Usage from "../protocol/Usage.ts"
import type { Denial, InitLine, Line, ModelUsage, ResultLine } from "./SdkLine.ts"

export interface Limits {
  readonly contextWindow: number
  readonly maxOutput: number
}

export interface Setup {
  readonly sessionId: string
  /** Repeat every piece of the stream. */
  readonly partial: boolean
  readonly limitsOf: (model: string) => Limits | undefined
}

export type InitFacts = Pick<InitLine, "cwd" | "tools" | "model" | "permissionMode" | "apiKeySource"> & {
  readonly version: string
}

export interface SdkMessages {
  /** The line that opens every prompt. */
  readonly init: (facts: InitFacts, uuid: string) => InitLine
  /** `uuid` is for a line that the event itself has no id for; there is at most one. */
  readonly apply: (event: Event, uuid: string) => ReadonlyArray<Line>
  /** The result of a prompt that broke off without an end of its own. */
  readonly failed: (terminal: Terminal.Terminal, uuid: string) => ResultLine
}

/** A tool that reports often is repeated once in so many milliseconds. */
const progressEveryMs = 1000

const noWireUsage: WireUsage = {
  input_tokens: 0,
  output_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
}

/** Starts a fold. Cost and usage by model add up over all prompts of it; `usage` and denials are of the last prompt. */
export const make = (setup: Setup): SdkMessages => {
  const session_id = setup.sessionId
  const modelUsage = new Map<string, ModelUsage>()
  const progressed = new Map<string, number>()
  const inputs = new Map<string, unknown>()
  let firstUsage: { readonly requestId: string; readonly usage: WireUsage } | undefined
  let denials: Array<Denial> = []
  let totalCost = 0
  let stopReason: string | null = null
  let mode: PermissionMode | undefined

  const chunk = (event: EventOf<"StreamChunk">, uuid: string): ReadonlyArray<Line> => {
    if (event.event.type === "message_start") {
      firstUsage = { requestId: event.requestId, usage: event.event.message.usage ?? noWireUsage }
    }
    if (!setup.partial || event.event.type === "ping") return []
    return [{ type: "stream_event", event: event.event, parent_tool_use_id: null, session_id, uuid }]
  }

  const block = (event: EventOf<"BlockReceived">): ReadonlyArray<Line> => {
    if (event.block.type === "tool_use") inputs.set(event.block.id, event.block.input)
    return [
      {
        type: "assistant",
        message: {
          id: event.messageId,
          type: "message",
          role: "assistant",
          model: event.model,
          content: [event.block],
          stop_reason: null,
          stop_sequence: null,
          usage: firstUsage?.requestId === event.requestId ? firstUsage.usage : noWireUsage,
        },
        parent_tool_use_id: null,
        session_id,
        uuid: event.uuid,
      },
    ]
  }

  const toolEnded = (event: EventOf<"ToolEnded">): ReadonlyArray<Line> => {
    progressed.delete(event.toolUseId)
    return [
      {
        type: "user",
        message: { role: "user", content: [toolResult(event.toolUseId, event.content, event.outcome !== "completed")] },
        parent_tool_use_id: null,
        session_id,
        uuid: event.uuid,
        ...(event.structured !== undefined && { tool_use_result: event.structured }),
      },
    ]
  }

  const replyEnded = (event: EventOf<"ReplyEnded">): void => {
    stopReason = event.stopReason
    const before = modelUsage.get(event.model)
    const limits = setup.limitsOf(event.model)
    modelUsage.set(event.model, {
      inputTokens: (before?.inputTokens ?? 0) + event.usage.input_tokens,
      outputTokens: (before?.outputTokens ?? 0) + event.usage.output_tokens,
      cacheReadInputTokens: (before?.cacheReadInputTokens ?? 0) + event.usage.cache_read_input_tokens,
      cacheCreationInputTokens: (before?.cacheCreationInputTokens ?? 0) + event.usage.cache_creation_input_tokens,
      webSearchRequests: (before?.webSearchRequests ?? 0) + (event.usage.web_search_requests ?? 0),
      costUSD: (before?.costUSD ?? 0) + (event.costUsd ?? 0),
      ...(limits && { contextWindow: limits.contextWindow, maxOutputTokens: limits.maxOutput }),
    })
  }

  const denied = (event: EventOf<"PermissionDecided">, uuid: string): ReadonlyArray<Line> => {
    if (event.behavior === "allow") return []
    denials.push({
      tool_name: event.tool,
      tool_use_id: event.toolUseId,
      tool_input: inputs.get(event.toolUseId) ?? {},
    })
    return [
      {
        type: "system",
        subtype: "permission_denied",
        tool_name: event.tool,
        tool_use_id: event.toolUseId,
        decision_reason_type: event.by,
        decision_reason: event.reason,
        message: event.reason,
        session_id,
        uuid,
      },
    ]
  }

  const progress = (event: EventOf<"ToolProgressed">, uuid: string): ReadonlyArray<Line> => {
    if (event.elapsedMs < (progressed.get(event.toolUseId) ?? 0) + progressEveryMs) return []
    progressed.set(event.toolUseId, event.elapsedMs)
    return [
      {
        type: "tool_progress",
        tool_use_id: event.toolUseId,
        tool_name: event.tool,
        parent_tool_use_id: null,
        elapsed_time_seconds: Math.round(event.elapsedMs / 100) / 10,
        session_id,
        uuid,
      },
    ]
  }

  const result = (event: Omit<EventOf<"TurnEnded">, "_tag" | "promptId">, uuid: string): ResultLine => {
    const { terminal } = event
    totalCost += event.costUsd
    const line: ResultLine = {
      type: "result",
      subtype: Terminal.subtype(terminal),
      is_error: Terminal.isError(terminal),
      result: event.result,
      ...(event.structuredOutput !== undefined && { structured_output: event.structuredOutput }),
      ...(Terminal.isError(terminal) && { errors: [errorText(terminal)] }),
      stop_reason: stopReason,
      terminal_reason: terminal.reason,
      num_turns: event.turns,
      duration_ms: event.durationMs,
      duration_api_ms: event.apiDurationMs,
      total_cost_usd: totalCost,
      usage: wireUsage(event.usage),
      modelUsage: Object.fromEntries(modelUsage),
      permission_denials: denials,
      session_id,
      uuid,
    }
    denials = []
    inputs.clear()
    stopReason = null
    return line
  }

  const controls = (event: EventOf<"ControlsChanged">, uuid: string): ReadonlyArray<Line> => {
    if (mode === event.permissionMode) return []
    const first = mode === undefined
    mode = event.permissionMode
    return first ? [] : [{ type: "system", subtype: "status", status: null, permissionMode: mode, session_id, uuid }]
  }

  return {
    init: ({ version, ...facts }, uuid) => {
      mode = facts.permissionMode
      return {
        type: "system",
        subtype: "init",
        ...facts,
        mcp_servers: [],
        slash_commands: [],
        agents: [],
        skills: [],
        plugins: [],
        output_style: "default",
        claude_code_version: version,
        capabilities: [],
        session_id,
        uuid,
      }
    },
    apply: (event, uuid) => {
      switch (event._tag) {
        case "StreamChunk":
          return chunk(event, uuid)
        case "BlockReceived":
          return block(event)
        case "ToolEnded":
          return toolEnded(event)
        case "ToolProgressed":
          return progress(event, uuid)
        case "PermissionDecided":
          return denied(event, uuid)
        case "ControlsChanged":
          return controls(event, uuid)
        case "ReplyEnded":
          replyEnded(event)
          return []
        case "RetryWaiting":
          return [
            {
              type: "system",
              subtype: "api_retry",
              attempt: event.attempt,
              max_retries: event.maxAttempts,
              retry_delay_ms: event.delayMs,
              error_status: event.status ?? null,
              error: event.reason,
              session_id,
              uuid,
            },
          ]
        case "TurnEnded":
          return [result(event, uuid)]
        case "SessionStarted":
        case "PromptReceived":
        case "RequestSent":
        case "ReplyAbandoned":
        case "ToolStarted":
        case "TransitionTaken":
        case "ConfigChanged":
        case "Diagnosed":
        case "MessageImported":
          return []
      }
    },
    failed: (terminal, uuid) =>
      result({ terminal, result: "", turns: 0, durationMs: 0, apiDurationMs: 0, usage: Usage.none, costUsd: 0 }, uuid),
  }
}

const toolResult = (id: string, content: ToolResultContent, failed: boolean): ContentBlock => ({
  type: "tool_result",
  tool_use_id: id,
  content,
  ...(failed && { is_error: true }),
})

/** How a turn that failed is told in one line. */
export const errorText = (terminal: Terminal.Terminal): string =>
  terminal.detail ?? `${Terminal.endings[terminal.reason].says} (${terminal.reason})`

/** Usage as the API spells it, with the two caches apart. */
const wireUsage = (usage: Usage.Usage) => ({
  input_tokens: usage.input_tokens,
  output_tokens: usage.output_tokens,
  cache_creation_input_tokens: usage.cache_creation_input_tokens,
  cache_read_input_tokens: usage.cache_read_input_tokens,
  cache_creation: {
    ephemeral_5m_input_tokens: usage.cache_creation_input_tokens - (usage.cache_creation_1h_input_tokens ?? 0),
    ephemeral_1h_input_tokens: usage.cache_creation_1h_input_tokens ?? 0,
  },
  server_tool_use: { web_search_requests: usage.web_search_requests ?? 0 },
})
