/** Owns what a skill is: where it comes from, what its front matter says, and what about it has to wait for trust. */
import * as Result from "effect/Result"
import * as HookConfig from "../hooks/HookConfig.ts"
import * as Rule from "../policy/Rule.ts"
import { parseList } from "../policy/RuleList.ts"
import { type Effort, efforts } from "../protocol/Effort.ts"
import * as Field from "./SkillFields.ts"

/**
 * Where skills come from, the strongest first. A plugin's are told apart by their prefix, and those of a directory below
 * (`nested`) by the directory if need be.
 */
export const origins = ["managed", "user", "project", "added", "nested", "plugin", "bundled", "mcp"] as const
export type Origin = (typeof origins)[number]

export interface Source {
  readonly origin: Origin
  /** A directory with a SKILL.md, or a Markdown file below `commands`. */
  readonly form: "skill" | "command"
  readonly file: string
  /** What `${CLAUDE_SKILL_DIR}` stands for. */
  readonly directory: string
  /** The directory a nested one belongs to, relative to where the session works. */
  readonly below?: string
  readonly plugin?: Plugin
}

export interface Plugin {
  readonly name: string
  readonly root: string
  readonly data: string
}

export interface Problem {
  readonly severity: "error" | "warning"
  readonly file: string
  readonly line?: number
  readonly column?: number
  /** What is wrong, what is done about it, and how to mend it. */
  readonly message: string
}

export const describe = ({ file, line, column, message }: Problem): string =>
  `${file}${line === undefined ? "" : `:${line}:${column ?? 1}`}: ${message}`

export interface Skill {
  /** What is typed behind `/`. */
  readonly name: string
  /** Also understood, where no other skill has that name. */
  readonly alias?: string
  readonly label: string
  readonly description: string
  /** Taken from the body, because the front matter has none. */
  readonly described: boolean
  readonly whenToUse?: string
  readonly argumentHint?: string
  readonly arguments: ReadonlyArray<string>
  readonly modelInvocable: boolean
  readonly userInvocable: boolean
  readonly allowedTools: ReadonlyArray<string>
  readonly disallowedTools: ReadonlyArray<string>
  readonly model?: string
  readonly effort?: Effort
  /** Runs in an agent of its own. */
  readonly fork?: { readonly agent: string; readonly background: boolean }
  /** As written; whoever runs hooks reads them. */
  readonly hooks?: Readonly<Record<string, unknown>>
  readonly paths: ReadonlyArray<string>
  readonly shell: "bash" | "powershell"
  readonly metadata: Readonly<Record<string, unknown>>
  readonly license?: string
  readonly compatibility?: string
  /** Fields nobody here knows. */
  readonly extra: Readonly<Record<string, unknown>>
  readonly source: Source
  readonly bodyLine: number
  readonly bodyChars: number
  readonly problems: ReadonlyArray<Problem>
}

/** A file as the index has read it, without its body. */
export interface Head {
  readonly data: Readonly<Record<string, unknown>>
  readonly problems: ReadonlyArray<{ readonly line: number; readonly column: number; readonly message: string }>
  readonly lineOf: (key: string) => number | undefined
  readonly bodyLine: number
  readonly bodyChars: number
}

/** Ships with the folder: what in it executes or opens a permission waits until a person agrees. */
export const isFolders = ({ origin }: Source): boolean =>
  origin === "project" || origin === "added" || origin === "nested"

/** Whether anything in it may run at all. What a server sends never may. */
export const mayExecute = ({ origin }: Source): boolean => origin !== "mcp"

const reserved = new Set(["ARGUMENTS"])

/** `lead` is the first paragraph of the body; it stands in for a description. */
export const make = (
  named: { readonly name: string; readonly alias?: string; readonly problem?: string },
  source: Source,
  head: Head,
  lead: string | undefined,
): Skill => {
  const problems: Array<Problem> = head.problems.map((problem) => ({
    severity: "warning",
    file: source.file,
    ...problem,
  }))
  if (named.problem !== undefined) problems.push({ severity: "warning", file: source.file, message: named.problem })
  const fields = Field.reader(head, (severity, key, message) => {
    const line = key === undefined ? undefined : head.lineOf(key)
    problems.push({ severity, file: source.file, ...(line !== undefined && { line, column: 1 }), message })
  })
  const { complain } = fields

  const rules = (field: "allowed-tools" | "disallowed-tools", behavior: Rule.Behavior): ReadonlyArray<string> => {
    const listed = parseList(fields.list(field))
    return listed.filter((text) => {
      const read = Rule.parse(inPlace(text, source), behavior)
      if (Result.isSuccess(read)) return true
      complain("warning", field, `${Rule.describe(read.failure)} It is left out.`)
      return false
    })
  }

  const isCommand = source.form === "command"
  if (isCommand) for (const field of ["name", "paths"] as const) fields.ignored(field, "a command file has none")
  const given = fields.text("description")
  const description = plain(given ?? lead ?? "", source)
  const whenToUse = fields.text("when_to_use")
  if (description === "" && head.bodyChars > 0) {
    complain("warning", undefined, 'nothing says what it is for; add "description: …" to the front matter')
  }
  const argumentHint = fields.hint("argument-hint")
  const names = fields.words("arguments").filter((name) => {
    if (/^[\p{L}_][\p{L}\p{N}_-]*$/u.test(name) && !reserved.has(name)) return true
    complain("warning", "arguments", `"${name}" cannot be the name of an argument; use letters, digits, - and _`)
    return false
  })
  const model = fields.text("model")
  const effort = fields.choice("effort", efforts)
  const context = fields.choice("context", ["fork", "inline"])
  const agent = fields.text("agent")
  const background = fields.flag("background")
  if (context !== "fork" && (agent !== undefined || background !== undefined)) {
    const field = agent === undefined ? "background" : "agent"
    complain("warning", field, `"${field}" means something only with "context: fork"; add that, or remove it`)
  }
  const hooks = fields.map("hooks")
  for (const message of HookConfig.complaints(hooks, "skill")) complain("warning", "hooks", `"hooks": ${message}`)
  const compatibility = fields.text("compatibility")
  if (compatibility !== undefined && compatibility.length > 500) {
    complain("warning", "compatibility", "it is longer than the 500 characters that other clients accept")
  }
  const license = fields.text("license")
  const skill = {
    ...named,
    label: isCommand ? named.name : Field.oneLine(fields.text("name") ?? "") || named.name,
    description,
    described: given !== undefined,
    ...(whenToUse !== undefined && { whenToUse: plain(whenToUse, source) }),
    ...(argumentHint !== undefined && { argumentHint }),
    arguments: names,
    modelInvocable: fields.flag("disable-model-invocation") !== true,
    userInvocable: fields.flag("user-invocable") !== false,
    allowedTools: rules("allowed-tools", "allow"),
    disallowedTools: rules("disallowed-tools", "deny"),
    ...(model !== undefined && model !== "inherit" && { model }),
    ...(effort !== undefined && { effort }),
    ...(context === "fork" && { fork: { agent: agent ?? "general-purpose", background: background ?? true } }),
    ...(hooks !== undefined && Object.keys(hooks).length > 0 && { hooks }),
    paths: isCommand ? [] : fields.globs("paths"),
    shell: fields.choice("shell", ["bash", "powershell"]) ?? "bash",
    metadata: fields.map("metadata") ?? {},
    ...(license !== undefined && { license }),
    ...(compatibility !== undefined && { compatibility }),
    source,
    bodyLine: head.bodyLine,
    bodyChars: head.bodyChars,
  }
  const extra = fields.unknown()
  return { ...skill, extra, problems }
}

/** What a server says of its skills must not pass for a mark of ours. */
const plain = (text: string, { origin }: Source): string => {
  const line = Field.oneLine(text)
  return origin === "mcp" ? line.replaceAll("<", "&lt;").replaceAll(">", "&gt;") : line
}

/** The directories that a rule may name. */
export const inPlace = (text: string, { directory, plugin }: Source, projectDir?: string): string => {
  const values: Readonly<Record<string, string | undefined>> = {
    CLAUDE_SKILL_DIR: directory,
    CLAUDE_PROJECT_DIR: projectDir,
    CLAUDE_PLUGIN_ROOT: plugin?.root,
    CLAUDE_PLUGIN_DATA: plugin?.data,
  }
  return text.replaceAll(/\$\{(CLAUDE_[A-Z_]+)\}/g, (written, name: string) => values[name] ?? written)
}
