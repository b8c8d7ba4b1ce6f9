/** Owns the command's view of a running agent and of whatever opens one: what the front doors need, and no more. */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Content } from "../protocol/Content.ts"
import type { Delivery, Event } from "../protocol/Event.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"

/** Any expected failure: `Problem` knows how to show it. */
export interface Failure {
  readonly _tag: string
  readonly message: string
}

export interface OpenOptions {
  readonly cwd?: string
  readonly model?: string
  readonly fallbackModel?: string
  readonly permissionMode?: PermissionMode
  readonly maxTurns?: number
  readonly systemPrompt?: string
  readonly appendSystemPrompt?: string
  readonly allowedTools?: ReadonlyArray<string>
  readonly disallowedTools?: ReadonlyArray<string>
  readonly addDirs?: ReadonlyArray<string>
  readonly jsonSchema?: unknown
  readonly sessionId?: string
}

export interface Agent {
  readonly sessionId: string
  readonly cwd: string
  readonly journalPath: string
  readonly transcriptPath: string
  readonly model: Effect.Effect<string>
  readonly permissionMode: Effect.Effect<PermissionMode>
  readonly tools: ReadonlyArray<string>
  /** Ends after `TurnEnded`. */
  readonly prompt: (content: Content, options?: { readonly uuid?: string }) => Stream.Stream<Event, Failure>
  readonly steer: (
    content: Content,
    options: { readonly delivery: Exclude<Delivery, "prompt">; readonly uuid?: string },
  ) => Effect.Effect<void, Failure>
  readonly interrupt: Effect.Effect<void>
  readonly setModel: (name: string, by: string) => Effect.Effect<void, Failure>
  readonly setPermissionMode: (mode: PermissionMode, by: string) => Effect.Effect<void, Failure>
}

export interface Agents {
  readonly open: (options: OpenOptions) => Effect.Effect<Agent, Failure, Scope.Scope>
  readonly resume: (id: string, options: OpenOptions) => Effect.Effect<Agent, Failure, Scope.Scope>
  readonly fork: (id: string, options: OpenOptions) => Effect.Effect<Agent, Failure, Scope.Scope>
  readonly latest: (cwd: string) => Effect.Effect<string | undefined, Failure>
}
