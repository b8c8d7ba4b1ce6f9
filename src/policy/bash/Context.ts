/** Owns what one analysis gathers on its way, and the bounds it keeps. */
import type { Function as FunctionNode, ParsedScript } from "unbash"
import type { Moved } from "./Links.ts"
import type { SimpleCommand } from "./SimpleCommand.ts"
import type { Touch } from "../Effects.ts"
import type { State } from "./State.ts"

export interface Context {
  readonly place: { readonly cwd: string; readonly home: string; readonly cleanGit: boolean }
  /** The text that positions in the tree refer to. */
  readonly source: string
  readonly commands: Array<SimpleCommand>
  readonly touches: Array<Touch>
  /** What the line itself puts under another name. */
  readonly moved: Array<Moved>
  /** Why the line is not read-only, whatever its commands are: a rule that allows a command does not allow these. */
  readonly problems: Array<string>
  /** Secrets that may be shown; a command takes away what its own words show. */
  readonly shown: Array<string>
  /** Why the line cannot be judged at all. */
  readonly gaps: Array<string>
  /** Every definition of a function in the line: which of them a call means is not followed. */
  readonly functions: Map<string, Array<FunctionNode>>
  readonly calling: Set<string>
  /** Names that became local to the function being looked at. */
  locals: Set<string> | undefined
  readonly bounds: { steps: number; depth: number }
  /** Looks at a substitution; it runs in a shell of its own. */
  readonly substitution: (script: ParsedScript | undefined, state: State) => void
}

/** Enough for 10,000 characters of anything a person would write. */
export const mostSteps = 20_000
export const mostDepth = 40
/** Nodes of the tree inside of each other; a substitution takes about six. */
export const mostNodes = 120

/** A line with more commands than this is a program. */
export const mostCommands = 400

/** Counts one step. `false`: too much, and the line has become opaque. */
export const step = (context: Context, cost = 1): boolean => {
  context.bounds.steps -= cost
  if (context.bounds.steps >= 0 && context.commands.length <= mostCommands) return true
  if (context.gaps.length === 0) context.gaps.push("it is too long to be looked through")
  return false
}

/** Runs `inside` one level deeper, unless that is too deep. */
export const deeper = (context: Context, inside: () => void): void => {
  if (context.bounds.depth >= mostDepth) {
    context.gaps.push("it is nested too deeply to be looked through")
    return
  }
  context.bounds.depth++
  inside()
  context.bounds.depth--
}

const most = 100

export const problem = (context: Context, why: string): void => {
  if (context.problems.length < most) context.problems.push(why)
}

export const shows = (context: Context, why: string): void => {
  if (context.shown.length < most) context.shown.push(why)
}
