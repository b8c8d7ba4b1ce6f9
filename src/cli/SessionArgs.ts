/** Owns the checked flags of a session, and which combinations of them make no sense. Pure, and without Effect. */
import { parseList } from "../policy/RuleList.ts"
import type { Effort } from "../protocol/Effort.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import * as ControlFlags from "./ControlFlags.ts"
import type * as Options from "./Options.ts"
import type * as Program from "./Program.ts"

/** What the command line's meaning depends on. */
export interface Facts {
  readonly version: string
  readonly stdinIsTerminal: boolean
  readonly stdoutIsTerminal: boolean
  readonly columns?: number | undefined
  /** `NO_COLOR` is set, or the terminal is dumb. */
  readonly noColor?: boolean
}

/** Text given on the command line, or a file that holds it. */
export type Source = { readonly text: string } | { readonly file: string }

/** Which conversation to work in. */
export type Which =
  | { readonly _tag: "New"; readonly sessionId: string | undefined }
  | { readonly _tag: "Latest"; readonly fork: boolean; readonly sessionId: string | undefined }
  | { readonly _tag: "Resume"; readonly id: string; readonly fork: boolean; readonly sessionId: string | undefined }

export interface Common {
  readonly debug: boolean
  readonly color: boolean
  readonly settings: string | undefined
  readonly settingSources: ReadonlyArray<Options.SettingSource> | undefined
  /** What the folder wants to run counts, for this once. */
  readonly trust: boolean
}

/** A checked command line of the default command. */
export interface SessionArgs extends Common {
  readonly prompt: string | undefined
  readonly print: boolean
  readonly outputFormat: Options.OutputFormat
  readonly inputFormat: Options.InputFormat
  readonly partialMessages: boolean
  readonly hookEvents: boolean
  readonly verbose: boolean
  readonly jsonSchema: unknown
  readonly model: string | undefined
  readonly fallbackModel: string | undefined
  readonly maxTurns: number | undefined
  readonly maxBudgetUsd: number | undefined
  readonly systemPrompt: Source | undefined
  readonly appendSystemPrompt: Source | undefined
  readonly permissionMode: PermissionMode | undefined
  readonly effort: Effort | undefined
  readonly allowedTools: ReadonlyArray<string>
  readonly disallowedTools: ReadonlyArray<string>
  readonly addDirs: ReadonlyArray<string>
  /** The built-in tools that are offered; all unless told. */
  readonly tools: ReadonlyArray<string> | undefined
  /** The client is asked whether a call may run. */
  readonly asksClient: boolean
  /** Flags that have no effect yet. */
  readonly idle: ReadonlyArray<string>
  readonly which: Which
  /** The session is this agent. */
  readonly agent: string | undefined
  readonly agents: Source | undefined
  /** `Setup` hooks run first; alone with `--init-only`. */
  readonly setup: "init" | "maintenance" | undefined
  readonly initOnly: boolean
  /** Files go back to before this prompt of the session that is resumed, and that is all. */
  readonly rewindFiles: string | undefined
}

/** The flags as a session takes them, or what is wrong with them. */
export const check = (
  prompt: string | undefined,
  flags: Program.Flags,
  common: Common,
  facts: Facts,
): SessionArgs | string => {
  const print =
    flags.print === true ||
    flags.initOnly === true ||
    flags.rewindFiles !== undefined ||
    flags.inputFormat === "stream-json" ||
    !facts.stdoutIsTerminal
  const problem =
    checkOutput(prompt, flags, print) ??
    checkChoices(flags) ??
    checkSessionIds(flags, print) ??
    swallowed(prompt, flags)
  if (problem !== undefined) return problem
  if (prompt !== undefined && prompt.trim() === "") return "the prompt is empty."
  const fromStdin = flags.inputFormat === "stream-json" || !facts.stdinIsTerminal
  if (flags.rewindFiles !== undefined && typeof flags.resume !== "string") {
    return "--rewind-files needs --resume <session>: files of which session?"
  }
  const isSilent = flags.initOnly === true || flags.rewindFiles !== undefined
  if (print && prompt === undefined && !fromStdin && !isSilent) {
    return `-p needs a prompt: troupe -p "…", or pipe it in.${suspect(flags)}`
  }
  const schema = flags.jsonSchema === undefined ? undefined : parseSchema(flags.jsonSchema)
  if (typeof schema === "string") return schema
  return {
    ...common,
    prompt,
    print,
    outputFormat: flags.outputFormat,
    inputFormat: flags.inputFormat,
    partialMessages: flags.includePartialMessages === true,
    hookEvents: flags.includeHookEvents === true,
    verbose: flags.verbose === true,
    jsonSchema: schema?.value,
    model: flags.model,
    fallbackModel: flags.fallbackModel,
    maxTurns: flags.maxTurns,
    maxBudgetUsd: flags.maxBudgetUsd,
    systemPrompt: source(flags.systemPrompt, flags.systemPromptFile),
    appendSystemPrompt: source(flags.appendSystemPrompt, flags.appendSystemPromptFile),
    permissionMode: flags.dangerouslySkipPermissions === true ? "bypassPermissions" : flags.permissionMode,
    effort: flags.effort,
    allowedTools: rules(flags.allowedTools),
    disallowedTools: rules(flags.disallowedTools),
    addDirs: flags.addDir ?? [],
    tools: ControlFlags.tools(flags),
    asksClient: ControlFlags.asksClient(flags),
    idle: ControlFlags.idle(flags),
    which: which(flags),
    setup: flags.maintenance === true ? "maintenance" : flags.init || flags.initOnly ? "init" : undefined,
    initOnly: flags.initOnly === true,
    rewindFiles: flags.rewindFiles,
    agent: flags.agent,
    agents: flags.agents?.startsWith("@") ? { file: flags.agents.slice(1) } : source(flags.agents, undefined),
  }
}

const source = (text: string | undefined, file: string | undefined): Source | undefined =>
  text !== undefined ? { text } : file !== undefined ? { file } : undefined

const rules = (values: ReadonlyArray<string> | undefined): ReadonlyArray<string> => parseList(values ?? [])

const which = (flags: Program.Flags): Which => {
  const fork = flags.forkSession === true
  const sessionId = flags.sessionId?.toLowerCase()
  if (typeof flags.resume === "string") return { _tag: "Resume", id: flags.resume.toLowerCase(), fork, sessionId }
  return flags.continue || flags.resume ? { _tag: "Latest", fork, sessionId } : { _tag: "New", sessionId }
}

const checkOutput = (prompt: string | undefined, flags: Program.Flags, print: boolean): string | undefined => {
  if (flags.inputFormat === "stream-json" && flags.outputFormat !== "stream-json") {
    return (
      "--input-format stream-json needs --output-format stream-json: " +
      "answers to several messages cannot be told apart otherwise."
    )
  }
  if (flags.inputFormat === "stream-json" && prompt !== undefined) {
    return "a prompt and --input-format stream-json exclude each other: prompts come as JSON lines on stdin."
  }
  if (flags.outputFormat !== "text" && !print) {
    return `--output-format ${flags.outputFormat} needs -p: a session in the terminal prints no JSON.`
  }
  if (flags.includePartialMessages && flags.outputFormat !== "stream-json") {
    return "--include-partial-messages needs -p --output-format stream-json."
  }
  if (flags.jsonSchema !== undefined && !print) return "--json-schema needs -p."
  return undefined
}

const checkChoices = (flags: Program.Flags): string | undefined => {
  if (flags.systemPrompt !== undefined && flags.systemPromptFile !== undefined) {
    return "--system-prompt and --system-prompt-file exclude each other."
  }
  if (flags.appendSystemPrompt !== undefined && flags.appendSystemPromptFile !== undefined) {
    return "--append-system-prompt and --append-system-prompt-file exclude each other."
  }
  const mode = flags.permissionMode
  if (flags.dangerouslySkipPermissions && mode !== undefined && mode !== "bypassPermissions") {
    return `--dangerously-skip-permissions and --permission-mode ${mode} contradict each other; give one of them.`
  }
  if (flags.fallbackModel !== undefined && flags.fallbackModel === flags.model) {
    return `--fallback-model must differ from --model; both are ${flags.model}.`
  }
  return undefined
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

const checkSessionIds = (flags: Program.Flags, print: boolean): string | undefined => {
  const goesOn = flags.continue === true || flags.resume !== undefined
  if (flags.continue && flags.resume !== undefined) {
    return "--continue and --resume exclude each other: the latest session here, or the one you name."
  }
  if (typeof flags.resume === "string" && !uuid.test(flags.resume)) {
    return `"${flags.resume}" is no session id for --resume (a UUID). For the latest session here use --continue.`
  }
  if (flags.resume === true && print) {
    return "--resume needs a session id with -p. For the latest session here use --continue."
  }
  if (flags.forkSession && !goesOn) return "--fork-session needs --continue or --resume: there is nothing to copy."
  if (flags.sessionId !== undefined && !uuid.test(flags.sessionId)) {
    return `"${flags.sessionId}" is not valid for --session-id. It must be a UUID.`
  }
  if (flags.sessionId !== undefined && goesOn && !flags.forkSession) {
    return "--session-id names a new session; with --continue or --resume it needs --fork-session."
  }
  return undefined
}

/** Looks like the name of a tool or a rule, not like a sentence. */
const ruleLike = (text: string): boolean => /^(mcp__[\w-]+|[A-Z][\w-]*|\*)(\(.*\))?$/s.test(text)

/** A flag with several values that took the prompt as its last one. */
const swallowed = (prompt: string | undefined, flags: Program.Flags): string | undefined => {
  if (prompt !== undefined || flags.inputFormat === "stream-json") return undefined
  for (const [flag, values] of severalValues(flags)) {
    const last = values?.at(-1)
    if (last === undefined || !/\s/.test(last.trim())) continue
    const pieces = parseList([last])
    if (flag !== "--add-dir" && pieces.every(ruleLike)) continue
    return takesAll(flag, last)
  }
  return undefined
}

const severalValues = (flags: Program.Flags): ReadonlyArray<[string, ReadonlyArray<string> | undefined]> => [
  ["--allowedTools", flags.allowedTools],
  ["--disallowedTools", flags.disallowedTools],
  ["--add-dir", flags.addDir],
]

const takesAll = (flag: string, value: string): string =>
  `${flag} takes every word up to the next flag, and took "${value}". If that is the prompt, put it first or behind --.`

const suspect = (flags: Program.Flags): string => {
  const taken = severalValues(flags).find(([, values]) => (values?.length ?? 0) > 0)
  return taken === undefined ? "" : ` ${takesAll(taken[0], taken[1]?.at(-1) ?? "")}`
}

const parseSchema = (text: string): { readonly value: unknown } | string => {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { value }
    return '--json-schema must be a JSON object, for instance \'{"type":"object","properties":{…}}\'.'
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const hint = /^\s*[{[]/.test(text)
      ? ""
      : ' It takes the schema itself; for a file: --json-schema "$(cat schema.json)".'
    return `--json-schema is not valid JSON: ${why}.${hint}`
  }
}
