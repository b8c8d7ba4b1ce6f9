/**
 * Owns the `if` of a hook: one permission rule, compared with a call as rules that tighten are. Pure.
 *
 * It only saves starting hooks that have nothing to say: whatever cannot be understood runs the hook.
 */
import * as Result from "effect/Result"
import type { Call, Facts } from "../policy/Call.ts"
import * as FactsOf from "../policy/Facts.ts"
import * as Rule from "../policy/Rule.ts"
import * as RuleMatch from "../policy/RuleMatch.ts"
import * as Rules from "../policy/Rules.ts"

export interface Place {
  readonly cwd: string
  readonly home: string
}

export interface Condition {
  readonly text: string
  readonly holds: (call: Call) => boolean
}

/** `root`: what a leading `/` of a path stands for. */
export const make = (
  text: string,
  place: Place,
  root: string,
): { readonly condition: Condition; readonly problem?: string } => {
  const parsed = Rule.parse(text, "ask")
  if (Result.isFailure(parsed)) {
    const problem = `${Rule.describe(parsed.failure)} Until then the hook runs for every call its matcher lets through.`
    return { condition: { text, holds: () => true }, problem }
  }
  const rule = parsed.success
  const written = Rule.canonical(text.trim().split("(")[0] ?? "")
  let entry: Rules.Entry | undefined
  const holds = (call: Call): boolean => {
    const facts = FactsOf.of(call, place)
    // One rule is about one tool: `Edit(*.ts)` says nothing about Write or Bash.
    if (rule._tag !== "Tool" && !facts.folded.includes(written.toLowerCase())) return false
    entry ??= compiled(text, rule, place, root)
    if (entry === undefined) return true
    return RuleMatch.tightens(entry, facts) !== undefined || mayHide(rule, facts)
  }
  return { condition: { text, holds } }
}

/** A rule that forbids `src/**` guards every `src`; here it means the one in the working directory, as in a rule that allows. */
const compiled = (text: string, rule: Rule.Rule, place: Place, root: string): Rules.Entry | undefined => {
  const source = { kind: "session" } as const
  const compile = (given: Rules.RuleText) => Rules.compile([given], place).entries[0]
  const exact =
    rule._tag === "Path"
      ? compile({ behavior: "allow", text: `${rule.tool}${text.slice(text.indexOf("("))}`, source, root })
      : undefined
  return exact ?? compile({ behavior: "ask", text, source, root })
}

/** Of a command that computes its words only the program's name can be ruled out. */
const mayHide = (rule: Rule.Rule, facts: Facts): boolean => {
  if (rule._tag !== "Command") return false
  if (facts.opaque) return true
  const words = rule.pattern.text.trim().split(/\s+/)
  const namesMore = words.length > 1 && words[1] !== "*"
  return namesMore && /\$\(|`|\$[A-Za-z_{]/.test(facts.raw)
}
