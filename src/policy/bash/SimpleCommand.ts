/** Owns what is known of one simple command of a line. */
import type { Touch } from "../Effects.ts"

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
