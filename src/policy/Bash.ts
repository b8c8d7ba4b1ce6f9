/**
 * Owns what can be known of a shell line without running it: its simple commands, what they touch, and whether it only reads.
 *
 * `readOnly` is a promise: run by bash, the line changes no file, starts no program outside of the known readers, and shows no
 * variable of the environment that may be a secret. Whatever is not understood is not read-only, and a line that cannot be judged at
 * all is `Opaque`. `touches` errs on the other side: it lists whatever may be read or written, so that rules about files hold.
 */
import { parse } from "unbash"
import { type Context, mostSteps } from "./bash/Context.ts"
import * as Links from "./bash/Links.ts"
import { distinct } from "./bash/Reach.ts"
import { script, substitution } from "./bash/Script.ts"
import type { SimpleCommand } from "./bash/SimpleCommand.ts"
import { start } from "./bash/State.ts"
import { looseness, oddity, survey } from "./bash/Survey.ts"
import type { Touch } from "./Effects.ts"

export type { SimpleCommand }

export type Analysis =
  | {
      readonly _tag: "Understood"
      readonly commands: ReadonlyArray<SimpleCommand>
      readonly touches: ReadonlyArray<Touch>
      readonly readOnly: boolean
      /** Why it is not read-only, for people. */
      readonly why: string
    }
  | {
      readonly _tag: "Opaque"
      readonly why: string
      /** As far as seen, for deny rules. */
      readonly commands: ReadonlyArray<SimpleCommand>
      readonly touches: ReadonlyArray<Touch>
    }

export interface Place {
  readonly cwd: string
  readonly home: string
  /** The repository around `cwd` was found unable to make git run programs. Without it no git command is read-only. */
  readonly cleanGit?: boolean
}

export const mostCharacters = 10_000

/** The parser looks through the rest of the line once for each of them. */
const mostArithmetic = 500

/** Never throws. */
export const analyse = (command: string, place: Place): Analysis => {
  const context: Context = {
    source: command,
    place: { cleanGit: false, ...place },
    commands: [],
    touches: [],
    moved: [],
    problems: [],
    shown: [],
    gaps: [],
    functions: new Map(),
    calling: new Set(),
    locals: undefined,
    bounds: { steps: mostSteps, depth: 0 },
    substitution: (node, state) => substitution(context)(node, state),
  }
  if (command.length > mostCharacters) {
    return opaque(context, `it has more than ${mostCharacters} characters`)
  }
  if (command.split("$((").length > mostArithmetic) return opaque(context, "it has too many arithmetic expansions")
  const odd = oddity(command)
  if (odd !== undefined) context.gaps.push(odd)
  try {
    const parsed = parse(command)
    survey(parsed, context)
    script(parsed, start(place.cwd, place.home), context)
  } catch (cause) {
    // The parser is not ours and its stack has an end; what it cannot do is asked for.
    context.gaps.push(`it cannot be looked through: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
  context.touches.push(...Links.followed(context.touches, context.moved))
  const [gap] = context.gaps
  if (gap !== undefined) return opaque(context, gap)
  const problem = context.problems[0] ?? context.shown[0] ?? looseness(command)
  // What belongs to no command still must not pass when every command may.
  if (problem !== undefined) {
    context.commands.push({
      argv: [],
      text: "",
      variants: [],
      allowText: [],
      literal: false,
      prefixAllowable: false,
      redirects: [],
      readOnly: false,
      why: problem,
    })
  }
  const why = context.commands.find((each) => !each.readOnly)?.why ?? ""
  return {
    _tag: "Understood",
    commands: context.commands,
    touches: distinct(context.touches),
    readOnly: why === "",
    why,
  }
}

const opaque = (context: Context, why: string): Analysis => ({
  _tag: "Opaque",
  why,
  commands: context.commands,
  touches: distinct([{ _tag: "Unknown", why }, ...context.touches]),
})
