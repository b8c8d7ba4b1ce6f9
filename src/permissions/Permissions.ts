/**
 * Owns the decision whether a call may run: rules from flags and settings, the permission mode, and a person if there is one.
 *
 * Whatever cannot be decided is denied, with the way to allow it.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import * as Rule from "./Rule.ts"

/** A call that wants to run, and what it would touch. */
export interface Ask {
  readonly toolUseId: string
  readonly tool: string
  readonly input: unknown
  readonly summary: string
  readonly readOnly: boolean
  readonly reads: ReadonlyArray<string>
  readonly writes: ReadonlyArray<string>
  readonly executes: string | undefined
  /** Those of its paths that lie outside the workspace. */
  readonly outside: ReadonlyArray<string>
  /** Those of its writes that could change how tools behave (`.git`, `.claude`, …). */
  readonly sensitive: ReadonlyArray<string>
}

export interface Decision {
  readonly behavior: "allow" | "deny"
  readonly reason: string
  readonly by: "mode" | "rule" | "person" | "nobody"
}

/** Somebody who can be asked. `undefined` where nobody is there: a pipe, a CI job, a test. */
export interface Person {
  readonly ask: (ask: Ask) => Effect.Effect<{ readonly allow: boolean; readonly reason?: string }>
}
export const Person = Context.Reference<Person | undefined>("troupe/permissions/Person", {
  defaultValue: () => undefined,
})

export interface Rules {
  readonly allow: ReadonlyArray<Rule.Rule>
  readonly deny: ReadonlyArray<Rule.Rule>
}

/** What rules and mode say without asking anybody. */
export const settle = (ask: Ask, mode: PermissionMode, rules: Rules): Decision | "ask" => {
  const denied = rules.deny.find((rule) => Rule.matches(rule, ask, "deny"))
  if (denied) return { behavior: "deny", reason: `the rule "${denied.source}" forbids it`, by: "rule" }
  if (mode === "bypassPermissions") return { behavior: "allow", reason: "permissions are bypassed", by: "mode" }
  if (mode === "plan" && !ask.readOnly) {
    return { behavior: "deny", reason: "plan mode only reads; leave plan mode to change anything", by: "mode" }
  }
  const allowed = rules.allow.find((rule) => Rule.matches(rule, ask, "allow"))
  if (allowed && ask.sensitive.length === 0) {
    return { behavior: "allow", reason: `the rule "${allowed.source}" allows it`, by: "rule" }
  }
  if (ask.readOnly && ask.outside.length === 0) {
    return { behavior: "allow", reason: "it only reads inside the workspace", by: "mode" }
  }
  const edits = ask.executes === undefined && ask.writes.length > 0
  if (mode === "acceptEdits" && edits && ask.outside.length === 0 && ask.sensitive.length === 0) {
    return { behavior: "allow", reason: "edits inside the workspace are accepted", by: "mode" }
  }
  if (mode === "dontAsk") {
    return { behavior: "deny", reason: "no rule allows it and this session does not ask", by: "mode" }
  }
  return "ask"
}

/** Decides, asking the person if rules and mode leave it open. */
export const decide = Effect.fnUntraced(function* (ask: Ask, mode: PermissionMode, rules: Rules) {
  const settled = settle(ask, mode, rules)
  if (settled !== "ask") return settled
  const person = yield* Person
  if (person === undefined) {
    const why = ask.outside.length > 0 ? ` It touches ${ask.outside.join(", ")}, outside the workspace.` : ""
    return {
      behavior: "deny",
      reason:
        `${ask.tool} needs approval and nobody is there to give it.${why} ` +
        `Allow it with --allowedTools "${ask.tool}" or another --permission-mode.`,
      by: "nobody",
    } satisfies Decision
  }
  const answer = yield* person.ask(ask)
  return {
    behavior: answer.allow ? "allow" : "deny",
    reason: answer.reason ?? (answer.allow ? "approved" : "declined"),
    by: "person",
  } satisfies Decision
})
