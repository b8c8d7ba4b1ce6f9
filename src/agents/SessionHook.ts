/** Owns what a hook of one session is, given by whoever opens it: a function for an event, as settings have commands for it. */
import type { HookEventName } from "../hooks/HookEvents.ts"
import type { HookFunction } from "../hooks/Hooks.ts"

export interface SessionHook {
  readonly event: HookEventName
  readonly matcher?: string | undefined
  readonly timeoutSeconds?: number | undefined
  readonly name?: string | undefined
  readonly run: HookFunction<HookEventName>
}
