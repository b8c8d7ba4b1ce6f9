/** Owns the question whether a call may run, put to the client (`can_use_tool`). */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Agent } from "../agents/Agent.ts"
import type { Destination, Person, Question } from "../permissions/Permissions.ts"
import { places, suggested, textsOf } from "../permissions/PermissionUpdate.ts"
import type { ControlChannel } from "./ControlChannel.ts"
import { type CanUseTool, type PermissionResult, PermissionUpdate } from "./ControlWire.ts"

export interface Asking {
  readonly channel: ControlChannel
  /** The agent that asks; nobody asks before there is one. */
  readonly agent: () => Agent | undefined
  /** Says something once. */
  readonly note: (text: string) => Effect.Effect<void>
}

/** Whoever sits behind the client. Without an answer nothing is allowed. */
export const person = (asking: Asking): Person => ({
  ask: (ask) =>
    asking.channel.canUseTool(question(ask)).pipe(
      Effect.flatMap((result) => heard(asking, ask, result)),
      Effect.catchTag("ControlError", (error) => Effect.succeed({ allow: false, reason: error.message })),
    ),
})

const question = (ask: Question): Omit<CanUseTool, "subtype"> => {
  const path = ask.outside[0] ?? ask.sensitive[0]
  return {
    tool_name: ask.tool,
    input: ask.input,
    tool_use_id: ask.toolUseId,
    permission_suggestions: ask.suggestions.map(suggested),
    description: ask.summary,
    decision_reason: ask.why,
    ...(path !== undefined && { blocked_path: path }),
  }
}

const heard = Effect.fnUntraced(function* (asking: Asking, ask: Question, result: PermissionResult) {
  if (result.behavior === "deny") {
    // The denial is still recorded; then nothing more is started.
    if (result.interrupt === true) yield* asking.agent()?.interrupt("stop") ?? Effect.void
    return { allow: false, reason: result.message }
  }
  const granted = yield* granting(asking, result.updatedPermissions ?? [])
  // Most clients send back the arguments they were shown.
  const same = result.updatedInput == null || JSON.stringify(result.updatedInput) === JSON.stringify(ask.input)
  return {
    allow: true,
    reason: same ? "the client approved it" : "the client approved it with other arguments",
    ...(!same && { updatedInput: result.updatedInput }),
    ...(granted !== undefined && { grant: granted }),
  }
})

const decodeUpdate = Schema.decodeUnknownOption(PermissionUpdate)

/** What the answer brings along. Rules for several places are kept where they last the shortest: in this session. */
const granting = Effect.fnUntraced(function* ({ agent, note }: Asking, updates: ReadonlyArray<unknown>) {
  const rules: Array<string> = []
  const destinations = new Set<Destination>()
  for (const given of updates) {
    const update = Option.getOrUndefined(decodeUpdate(given))
    if (update === undefined) {
      yield* note("`updatedPermissions` of can_use_tool has no effect yet, except setMode and addRules that allow.")
    } else if (update.type === "setMode") {
      yield* agent()?.setPermissionMode(update.mode, "can_use_tool") ?? Effect.void
    } else {
      destinations.add(places[update.destination])
      rules.push(...textsOf(update))
    }
  }
  if (rules.length === 0) return undefined
  const [only = "session", ...more] = destinations
  return { rules, destination: more.length === 0 ? only : ("session" as const) }
})
