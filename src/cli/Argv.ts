/**
 * Owns the judgement of a command line: which job it asks for, or what is wrong with it and how to say it right.
 *
 * Pure and without Effect: facts about the terminal come in, a value comes out.
 */
import { CommanderError, type Command } from "commander"
import { nearest } from "../platform/Near.ts"
import type { ConfigWrite } from "./ConfigWrite.ts"
import * as Program from "./Program.ts"
import { check as checkSession, type Common, type Facts, type SessionArgs } from "./SessionArgs.ts"

export type Job =
  | ({ readonly _tag: "Session" } & SessionArgs)
  | ({ readonly _tag: "ConfigExplain"; readonly key: string | undefined; readonly json: boolean } & Common)
  | ({ readonly _tag: "ConfigList"; readonly json: boolean } & Common)
  | ({ readonly _tag: "ConfigTrust"; readonly yes: boolean } & Common)
  | ({ readonly _tag: "ConfigSet" } & ConfigWrite & Common)
  | ({ readonly _tag: "ModelServe"; readonly playbook: string; readonly port: number } & Common)
  | ({ readonly _tag: "Demo" } & Common)

export type Parsed =
  | { readonly _tag: "Do"; readonly job: Job }
  /** Help or the version: print and exit 0. */
  | { readonly _tag: "Show"; readonly text: string }
  /** Explain on stderr and exit 2. */
  | { readonly _tag: "Wrong"; readonly text: string }

/** Flags of the same family of clients that this version does not have: saying so beats a guess at a similar one. */
const notHere = new Set(
  ["mcp-config", "strict-mcp-config", "permission-prompt-tool", "agents", "agent", "plugin-dir", "bare", "ide"].map(
    (name) => `--${name}`,
  ),
)

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
    program.parse(cut === -1 ? argv : argv.slice(0, cut), { from: "user" })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0 || error.code === "commander.help") return { _tag: "Show", text: shown }
    return wrong(usageError(error, argv, program))
  }
  if (wanted === undefined) return { _tag: "Show", text: program.helpInformation() }
  const words = [...(wanted._tag === "Session" && wanted.prompt !== undefined ? [wanted.prompt] : []), ...behind]
  if (behind.length > 0 && (wanted._tag !== "Session" || words.length > 1)) return wrong(tooMany(argv, program))
  const checked = check(wanted._tag === "Session" ? { ...wanted, prompt: words[0] } : wanted, program, facts)
  return typeof checked === "string" ? wrong(checked) : { _tag: "Do", job: checked }
}

const wrong = (why: string): Parsed => ({ _tag: "Wrong", text: `troupe: ${why}\nSee troupe --help.\n` })

/** Commander's complaint in our words: the flag, the reason, the nearest valid one. */
const usageError = (error: CommanderError, argv: ReadonlyArray<string>, program: Command): string => {
  const said = error.message.replace(/^error: /, "")
  const quoted = /'([^']+)'/.exec(said)?.[1] ?? ""
  switch (error.code) {
    case "commander.unknownOption": {
      const name = quoted.split("=")[0] ?? quoted
      if (notHere.has(name)) return `${name} is not supported by this version.`
      const known = program.options.flatMap((option) => [option.long ?? "", option.short ?? ""]).filter((s) => s !== "")
      const local = /\(Did you mean ([^?]+)\?\)/.exec(said)?.[1]
      const near = local ?? (isCommand(argv, program) ? undefined : nearest(name, known))
      return `unknown flag ${name}.${near === undefined ? "" : ` Did you mean ${near}?`}`
    }
    case "commander.optionMissingArgument":
      return `${quoted} needs a value: none follows it.`
    case "commander.invalidArgument": {
      const [, flags, value, reason] =
        /^option '(.+?)' argument '([\s\S]*?)' is invalid\.\s*([\s\S]*)$/.exec(said) ?? []
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

const isCommand = (argv: ReadonlyArray<string>, program: Command): boolean =>
  program.commands.some((command) => command.name() === argv[0])

const tooMany = (argv: ReadonlyArray<string>, program: Command): string => {
  const words = argv.filter((word) => !word.startsWith("-"))
  return isCommand(argv, program)
    ? `"${words.at(-1) ?? ""}" is one argument too many for troupe ${argv[0] ?? ""}.`
    : `the prompt must be one argument; put it in quotes: troupe "${words.join(" ")}"`
}

const check = (wanted: Program.Wanted, program: Command, facts: Facts): Job | string => {
  const common = {
    debug: wanted.flags.debug === true,
    color: wanted.flags.color && facts.noColor !== true,
    settings: wanted.flags.settings,
    settingSources: wanted.flags.settingSources,
  }
  if (wanted._tag === "Session") {
    const args = checkSession(wanted.prompt, wanted.flags, common, facts)
    return typeof args === "string" ? args : { _tag: "Session", ...args }
  }
  const stray = program.options.find((option) => program.getOptionValueSource(option.attributeName()) === "cli")
  if (stray)
    return `${stray.long ?? stray.flags} in front of a command has no effect; put flags of the command behind it.`
  switch (wanted._tag) {
    case "ConfigExplain":
      return { _tag: "ConfigExplain", key: wanted.key, json: wanted.flags.json === true, ...common }
    case "ConfigSet":
      return { _tag: "ConfigSet", key: wanted.key, value: wanted.value, scope: wanted.flags.scope, ...common }
    case "ConfigTrust":
      return { _tag: "ConfigTrust", yes: wanted.yes, ...common }
    case "ConfigList":
      return { _tag: "ConfigList", json: wanted.flags.json === true, ...common }
    case "ModelServe":
      return { _tag: "ModelServe", playbook: wanted.playbook, port: wanted.port, ...common }
    case "Demo":
      return { _tag: "Demo", ...common }
  }
}
