/**
 * Owns rules in force: where each comes from, what becomes of those that cannot be read, and the index that makes a decision cheap.
 *
 * A malformed deny rule denies the whole tool it names, or everything when no tool can be read; a malformed ask rule asks the same way; a
 * malformed allow rule allows nothing. Every one of them is reported.
 */
import * as Result from "effect/Result"
import { isObject, type Json } from "../settings/Merge.ts"
import type { SettingsLayer, SourceKind } from "../settings/SettingsLayer.ts"
import * as CommandPattern from "./CommandPattern.ts"
import * as PathRule from "./PathRule.ts"
import * as Rule from "./Rule.ts"

export interface RuleSource {
  readonly kind:
    | "managed"
    | "cli"
    | "arguments"
    | "local"
    | "project"
    | "user"
    | "session"
    | "agent"
    | "skill"
    | "embedder"
  readonly file?: string
  readonly line?: number
}

/** A rule as somebody wrote it. */
export interface RuleText {
  readonly behavior: Rule.Behavior
  /** A text, or the old form `{ tool, args }`. */
  readonly text: unknown
  readonly source: RuleSource
  /** What a leading `/` in its paths stands for; the session's directory when absent. */
  readonly root?: string
}

/** A rule in force. */
export interface Entry {
  readonly behavior: Rule.Behavior
  readonly rule: Rule.Rule
  readonly source: RuleSource
  /** For command rules, with the program folded where the rule tightens. */
  readonly command?: CommandPattern.CommandPattern
  /** For domain rules: whether a host is meant. */
  readonly host?: (host: string) => boolean
  /** For path rules. */
  readonly paths?: PathRule.PathMatcher
  /** It could not be read, and stands for the whole tool. */
  readonly broken?: Rule.RuleProblem
  /** Allows so much that `auto` mode sets it aside. */
  readonly broad: boolean
}

export interface PathGroup {
  /** Any of them, without what is taken out again: a quick no for most paths. */
  readonly any: PathRule.PathMatcher
  readonly entries: ReadonlyArray<Entry>
}

/** The rules of one behavior, by what they are asked about. */
export interface Index {
  readonly tools: ReadonlyMap<string, ReadonlyArray<Entry>>
  readonly names: ReadonlyArray<Entry>
  readonly programs: ReadonlyMap<string, ReadonlyArray<Entry>>
  readonly commands: ReadonlyArray<Entry>
  readonly powershell: ReadonlyArray<Entry>
  readonly reads: ReadonlyArray<PathGroup>
  readonly edits: ReadonlyArray<PathGroup>
  readonly directories: ReadonlyArray<Entry>
  readonly domains: ReadonlyArray<Entry>
  readonly named: ReadonlyArray<Entry>
  readonly params: ReadonlyMap<string, ReadonlyArray<Entry>>
}

export interface Reported extends Rule.RuleProblem {
  readonly behavior: Rule.Behavior
  readonly source: RuleSource
  /** What was done about it. */
  readonly effect: string
}

export interface Compiled extends Readonly<Record<Rule.Behavior, Index>> {
  readonly entries: ReadonlyArray<Entry>
  readonly problems: ReadonlyArray<Reported>
}

export interface CompileOptions extends PathRule.Place {
  /** `allowManagedPermissionRulesOnly`: settings below the policy have no say, and nothing but the policy may allow. */
  readonly managedOnly?: boolean
}

const settingsKinds = new Set<RuleSource["kind"]>(["user", "project", "local", "arguments"])

const counts = ({ behavior, source }: RuleText): boolean =>
  source.kind === "managed" || (!settingsKinds.has(source.kind) && behavior !== "allow")

/** Reads all rules and puts them in order; the order they are given in matters only to `!` patterns of one source. */
export const compile = (texts: ReadonlyArray<RuleText>, options: CompileOptions): Compiled => {
  const problems: Array<Reported> = []
  const parsed = (options.managedOnly === true ? texts.filter(counts) : texts).flatMap((given): ReadonlyArray<Read> => {
    const { behavior, source } = given
    const read = Rule.parse(Rule.migrate(given.text), behavior)
    if (Result.isSuccess(read)) {
      for (const warning of read.success.warnings) problems.push({ ...warning, behavior, source, effect: "it applies" })
      return [{ given, rule: read.success, broken: undefined }]
    }
    const problem = read.failure
    if (behavior === "allow") {
      problems.push({ ...problem, behavior, source, effect: "it allows nothing" })
      return []
    }
    const verb = behavior === "deny" ? "denied" : "asked about"
    problems.push({
      ...problem,
      behavior,
      source,
      effect: problem.tool === undefined ? `every call is ${verb}` : `every call of ${problem.tool} is ${verb}`,
    })
    return wholly(problem).map((rule) => ({ given, rule, broken: problem }))
  })

  const entries: Array<Entry> = []
  const places = new Map<Entry, PathRule.Anchored>()
  const negated = parsed.flatMap(({ given, rule }, index) =>
    rule._tag === "Path" && rule.negated ? [{ given, rule, index }] : [],
  )
  for (const [index, { given, rule, broken }] of parsed.entries()) {
    const { behavior, source } = given
    const shared = { behavior, rule, source, broad: isBroad(rule), ...(broken !== undefined && { broken }) }
    if (rule._tag === "Command") {
      entries.push({ ...shared, command: behavior === "allow" ? rule.pattern : CommandPattern.tight(rule.pattern) })
    } else if (rule._tag === "Domain") entries.push({ ...shared, host: hostMatcher(rule.domain) })
    else if (rule._tag !== "Path") entries.push(shared)
    else if (!rule.negated) {
      const at = PathRule.anchor(rule, behavior, options, given.root ?? options.cwd)
      const except = negated.flatMap((later) => {
        const isLater = later.index > index && later.given.behavior === behavior && isSame(later.given.source, source)
        if (!isLater || later.rule.tool !== rule.tool) return []
        const out = PathRule.anchor(later.rule, behavior, options, later.given.root ?? options.cwd)
        return out.base === at.base ? [out.pattern] : []
      })
      const paths =
        rule.tool === "Cd" ? PathRule.directoryMatcher(at) : PathRule.matcher(at.base, [at.pattern], behavior, except)
      const entry = { ...shared, paths }
      places.set(entry, at)
      entries.push(entry)
    }
  }
  const side = (behavior: Rule.Behavior) =>
    index(
      entries.filter((entry) => entry.behavior === behavior),
      places,
    )
  return { entries, problems, allow: side("allow"), ask: side("ask"), deny: side("deny") }
}

interface Read {
  readonly given: RuleText
  readonly rule: Rule.Rule
  readonly broken: Rule.RuleProblem | undefined
}

const isSame = (a: RuleSource, b: RuleSource): boolean => a.kind === b.kind && a.file === b.file

/** What a rule stands for that cannot be read. A rule about files also stands for what other tools do to files. */
const wholly = (problem: Rule.RuleProblem): ReadonlyArray<Rule.Rule> => {
  const name = Rule.canonical(problem.tool ?? "*")
  const shared = { text: problem.text.trim(), warnings: [] }
  const tool = { ...shared, _tag: "Tool", name, names: name.includes("*") ? "glob" : "one" } as const
  const files = Rule.fileTools.get(name)
  if (files === undefined) return [tool]
  return [tool, { ...shared, _tag: "Path", tool: files, anchor: "root", pattern: "/**", negated: false }]
}

const index = (entries: ReadonlyArray<Entry>, places: ReadonlyMap<Entry, PathRule.Anchored>): Index => {
  const tools = new Map<string, Array<Entry>>()
  const programs = new Map<string, Array<Entry>>()
  const params = new Map<string, Array<Entry>>()
  const names: Array<Entry> = []
  const commands: Array<Entry> = []
  const powershell: Array<Entry> = []
  const directories: Array<Entry> = []
  const domains: Array<Entry> = []
  const named: Array<Entry> = []
  const put = (map: Map<string, Array<Entry>>, key: string, entry: Entry) => {
    const list = map.get(key)
    if (list === undefined) map.set(key, [entry])
    else list.push(entry)
  }
  for (const entry of entries) {
    const { rule, behavior, command } = entry
    if (rule._tag === "Tool") {
      if (rule.names === "one") put(tools, behavior === "allow" ? rule.name : rule.name.toLowerCase(), entry)
      else names.push(entry)
    } else if (rule._tag === "Command") {
      if (rule.tool === "PowerShell") powershell.push(entry)
      else if (command?.program === undefined) commands.push(entry)
      else put(programs, command.program, entry)
    } else if (rule._tag === "Domain") domains.push(entry)
    else if (rule._tag === "Param") put(params, rule.tool, entry)
    else if (rule._tag === "Path") {
      if (rule.tool === "Cd") directories.push(entry)
    } else named.push(entry)
  }
  const paths = (tool: "Read" | "Edit"): ReadonlyArray<PathGroup> => {
    const groups = new Map<string, Array<Entry>>()
    for (const entry of entries) {
      if (entry.rule._tag === "Path" && entry.rule.tool === tool) put(groups, places.get(entry)?.base ?? "/", entry)
    }
    return [...groups].map(([base, members]) => {
      const patterns = members.flatMap((entry) => places.get(entry)?.pattern ?? [])
      return { entries: members, any: PathRule.matcher(base, patterns, members[0]?.behavior ?? "deny") }
    })
  }
  return {
    tools,
    programs,
    params,
    names,
    commands,
    powershell,
    directories,
    domains,
    named,
    reads: paths("Read"),
    edits: paths("Edit"),
  }
}

/** A leading `*.` stands for subdomains at any depth and not for the domain itself; elsewhere `*` stays between two dots. */
const hostMatcher = (domain: string): ((host: string) => boolean) => {
  if (!domain.includes("*")) return (host) => host === domain
  const deep = domain.startsWith("*.")
  const rest = (deep ? domain.slice(2) : domain).replace(/[.[\]]/g, "\\$&").replaceAll("*", "[^.]*")
  const expression = new RegExp(`^${deep ? "(?:[^.]+\\.)+" : ""}${rest}$`, "u")
  return (host) => expression.test(host)
}

const interpreters =
  /^(?:(?:ba|z|da|k|fi|tc|c)?sh|python[\d.]*|node|deno|bun|ruby|perl|php|lua|tsx|ts-node|npx|bunx|pnpx|uvx?|env|sudo|doas|ssh|xargs|eval|exec|su|osascript|pwsh)$/
const runners = /^(?:(?:npm|pnpm|yarn|bun)(?: (?:run|exec|dlx|x))?|cargo run|go run|make|just|uv run|poetry run)$/

/** Whether a program runs whatever its arguments say. */
export const runsAnything = (program: string): boolean => interpreters.test(program.slice(program.lastIndexOf("/") + 1))

/** Rules that would let arbitrary code run: in `auto` mode a classifier looks at those calls instead. */
const isBroad = (rule: Rule.Rule): boolean => {
  if (rule._tag === "Tool") return ["Bash", "PowerShell", "Agent", "Monitor"].includes(rule.name)
  if (rule._tag === "Agent") return true
  if (rule._tag !== "Command" || rule.pattern.shape === "exact") return false
  const { shape, head, program } = rule.pattern
  if (shape === "all" || head.trim() === "") return true
  return runsAnything(program ?? head) || interpreters.test(head) || runners.test(head.trim())
}

const kinds: Readonly<Record<SourceKind, RuleSource["kind"]>> = {
  user: "user",
  project: "project",
  local: "local",
  arguments: "arguments",
  environment: "cli",
  flags: "cli",
  managed: "managed",
}

const listOf = (value: Json | undefined): ReadonlyArray<Json> => {
  if (value === undefined || value === null) return []
  return Array.isArray(value) ? value : [value]
}

/** The rules of settings. A leading `/` means the project in project settings, the configuration directory in the user's. */
export const fromSettings = (layers: ReadonlyArray<SettingsLayer>, cwd: string): ReadonlyArray<RuleText> =>
  layers.flatMap((layer) => {
    const permissions = layer.value["permissions"]
    if (!isObject(permissions)) return []
    const kind = kinds[layer.source.kind]
    const isFile = layer.source.directory !== undefined
    const own = kind === "user" || kind === "project" || kind === "arguments"
    const root = own ? (layer.source.directory ?? cwd) : cwd
    return (["deny", "ask", "allow"] as const).flatMap((behavior) =>
      listOf(permissions[behavior]).map((text, at): RuleText => {
        const found = layer.locate(["permissions", behavior, String(at)]) ?? layer.locate(["permissions", behavior])
        const source = {
          kind,
          ...(isFile && { file: layer.source.name }),
          ...(found !== undefined && { line: found.line }),
        }
        return { behavior, text, source, root }
      }),
    )
  })

/** What settings say about modes and rules as a whole; the first two hold wherever they are written, the last only in a policy. */
export const limits = (layers: ReadonlyArray<SettingsLayer>) => {
  const says = (layer: SettingsLayer, key: string) => {
    const permissions = layer.value["permissions"]
    return (isObject(permissions) && permissions[key] === "disable") || layer.value[key] === "disable"
  }
  return {
    bypassDisabled: layers.some((layer) => says(layer, "disableBypassPermissionsMode")),
    autoDisabled: layers.some((layer) => says(layer, "disableAutoMode")),
    managedOnly: layers.some(
      (layer) => layer.source.kind === "managed" && layer.value["allowManagedPermissionRulesOnly"] === true,
    ),
  }
}
