/**
 * Owns the rules that a session goes by: what settings, flags and people say, compiled for quick decisions.
 *
 * Settings may change while it is open. What tightens applies at once and stays for as long as the session lasts: nothing that runs
 * in it can loosen a rule by editing a file. What people allow on the way is kept on top.
 */
import * as Rule from "../policy/Rule.ts"
import * as Rules from "../policy/Rules.ts"

/** What settings say at one moment. */
export interface RuleSettings {
  readonly rules: ReadonlyArray<Rules.RuleText>
  readonly limits: ReturnType<typeof Rules.limits>
}

export const noSettings: RuleSettings = {
  rules: [],
  limits: { bypassDisabled: false, autoDisabled: false, managedOnly: false },
}

export interface RuleBook {
  readonly rules: () => Rules.Compiled
  readonly limits: () => RuleSettings["limits"]
  /** Takes over new settings; answers what is wrong with rules that were not there before. */
  readonly renew: (settings: RuleSettings) => ReadonlyArray<Rules.Reported>
  /** A person allows more for this session. */
  readonly grant: (rules: ReadonlyArray<string>) => void
}

export interface BookOptions {
  readonly cwd: string
  readonly home: string
  readonly settings: RuleSettings
  /** What flags and options of this session say. */
  readonly own: ReadonlyArray<Rules.RuleText>
}

export const make = ({ cwd, home, own, settings }: BookOptions): RuleBook => {
  let current = settings
  let kept = settings.rules.filter(tightens)
  const granted: Array<Rules.RuleText> = []
  let compiled: Rules.Compiled | undefined

  const all = () => [...kept, ...current.rules.filter((rule) => !tightens(rule)), ...own, ...granted]
  const rules = () => (compiled ??= Rules.compile(all(), { cwd, home, managedOnly: current.limits.managedOnly }))

  return {
    rules,
    limits: () => current.limits,
    renew: (next) => {
      const known = new Set(kept.map(identity))
      const problems = new Set(rules().problems.map(problemIdentity))
      kept = [...kept, ...next.rules.filter((rule) => tightens(rule) && !known.has(identity(rule)))]
      current = { rules: next.rules, limits: tighter(current.limits, next.limits) }
      compiled = undefined
      return rules().problems.filter((problem) => !problems.has(problemIdentity(problem)))
    },
    grant: (texts) => {
      granted.push(...texts.map((text) => ({ behavior: "allow", text, source: { kind: "session" } }) as const))
      compiled = undefined
    },
  }
}

const tightens = ({ behavior }: Rules.RuleText): boolean => behavior !== "allow"

const tighter = (a: RuleSettings["limits"], b: RuleSettings["limits"]): RuleSettings["limits"] => ({
  bypassDisabled: a.bypassDisabled || b.bypassDisabled,
  autoDisabled: a.autoDisabled || b.autoDisabled,
  managedOnly: a.managedOnly || b.managedOnly,
})

const identity = ({ behavior, source, text }: Rules.RuleText): string =>
  JSON.stringify([behavior, text, source.kind, source.file])

const problemIdentity = ({ source, text, what }: Rules.Reported): string =>
  JSON.stringify([text, what, source.kind, source.file])

/** For people: where the rule stands, what is wrong with it, how to fix it, and what was done about it. */
export const describe = (problem: Rules.Reported): string => {
  const { behavior, effect, source } = problem
  const line = source.line === undefined ? "" : `:${source.line}`
  const place = source.file === undefined ? source.kind : `${source.file}${line}`
  return `${place}: permissions.${behavior}: ${Rule.describe(problem)} Until then ${effect}.`
}
