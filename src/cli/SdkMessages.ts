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
import type {
  Denial,
  HookResponseLine,
  InitLine,
  Line,
  ModelUsage,
  ResultLine,
  RetryLine,
  SessionState,
  StateLine,
} from "./SdkLine.ts"
import * as SdkUsage from "./SdkUsage.ts"

export interface Limits {
  readonly contextWindow: number
  readonly maxOutput: number
}

export interface Setup {
  readonly sessionId: string
  /** Repeat every piece of the stream. */
  readonly partial: boolean
  /** Tell of hooks as they start and end. */
  readonly hooks?: boolean
  readonly limitsOf: (model: string) => Limits | undefined
}

export type InitFacts = Pick<
  InitLine,
  | "cwd"
  | "tools"
  | "model"
  | "permissionMode"
  | "apiKeySource"
  | "slash_commands"
  | "agents"
  | "skills"
  | "output_style"
> & {
  readonly version: string
}

export interface SdkMessages {
  /** The line that opens every prompt. */
  readonly init: (facts: InitFacts, uuid: string) => InitLine
  /** `uuid` is for a line that the event itself has no id for; there is at most one. */
  readonly apply: (event: Event, uuid: string) => ReadonlyArray<Line>
  /** The result of a prompt that broke off without an end of its own. */
  readonly failed: (terminal: Terminal.Terminal, uuid: string) => ResultLine
  /** The result of a message that could not be taken; whatever runs is not concerned. */
  readonly refused: (why: string, uuid: string) => ResultLine
  readonly state: (state: SessionState, uuid: string) => StateLine
}

type Parent = string | null

/** A tool that reports often is repeated once in so many milliseconds. */
const progressEveryMs = 1000

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

  const chunk = (event: EventOf<"StreamChunk">, uuid: string, parent: Parent): ReadonlyArray<Line> => {
    if (event.event.type === "message_start") {
      firstUsage = { requestId: event.requestId, usage: event.event.message.usage ?? {} }
    }
    if (!setup.partial || event.event.type === "ping") return []
    const streamed = SdkUsage.streamed(event.event)
    return [{ type: "stream_event", event: streamed, parent_tool_use_id: parent, session_id, uuid }]
  }

  const block = (event: EventOf<"BlockReceived">, parent: Parent): ReadonlyArray<Line> => {
    if (event.block.type === "tool_use") inputs.set(event.block.id, event.block.input)
    return [
      {
        type: "assistant",
        message: {
          ...SdkUsage.unfinished,
          id: event.messageId,
          model: event.model,
          content: [event.block],
          usage: SdkUsage.ofReply(firstUsage?.requestId === event.requestId ? firstUsage.usage : {}),
        },
        parent_tool_use_id: parent,
        session_id,
        uuid: event.uuid,
      },
    ]
  }

  const toolEnded = (event: EventOf<"ToolEnded">, parent: Parent): ReadonlyArray<Line> => {
    progressed.delete(event.toolUseId)
    return [
      {
        type: "user",
        message: { role: "user", content: [toolResult(event.toolUseId, event.content, event.outcome !== "completed")] },
        parent_tool_use_id: parent,
        session_id,
        uuid: event.uuid,
        ...(event.structured !== undefined && { tool_use_result: event.structured }),
      },
    ]
  }

  const hookOf = (event: EventOf<"HookStarted" | "HookRan">) =>
    ({
      type: "system",
      hook_id: event.hookId,
      hook_name: event.name,
      hook_event: event.hookEvent,
      session_id,
    }) as const

  const hookRan = (event: EventOf<"HookRan">, uuid: string): HookResponseLine => {
    const stdout = event.stdout ?? ""
    const stderr = event.stderr ?? ""
    return {
      ...hookOf(event),
      subtype: "hook_response",
      output: stdout + stderr,
      stdout,
      stderr,
      ...(event.exitCode !== undefined && { exit_code: event.exitCode }),
      outcome: event.outcome === "blocked" ? "error" : event.outcome,
      uuid,
    }
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
      // Clients expect numbers; nobody knows them of a model that nobody described.
      contextWindow: limits?.contextWindow ?? 0,
      maxOutputTokens: limits?.maxOutput ?? 0,
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

  const progress = (event: EventOf<"ToolProgressed">, uuid: string, parent: Parent): ReadonlyArray<Line> => {
    if (event.elapsedMs < (progressed.get(event.toolUseId) ?? 0) + progressEveryMs) return []
    progressed.set(event.toolUseId, event.elapsedMs)
    return [
      {
        type: "tool_progress",
        tool_use_id: event.toolUseId,
        tool_name: event.tool,
        parent_tool_use_id: parent,
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
      usage: SdkUsage.ofTurn(event.usage),
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

  /** `parent` is the call that sent out the agent in which it happened. */
  const apply = (event: Event, uuid: string, parent: Parent): ReadonlyArray<Line> => {
    switch (event._tag) {
      case "SubagentShown":
        return ofSubagent(event, uuid)
      case "StreamChunk":
        return chunk(event, uuid, parent)
      case "BlockReceived":
        return block(event, parent)
      case "ToolEnded":
        return toolEnded(event, parent)
      case "ToolProgressed":
        return progress(event, uuid, parent)
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
            error: retryError(event.reason),
            session_id,
            uuid,
          },
        ]
      case "CompactionStarted":
        return [
          {
            type: "system",
            subtype: "status",
            status: "compacting",
            ...(mode !== undefined && { permissionMode: mode }),
            session_id,
            uuid,
          },
        ]
      case "Compacted": {
        if (event.layer !== "summary") return []
        const { preTokens: pre_tokens, postTokens: post_tokens } = event
        const trigger = event.trigger === "manual" ? ("manual" as const) : ("auto" as const)
        const compact_metadata = { trigger, pre_tokens, post_tokens }
        const idle = { type: "system" as const, subtype: "status" as const, status: null, session_id, uuid }
        return [idle, { type: "system", subtype: "compact_boundary", compact_metadata, session_id, uuid }]
      }
      case "HookStarted":
        return setup.hooks === true ? [{ ...hookOf(event), subtype: "hook_started", uuid }] : []
      case "HookRan":
        return setup.hooks === true ? [hookRan(event, uuid)] : []
      case "TurnEnded":
        return [result(event, uuid)]
      case "SessionStarted":
      case "SessionTitled":
      case "SessionTagged":
      case "PromptReceived":
      case "PromptExpanded":
      case "PromptRefused":
      case "PromptLatched":
      case "SegmentKept":
      case "CacheMissed":
      case "ContextAdded":
      case "SubagentStarted":
      case "SubagentEnded":
      case "RequestSent":
      case "ReplyAbandoned":
      case "PermissionAsked":
      case "ToolStarted":
      case "TransitionTaken":
      case "ConfigChanged":
      case "Diagnosed":
      case "MessageImported":
      case "Checkpointed":
      case "ContextMeasured":
      case "Rewound":
      case "SessionHandedOver":
      case "RulesGranted":
        return []
    }
  }

  /** Its messages, its money and its denials are told; when and how it ended its call's result tells. */
  const ofSubagent = ({ event, toolUseId }: EventOf<"SubagentShown">, uuid: string): ReadonlyArray<Line> => {
    const before = stopReason
    const isOwn = event._tag === "TurnEnded" || event._tag === "ControlsChanged"
    const lines = isOwn ? [] : apply(event, uuid, toolUseId)
    stopReason = before
    return lines
  }

  return {
    init: ({ version, ...facts }, uuid) => {
      mode = facts.permissionMode
      return {
        type: "system",
        subtype: "init",
        ...facts,
        mcp_servers: [],
        plugins: [],
        claude_code_version: version,
        capabilities: [],
        session_id,
        uuid,
      }
    },
    apply: (event, uuid) => apply(event, uuid, null),
    failed: (terminal, uuid) =>
      result({ terminal, result: "", turns: 0, durationMs: 0, apiDurationMs: 0, usage: Usage.none, costUsd: 0 }, uuid),
    refused: (why, uuid) => ({
      type: "result",
      subtype: "error_during_execution",
      is_error: true,
      result: "",
      errors: [why],
      stop_reason: null,
      terminal_reason: "turn_setup_failed",
      num_turns: 0,
      duration_ms: 0,
      duration_api_ms: 0,
      total_cost_usd: totalCost,
      usage: SdkUsage.ofTurn(Usage.none),
      modelUsage: Object.fromEntries(modelUsage),
      permission_denials: [],
      session_id,
      uuid,
    }),
    state: (state, uuid) => ({
      type: "system",
      subtype: "session_state_changed",
      state,
      sdk_host_only: true,
      session_id,
      uuid,
    }),
  }
}

const toolResult = (id: string, content: ToolResultContent, failed: boolean): ContentBlock => ({
  type: "tool_result",
  tool_use_id: id,
  content,
  ...(failed && { is_error: true }),
})

/** Why an attempt failed, in the words that clients know. */
const retryError = (reason: string): RetryLine["error"] => {
  switch (reason) {
    case "rate_limited":
      return "rate_limit"
    case "spend_cap":
    case "billing":
      return "billing_error"
    case "unauthenticated":
    case "forbidden":
      return "authentication_failed"
    case "overloaded":
    case "server_error":
    case "model_not_found":
    case "invalid_request":
      return reason
    default:
      return "unknown"
  }
}

/** How a turn that failed is told in one line. */
export const errorText = (terminal: Terminal.Terminal): string =>
  terminal.detail ?? `${Terminal.endings[terminal.reason].says} (${terminal.reason})`
