/** Owns whether a rule that forbids or asks means a call: it looks at everything the call would do, in every spelling. */
import type { Facts, PathTouch } from "./Call.ts"
import * as CommandPattern from "./CommandPattern.ts"
import * as Rule from "./Rule.ts"
import type { Entry, Index, PathGroup } from "./Rules.ts"

/** Why a rule that tightens means the call; `undefined` when it does not. */
export const tightens = (entry: Entry, facts: Facts): string | undefined => {
  const { rule } = entry
  switch (rule._tag) {
    case "Tool":
      return facts.folded.some((name) => isNamed(rule, name, true))
        ? `it means every call of ${facts.call.tool}`
        : undefined
    case "Command":
      return rule.tool === "PowerShell" ? powershell(entry, facts) : commandTightens(entry, facts)
    case "Path":
      return pathTightens(entry, rule.tool, facts)
    case "Domain": {
      const host = facts.hosts.find((one) => entry.host?.(one) === true)
      return host === undefined ? undefined : `it would connect to ${host}`
    }
    case "Agent":
    case "Skill":
      return named(entry, facts, true) ?? (rule.param === undefined ? undefined : param(rule._tag, rule.param, facts))
    case "Param":
      return param(rule.tool, rule.param, facts)
  }
}

/** The first rule of the index that tightens. Only those are tried that can mean the call. */
export const firstTightening = (
  index: Index,
  facts: Facts,
  skip?: (entry: Entry) => boolean,
): { readonly entry: Entry; readonly why: string } | undefined => {
  for (const entry of candidates(index, facts)) {
    if (skip?.(entry) === true) continue
    const why = tightens(entry, facts)
    if (why !== undefined) return { entry, why }
  }
  return undefined
}

function* candidates(index: Index, facts: Facts): Generator<Entry> {
  for (const name of facts.folded) yield* index.tools.get(name) ?? []
  yield* index.names
  for (const name of facts.names) yield* index.params.get(name) ?? []
  if (facts.names.includes("PowerShell")) yield* index.powershell
  if (facts.names.includes("Cd")) yield* index.directories
  if (facts.call.bash !== undefined || facts.opaque) {
    if (facts.opaque) for (const entries of index.programs.values()) yield* entries
    else {
      for (const { tight } of facts.commands) for (const text of tight) yield* programRules(index, text)
      yield* programRules(index, CommandPattern.foldProgram(facts.raw))
    }
    yield* index.commands
  }
  if (facts.paths.length > 0 || facts.opaque) {
    for (const group of index.reads) if (facts.opaque || mayMean(group, facts, false)) yield* group.entries
    for (const group of index.edits) if (facts.opaque || mayMean(group, facts, true)) yield* group.entries
  }
  if (facts.hosts.length > 0) yield* index.domains
  yield* index.named
}

/** Hundreds of rules may name a program; only those that mean this text are worth a second look. */
const programRules = (index: Index, text: string): ReadonlyArray<Entry> =>
  index.programs
    .get(CommandPattern.firstWord(text))
    ?.filter(({ command }) => command !== undefined && CommandPattern.matches(command, text)) ?? []

const mayMean = (group: PathGroup, facts: Facts, writesOnly: boolean): boolean =>
  facts.paths.some((touch) => (!writesOnly || touch.kind === "write") && hits(group.any, touch, facts.hidden))

const hits = (paths: PathGroup["any"], touch: PathTouch, hidden: boolean): boolean => {
  if (touch.pattern === true && touch.files === undefined) {
    // A pattern that matches nothing is a name to the shell.
    if (paths.has(touch.path.replaceAll(/\\(.)/g, "$1"))) return true
    return paths.mayHave(touch.path, hidden) || (touch.real !== touch.path && paths.mayHave(touch.real, hidden))
  }
  if (touch.files?.some(paths.has) === true) return true
  return paths.has(touch.path) || (touch.real !== touch.path && paths.has(touch.real))
}

export const isNamed = (rule: Extract<Rule.Rule, { _tag: "Tool" }>, name: string, fold: boolean): boolean => {
  const wanted = fold ? rule.name.toLowerCase() : rule.name
  if (rule.names === "server") return name === wanted || name.startsWith(`${wanted}__`)
  return rule.names === "glob" ? CommandPattern.matches(CommandPattern.make(wanted), name) : name === wanted
}

const commandTightens = ({ command: pattern }: Entry, facts: Facts): string | undefined => {
  if (pattern === undefined || (facts.call.bash === undefined && !facts.opaque)) return undefined
  for (const { tight } of facts.commands) {
    const text = tight.find((one) => CommandPattern.matches(pattern, one))
    if (text !== undefined) return `it would run "${text}"`
  }
  if (CommandPattern.matches(pattern, CommandPattern.foldProgram(facts.raw))) return "it is this command"
  return facts.opaque && CommandPattern.mayOccur(pattern, facts.raw)
    ? "the command cannot be seen through, and this may be in it"
    : undefined
}

const pathTightens = (entry: Entry, tool: "Read" | "Edit" | "Cd", facts: Facts): string | undefined => {
  const { paths, rule } = entry
  if (paths === undefined || (tool === "Cd" && !facts.names.includes("Cd"))) return undefined
  // What must not be read must not be written over either.
  const touch = facts.paths.find((one) => (tool !== "Edit" || one.kind === "write") && hits(paths, one, facts.hidden))
  if (touch !== undefined) {
    const does = touch.kind === "write" ? "write" : "read"
    if (touch.pattern === true && touch.files === undefined)
      return `it would ${does} whatever ${touch.path} matches, and that may include what the rule covers`
    return `it would ${does} ${touch.path}${touch.real === touch.path ? "" : `, which is ${touch.real}`}`
  }
  if (!facts.opaque || tool === "Cd" || rule._tag !== "Path") return undefined
  const mark = landmark(rule.pattern)
  return mark !== undefined && facts.raw.toLowerCase().includes(mark)
    ? `the command cannot be seen through, and "${mark}" is in it`
    : undefined
}

/** The most telling literal piece of a pattern: its last whole name, else its longest text. */
const landmark = (pattern: string): string | undefined => {
  const names = pattern.toLowerCase().split("/")
  const whole = names.findLast((name) => name !== "" && !/[*?[\\]/.test(name))
  if (whole !== undefined) return whole
  const pieces = names.flatMap((name) => name.split(/[*?[\]\\]+/)).sort((a, b) => b.length - a.length)
  return pieces[0] !== undefined && pieces[0].length > 1 ? pieces[0] : undefined
}

const param = (tool: string, { name, value }: Rule.Param, facts: Facts): string | undefined => {
  const { input } = facts.call
  if (!facts.names.includes(tool) || typeof input !== "object" || input === null) return undefined
  const given: unknown = Object.hasOwn(input, name) ? Reflect.get(input, name) : undefined
  if (typeof given !== "string" && typeof given !== "number" && typeof given !== "boolean") return undefined
  return CommandPattern.matches(value, String(given).normalize("NFC")) ? `its ${name} is ${given}` : undefined
}

export const named = ({ rule }: Entry, facts: Facts, fold: boolean): string | undefined => {
  const same = (a: string, b: string) => {
    const [x, y] = [a.normalize("NFC"), b.normalize("NFC")]
    return fold ? x.toLowerCase() === y.toLowerCase() : x === y
  }
  if (rule._tag === "Agent") {
    const { subagent } = facts.call
    return subagent !== undefined && same(subagent, rule.name) ? `it starts the agent ${subagent}` : undefined
  }
  if (rule._tag !== "Skill" || facts.call.skill === undefined) return undefined
  const [skill = "", ...rest] = facts.call.skill.trim().replace(/^\//, "").split(/\s+/)
  // Forbidding a skill forbids it with any arguments.
  return same(skill, rule.name) && (rule.anyArguments || fold || rest.length === 0)
    ? `it uses the skill ${skill}`
    : undefined
}

const aliases: Readonly<Record<string, string>> = {
  gci: "get-childitem",
  ls: "get-childitem",
  dir: "get-childitem",
  cat: "get-content",
  gc: "get-content",
  type: "get-content",
  rm: "remove-item",
  del: "remove-item",
  ri: "remove-item",
  rd: "remove-item",
  rmdir: "remove-item",
  cp: "copy-item",
  mv: "move-item",
  cd: "set-location",
  sc: "set-content",
  iwr: "invoke-webrequest",
  curl: "invoke-webrequest",
  iex: "invoke-expression",
}
const cmdlet = (text: string): string => {
  const folded = text.trim().toLowerCase()
  const program = CommandPattern.firstWord(folded)
  return (aliases[program] ?? program) + folded.slice(program.length)
}

/** Case does not matter there, nor which of its names a command goes by. */
export const powershell = ({ rule, behavior }: Entry, facts: Facts): string | undefined => {
  if (rule._tag !== "Command" || !facts.names.includes("PowerShell")) return undefined
  const pattern = CommandPattern.make(cmdlet(rule.pattern.text))
  if (behavior === "allow") {
    const plain = !/[;|&$(){}`\n<>@]/.test(facts.raw)
    return plain && CommandPattern.matches(pattern, cmdlet(facts.raw)) ? "it is such a command" : undefined
  }
  const part = facts.raw.split(/[;|&(){}\n]+/).find((one) => CommandPattern.matches(pattern, cmdlet(one)))
  return part === undefined ? undefined : `it would run "${part.trim()}"`
}

/** A tool that is denied as a whole: it need not be offered at all. */
export const removesTool = (deny: Index, tool: string): boolean => {
  const name = Rule.canonical(tool).toLowerCase()
  return deny.tools.has(name) || deny.names.some(({ rule }) => rule._tag === "Tool" && isNamed(rule, name, true))
}

/** An agent that is denied by name: it need not be listed. */
export const removesAgent = (deny: Index, agent: string): boolean =>
  deny.named.some(
    ({ rule }) =>
      rule._tag === "Agent" && rule.name.normalize("NFC").toLowerCase() === agent.normalize("NFC").toLowerCase(),
  )

/** The same for a skill. */
export const removesSkill = (deny: Index, skill: string): boolean =>
  deny.named.some(
    ({ rule }) =>
      rule._tag === "Skill" && rule.name.normalize("NFC").toLowerCase() === skill.normalize("NFC").toLowerCase(),
  )

/** Whether a file must not be read: what searches leave out. */
export const hidesFile = (deny: Index, path: string): boolean =>
  deny.reads.some((group) => group.any.has(path) && group.entries.some((entry) => entry.paths?.has(path) === true))
