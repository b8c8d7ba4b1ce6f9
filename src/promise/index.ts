/** Owns the public face of `troupe/promise`: the runtime for those who do not use Effect. */
export { createTroupe } from "./Troupe.ts"
export type { Approval, OpenOptions, Troupe, TroupeOptions } from "./Troupe.ts"
export type { Agent, AgentStatus, PromptOptions, RunResult, Turn } from "./Agent.ts"
export { codingTools, tool } from "./Tool.ts"
export type { JsonSchemaObject, Tool, ToolAnswer, ToolContext, ToolOptions } from "./Tool.ts"
export type { ModelProvider } from "./ModelProvider.ts"
export { TroupeError, type TroupeErrorCode } from "./TroupeError.ts"
/** What a session can go back to before, how it goes back, and what became of it. */
export type { RewindOptions } from "../agents/Agent.ts"
export type { RewindReport } from "../session/Rewind.ts"
export type { Checkpoint } from "../session/RewindPlan.ts"
/** What a model provider throws to say what went wrong, and whether trying again may help. */
export { ProviderError, type ProviderRequest, type WholeReply } from "../model/Provider.ts"
/** What a permission callback is asked about. */
export type { Ask } from "../permissions/Permissions.ts"
/** Everything that can happen in a session, and what it is made of. */
export type { Health } from "../protocol/Compaction.ts"
export type { Content, ContentBlock } from "../protocol/Content.ts"
export type { Event } from "../protocol/Event.ts"
export type { PermissionMode } from "../protocol/PermissionMode.ts"
export type { StreamEvent } from "../protocol/StreamEvent.ts"
export type { Terminal } from "../protocol/Terminal.ts"
export type { Usage } from "../protocol/Usage.ts"
