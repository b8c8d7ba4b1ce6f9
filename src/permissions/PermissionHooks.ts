/** Owns what hooks have to do with permissions: answering for a person, hearing of denials, and telling that somebody is waited for. */
import * as Effect from "effect/Effect"
import { HookEngine } from "../hooks/HookEngine.ts"
import type { Suggestion } from "../policy/Generalise.ts"
import type { Ask } from "./Permissions.ts"
import * as PermissionUpdate from "./PermissionUpdate.ts"

/** A hook's answer to a question that was for a person. */
export interface Answer {
  readonly allow: boolean
  readonly reason: string
  readonly updatedInput?: Readonly<Record<string, unknown>>
  readonly updates: ReadonlyArray<PermissionUpdate.PermissionUpdate>
}

const call = ({ input, tool }: Ask) => ({ tool_name: tool, tool_input: input })

/** PermissionRequest: before a person is asked, and where there is none. */
export const requested = Effect.fnUntraced(function* (ask: Ask, suggestions: ReadonlyArray<Suggestion>) {
  const engine = yield* HookEngine
  if (!engine.concerns("PermissionRequest", ask.tool)) return undefined
  const { request } = yield* engine.fire(
    "PermissionRequest",
    { ...call(ask), permission_suggestions: suggestions.map(PermissionUpdate.suggested) },
    { call: ask.call, toolUseId: ask.toolUseId },
  )
  if (request === undefined) return undefined
  const { behavior, message, updatedInput, updatedPermissions = [] } = request
  if (behavior === "deny") return { allow: false, reason: message ?? "a hook denies it", updates: [] } satisfies Answer
  const answer: Answer = {
    allow: true,
    reason: "a hook allows it",
    updates: updatedPermissions.flatMap((update) => PermissionUpdate.decode(update) ?? []),
    ...(updatedInput !== undefined && { updatedInput }),
  }
  return answer
})

/** PermissionDenied: the judge of `auto` mode has refused. A hook may say that another try is welcome. */
export const denied = Effect.fnUntraced(function* (ask: Ask, reason: string) {
  const engine = yield* HookEngine
  const { toolUseId } = ask
  const { retry } = yield* engine.fire(
    "PermissionDenied",
    { ...call(ask), tool_use_id: toolUseId, reason },
    { call: ask.call, toolUseId },
  )
  const why = retry === true ? `${reason} A hook says that you may try this call again.` : reason
  return { behavior: "deny", reason: why } as const
})

/** The same where nobody could judge it: there is nothing to try again. */
export const unjudged = (ask: Ask) =>
  denied(ask, "Auto mode could not evaluate this action and is blocking it for safety")

/** What hooks said about results, for the judge. */
export const notes = Effect.map(HookEngine, (engine) => engine.notes())

/** So long a question may wait before whoever is elsewhere is told of it. */
const patience = "6 seconds"

/** While a person is asked: a Notification, if they take their time. */
export const noticed = Effect.fnUntraced(function* <A, E, R>(tool: string, asking: Effect.Effect<A, E, R>) {
  const engine = yield* HookEngine
  if (!engine.concerns("Notification", "permission_prompt")) return yield* asking
  const notice = engine.fire("Notification", {
    message: `Your permission is needed to use ${tool}`,
    title: "Permission needed",
    notification_type: "permission_prompt",
  })
  return yield* Effect.scoped(Effect.andThen(Effect.forkScoped(Effect.delay(notice, patience)), asking))
})
