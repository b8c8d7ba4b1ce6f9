/** Owns the shapes of print mode's lines, as SDK clients read them. */
import type { ContentBlock } from "../protocol/Content.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import type { subtype, TerminalReason } from "../protocol/Terminal.ts"
import type { ofReply, ofTurn, streamed, unfinished } from "./SdkUsage.ts"

/** On every line. */
export interface Common {
  readonly session_id: string
  readonly uuid: string
}

export interface InitLine extends Common {
  readonly type: "system"
  readonly subtype: "init"
  readonly cwd: string
  readonly tools: ReadonlyArray<string>
  readonly mcp_servers: ReadonlyArray<{ readonly name: string; readonly status: string }>
  readonly model: string
  readonly permissionMode: PermissionMode
  readonly slash_commands: ReadonlyArray<string>
  readonly agents: ReadonlyArray<string>
  readonly skills: ReadonlyArray<string>
  readonly plugins: ReadonlyArray<unknown>
  readonly output_style: string
  readonly apiKeySource: string
  readonly claude_code_version: string
  readonly capabilities: ReadonlyArray<string>
}

export interface AssistantLine extends Common {
  readonly type: "assistant"
  readonly message: typeof unfinished & {
    readonly id: string
    readonly model: string
    readonly content: ReadonlyArray<ContentBlock>
    readonly usage: ReturnType<typeof ofReply>
  }
  /** The call that sent out the agent which this is about; `null`: the session's own. */
  readonly parent_tool_use_id: string | null
}

export interface UserLine extends Common {
  readonly type: "user"
  readonly message: { readonly role: "user"; readonly content: ReadonlyArray<ContentBlock> }
  readonly parent_tool_use_id: string | null
  readonly tool_use_result?: unknown
}

export interface StreamLine extends Common {
  readonly type: "stream_event"
  readonly event: ReturnType<typeof streamed>
  readonly parent_tool_use_id: string | null
}

export interface CompactLine extends Common {
  readonly type: "system"
  readonly subtype: "compact_boundary"
  readonly compact_metadata: {
    readonly trigger: "manual" | "auto"
    readonly pre_tokens: number
    readonly post_tokens: number
  }
}

export interface RetryLine extends Common {
  readonly type: "system"
  readonly subtype: "api_retry"
  readonly attempt: number
  readonly max_retries: number
  readonly retry_delay_ms: number
  readonly error_status: number | null
  readonly error:
    | "rate_limit"
    | "billing_error"
    | "authentication_failed"
    | "overloaded"
    | "server_error"
    | "model_not_found"
    | "invalid_request"
    | "unknown"
}

export interface DeniedLine extends Common {
  readonly type: "system"
  readonly subtype: "permission_denied"
  readonly tool_name: string
  readonly tool_use_id: string
  readonly decision_reason_type: string
  readonly decision_reason: string
  readonly message: string
}

export interface StatusLine extends Common {
  readonly type: "system"
  readonly subtype: "status"
  readonly status: null | "compacting"
  readonly permissionMode?: PermissionMode
}

export type SessionState = "idle" | "running" | "requires_action"

export interface StateLine extends Common {
  readonly type: "system"
  readonly subtype: "session_state_changed"
  readonly state: SessionState
  /** For the client itself: it is not passed on to the program that uses it. */
  readonly sdk_host_only: true
}

export interface ProgressLine extends Common {
  readonly type: "tool_progress"
  readonly tool_use_id: string
  readonly tool_name: string
  readonly parent_tool_use_id: string | null
  readonly elapsed_time_seconds: number
}

interface HookLine extends Common {
  readonly type: "system"
  readonly hook_id: string
  /** `PreToolUse:Bash`. */
  readonly hook_name: string
  readonly hook_event: string
}

export interface HookStartedLine extends HookLine {
  readonly subtype: "hook_started"
}

export interface HookResponseLine extends HookLine {
  readonly subtype: "hook_response"
  readonly output: string
  readonly stdout: string
  readonly stderr: string
  readonly exit_code?: number
  readonly outcome: "success" | "error" | "cancelled"
}

export interface ModelUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadInputTokens: number
  readonly cacheCreationInputTokens: number
  readonly webSearchRequests: number
  readonly costUSD: number
  readonly contextWindow: number
  readonly maxOutputTokens: number
}

export interface Denial {
  readonly tool_name: string
  readonly tool_use_id: string
  readonly tool_input: unknown
}

export interface ResultLine extends Common {
  readonly type: "result"
  readonly subtype: ReturnType<typeof subtype>
  readonly is_error: boolean
  readonly result: string
  readonly structured_output?: unknown
  readonly errors?: ReadonlyArray<string>
  readonly stop_reason: string | null
  readonly terminal_reason: TerminalReason
  readonly num_turns: number
  readonly duration_ms: number
  readonly duration_api_ms: number
  readonly total_cost_usd: number
  readonly usage: ReturnType<typeof ofTurn>
  readonly modelUsage: Readonly<Record<string, ModelUsage>>
  readonly permission_denials: ReadonlyArray<Denial>
}

export type Line =
  | InitLine
  | AssistantLine
  | UserLine
  | StreamLine
  | CompactLine
  | RetryLine
  | DeniedLine
  | StatusLine
  | StateLine
  | ProgressLine
  | HookStartedLine
  | HookResponseLine
  | ResultLine
