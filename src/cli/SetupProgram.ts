/**
 * Owns what may be typed about how a folder is set up: its settings, permissions, hooks, skills, memory, instructions and agents.
 *
 * Nothing here loads Effect, as in `Program`.
 */
import { type Command, Option } from "commander"
import type { AgentsAsk } from "./AgentsView.ts"
import {
  type Add,
  type CommandFlags,
  commonOptions,
  permissionOptions,
  type SettingSource,
  settingSources,
  sharedOptions,
  viewOptions,
} from "./Options.ts"
import type { Flags } from "./Program.ts"

/** What is asked for, before it is checked. */
export type Wanted =
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

/** What `troupe memory` shows: the list, where it is, or one memory. */
export type MemoryViews = "list" | "path" | { readonly file: string }

export interface ScopeFlags extends CommandFlags {
  readonly scope: SettingSource
}

export interface HooksFlags extends CommandFlags {
  readonly tool?: string
  readonly input: string
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

/** Adds the commands; `want` hears what a well-formed command line asks for. */
export const register = (program: Command, add: Add, want: (wanted: Wanted) => void): void => {
  const config = add(program, "config", "see which settings count, and why", [])
  const explain = add(config, "explain [key]", "the value of a setting and where it comes from", [...viewOptions()])
  explain.action((key: string | undefined) => want({ _tag: "ConfigExplain", key, flags: explain.opts<CommandFlags>() }))
  const list = add(config, "list", "the settings files that were read, and what is wrong with them", [...viewOptions()])
  list.action(() => want({ _tag: "ConfigList", flags: list.opts<CommandFlags>() }))

  const trust = add(config, "trust", "agree to the executable settings of this folder, after looking at them", [
    new Option("--yes", "without asking"),
    ...commonOptions(),
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
    ...permissionOptions(),
    ...commonOptions(),
  ])
  judge.action(() => want({ _tag: "PermissionsExplain", flags: judge.opts<JudgeFlags>() }))

  const hooks = add(program, "hooks", "see which hooks there are, and which would run", [])
  const hooksList = add(hooks, "list", "every hook with its file, and whether it is in force", [...viewOptions()])
  hooksList.action(() => want({ _tag: "HooksList", flags: hooksList.opts<CommandFlags>() }))
  const hooksExplain = add(
    hooks,
    "explain <event>",
    "which hooks would run at an event, in which order, and why others not",
    [
      new Option("--tool <name>", "the tool, for events about one"),
      new Option("--input <json>", "its arguments; for other events, their fields").default("{}"),
      ...viewOptions(),
    ],
  )
  hooksExplain.action((event: string) => want({ _tag: "HooksExplain", event, flags: hooksExplain.opts<HooksFlags>() }))
  const skills = add(program, "skills", "see which skills and commands there are, and what is wrong with them", [])
  for (const [what, argument, description] of skillsCommands) {
    const command = add(skills, `${what}${argument}`, description, [
      new Option("--json", "as JSON"),
      new Option("--add-dir <dirs...>", "further directories that may have some"),
      ...commonOptions(),
    ])
    command.action((about: unknown) => {
      const flags = command.opts<SkillsFlags>()
      want({ _tag: "Skills", what, about: typeof about === "string" ? about : undefined, flags })
    })
  }
  const memory = add(program, "memory", "see what is remembered about this project", [])
  const memories = add(memory, "list", "the memories, the newest first", viewOptions())
  memories.action(() => want({ _tag: "MemoryView", what: "list", flags: memories.opts<CommandFlags>() }))
  const shown = add(memory, "show <file>", "one memory", viewOptions())
  shown.action((file: string) => want({ _tag: "MemoryView", what: { file }, flags: shown.opts<CommandFlags>() }))
  const where = add(memory, "path", "the directory they are in", viewOptions())
  where.action(() => want({ _tag: "MemoryView", what: "path", flags: where.opts<CommandFlags>() }))

  const instructions = add(program, "instructions", "see which files tell the model how to work here", [])
  const chain = add(instructions, "list", "the files in the order they are read, and why some are not", [
    new Option("--add-dir <dirs...>", "further directories the tools may work in"),
    ...viewOptions(),
  ])
  chain.action(() => {
    const flags = chain.opts<CommandFlags & Pick<Flags, "addDir">>()
    want({ _tag: "InstructionsList", flags })
  })
  const agents = add(program, "agents", "see which agents there are, and what is wrong with their files", [])
  const agentsCommand = (usage: string, description: string, ask: (argument: string | undefined) => AgentsAsk) => {
    const command = add(agents, usage, description, [...viewOptions()])
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
}
