/** Owns what is known of one simple command of a line. */
import type { Touch } from "../Effects.ts"
import * as Names from "./Names.ts"

export interface SimpleCommand {
  /** The program and its words, quotes removed, expansions as written. Empty for an assignment alone. */
  readonly argv: ReadonlyArray<string>
  /** Assignments and words joined by one space: what rules are matched with. */
  readonly text: string
  /**
   * What deny and ask rules must also match: without assignments, without each wrapper, the program by its base name, with known
   * variables put in, and whatever an inner shell, `eval` or `find -exec` would run.
   */
  readonly variants: ReadonlyArray<string>
  /** What allow rules may match: as written, without harmless assignments, without the transparent wrappers. */
  readonly allowText: ReadonlyArray<string>
  /** No variable, substitution or brace in it; patterns of file names and `~` may be. */
  readonly literal: boolean
  /** `false` for wrappers and options that run anything: `find -exec`, `watch`, `sudo`, … */
  readonly prefixAllowable: boolean
  readonly redirects: ReadonlyArray<Touch>
  readonly readOnly: boolean
  /** Why it is not, for people. */
  readonly why?: string
  /** A git command that only looks, if the repository is clean; see Git.ts. */
  readonly needsCleanGit?: boolean
}

/** What was judged of it. */
export interface Verdict {
  /** Why it is not read-only; `""` if it is. */
  readonly why: string
  /** Every command that deny and ask rules must see. */
  readonly seen: ReadonlyArray<string>
  /** The commands inside of transparent wrappers. */
  readonly inside: ReadonlyArray<string>
  readonly prefixAllowable: boolean
  readonly needsCleanGit: boolean
}

/** As rules see it. `set`: its assignments. `resolved`: its words with known variables put in. */
export const of = (
  argv: ReadonlyArray<string>,
  set: ReadonlyArray<string>,
  resolved: ReadonlyArray<string>,
  verdict: Verdict,
  isLiteral: boolean,
  redirects: ReadonlyArray<Touch>,
): SimpleCommand => {
  const bare = argv.join(" ")
  const text = [...set, ...argv].join(" ")
  const steering = set.filter((each) => !Names.isSafeForAllow(each.split(/[+=[]/, 1)[0] ?? ""))
  const stripped = argv.length > 0 && steering.length < set.length ? [[...steering, ...argv].join(" ")] : []
  return {
    argv,
    text,
    variants: [...new Set([text, bare, ...resolved, ...verdict.seen])].filter((each) => each !== ""),
    allowText: [...new Set([text, ...stripped, ...(steering.length === 0 ? verdict.inside : [])])],
    literal: isLiteral,
    prefixAllowable: verdict.prefixAllowable,
    redirects,
    readOnly: verdict.why === "",
    why: verdict.why,
    needsCleanGit: verdict.needsCleanGit,
  }
}
