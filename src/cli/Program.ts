/**
 * Owns what may be typed behind `troupe`: flags, commands and their help. What was typed is judged in `Argv`.
 *
 * Nothing here loads Effect, so that `--help` and a mistyped flag are answered at once.
 */
import { Argument, Command, type CommandOptions, InvalidArgumentError, Option } from "commander"
import { nearest } from "../platform/Near.ts"
import type { Effort } from "../protocol/Effort.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import type { AgentsAsk } from "./AgentsView.ts"
import type { ContextAsk } from "./ContextCommand.ts"
import * as ControlFlags from "./ControlFlags.ts"
import { debugCategories } from "./DebugFilter.ts"
import * as Manual from "./Manual.ts"
import * as TeleportProgram from "./TeleportProgram.ts"
import * as SessionsProgram from "./SessionsProgram.ts"
import type { SessionsAsk } from "./SessionsView.ts"

export const outputFormats = ["text", "json", "stream-json"] as const
export const inputFormats = ["text", "stream-json"] as const
export const permissionModes = [
  "default",
  "acceptEdits",
  "plan",
  "auto",
  "dontAsk",
  "bypassPermissions",
] as const satisfies ReadonlyArray<PermissionMode>
export const efforts = ["low", "medium", "high", "xhigh", "max"] as const satisfies ReadonlyArray<Effort>
export const settingSources = ["user", "project", "local"] as const
export const shells = ["bash", "zsh", "fish"] as const

export type OutputFormat = (typeof outputFormats)[number]
export type InputFormat = (typeof inputFormats)[number]
export type SettingSource = (typeof settingSources)[number]
export type Shell = (typeof shells)[number]

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
  | { readonly _tag: "ConfigExplain"; readonly key: string | undefined; readonly flags: CommandFlags }
  | { readonly _tag: "ConfigList"; readonly flags: CommandFlags }
  | { readonly _tag: "ConfigTrust"; readonly yes: boolean; readonly flags: CommandFlags }
  | { readonly _tag: "ConfigSet"; readonly key: string; readonly value: string | undefined; readonly flags: ScopeFlags }
  | { readonly _tag: "PermissionsExplain"; readonly flags: JudgeFlags }
  | { readonly _tag: "HooksList"; readonly flags: CommandFlags }
  | { readonly _tag: "HooksExplain"; readonly event: string; readonly flags: HooksFlags }
  | {
      readonly _tag: "Skills"
      readonly what: SkillsWhat
      readonly about: string | undefined
      readonly flags: SkillsFlags
    }
  | { readonly _tag: "MemoryView"; readonly what: MemoryViews; readonly flags: CommandFlags }
  | { readonly _tag: "InstructionsList"; readonly flags: CommandFlags & Pick<Flags, "addDir"> }
  | { readonly _tag: "Agents"; readonly ask: AgentsAsk; readonly flags: CommandFlags }
  | { readonly _tag: "Teleport"; readonly job: TeleportProgram.TeleportJob | string; readonly flags: CommandFlags }
  | { readonly _tag: "Replay"; readonly session: string; readonly flags: ReplayFlags }
  | { readonly _tag: "ReplayExport"; readonly session: string; readonly flags: ExportFlags }
  | { readonly _tag: "Sessions"; readonly ask: SessionsAsk; readonly flags: CommandFlags }
  | { readonly _tag: "Context"; readonly ask: ContextAsk; readonly flags: CommandFlags }
  | { readonly _tag: "Rewind"; readonly session: string | undefined; readonly flags: RewindFlags }
  | { readonly _tag: "ModelServe"; readonly playbook: string; readonly port: number; readonly flags: CommandFlags }
  | { readonly _tag: "Demo"; readonly flags: CommandFlags }
  | Printed

/** Texts made from this very description. */
export type Printed =
  | { readonly _tag: "Completion"; readonly shell: Shell }
  | { readonly _tag: "Words"; readonly what: string }
  | { readonly _tag: "ManPage" }

/** What `troupe memory` shows: the list, where it is, or one memory. */
export type MemoryViews = "list" | "path" | { readonly file: string }

export interface CommandFlags {
  readonly json?: boolean
  readonly settings?: string
  readonly settingSources?: ReadonlyArray<SettingSource>
  readonly debug?: string | true
  readonly debugFile?: string
  readonly color: boolean
}

export interface ReplayFlags extends CommandFlags {
  readonly until?: number
  readonly forkAt?: number
  readonly model?: string
  readonly liveTools?: boolean
  readonly edit?: ReadonlyArray<string>
}

export interface ExportFlags extends CommandFlags {
  readonly output: string
}

export interface ScopeFlags extends CommandFlags {
  readonly scope: SettingSource
}

export interface HooksFlags extends CommandFlags {
  readonly tool?: string
  readonly input: string
}

export interface RewindFlags extends CommandFlags {
  readonly to?: string
  readonly code?: boolean
  readonly conversation?: boolean
  readonly dryRun?: boolean
  readonly force?: boolean
}

export type SkillsWhat = "list" | "show" | "validate" | "explain"

export type SkillsFlags = CommandFlags & Pick<Flags, "addDir">

const skillsCommands: ReadonlyArray<readonly [what: SkillsWhat, argument: string, description: string]> = [
  ["list", "", "the skills and commands there are, and where they come from"],
  ["show", " <name>", "one of them: its fields, its file, its text"],
  ["validate", " [path]", "what is wrong with them, with the line; exit code 1 if one cannot be used"],
  ["explain", " <task>", "which of them fit a task by their words, with score and reason"],
]

export interface JudgeFlags
  extends
    CommandFlags,
    Pick<Flags, "permissionMode" | "dangerouslySkipPermissions" | "allowedTools" | "disallowedTools" | "addDir"> {
  readonly tool: string
  readonly input: string
}

const whole = (text: string): number => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1) throw new InvalidArgumentError("It must be a whole number of at least 1.")
  return value
}

const money = (text: string): number => {
  const value = Number(text)
  if (!/^\$?\d*\.?\d+$/.test(text) || !(Number(text.replace("$", "")) > 0)) {
    throw new InvalidArgumentError("It must be an amount in US dollars above 0, for instance 2.50.")
  }
  return text.startsWith("$") ? Number(text.slice(1)) : value
}

const port = (text: string): number => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value > 65_535) throw new InvalidArgumentError("It must be a port from 0 to 65535.")
  return value
}

/** `manual` is an older name of `default`. */
const mode = (text: string): PermissionMode => {
  const found = permissionModes.find((known) => known === (text === "manual" ? "default" : text))
  if (found === undefined) throw new InvalidArgumentError(oneOf(text, permissionModes))
  return found
}

const sources = (text: string): ReadonlyArray<SettingSource> =>
  text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const found = settingSources.find((known) => known === part)
      if (found === undefined) throw new InvalidArgumentError(oneOf(part, settingSources))
      return found
    })

const oneOf = (text: string, known: ReadonlyArray<string>): string => {
  const near = nearest(text, known)
  return `It must be one of ${known.join(", ")}.${near === undefined ? "" : ` Did you mean ${near}?`}`
}

const sharedOptions = () => [
  new Option(
    "-d, --debug [categories]",
    `stack traces on stderr, and a log file: all, or some of ${debugCategories.join(", ")}, by commas (!api: all but api)`,
  ),
  new Option("--debug-file <path>", "the log is to be this file (implies --debug)"),
  new Option("--no-color", "no colours (NO_COLOR does the same)"),
]

const settingsOptions = () => [
  new Option("--settings <file-or-json>", "one more settings file, or settings as JSON; above user, project and local"),
  new Option("--setting-sources <list>", "which settings files count, by commas (default: all)")
    .choices(settingSources)
    .argParser(sources),
]

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
    new Option("--max-turns <n>", "stop after so many rounds with the model").argParser(whole),
    new Option("--max-budget-usd <amount>", "stop before more than this is spent").argParser(money),
    new Option("--system-prompt <text>", "replace the system prompt"),
    new Option("--system-prompt-file <file>", "replace it with a file"),
    new Option("--append-system-prompt <text>", "add to the system prompt"),
    new Option("--append-system-prompt-file <file>", "add a file to it"),
  ],
  "Permissions:": [
    new Option("--permission-mode <mode>", "what may happen without asking (default: as the settings say)")
      .choices(permissionModes)
      .argParser(mode),
    new Option("--dangerously-skip-permissions", "the same as --permission-mode bypassPermissions"),
    new Option("--allowedTools, --allowed-tools <tools...>", 'may run without asking: Read "Bash(git log *)"'),
    new Option("--disallowedTools, --disallowed-tools <tools...>", "may never run"),
    new Option("--add-dir <dirs...>", "further directories the tools may work in"),
  ],
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

  const add = (
    parent: Command,
    usage: string,
    description: string,
    options: ReadonlyArray<Option>,
    how: CommandOptions = {},
  ): Command => {
    const command = parent.command(usage, how).description(description).helpCommand(false)
    for (const option of options) command.addOption(option)
    const examples = Manual.exampleLines(`${parent === program ? "" : `${parent.name()} `}${command.name()}`, width)
    if (examples.length > 0) command.addHelpText("after", ["", "Examples:", ...examples].join("\n"))
    return command.helpOption("-h, --help", "show this help")
  }
  const config = add(program, "config", "see which settings count, and why", [])
  const explain = add(config, "explain [key]", "the value of a setting and where it comes from", [
    new Option("--json", "as JSON"),
    ...settingsOptions(),
    ...sharedOptions(),
  ])
  explain.action((key: string | undefined) => want({ _tag: "ConfigExplain", key, flags: explain.opts<CommandFlags>() }))
  const list = add(config, "list", "the settings files that were read, and what is wrong with them", [
    new Option("--json", "as JSON"),
    ...settingsOptions(),
    ...sharedOptions(),
  ])
  list.action(() => want({ _tag: "ConfigList", flags: list.opts<CommandFlags>() }))

  const trust = add(config, "trust", "agree to the executable settings of this folder, after looking at them", [
    new Option("--yes", "without asking"),
    ...settingsOptions(),
    ...sharedOptions(),
  ])
  trust.action(() => {
    const flags = trust.opts<CommandFlags & { readonly yes?: boolean }>()
    want({ _tag: "ConfigTrust", yes: flags.yes === true, flags })
  })

  const scoped = () => [
    new Option("--scope <scope>", "whose file: yours, the project's, or yours for this project")
      .choices(settingSources)
      .default("user"),
    ...sharedOptions(),
  ]
  const set = add(config, "set <key> <value>", "set one key of a settings file; the value is JSON, or text", scoped())
  set.action((key: string, value: string) => want({ _tag: "ConfigSet", key, value, flags: set.opts<ScopeFlags>() }))
  const unset = add(config, "unset <key>", "remove one key from a settings file", scoped())
  unset.action((key: string) => want({ _tag: "ConfigSet", key, value: undefined, flags: unset.opts<ScopeFlags>() }))

  const permissions = add(program, "permissions", "see what may run without asking, and why", [])
  const judge = add(permissions, "explain", "what the rules say about a call, before anybody is asked", [
    new Option("--tool <name>", "the tool").makeOptionMandatory(),
    new Option("--input <json>", "its arguments").default("{}"),
    new Option("--json", "as JSON"),
    ...(sessionOptions()["Permissions:"] ?? []),
    ...settingsOptions(),
    ...sharedOptions(),
  ])
  judge.action(() => want({ _tag: "PermissionsExplain", flags: judge.opts<JudgeFlags>() }))

  const hooks = add(program, "hooks", "see which hooks there are, and which would run", [])
  const hooksList = add(hooks, "list", "every hook with its file, and whether it is in force", [
    new Option("--json", "as JSON"),
    ...settingsOptions(),
    ...sharedOptions(),
  ])
  hooksList.action(() => want({ _tag: "HooksList", flags: hooksList.opts<CommandFlags>() }))
  const hooksExplain = add(
    hooks,
    "explain <event>",
    "which hooks would run at an event, in which order, and why others not",
    [
      new Option("--tool <name>", "the tool, for events about one"),
      new Option("--input <json>", "its arguments; for other events, their fields").default("{}"),
      new Option("--json", "as JSON"),
      ...settingsOptions(),
      ...sharedOptions(),
    ],
  )
  hooksExplain.action((event: string) => want({ _tag: "HooksExplain", event, flags: hooksExplain.opts<HooksFlags>() }))
  const skills = add(program, "skills", "see which skills and commands there are, and what is wrong with them", [])
  for (const [what, argument, description] of skillsCommands) {
    const command = add(skills, `${what}${argument}`, description, [
      new Option("--json", "as JSON"),
      new Option("--add-dir <dirs...>", "further directories that may have some"),
      ...settingsOptions(),
      ...sharedOptions(),
    ])
    command.action((about: unknown) => {
      const flags = command.opts<SkillsFlags>()
      want({ _tag: "Skills", what, about: typeof about === "string" ? about : undefined, flags })
    })
  }
  const viewed = () => [new Option("--json", "as JSON"), ...settingsOptions(), ...sharedOptions()]
  const memory = add(program, "memory", "see what is remembered about this project", [])
  const memories = add(memory, "list", "the memories, the newest first", viewed())
  memories.action(() => want({ _tag: "MemoryView", what: "list", flags: memories.opts<CommandFlags>() }))
  const shown = add(memory, "show <file>", "one memory", viewed())
  shown.action((file: string) => want({ _tag: "MemoryView", what: { file }, flags: shown.opts<CommandFlags>() }))
  const where = add(memory, "path", "the directory they are in", viewed())
  where.action(() => want({ _tag: "MemoryView", what: "path", flags: where.opts<CommandFlags>() }))

  const instructions = add(program, "instructions", "see which files tell the model how to work here", [])
  const chain = add(instructions, "list", "the files in the order they are read, and why some are not", [
    new Option("--add-dir <dirs...>", "further directories the tools may work in"),
    ...viewed(),
  ])
  chain.action(() => {
    const flags = chain.opts<CommandFlags & Pick<Flags, "addDir">>()
    want({ _tag: "InstructionsList", flags })
  })
  const agents = add(program, "agents", "see which agents there are, and what is wrong with their files", [])
  const agentsCommand = (usage: string, description: string, ask: (argument: string | undefined) => AgentsAsk) => {
    const command = add(agents, usage, description, [
      new Option("--json", "as JSON"),
      ...settingsOptions(),
      ...sharedOptions(),
    ])
    command.action((argument: unknown) => {
      const given = typeof argument === "string" ? argument : undefined
      want({ _tag: "Agents", ask: ask(given), flags: command.opts<CommandFlags>() })
    })
  }
  agentsCommand("list", "every agent with where it comes from, and every file that is none", () => ({ what: "list" }))
  agentsCommand("show <name>", "one agent: its fields and what it is told", (name = "") => ({ what: "show", name }))
  agentsCommand(
    "validate [path]",
    "check agent files, or those of a directory; exit code 1 if one is broken",
    (path) => ({
      what: "validate",
      path,
    }),
  )

  const shared = () => [...settingsOptions(), ...sharedOptions()]
  TeleportProgram.register<CommandFlags>(program, add, shared, (job, flags) => want({ _tag: "Teleport", job, flags }))
  const replay = add(program, "replay <session>", "run a recorded session again, offline, and compare", [
    new Option("--until <n>", "stop behind record n and show the conversation there").argParser(whole),
    new Option(
      "--edit <n=value>",
      "put another observation in the place of record n: text, JSON, or @file (repeatable)",
    ).argParser((text: string, before: ReadonlyArray<string> | undefined) => [...(before ?? []), text]),
    new Option("--fork-at <n>", "go on from record n with another model (costs money), and show both").argParser(whole),
    new Option("--model <name>", "with --fork-at: which one"),
    new Option(
      "--live-tools",
      "with --fork-at: in a copy of the session, and tools really run (default: recorded results)",
    ),
    new Option("--json", "as JSON"),
    ...settingsOptions(),
    ...sharedOptions(),
  ])
  replay.action((session: string) => want({ _tag: "Replay", session, flags: replay.opts<ReplayFlags>() }))
  const exported = add(replay, "export <session>", "make a test fixture of a session, without secrets", [
    new Option("--output <dir>", "where to: recording, playbook and test").makeOptionMandatory(),
    new Option("--json", "as JSON"),
    ...sharedOptions(),
  ])
  exported.action((session: string) => want({ _tag: "ReplayExport", session, flags: exported.opts<ExportFlags>() }))
  const sessions = add(program, "sessions", "find, name, tag, export and delete sessions", [])
  SessionsProgram.addTo(
    (...command) => add(sessions, ...command),
    { shared: sharedOptions, settings: settingsOptions },
    want,
  )
  const context = add(program, "context", "see what a session's requests consist of, and what they cost", [])
  const room = add(context, "show [session]", "how full the conversation is, and of what", viewed(), {
    isDefault: true,
  })
  room.action((id: unknown) => {
    const session = typeof id === "string" ? id : undefined
    want({ _tag: "Context", ask: { what: "health", session }, flags: room.opts<CommandFlags>() })
  })
  const cache = add(
    context,
    "cache [session]",
    "what each request found in the prompt cache, and why not more",
    viewed(),
  )
  cache.action((id: unknown) => {
    const session = typeof id === "string" ? id : undefined
    want({ _tag: "Context", ask: { what: "cache", session }, flags: cache.opts<CommandFlags>() })
  })
  const rewind = add(
    program,
    "rewind [session]",
    "go back to before a prompt of a session (the latest here): its files, its conversation, or both; without --to, list the prompts",
    [
      new Option("--to <prompt>", "before which: its number in the list, or its id"),
      new Option("--code", "only files"),
      new Option("--conversation", "only the conversation"),
      new Option("--dry-run", "say what would happen"),
      new Option("--force", "also where somebody else has changed the same files"),
      new Option("--json", "as JSON"),
      ...settingsOptions(),
      ...sharedOptions(),
    ],
  )
  rewind.action((session: string | undefined) => want({ _tag: "Rewind", session, flags: rewind.opts<RewindFlags>() }))

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
