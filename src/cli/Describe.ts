/** Owns reading the program's description as data, for whatever is generated from it: completions and the manual page. */
import type { Argument, Command, Option } from "commander"
import { families, knownModels } from "../cost/KnownModels.ts"

/** What a value may be. */
export type Values =
  | { readonly kind: "none" | "file" | "directory" | "session" }
  | { readonly kind: "words"; readonly words: ReadonlyArray<string> }
  /** Several of them, joined by commas. */
  | { readonly kind: "list"; readonly words: ReadonlyArray<string> }

export interface Flag {
  /** `-p`, `--print`. */
  readonly names: ReadonlyArray<string>
  readonly group: string
  readonly says: string
  readonly value:
    | (Values & { readonly name: string; readonly optional: boolean; readonly several: boolean })
    | undefined
}

export interface Described {
  /** As it is typed behind `troupe`; empty for the session itself. */
  readonly path: string
  readonly says: string
  readonly usage: string
  readonly flags: ReadonlyArray<Flag>
  readonly argument: Values
  readonly commands: ReadonlyArray<Described>
}

/** By the name of the value, as the help shows it. */
const byName: Readonly<Record<string, Values>> = {
  file: { kind: "file" },
  "file-or-json": { kind: "file" },
  path: { kind: "file" },
  playbook: { kind: "file" },
  dir: { kind: "directory" },
  dirs: { kind: "directory" },
  id: { kind: "session" },
  session: { kind: "session" },
  sessions: { kind: "session" },
}

/** The built-in tools; a test compares them with what a session has. */
export const toolNames = (
  "AskUserQuestion Bash Edit EnterPlanMode ExitPlanMode Glob Grep Monitor NotebookEdit Read TaskCreate TaskGet " +
  "TaskList TaskOutput TaskStop TaskUpdate TodoWrite ToolSearch WebFetch WebSearch Write"
).split(" ")

/** Aliases, and the models by their ids. */
export const modelNames: ReadonlyArray<string> = [...families, ...knownModels.map(({ id }) => id)]

const nameOf = (option: Option): string => /[<[]([\w-]+)/.exec(option.flags)?.[1] ?? ""

const valuesOf = (option: Option, categories: ReadonlyArray<string>): Values => {
  const name = nameOf(option)
  if (option.argChoices !== undefined) return { kind: name === "list" ? "list" : "words", words: option.argChoices }
  if (name === "categories") return { kind: "list", words: categories }
  if (name === "tools") return { kind: "words", words: toolNames }
  if (option.long?.endsWith("model") === true) return { kind: "words", words: modelNames }
  return byName[name] ?? { kind: "none" }
}

/** Commander knows one short and one long name; we also write two long ones. */
const namesOf = (option: Option): ReadonlyArray<string> => option.flags.match(/(?<=^|[ ,])--?[\w-]+/g) ?? []

const flagOf = (option: Option, categories: ReadonlyArray<string>): Flag => {
  const { defaultValue, description, argChoices } = option
  const choices = argChoices === undefined ? "" : ` (${argChoices.join(", ")})`
  const initial =
    typeof defaultValue === "string" || typeof defaultValue === "number" ? ` (default: ${defaultValue})` : ""
  return {
    names: namesOf(option),
    group: (option.helpGroupHeading ?? "Options:").replace(/:$/, ""),
    says: `${description}${choices}${initial}`,
    value:
      option.required || option.optional
        ? {
            ...valuesOf(option, categories),
            name: nameOf(option),
            optional: option.optional,
            several: option.variadic,
          }
        : undefined,
  }
}

const argumentOf = (argument: Argument | undefined): Values => {
  if (argument === undefined) return { kind: "none" }
  return argument.argChoices === undefined
    ? (byName[argument.name()] ?? { kind: "none" })
    : { kind: "words", words: argument.argChoices }
}

/** The whole tree, without what is hidden. */
export const describe = (program: Command, categories: ReadonlyArray<string>): Described => {
  const visit = (command: Command, path: string): Described => {
    const help = command.createHelp()
    return {
      path,
      says: command.description(),
      usage: help.commandUsage(command),
      flags: help.visibleOptions(command).map((option) => flagOf(option, categories)),
      argument: argumentOf(command.registeredArguments[0]),
      commands: help
        .visibleCommands(command)
        .map((child) => visit(child, path === "" ? child.name() : `${path} ${child.name()}`)),
    }
  }
  return visit(program, "")
}

/** A command and all below it, parents first. */
export const flatten = (command: Described): ReadonlyArray<Described> => [command, ...command.commands.flatMap(flatten)]
