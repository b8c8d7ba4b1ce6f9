/**
 * Owns what it means to send out an agent: the errand it is given, and the report it comes back with. It has one turn in a
 * conversation of its own; its records stand in the session's journal under its id.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Origin } from "../hooks/Handler.ts"
import type { TextBlock } from "../protocol/Content.ts"
import type { Effort } from "../protocol/Effort.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import type { Terminal } from "../protocol/Terminal.ts"
import type { Usage } from "../protocol/Usage.ts"
import type { ToolFailure } from "../tools/Tool.ts"
import type { StructuredOutput } from "./StructuredOutput.ts"

/** How deep agents may be nested: 1 means that those which the main one sends out send out none (`CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH`). */
export const MaxDepth = Context.Reference<number>("troupe/agents/Subagents/MaxDepth", { defaultValue: () => 1 })

export interface Errand {
  readonly agentType: string
  /** Three to five words for people. */
  readonly description: string
  readonly prompt: string
  /** The call that sends it out. */
  readonly toolUseId: string
  readonly system: ReadonlyArray<TextBlock>
  readonly model: string
  readonly permissionMode: PermissionMode
  readonly effort?: Effort | undefined
  /** Names of the sender's tools that it may use. */
  readonly tools: ReadonlyArray<string>
  /** Rules that each of its calls must fit (`Bash(git diff *)`), where its tools name some. They never allow anything. */
  readonly within?: ReadonlyArray<string> | undefined
  /** Rules that hold while it works. */
  readonly rules?: { readonly allow: ReadonlyArray<string>; readonly deny: ReadonlyArray<string> } | undefined
  /** Skills whose text it is told at the beginning. */
  readonly skills?: ReadonlyArray<string> | undefined
  /** Skills that it works for, and must not begin again. */
  readonly forSkills?: ReadonlyArray<string> | undefined
  /** The kinds of agents it may send out itself; any unless told. */
  readonly agents?: ReadonlyArray<string> | undefined
  readonly maxTurns?: number | undefined
  /** Hooks of its own, as its file has them; `undefined`: none. */
  readonly hooks?: unknown
  /** Whom its hooks come from. */
  readonly hooksFrom?: Origin | undefined
  /** It works for a hook: none runs in it. */
  readonly unhooked?: boolean | undefined
  readonly output?: StructuredOutput | undefined
}

export interface Report {
  readonly agentId: string
  readonly terminal: Terminal
  /** What it said last. */
  readonly text: string
  readonly structuredOutput?: unknown
  readonly turns: number
  readonly toolUses: number
  readonly usage: Usage
  readonly costUsd: number
  readonly durationMs: number
}

export class Subagents extends Context.Service<
  Subagents,
  {
    /** Whether any may be sent out from here at all. */
    readonly allowed: boolean
    /** The kinds that may be; any where absent. */
    readonly only?: ReadonlyArray<string> | undefined
    /** Fails when it could not even be sent out; however it ended otherwise, it reports. */
    readonly send: (errand: Errand) => Effect.Effect<Report, ToolFailure>
  }
>()("troupe/agents/Subagents") {}
