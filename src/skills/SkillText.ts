/** Owns a skill's text as the model gets it: placeholders filled, commands run and replaced by what they printed, `@` files behind it. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { Files } from "../platform/Files.ts"
import type { Review } from "../settings/Trust.ts"
import * as FileReferences from "./FileReferences.ts"
import * as InlineShell from "./InlineShell.ts"
import * as Placeholders from "./Placeholders.ts"
import * as ShellMarks from "./ShellMarks.ts"
import * as ShellQuoting from "./ShellQuoting.ts"
import { inPlace, mayExecute, type Skill } from "./Skill.ts"
import * as SkillTrust from "./SkillTrust.ts"

export interface Use {
  readonly skill: Skill
  readonly body: string
  readonly args: string
  readonly sessionId: string
  readonly projectDir: string
  readonly effort: string | undefined
  readonly shellDisabled: boolean
  readonly trusted: (review: Review) => boolean
  readonly mayRun: InlineShell.MayRun
}

export interface Rendered {
  readonly content: string
  /** Rules it opens, with its directories filled in; none where they wait for trust. */
  readonly allowedTools: ReadonlyArray<string>
  readonly hooks: Skill["hooks"]
  /** What nobody has agreed to yet. */
  readonly withheld: Review | undefined
}

/** How many commands of one text run at a time. */
const atOnce = 4

export const render = Effect.fnUntraced(function* (use: Use) {
  const { args, body, skill } = use
  const files = yield* Files
  const review = SkillTrust.review(skill, body, files.hash)
  const withheld = review === undefined || use.trusted(review) ? undefined : review
  const opens = withheld === undefined && mayExecute(skill.source)
  const allowedTools = opens ? skill.allowedTools.map((rule) => inPlace(rule, skill.source, use.projectDir)) : []
  const values: Placeholders.Values = { args, variables: variablesOf(use) }
  const parts = ShellMarks.parts(body)
  const scanned = parts.map((part) =>
    Placeholders.scan(part._tag === "Text" ? part.text : part.command, skill.arguments),
  )

  const shell = Effect.fnUntraced(function* (pieces: ReadonlyArray<Placeholders.Piece>, written: string) {
    if (!mayExecute(skill.source)) return `!\`${written}\``
    if (use.shellDisabled && !isExempt(skill)) return "[shell command execution disabled by policy]"
    if (withheld !== undefined) return `[not run, because nobody has agreed to it yet: ${written}]`
    const filled = ShellQuoting.fill(pieces, values)
    if (Result.isFailure(filled)) {
      const { placeholder, why } = filled.failure
      const detail = `${placeholder} cannot be filled with this argument: ${why}`
      return yield* new InlineShell.ShellFailed({ command: written, reason: "Unquotable", detail })
    }
    const env = { ...values.variables }
    return yield* InlineShell.run({ command: filled.success, allowed: allowedTools, env }, use.mayRun)
  })

  const texts = yield* Effect.forEach(
    parts,
    (part, at) => {
      const pieces = scanned[at] ?? []
      return part._tag === "Text" ? Effect.succeed(Placeholders.fill(pieces, values)) : shell(pieces, part.command)
    },
    { concurrency: atOnce },
  )
  // What a command printed is not looked at again, neither for files nor for anything else.
  const own = texts.filter((_, at) => parts[at]?._tag === "Text").join("\n")
  const attached = mayExecute(skill.source) ? yield* FileReferences.attached(own) : []
  const appended = args.trim() !== "" && !scanned.some(Placeholders.takesArguments) ? [`ARGUMENTS: ${args}`] : []
  const based = skill.source.form === "skill" && skill.source.directory !== ""
  const rendered: Rendered = {
    content: [
      ...(based ? [`Base directory for this skill: ${skill.source.directory}`] : []),
      texts.join("").trim(),
      ...appended,
      ...attached,
    ].join("\n\n"),
    allowedTools,
    hooks: opens ? skill.hooks : undefined,
    withheld,
  }
  return rendered
})

/** Nobody has to be protected from the machine's policy or from the product. */
const isExempt = ({ source }: Skill): boolean => source.origin === "managed" || source.origin === "bundled"

const variablesOf = ({ effort, projectDir, sessionId, skill }: Use): Readonly<Record<string, string>> => {
  const { directory, plugin } = skill.source
  return {
    CLAUDE_SESSION_ID: sessionId,
    CLAUDE_PROJECT_DIR: projectDir,
    ...(directory !== "" && { CLAUDE_SKILL_DIR: directory }),
    ...(effort !== undefined && { CLAUDE_EFFORT: effort }),
    ...(plugin !== undefined && { CLAUDE_PLUGIN_ROOT: plugin.root, CLAUDE_PLUGIN_DATA: plugin.data }),
  }
}
