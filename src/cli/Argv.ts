/**
 * Owns the judgement of a command line: which job it asks for, or what is wrong with it and how to say it right.
 *
 * Pure and without Effect: facts about the terminal come in, a value comes out.
 */
import { CommanderError, type Command } from "commander"
import { nearest } from "../platform/Near.ts"
import type { AgentsAsk } from "./AgentsView.ts"
import type { ConfigWrite } from "./ConfigWrite.ts"
import type { ContextAsk } from "./ContextCommand.ts"
import { type DebugFilter, isFilter, parseFilter } from "./DebugFilter.ts"
import type { HooksExplain } from "./HooksView.ts"
import type { PermissionsExplain } from "./PermissionsView.ts"
import { parseList } from "../policy/RuleList.ts"
import type { RewindJob } from "./RewindCommand.ts"
import type { ExportJob, ReplayJob } from "./ReplayCommand.ts"
import type { SessionsAsk } from "./SessionsView.ts"
import type { SkillsJob } from "./SkillsView.ts"
import type { TeleportJob } from "./TeleportProgram.ts"
import type { CommandFlags } from "./Options.ts"
import * as Program from "./Program.ts"
import type { MemoryViews } from "./SetupProgram.ts"
import { check as checkSession, type Common, type Facts, type SessionArgs } from "./SessionArgs.ts"

/** The log that `--debug` and `--debug-file` ask for. */
export interface DebugWish {
  readonly file: string | undefined
  readonly filter: DebugFilter
}

export type Job = Work & { readonly log?: DebugWish | undefined }

type Work =
  | ({ readonly _tag: "Session" } & SessionArgs)
  | ({ readonly _tag: "ConfigExplain"; readonly key: string | undefined; readonly json: boolean } & Common)
  | ({ readonly _tag: "ConfigList"; readonly json: boolean } & Common)
  | ({ readonly _tag: "ConfigTrust"; readonly yes: boolean } & Common)
  | ({ readonly _tag: "ConfigSet" } & ConfigWrite & Common)
  | ({ readonly _tag: "PermissionsExplain" } & PermissionsExplain & Common)
  | ({ readonly _tag: "HooksList"; readonly json: boolean } & Common)
  | ({ readonly _tag: "HooksExplain" } & HooksExplain & Common)
  | ({ readonly _tag: "Skills" } & SkillsJob & Common)
  | ({ readonly _tag: "MemoryView"; readonly what: MemoryViews; readonly json: boolean } & Common)
  | ({ readonly _tag: "InstructionsList"; readonly addDirs: ReadonlyArray<string>; readonly json: boolean } & Common)
  | ({ readonly _tag: "Agents"; readonly ask: AgentsAsk; readonly json: boolean } & Common)
  | ({ readonly _tag: "Teleport" } & TeleportJob & Common)
  | ({ readonly _tag: "Replay" } & ReplayJob & Common)
  | ({ readonly _tag: "ReplayExport" } & ExportJob & Common)
  | ({ readonly _tag: "Sessions"; readonly ask: SessionsAsk; readonly json: boolean } & Common)
  | ({ readonly _tag: "Context"; readonly ask: ContextAsk; readonly json: boolean } & Common)
  | ({ readonly _tag: "Rewind" } & RewindJob & Common)
  | ({ readonly _tag: "ModelServe"; readonly playbook: string; readonly port: number } & Common)
  | ({ readonly _tag: "Demo" } & Common)

export type Parsed =
  | { readonly _tag: "Do"; readonly job: Job }
  /** Help or the version: print and exit 0. */
  | { readonly _tag: "Show"; readonly text: string }
  /** The same for a text that is made of the program's description, or of what is on disk. */
  | { readonly _tag: "Print"; readonly what: Program.Printed; readonly program: Command }
  /** Explain on stderr and exit 2. */
  | { readonly _tag: "Wrong"; readonly text: string }

/** Reads a command line (without `node` and the script). */
export const parse = (argv: ReadonlyArray<string>, facts: Facts): Parsed => {
  let shown = ""
  let wanted: Program.Wanted | undefined
  const show = (text: string) => {
    shown += text
  }
  const program = Program.make(
    `${facts.version} (Troupe)`,
    { out: show, err: show, columns: facts.columns },
    (value) => {
      wanted = value
    },
  )
  // What follows `--` is a prompt even if it is spelled like a command; commander would run the command.
  const cut = argv.indexOf("--")
  const behind = cut === -1 ? [] : argv.slice(cut + 1)
  try {
    program.parse(spelledOut(cut === -1 ? argv : argv.slice(0, cut), program), { from: "user" })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0 || error.code === "commander.help") return { _tag: "Show", text: shown }
    return wrong(usageError(error, argv, program))
  }
  if (wanted === undefined) return { _tag: "Show", text: program.helpInformation() }
  const words = [...(wanted._tag === "Session" && wanted.prompt !== undefined ? [wanted.prompt] : []), ...behind]
  if (behind.length > 0 && (wanted._tag !== "Session" || words.length > 1)) return wrong(tooMany(argv, program))
  if (wanted._tag === "Completion" || wanted._tag === "Words" || wanted._tag === "ManPage") {
    const stray = strayFlag(program)
    return stray === undefined ? { _tag: "Print", what: wanted, program } : wrong(stray)
  }
  const checked = check(wanted._tag === "Session" ? { ...wanted, prompt: words[0] } : wanted, program, facts)
  return typeof checked === "string" ? wrong(checked) : { _tag: "Do", job: checked }
}

/** A prompt or a key may follow `--debug`; commander would take any word for its value. */
const spelledOut = (argv: ReadonlyArray<string>, program: Command): ReadonlyArray<string> =>
  argv.map((word, at) => {
    if (word !== "--debug" && word !== "-d") return word
    const before = argv[at - 1] ?? ""
    const isValue = program.options.some(
      (option) => (option.short === before || option.long === before) && option.required && !option.variadic,
    )
    return isValue || isFilter(argv[at + 1] ?? "") ? word : "--debug="
  })

const wrong = (why: string): Parsed => ({ _tag: "Wrong", text: `troupe: ${why}\nSee troupe --help.\n` })

/** Commander's complaint in our words: the flag, the reason, the nearest valid one. */
const usageError = (error: CommanderError, argv: ReadonlyArray<string>, program: Command): string => {
  const said = error.message.replace(/^error: /, "")
  const quoted = /'([^']+)'/.exec(said)?.[1] ?? ""
  switch (error.code) {
    case "commander.unknownOption": {
      const name = quoted.split("=")[0] ?? quoted
      const known = program.options.flatMap((option) => [option.long ?? "", option.short ?? ""]).filter((s) => s !== "")
      const local = /\(Did you mean ([^?]+)\?\)/.exec(said)?.[1]
      const near = local ?? (isCommand(argv, program) ? undefined : nearest(name, known))
      return `unknown flag ${name}.${near === undefined ? "" : ` Did you mean ${near}?`}`
    }
    case "commander.optionMissingArgument":
      return `${quoted} needs a value: none follows it.`
    case "commander.invalidArgument": {
      const [, flags, value, reason] =
        /^option '(.+?)' argument '([\s\S]*?)' is invalid\.\s*([\s\S]*)$/.exec(said) ??
        swapped(/^command-argument value '([\s\S]*?)' is invalid for argument '(.+?)'\.\s*([\s\S]*)$/.exec(said)) ??
        []
      if (flags === undefined || value === undefined) return said
      const choices = /^Allowed choices are (.+?)\.$/.exec(reason ?? "")?.[1]?.split(", ")
      const near = choices && nearest(value, choices)
      const why = choices
        ? `It must be one of ${choices.join(", ")}.${near === undefined ? "" : ` Did you mean ${near}?`}`
        : reason
      return `"${value}" is not valid for ${flags}. ${why}`
    }
    case "commander.excessArguments":
      return tooMany(argv, program)
    case "commander.missingArgument":
      return `${quoted} is missing: troupe ${argv.join(" ")} <${quoted}>`
    case "commander.unknownCommand":
      return `${said.replaceAll("'", '"').replace(/\n/g, " ")}.`
    default:
      return said
  }
}

const swapped = (found: RegExpExecArray | null): ReadonlyArray<string | undefined> | undefined =>
  found === null ? undefined : [found[0], `<${found[2]}>`, found[1], found[3]]

const isCommand = (argv: ReadonlyArray<string>, program: Command): boolean =>
  program.commands.some((command) => command.name() === argv[0])

const tooMany = (argv: ReadonlyArray<string>, program: Command): string => {
  const words = argv.filter((word) => !word.startsWith("-"))
  return isCommand(argv, program)
    ? `"${words.at(-1) ?? ""}" is one argument too many for troupe ${argv[0] ?? ""}.`
    : `the prompt must be one argument; put it in quotes: troupe "${words.join(" ")}"`
}

const strayFlag = (program: Command): string | undefined => {
  const stray = program.options.find((option) => program.getOptionValueSource(option.attributeName()) === "cli")
  return (
    stray && `${stray.long ?? stray.flags} in front of a command has no effect; put flags of the command behind it.`
  )
}

const wishOf = ({ debug, debugFile }: CommandFlags): DebugWish | string | undefined => {
  if (debug === undefined && debugFile === undefined) return undefined
  const filter = parseFilter(typeof debug === "string" ? debug : "")
  return typeof filter === "string" ? filter : { file: debugFile, filter }
}

const check = (wanted: Exclude<Program.Wanted, Program.Printed>, program: Command, facts: Facts): Job | string => {
  const log = wishOf(wanted.flags)
  if (typeof log === "string") return log
  const work = checkWork(wanted, log !== undefined, program, facts)
  return typeof work === "string" || log === undefined ? work : { ...work, log }
}

const parseJson = (text: string): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

const checkWork = (
  wanted: Exclude<Program.Wanted, Program.Printed>,
  debug: boolean,
  program: Command,
  facts: Facts,
): Work | string => {
  const common = {
    debug,
    color: wanted.flags.color && facts.noColor !== true,
    settings: wanted.flags.settings,
    settingSources: wanted.flags.settingSources,
    trust: wanted._tag === "Session" && wanted.flags.trust === true,
  }
  if (wanted._tag === "Session") {
    const args = checkSession(wanted.prompt, wanted.flags, common, facts)
    return typeof args === "string" ? args : { _tag: "Session", ...args }
  }
  const stray = strayFlag(program)
  if (stray !== undefined) return stray
  switch (wanted._tag) {
    case "ConfigExplain":
      return { _tag: "ConfigExplain", key: wanted.key, json: wanted.flags.json === true, ...common }
    case "ConfigSet":
      return { _tag: "ConfigSet", key: wanted.key, value: wanted.value, scope: wanted.flags.scope, ...common }
    case "ConfigTrust":
      return { _tag: "ConfigTrust", yes: wanted.yes, ...common }
    case "ConfigList":
      return { _tag: "ConfigList", json: wanted.flags.json === true, ...common }
    case "PermissionsExplain": {
      const { allowedTools = [], addDir: addDirs = [], disallowedTools = [], input, json, tool } = wanted.flags
      const read = parseJson(input)
      if (read === undefined) return `--input is not JSON: ${input.slice(0, 80)}. Write it like '{"command":"ls"}'.`
      const mode = wanted.flags.dangerouslySkipPermissions === true ? "bypassPermissions" : wanted.flags.permissionMode
      const rules = { allowedTools: parseList(allowedTools), disallowedTools: parseList(disallowedTools) }
      const call = { tool, input: read.value, json: json === true, permissionMode: mode, addDirs, ...rules }
      return { _tag: "PermissionsExplain", ...call, ...common }
    }
    case "HooksList":
      return { _tag: "HooksList", json: wanted.flags.json === true, ...common }
    case "HooksExplain": {
      const { input, json, tool } = wanted.flags
      const read = parseJson(input)
      if (read === undefined) return `--input is not JSON: ${input.slice(0, 80)}. Write it like '{"command":"ls"}'.`
      return { _tag: "HooksExplain", event: wanted.event, tool, input: read.value, json: json === true, ...common }
    }
    case "Skills": {
      const { addDir: addDirs = [], json } = wanted.flags
      return { _tag: "Skills", what: wanted.what, about: wanted.about, json: json === true, addDirs, ...common }
    }
    case "MemoryView":
      return { _tag: "MemoryView", what: wanted.what, json: wanted.flags.json === true, ...common }
    case "InstructionsList": {
      const { addDir: addDirs = [], json } = wanted.flags
      return { _tag: "InstructionsList", addDirs, json: json === true, ...common }
    }
    case "Agents":
      return { _tag: "Agents", ask: wanted.ask, json: wanted.flags.json === true, ...common }
    case "Teleport":
      return typeof wanted.job === "string" ? wanted.job : { _tag: "Teleport", ...wanted.job, ...common }
    case "Replay": {
      const { edit = [], forkAt, json = false, liveTools = false, model, until } = wanted.flags
      if (forkAt === undefined && (model !== undefined || liveTools)) return "--model and --live-tools need --fork-at."
      if (forkAt !== undefined && model === undefined) return "--fork-at needs --model: who is to go on from there?"
      if (forkAt !== undefined && (until !== undefined || edit.length > 0)) {
        return "--fork-at goes on with a real model; it cannot be combined with --until or --edit."
      }
      const odd = edit.find((one) => !/^\d+=/.test(one))
      if (odd !== undefined)
        return `--edit "${odd.slice(0, 80)}" is no edit. Write it like 12="other text" or 12=@file.`
      const fork = forkAt === undefined || model === undefined ? undefined : { at: forkAt, model, liveTools }
      return { _tag: "Replay", session: wanted.session, until, edits: edit, fork, json, ...common }
    }
    case "ReplayExport": {
      const { json = false, output } = wanted.flags
      return { _tag: "ReplayExport", session: wanted.session, output, json, ...common }
    }
    case "Sessions":
      return { _tag: "Sessions", ask: wanted.ask, json: wanted.flags.json === true, ...common }
    case "Context":
      return { _tag: "Context", ask: wanted.ask, json: wanted.flags.json === true, ...common }
    case "Rewind": {
      const { code, conversation, dryRun, force, json, to } = wanted.flags
      if (to === undefined && (code ?? conversation ?? dryRun ?? force) !== undefined) {
        return "rewind needs --to <number>; without flags it lists what there is to go back to."
      }
      const session = wanted.session?.toLowerCase()
      const what = code === conversation ? "both" : code === true ? "code" : "conversation"
      const asked = { session, to, what, dryRun: dryRun === true, force: force === true, json: json === true } as const
      return { _tag: "Rewind", ...asked, ...common }
    }
    case "ModelServe":
      return { _tag: "ModelServe", playbook: wanted.playbook, port: wanted.port, ...common }
    case "Demo":
      return { _tag: "Demo", ...common }
  }
}
