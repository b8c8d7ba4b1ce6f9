/**
 * Owns what the service itself may take out of a conversation that becomes long, where somebody wants that: it sums up, or forgets results
 * and thinking, before the model reads. The conversation here stays as it is, and is still put shorter here when it must be.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"

/** The settings slice `troupe.serverContext`. */
export const Wishes = Schema.Array(Schema.Literals(["compact", "clear_tool_uses", "clear_thinking"]))
export type Wishes = typeof Wishes.Type

export const ServerContext = Context.Reference<Wishes>("troupe/model/ServerContext", { defaultValue: () => [] })

const ways = {
  clear_thinking: { type: "clear_thinking_20251015", beta: "context-management-2025-06-27" },
  clear_tool_uses: { type: "clear_tool_uses_20250919", beta: "context-management-2025-06-27" },
  compact: { type: "compact_20260112", beta: "compact-2026-01-12" },
} as const

/** In the order in which the service wants them: thinking first. */
const order = ["clear_thinking", "clear_tool_uses", "compact"] as const

export interface Asked {
  readonly contextManagement: { readonly edits: ReadonlyArray<{ readonly type: string }> }
  readonly betas: ReadonlyArray<string>
}

/** The fields of a request; nothing where nobody wants anything. */
export const asked = (wishes: Wishes): Asked | undefined => {
  const found = order.filter((way) => wishes.includes(way)).map((way) => ways[way])
  if (found.length === 0) return undefined
  return {
    contextManagement: { edits: found.map(({ type }) => ({ type })) },
    betas: [...new Set(found.map(({ beta }) => beta))],
  }
}
