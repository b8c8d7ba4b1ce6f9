/** Owns the judgement of a command in a skill's text: as a call of Bash, by the rules in force and those the skill brings along. */
import * as Effect from "effect/Effect"
import { Permissions } from "../permissions/Permissions.ts"
import type { RuleBook } from "../permissions/RuleBook.ts"
import * as Examine from "../tools/Examine.ts"
import type { MayRun } from "./InlineShell.ts"

export const make = Effect.fnUntraced(function* (book: RuleBook) {
  const examine = yield* Examine.make
  const { settle } = yield* Permissions
  const mayRun: MayRun = Effect.fnUntraced(function* (command, allowed) {
    const prepared = yield* examine({ id: "skill", name: "Bash", input: { command } }, 0)
    if (prepared._tag === "Rejected") return { behavior: "deny", reason: prepared.why } as const
    const rules = allowed.map((text) => ({ behavior: "allow", text, source: { kind: "skill" } }) as const)
    const { decision, reason } = yield* Effect.acquireUseRelease(
      Effect.sync(() => book.lend(rules)),
      () => settle(prepared.ask.call),
      (takeBack) => Effect.sync(takeBack),
    )
    return { behavior: decision, reason }
  })
  return mayRun
})
