/**
 * Owns the two points of a tool call at which others may speak: before it is decided, and after it has run. Nobody does unless
 * somebody registers.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { ToolResultContent } from "../protocol/Content.ts"

export interface BeforeTool {
  readonly toolUseId: string
  readonly tool: string
  /** As the tool understands it, defaults filled in. */
  readonly input: unknown
}

/** What is said before a call. Nothing: no opinion. */
export interface BeforeVerdict {
  readonly behavior?: "allow" | "ask" | "deny" | "defer"
  readonly reason?: string
  /** The call is to be made with these arguments; they are judged like the model's. */
  readonly updatedInput?: unknown
  /** Said to the model beside the result. */
  readonly context?: ReadonlyArray<string>
}

export interface AfterTool extends BeforeTool {
  readonly outcome: "completed" | "failed"
  readonly content: ToolResultContent
  readonly structured?: unknown
}

export interface AfterVerdict {
  /** What the model is told instead of the tool's own result. */
  readonly updatedOutput?: ToolResultContent
  readonly context?: ReadonlyArray<string>
}

export interface ToolPointsShape {
  /** Whether anybody would speak about this tool: such a call never starts while the model still speaks. */
  readonly concerns: (tool: string) => boolean
  readonly before: (call: BeforeTool) => Effect.Effect<BeforeVerdict>
  readonly after: (call: AfterTool) => Effect.Effect<AfterVerdict>
}

export const ToolPoints = Context.Reference<ToolPointsShape>("troupe/hooks/ToolPoints", {
  defaultValue: () => ({
    concerns: () => false,
    before: () => Effect.succeed({}),
    after: () => Effect.succeed({}),
  }),
})
