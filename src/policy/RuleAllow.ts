/** Owns whether allow rules cover all of a call: they look only at what it says plainly. */
import type { CommandFacts, Facts, PathTouch } from "./Call.ts"
import * as CommandPattern from "./CommandPattern.ts"
import { isStream } from "./Facts.ts"
import * as Rule from "./Rule.ts"
import { isNamed, named, powershell } from "./RuleMatch.ts"
import type { Entry, Index, PathGroup } from "./Rules.ts"

export type Allowance =
  | { readonly _tag: "Allowed"; readonly entries: ReadonlyArray<Entry> }
  /** `why`: what is missing although something of the call is allowed. */
  | { readonly _tag: "Open"; readonly why: string | undefined }

export interface AllowOptions {
  /** Rules that allow nearly anything are set aside. */
  readonly narrow?: boolean
  /** Every part must be named: what only reads is not taken as allowed, and effects are not looked at. */
  readonly strict?: boolean
  /** Some files are forbidden or asked about, so a command that may touch any file is not covered by a rule about its words. */
  readonly guarded?: boolean
}

const open: Allowance = { _tag: "Open", why: undefined }

/** Whether allow rules cover all of a call. */
export const allows = (index: Index, facts: Facts, options: AllowOptions = {}): Allowance => {
  const usable = (entry: Entry) => !(options.narrow === true && entry.broad)
  const whole = wholeTool(index, facts).find(usable)
  // What cannot be seen through may hold what other rules forbid: that is asked, whatever allows the tool.
  const seen = options.strict === true || !facts.opaque
  if (whole !== undefined && seen) return { _tag: "Allowed", entries: [whole] }
  if (facts.names.includes("Bash") || facts.names.includes("Monitor"))
    return commandsAllowed(index, facts, usable, options)
  const one = (entry: Entry | undefined): Allowance =>
    entry === undefined ? open : { _tag: "Allowed", entries: [entry] }
  if (facts.names.includes("PowerShell"))
    return one(index.powershell.find((entry) => powershell(entry, facts) !== undefined))
  if (facts.names.includes("Cd")) {
    return one(index.directories.find((entry) => facts.paths.every((touch) => entry.paths?.has(touch.real) === true)))
  }
  if (facts.names.includes("WebFetch")) {
    const entries = facts.hosts.map((host) => index.domains.find((entry) => entry.host?.(host) === true))
    const found = entries.filter((entry) => entry !== undefined)
    return found.length > 0 && found.length === entries.length ? { _tag: "Allowed", entries: found } : open
  }
  if (facts.names.includes("Agent") || facts.names.includes("Skill")) {
    return one(index.named.find((entry) => usable(entry) && named(entry, facts, false) !== undefined))
  }
  return facts.names.some((name) => Rule.fileTools.has(name)) ? filesAllowed(index, facts) : open
}

const wholeTool = (index: Index, facts: Facts): ReadonlyArray<Entry> => [
  ...facts.names.flatMap((name) => index.tools.get(name) ?? []),
  ...index.names.filter(({ rule }) => rule._tag === "Tool" && facts.names.some((name) => isNamed(rule, name, false))),
]

/** By the path that was given and by the one it leads to. */
export const allowsPath = (groups: ReadonlyArray<PathGroup>, touch: PathTouch): Entry | undefined => {
  if (touch.pattern === true) return undefined
  const find = (path: string) => {
    for (const group of groups) {
      if (group.any.has(path)) return group.entries.find((entry) => entry.paths?.has(path) === true)
    }
    return undefined
  }
  const entry = find(touch.path)
  return entry !== undefined && (touch.real === touch.path || find(touch.real) !== undefined) ? entry : undefined
}

const filesAllowed = (index: Index, facts: Facts): Allowance => {
  const entries: Array<Entry> = []
  for (const touch of facts.paths) {
    const entry = allowsPath(touch.kind === "write" ? index.edits : index.reads, touch)
    if (entry !== undefined) entries.push(entry)
    else if (touch.kind === "write" || touch.outside) {
      const edited = touch.kind === "read" && facts.paths.some((one) => one.kind === "write" && one.path === touch.path)
      if (!edited) return open
    }
  }
  return entries.length === 0 ? open : { _tag: "Allowed", entries }
}

const commandsAllowed = (
  index: Index,
  facts: Facts,
  usable: (entry: Entry) => boolean,
  { strict, guarded }: AllowOptions,
): Allowance => {
  // Exactly this line, as a person wrote it into a rule: nothing in it needs to be understood.
  const exact = index.programs
    .get(CommandPattern.firstWord(facts.raw))
    ?.find(({ command }) => command?.shape === "exact" && command.head === facts.raw)
  if (exact !== undefined) return { _tag: "Allowed", entries: [exact] }
  if (facts.opaque || facts.commands.length === 0) return open
  const entries: Array<Entry> = []
  let missing: CommandFacts | undefined
  let onlyReads = false
  for (const command of facts.commands) {
    const entry = commandAllowed(index, command, usable)
    if (entry !== undefined) entries.push(entry)
    else if (strict !== true && command.readOnly) onlyReads = true
    else missing ??= command
  }
  if (entries.length === 0) return open
  const lacks = (why: string): Allowance => ({ _tag: "Open", why })
  if (missing !== undefined) {
    const text = missing.loose[0]?.text ?? ""
    return lacks(text === "" ? (facts.call.bash?.why ?? "") : `no rule allows "${text}"`)
  }
  if (strict === true) return { _tag: "Allowed", entries }
  const blind = guarded === true ? facts.call.touches.find((touch) => touch._tag === "Unknown") : undefined
  if (blind !== undefined && !entries.every(({ command }) => command?.shape === "exact")) return lacks(blind.why)
  if (facts.commands.some(({ redirects }) => redirects)) return lacks("it also sends output to a file or a host")
  const outside = facts.paths.find(
    (touch) =>
      touch.outside &&
      touch.possible !== true &&
      !isStream(touch.path) &&
      (touch.kind === "write" || (onlyReads && allowsPath(index.reads, touch) === undefined)),
  )
  if (outside !== undefined && !entries.every(({ command }) => command?.shape === "exact")) {
    return lacks(`it also touches ${outside.path}, outside the workspace`)
  }
  return { _tag: "Allowed", entries }
}

const fitsCommand = ({ command: pattern }: Entry, command: CommandFacts): boolean => {
  // Some programs run or delete what their arguments say: only the whole command can be allowed.
  if (pattern === undefined || (!command.prefixAllowable && pattern.shape !== "exact")) return false
  return command.loose.some(({ text, plain }) => pattern.head.length <= plain && CommandPattern.matches(pattern, text))
}

/** The rule that allows one command of a line. */
export const commandAllowed = (
  index: Index,
  command: CommandFacts,
  usable: (entry: Entry) => boolean = () => true,
): Entry | undefined => {
  const fits = (entry: Entry) => usable(entry) && fitsCommand(entry, command)
  for (const { text } of command.loose) {
    const entry = index.programs.get(CommandPattern.firstWord(text))?.find(fits)
    if (entry !== undefined) return entry
  }
  return index.commands.find(fits)
}

/** Why an allow rule covers at least a part of a call. */
export const partlyAllows = (entry: Entry, facts: Facts): string | undefined => {
  const { rule } = entry
  switch (rule._tag) {
    case "Tool":
      return facts.names.some((name) => isNamed(rule, name, false))
        ? `it means every call of ${facts.call.tool}`
        : undefined
    case "Command": {
      if (rule.tool === "PowerShell") return powershell(entry, facts)
      if (entry.command?.shape === "exact" && entry.command.head === facts.raw) return "it is this command"
      const command = facts.opaque ? undefined : facts.commands.find((one) => fitsCommand(entry, one))
      return command === undefined ? undefined : `it covers "${command.loose[0]?.text ?? ""}"`
    }
    case "Path": {
      const touch = facts.paths.find(
        (one) => one.pattern !== true && (one.kind === "write") === (rule.tool === "Edit") && covers(entry, one),
      )
      return touch === undefined ? undefined : `it covers ${touch.path}`
    }
    case "Domain": {
      const host = facts.hosts.find((one) => entry.host?.(one) === true)
      return host === undefined ? undefined : `it covers ${host}`
    }
    case "Agent":
    case "Skill":
      return named(entry, facts, false)
    case "Param":
      return undefined
  }
}

const covers = ({ paths }: Entry, touch: PathTouch): boolean =>
  paths?.has(touch.path) === true && (touch.real === touch.path || paths.has(touch.real))
