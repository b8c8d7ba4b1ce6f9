/**
 * Owns what rule to save so that a call like this one need not be asked about again, with the words that say what it would cover.
 *
 * A command keeps the words that say what it does and leaves the rest open: `npm run test -- x` gives `Bash(npm run test *)`. Programs that
 * run or destroy whatever their arguments say are never generalised; those get a rule for exactly that command.
 */
import type { Call, CommandFacts, PathTouch } from "./Call.ts"
import * as FactsOf from "./Facts.ts"
import { escape } from "./PathForm.ts"
import * as RuleAllow from "./RuleAllow.ts"
import { type Compiled, runsAnything } from "./Rules.ts"

export interface Suggestion {
  readonly rule: string
  /** For people, before it is saved: what it would allow. */
  readonly covers: string
  /** Approvals of changes to files hold for a session only. */
  readonly lasts: "project" | "session"
}

export interface Ground {
  readonly cwd: string
  readonly home: string
  readonly roots?: ReadonlyArray<string>
}

/** As many rules as one answer may save. */
const most = 5

/** Empty where nothing can be saved: too many parts, a command that cannot be seen through, a protected file. */
export const suggest = (call: Call, rules: Compiled, ground: Ground): ReadonlyArray<Suggestion> => {
  const facts = FactsOf.of(call, ground)
  if (call.bash !== undefined || facts.names.includes("Bash")) {
    if (facts.opaque) return []
    const open = facts.commands.filter(
      (command) => !command.readOnly && RuleAllow.commandAllowed(rules.allow, command) === undefined,
    )
    const alone = facts.commands.length === 1 ? facts.raw : undefined
    const suggested = open.map((command) => fromCommand(command, alone))
    const commands = unique(suggested.flat())
    const reads = facts.paths
      .filter((touch) => touch.kind === "read" && touch.outside && touch.possible !== true && touch.pattern !== true)
      .filter((touch) => !FactsOf.isStream(touch.path) && RuleAllow.allowsPath(rules.allow.reads, touch) === undefined)
      .map((touch) => fromDirectory("Read", touch, ground))
    const all = unique(
      commands.length === 0 || open.length < facts.commands.length ? [...commands, ...reads] : commands,
    )
    const isWhole = suggested.every((found) => found.length > 0)
    return isWhole && all.length <= most ? all : []
  }
  if (facts.paths.some((touch) => touch.kind === "write" && touch.protected)) return []
  const writes = facts.paths.filter(({ kind }) => kind === "write")
  if (writes.length > 0) return unique(writes.map((touch) => fromDirectory("Edit", touch, ground))).slice(0, most)
  if (call.domain !== undefined) {
    const host = call.domain.toLowerCase().replace(/\.$/, "")
    return [{ rule: `WebFetch(domain:${host})`, covers: `every page of ${host}`, lasts: "project" }]
  }
  if (call.skill !== undefined) {
    const skill = call.skill.trim().split(/\s+/)[0] ?? ""
    return [{ rule: `Skill(${skill} *)`, covers: `the skill ${skill} with any arguments`, lasts: "project" }]
  }
  if (call.subagent !== undefined) {
    return [{ rule: `Agent(${call.subagent})`, covers: `starting the agent ${call.subagent}`, lasts: "project" }]
  }
  const reads = facts.paths.filter((touch) => touch.outside)
  if (reads.length > 0) return unique(reads.map((touch) => fromDirectory("Read", touch, ground))).slice(0, most)
  return [{ rule: call.tool, covers: `every call of ${call.tool}`, lasts: "project" }]
}

const unique = (suggestions: ReadonlyArray<Suggestion>): ReadonlyArray<Suggestion> => [
  ...new Map(suggestions.map((one) => [one.rule, one])).values(),
]

/** How many words say what the program does, where that is not one subcommand. */
const depths: ReadonlyMap<string, number> = new Map(
  Object.entries({
    "npm run": 3,
    "pnpm run": 3,
    "yarn run": 3,
    "bun run": 3,
    "docker compose": 3,
    "docker container": 3,
    "docker image": 3,
    "gh pr": 3,
    "gh issue": 3,
    "gh repo": 3,
    "gh run": 3,
    "gh workflow": 3,
    "git stash": 3,
    "git remote": 3,
    "git worktree": 3,
    "aws s3": 3,
    "aws ec2": 3,
    "kubectl config": 3,
  }),
)

/** What they do depends on nothing but their arguments, and cannot be undone or called back. */
const exactOnly =
  /^(?:rm|rmdir|dd|mkfs.*|shred|truncate|chmod|chown|chgrp|kill|pkill|killall|curl|wget|nc|ncat|socat|scp|rsync|find|watch|setsid|flock|docker|kubectl|terraform|systemctl|crontab|at|mount|umount|git)$/

/** Programs whose second word is what they do; the rest take files or options there. */
const isSubcommand = (word: string | undefined): word is string =>
  word !== undefined && /^[a-z][a-z0-9:_-]*$/.test(word) && !word.includes(".")

/** `alone`: the line as it was given, when it is this command and nothing else. */
const fromCommand = (command: CommandFacts, alone: string | undefined): ReadonlyArray<Suggestion> => {
  // The shortest form: without what wraps it.
  const shortest = [...command.loose].sort((a, b) => a.text.length - b.text.length)[0]
  const text = shortest?.text ?? ""
  if (text === "" || /[\n\r]/.test(text)) return []
  const words = text.split(" ")
  const program = words[0] ?? ""
  // A word with spaces of its own can only be told from several words by its quotes.
  const isPlain = shortest?.plain === text.length
  const line = isPlain ? text : (alone ?? "")
  const exactly: Suggestion = { rule: `Bash(${literal(line)})`, covers: `exactly "${line}"`, lasts: "project" }
  const exact = line === "" || /\p{Cc}/u.test(line) ? [] : [exactly]
  if (!command.prefixAllowable || runsAnything(program)) return exact
  const name = program.slice(program.lastIndexOf("/") + 1)
  const depth = depths.get(words.slice(0, 2).join(" ")) ?? 2
  // A script is what it does.
  const isScript = program.includes("/") && name.includes(".")
  const named = isScript ? 0 : words.slice(1, depth).findIndex((word) => !isSubcommand(word))
  const kept = named === -1 ? Math.min(depth, words.length) : named + 1
  if (kept === 1 && exactOnly.test(name)) return exact
  // `npm run` alone would cover every script.
  if (kept < depth && depth > 2) return exact
  const head = words.slice(0, kept).join(" ")
  if (head.length > (shortest?.plain ?? 0)) return exact
  return [{ rule: `Bash(${literal(head)} *)`, covers: `"${head}" with any arguments`, lasts: "project" }]
}

/** A star of the command itself is not a wildcard of the rule. */
const literal = (text: string): string => text.replace(/[\\*]/g, (char) => `\\${char}`)

const fromDirectory = (tool: "Read" | "Edit", touch: PathTouch, { cwd, home }: Ground): Suggestion => {
  const directory = touch.path.slice(0, Math.max(1, touch.path.lastIndexOf("/")))
  const verb = tool === "Read" ? "reading" : "changing"
  const lasts = tool === "Read" ? "project" : "session"
  // A whole disk, home or top-level directory is more than anybody meant.
  const wide =
    directory === "/" || directory === home || /^\/[^/]+$/.test(directory) || home.startsWith(`${directory}/`)
  if (wide && directory !== cwd) {
    return { rule: `${tool}(/${escape(touch.path)})`, covers: `${verb} ${touch.path}`, lasts }
  }
  return { rule: `${tool}(/${escape(directory)}/**)`, covers: `${verb} anything below ${directory}`, lasts }
}
