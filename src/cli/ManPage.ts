/** Owns the manual page, generated from the description of commands and flags: `man/troupe.1` is its output, and a test compares. */
import type { Command } from "commander"
import { debugCategories } from "./DebugFilter.ts"
import { describe, type Described, type Flag, flatten } from "./Describe.ts"
import * as Manual from "./Manual.ts"

/** Text that no formatter takes for a request, with hyphens that can be copied. */
const text = (said: string): string =>
  said
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("…", "...")
    .replaceAll("~", "\\(ti")
    .replaceAll("^", "\\(ha")
    .replaceAll('"', "\\(dq")
    .replaceAll("'", "\\(aq")

/** Short lines: formatters fill them anyway. */
const prose = (said: string): ReadonlyArray<string> =>
  Manual.wrap(text(said), 78).map((line) => line.replace(/^\./, "\\&."))

const bold = (said: string): string => `\\fB${text(said)}\\fR`
const italic = (said: string): string => `\\fI${text(said)}\\fR`

const entry = (head: string, says: string): ReadonlyArray<string> => [".TP", head, ...prose(says)]

const flagHead = ({ names, value }: Flag): string => {
  const shown = names.map(bold).join(", ")
  if (value === undefined) return shown
  const name = italic(`${value.name}${value.several ? "..." : ""}`)
  return value.optional ? `${shown} [${name}]` : `${shown} ${name}`
}

const flagLines = (flags: ReadonlyArray<Flag>): ReadonlyArray<string> =>
  flags.flatMap((flag) => entry(flagHead(flag), sentence(flag.says)))

const sentence = (said: string): string =>
  `${said[0]?.toUpperCase() ?? ""}${said.slice(1)}${/[.)]$/.test(said) ? "" : "."}`

const session = (program: Described): ReadonlyArray<string> =>
  [...new Set(program.flags.map(({ group }) => group))].flatMap((group) =>
    [`.SS ${group === "Options" ? "Other" : group}`].concat(
      flagLines(program.flags.filter((flag) => flag.group === group)),
    ),
  )

/** What a command has in common with a session is explained there. */
const command = (program: Described) => {
  const common = new Set(program.flags.map(({ names, says }) => `${names.join()} ${says}`))
  return ({ path, says, usage, flags, commands }: Described): ReadonlyArray<string> => {
    if (isGroup({ commands, flags })) return []
    const shared = flags.filter(
      (flag) => common.has(`${flag.names.join()} ${flag.says}`) && !flag.names.includes("--help"),
    )
    const own = flags.filter((flag) => !shared.includes(flag) && !flag.names.includes("--help"))
    return [
      `.SS troupe ${text(path)}`,
      ...prose(sentence(says)),
      ".PP",
      synopsis(usage),
      ...flagLines(own),
      ...(shared.length === 0
        ? []
        : [".PP", ...prose(`As above: ${shared.map(({ names }) => names.at(-1)).join(", ")}.`)]),
    ]
  }
}

const list = (entries: ReadonlyArray<Manual.Entry>): ReadonlyArray<string> =>
  entries.flatMap(({ name, says }) => entry(bold(name), sentence(says)))

const examples = (): ReadonlyArray<string> =>
  Object.values(Manual.examples)
    .flat()
    .filter(({ name }, at, all) => all.findIndex((other) => other.name === name) === at)
    .flatMap(({ name, says }) =>
      [".PP"].concat(says === "" ? [] : prose(sentence(says)).concat(".PP"), ".nf", ".RS 4", text(name), ".RE", ".fi"),
    )
    // A paragraph right below a heading is one macro too many.
    .slice(1)

/** The page in the macros of man(7). */
export const manPage = (program: Command, version: string): string => {
  const described = describe(program, debugCategories)
  const [, ...commands] = flatten(described)
  return [
    '.\\" Generated: node bin/troupe.js __man > man/troupe.1',
    `.TH TROUPE 1 "${Manual.revised}" "troupe ${version}" "User Commands"`,
    ".SH NAME",
    "troupe \\- a coding agent that works in a directory with a model",
    ".SH SYNOPSIS",
    `${bold("troupe")} [${italic("options")}] [${italic("prompt")}]`,
    ...commands.flatMap((one) => (isGroup(one) ? [] : [".br", synopsis(one.usage)])),
    ".SH DESCRIPTION",
    ...prose(
      `${described.says} With a terminal it asks for prompts and for permissions; with -p it prints one answer and exits. ` +
        "What is piped in is added to the prompt.",
    ),
    ".PP",
    ...prose(Manual.atThePrompt),
    ".SH OPTIONS",
    ...prose(Manual.severalValues),
    ...session(described),
    ".SH COMMANDS",
    ...commands.flatMap(command(described)),
    ".SH ENVIRONMENT",
    ...list(Manual.environment),
    ".SH FILES",
    ...list(Manual.files),
    ".SH EXIT STATUS",
    ...list(Manual.exitCodes),
    ".SH EXAMPLES",
    ...examples(),
    "",
  ].join("\n")
}

const synopsis = (usage: string): string => {
  const [, words = "", rest = ""] = /^([a-z ]+?)((?: [[<].*)?)$/.exec(usage) ?? []
  return `${bold(words)}${text(rest)}`
}

/** It only holds others together, and does nothing itself. */
const isGroup = ({ commands, flags }: Pick<Described, "commands" | "flags">): boolean =>
  commands.length > 0 && !flags.some(({ names }) => names.some((name) => name !== "-h" && name !== "--help"))
