/**
 * Owns what may be typed behind `troupe`: flags, commands and their help. What was typed is judged in `Argv`.
 *
 * Nothing here loads Effect, so that `--help` and a mistyped flag are answered at once.
 */
import { Argument, Command, Option } from "commander"
import type { Effort } from "../protocol/Effort.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import * as ControlFlags from "./ControlFlags.ts"
import * as Manual from "./Manual.ts"
import {
  type Add,
  type CommandFlags,
  efforts,
  type InputFormat,
  inputFormats,
  money,
  type OutputFormat,
  outputFormats,
  permissionOptions,
  port,
  type SettingSource,
  settingsOptions,
  sharedOptions,
  type Shell,
  shells,
  whole,
} from "./Options.ts"
import * as PastProgram from "./PastProgram.ts"
import * as SessionsProgram from "./SessionsProgram.ts"
import * as SetupProgram from "./SetupProgram.ts"
import * as TeleportProgram from "./TeleportProgram.ts"

/** The options of the default command, as commander collects them. */
export interface Flags extends ControlFlags.ClientFlags {
  readonly print?: boolean
  readonly outputFormat: OutputFormat
  readonly inputFormat: InputFormat
  readonly includePartialMessages?: boolean
  readonly jsonSchema?: string
  readonly verbose?: boolean
  readonly model?: string
  readonly fallbackModel?: string
  readonly effort?: Effort
  readonly maxTurns?: number
  readonly maxBudgetUsd?: number
  readonly systemPrompt?: string
  readonly systemPromptFile?: string
  readonly appendSystemPrompt?: string
  readonly appendSystemPromptFile?: string
  readonly permissionMode?: PermissionMode
  readonly dangerouslySkipPermissions?: boolean
  readonly allowedTools?: ReadonlyArray<string>
  readonly disallowedTools?: ReadonlyArray<string>
  readonly addDir?: ReadonlyArray<string>
  readonly continue?: boolean
  readonly resume?: string | true
  readonly forkSession?: boolean
  readonly sessionId?: string
  readonly agent?: string
  readonly agents?: string
  readonly init?: boolean
  readonly initOnly?: boolean
  readonly maintenance?: boolean
  readonly settings?: string
  readonly settingSources?: ReadonlyArray<SettingSource>
  readonly trust?: boolean
  readonly debug?: string | true
  readonly debugFile?: string
  readonly color: boolean
}

/** What a command line asks for, before it is checked. */
export type Wanted =
  | { readonly _tag: "Session"; readonly prompt: string | undefined; readonly flags: Flags }
  | SetupProgram.Wanted
  | TeleportProgram.Wanted
  | PastProgram.Wanted
  | SessionsProgram.Wanted
  | { readonly _tag: "ModelServe"; readonly playbook: string; readonly port: number; readonly flags: CommandFlags }
  | { readonly _tag: "Demo"; readonly flags: CommandFlags }
  | Printed

/** Texts made from this very description. */
export type Printed =
  | { readonly _tag: "Completion"; readonly shell: Shell }
  | { readonly _tag: "Words"; readonly what: string }
  | { readonly _tag: "ManPage" }

const sessionOptions = (): Readonly<Record<string, ReadonlyArray<Option>>> => ({
  "Output:": [
    new Option("-p, --print", "print the answer and exit; implied when stdout is no terminal"),
    new Option("--output-format <format>", "with -p: the text, one JSON object, or a JSON line per message")
      .choices(outputFormats)
      .default("text"),
    new Option("--input-format <format>", "with -p: a prompt, or JSON lines on stdin (implies -p)")
      .choices(inputFormats)
      .default("text"),
    new Option("--include-partial-messages", "with stream-json: a stream_event line for every piece as it arrives"),
    new Option("--json-schema <schema>", "with -p: JSON Schema that the final structured output must fit"),
    new Option("--verbose", "show tool activity on stderr with text, all messages with json"),
  ],
  "Model:": [
    new Option("--model <name>", "model id or alias (sonnet, opus, haiku, …)"),
    new Option("--fallback-model <name>", "take this one when the model is overloaded"),
    new Option("--effort <level>", "how hard the model is to try (default: as the model does)").choices(efforts),
    new Option("--max-turns <n>", "stop after so many replies of the model").argParser(whole),
    new Option("--max-budget-usd <amount>", "stop before more than this is spent").argParser(money),
    new Option("--system-prompt <text>", "replace the system prompt"),
    new Option("--system-prompt-file <file>", "replace it with a file"),
    new Option("--append-system-prompt <text>", "add to the system prompt"),
    new Option("--append-system-prompt-file <file>", "add a file to it"),
  ],
  "Permissions:": permissionOptions(),
  "Session:": [
    new Option("-c, --continue", "go on with the latest session of this directory"),
    new Option("-r, --resume [id]", "go on with this session (without an id: the latest)"),
    new Option("--fork-session", "with --continue or --resume: go on in a copy"),
    new Option("--session-id <uuid>", "the id of the new session"),
    new Option("--agent <name>", "the session is this agent: its instructions, its tools, its model"),
    new Option("--agents <json>", 'more agents, as JSON or @file: {"name":{"description":"…", "prompt":"…"}}'),
    new Option("--init", "run the project's Setup hooks first"),
    new Option("--init-only", "run them, and nothing else"),
    new Option("--maintenance", "run the Setup hooks for maintenance first"),
  ],
  "Settings:": [
    ...settingsOptions(),
    new Option("--trust", "what this folder's own files want to run counts, for this once"),
    ...sharedOptions(),
  ],
})

/** Where two columns do not fit: what it is called, and below it what it is. */
const stacked = (width: number) => (term: string, _termWidth: number, description: string) =>
  [`  ${term}`, ...Manual.wrap(description, width - 6).map((line) => `      ${line}`)].join("\n")

export interface Writing {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  readonly columns: number | undefined
}

/** The program; `want` hears what a well-formed command line asks for. */
export const make = (version: string, writing: Writing, want: (wanted: Wanted) => void): Command => {
  const width = Math.min(writing.columns ?? 100, 120)
  const program = new Command("troupe")
    .description("A coding agent: works in this directory with a model, journals everything, stays within its budget.")
    .usage("[options] [prompt]")
    .argument("[prompt]", "what to do; on a terminal without one, troupe asks")
    .enablePositionalOptions()
    .configureHelp({ minWidthToWrap: 20, ...(width < 90 && { formatItem: stacked(width) }) })
    .exitOverride()
    .helpCommand(false)
    .configureOutput({
      writeOut: writing.out,
      writeErr: writing.err,
      outputError: () => {},
      getOutHelpWidth: () => width,
      getErrHelpWidth: () => width,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
  for (const [group, options] of Object.entries(sessionOptions())) {
    for (const option of options) program.addOption(option.helpGroup(group))
  }
  for (const option of ControlFlags.options()) program.addOption(option)
  program
    .version(version, "-v, --version", "show the version")
    .helpOption("-h, --help", "show this help")
    .addHelpText("after", Manual.below(width))
    .action((prompt: string | undefined) => want({ _tag: "Session", prompt, flags: program.opts<Flags>() }))

  const add: Add = (parent, usage, description, options, how = {}) => {
    const command = parent.command(usage, how).description(description).helpCommand(false)
    for (const option of options) command.addOption(option)
    const examples = Manual.exampleLines(`${parent === program ? "" : `${parent.name()} `}${command.name()}`, width)
    if (examples.length > 0) command.addHelpText("after", ["", "Examples:", ...examples].join("\n"))
    return command.helpOption("-h, --help", "show this help")
  }
  SetupProgram.register(program, add, want)
  TeleportProgram.register(program, add, want)
  PastProgram.registerReplay(program, add, want)
  SessionsProgram.register(program, add, want)
  PastProgram.registerContext(program, add, want)
  PastProgram.registerRewind(program, add, want)

  const model = add(program, "model", "the scripted model, for tests and demonstrations", [])
  const serve = add(model, "serve <playbook>", "serve a playbook over HTTP on this machine", [
    new Option("--port <port>", "0 takes a free one").argParser(port).default(0),
    ...sharedOptions(),
  ])
  serve.action((playbook: string) => {
    const flags = serve.opts<CommandFlags & { readonly port: number }>()
    want({ _tag: "ModelServe", playbook, port: flags.port, flags })
  })

  const demo = add(program, "demo", "a session in a throw-away workspace with a scripted model: no key, no network", [
    ...sharedOptions(),
  ])
  demo.action(() => want({ _tag: "Demo", flags: demo.opts<CommandFlags>() }))

  add(program, "completion", "print the script that completes troupe's commands and flags in a shell", [])
    .addArgument(new Argument("<shell>", "whose script").choices(shells))
    .action((shell: Shell) => want({ _tag: "Completion", shell }))
  // For the scripts and for us: what changes from day to day, and the manual page.
  program.command("__complete <what>", { hidden: true }).action((what: string) => want({ _tag: "Words", what }))
  program.command("__man", { hidden: true }).action(() => want({ _tag: "ManPage" }))
  return program
}
