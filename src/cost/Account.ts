/** Owns who is told what was spent on somebody's behalf beside a conversation: by an agent that was sent out, by a side query. */
import * as Context from "effect/Context"
import type { Usage } from "../protocol/Usage.ts"

/** Books what was used; nobody keeps count unless a turn does. */
export const Account = Context.Reference<(usage: Usage, costUsd: number) => void>("troupe/cost/Account", {
  defaultValue: () => () => {},
})
