/** Owns what of a session's beginning an agent that is sent out is told as well: the facts, and what people's files ask for. */
import * as Context from "effect/Context"

export interface BriefingShape {
  readonly facts: string
  readonly instructions: string
}

export const Briefing = Context.Reference<BriefingShape>("troupe/agents/Briefing", {
  defaultValue: () => ({ facts: "", instructions: "" }),
})
