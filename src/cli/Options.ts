/**
 * Owns what several commands of `troupe` take: the flags they share, what may be chosen, and how a value is read.
 *
 * Nothing here loads Effect, as in `Program`.
 */
import { type Command, type CommandOptions, InvalidArgumentError, Option } from "commander"
import { nearest } from "../platform/Near.ts"
import type { Effort } from "../protocol/Effort.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import { debugCategories } from "./DebugFilter.ts"

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

export interface CommandFlags {
  readonly json?: boolean
  readonly settings?: string
  readonly settingSources?: ReadonlyArray<SettingSource>
  readonly debug?: string | true
  readonly debugFile?: string
  readonly color: boolean
}

/** Adds a command below another one, with its examples. */
export type Add = (
  parent: Command,
  usage: string,
  description: string,
  options: ReadonlyArray<Option>,
  how?: CommandOptions,
) => Command

export const whole = (text: string): number => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < 1) throw new InvalidArgumentError("It must be a whole number of at least 1.")
  return value
}

export const money = (text: string): number => {
  const value = Number(text)
  if (!/^\$?\d*\.?\d+$/.test(text) || !(Number(text.replace("$", "")) > 0)) {
    throw new InvalidArgumentError("It must be an amount in US dollars above 0, for instance 2.50.")
  }
  return text.startsWith("$") ? Number(text.slice(1)) : value
}

export const port = (text: string): number => {
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

export const sharedOptions = () => [
  new Option(
    "-d, --debug [categories]",
    `stack traces on stderr, and a log file: all, or some of ${debugCategories.join(", ")}, by commas (!api: all but api)`,
  ),
  new Option("--debug-file <path>", "the log is to be this file (implies --debug)"),
  new Option("--no-color", "no colours (NO_COLOR does the same)"),
]

export const settingsOptions = () => [
  new Option("--settings <file-or-json>", "one more settings file, or settings as JSON; above user, project and local"),
  new Option("--setting-sources <list>", "which settings files count, by commas (default: all)")
    .choices(settingSources)
    .argParser(sources),
]

/** What every command takes that reads settings. */
export const commonOptions = () => [...settingsOptions(), ...sharedOptions()]

/** Of a command that shows something. */
export const viewOptions = () => [new Option("--json", "as JSON"), ...commonOptions()]

/** What may happen without asking: of a session, and of a question about it. */
export const permissionOptions = () => [
  new Option("--permission-mode <mode>", "what may happen without asking (default: as the settings say)")
    .choices(permissionModes)
    .argParser(mode),
  new Option("--dangerously-skip-permissions", "the same as --permission-mode bypassPermissions"),
  new Option("--allowedTools, --allowed-tools <tools...>", 'may run without asking: Read "Bash(git log *)"'),
  new Option("--disallowedTools, --disallowed-tools <tools...>", "may never run"),
  new Option("--add-dir <dirs...>", "further directories the tools may work in"),
]
