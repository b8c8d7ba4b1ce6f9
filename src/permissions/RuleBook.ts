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
  /** A person, or a hook in their place, adds rules for this session: what it allows, unless told otherwise. */
  readonly grant: (rules: ReadonlyArray<string>, behavior?: Rule.Behavior) => void
  /** Takes back what was added on the way: these rules, or all of a behavior. */
  readonly revoke: (behavior: Rule.Behavior, rules?: ReadonlyArray<string>) => void
  /** More rules until they are taken back with what it answers: those of a skill, for the rest of a turn. */
  readonly lend: (rules: ReadonlyArray<Rules.RuleText>) => () => void
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
  let granted: ReadonlyArray<Rules.RuleText> = []
  const lent = new Set<ReadonlyArray<Rules.RuleText>>()
  let compiled: Rules.Compiled | undefined

  const all = () => [
    ...kept,
    ...current.rules.filter((rule) => !tightens(rule)),
    ...own,
    ...granted,
    ...[...lent].flat(),
  ]
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
    grant: (texts, behavior = "allow") => {
      granted = [...granted, ...texts.map((text) => ({ behavior, text, source: { kind: "session" } }) as const)]
      compiled = undefined
    },
    revoke: (behavior, texts) => {
      granted = granted.filter(
        (rule) => rule.behavior !== behavior || (texts !== undefined && !texts.some((text) => text === rule.text)),
      )
      compiled = undefined
    },
    lend: (texts) => {
      // A copy, so that the same rules can be lent twice and taken back once.
      const loan = [...texts]
      lent.add(loan)
      compiled = undefined
      return () => {
        if (lent.delete(loan)) compiled = undefined
      }
    },
  }
}

/** What an agent's tools name: a call must fit one of these, and is not allowed by it. */
export const within = (
  texts: ReadonlyArray<string>,
  place: { readonly cwd: string; readonly home: string },
): Rules.Compiled =>
  Rules.compile(
    texts.map((text) => ({ behavior: "allow", text, source: { kind: "session" } }) as const),
    place,
  )

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
