/**
 * Owns the grammar of permission rules: `Tool`, `Tool(specifier)` and, where a rule forbids or asks, `Tool(parameter:value)`.
 *
 * A rule that cannot be read is a problem with a place in its text and the way to fix it. What then happens depends on what the rule was
 * for, and is decided where rules are collected (`Rules.ts`): forbidding fails closed, allowing fails to allow.
 */
import * as Result from "effect/Result"
import * as CommandPattern from "./CommandPattern.ts"
import * as PathForm from "./PathForm.ts"

export type Behavior = "allow" | "ask" | "deny"

export type Rule = RuleForm & {
  /** As it was written. */
  readonly text: string
  /** What its author probably did not mean. The rule is in force all the same. */
  readonly warnings: ReadonlyArray<RuleProblem>
}

export type RuleForm =
  /** Every call of a tool, or of all tools whose names fit. `server`: all tools of an MCP server. */
  | { readonly _tag: "Tool"; readonly name: string; readonly names: "one" | "glob" | "server" }
  | { readonly _tag: "Command"; readonly tool: "Bash" | "PowerShell"; readonly pattern: CommandPattern.CommandPattern }
  /** `source`: the directory that belongs to the settings which hold the rule. A negated one takes paths out of the rules before it. */
  | {
      readonly _tag: "Path"
      readonly tool: "Read" | "Edit" | "Cd"
      readonly anchor: PathForm.Anchor
      readonly pattern: string
      readonly negated: boolean
    }
  | { readonly _tag: "Domain"; readonly domain: string }
  /** A name that looks like `parameter:value` may be both, so a rule that tightens carries the parameter too. */
  | { readonly _tag: "Agent"; readonly name: string; readonly param: Param | undefined }
  | { readonly _tag: "Skill"; readonly name: string; readonly anyArguments: boolean; readonly param: Param | undefined }
  | { readonly _tag: "Param"; readonly tool: string; readonly param: Param }

export interface Param {
  readonly name: string
  readonly value: CommandPattern.CommandPattern
}

export interface RuleProblem {
  readonly severity: "error" | "warning"
  readonly text: string
  /** Where in the text, in characters from 0. */
  readonly at: number
  readonly length: number
  readonly what: string
  readonly fix: string
  /** The tool the rule names, as far as that can be read. */
  readonly tool: string | undefined
}

/** For people: what, where, how to fix it. */
export const describe = (problem: RuleProblem): string =>
  `The rule "${problem.text}" ${problem.what} (character ${problem.at + 1}). ${problem.fix}`

const aliases: Readonly<Record<string, string>> = { Fetch: "WebFetch", Task: "Agent" }

/** The name rules are compared by. */
export const canonical = (tool: string): string => aliases[tool] ?? tool

/** Tools whose calls are judged by the files they touch, and the rule that covers them. */
export const fileTools: ReadonlyMap<string, "Read" | "Edit"> = new Map([
  ["Read", "Read"],
  ["Glob", "Read"],
  ["Grep", "Read"],
  ["LS", "Read"],
  ["NotebookRead", "Read"],
  ["Edit", "Edit"],
  ["Write", "Edit"],
  ["MultiEdit", "Edit"],
  ["NotebookEdit", "Edit"],
])

const otherTools = ["Bash", "PowerShell", "WebFetch", "WebSearch", "Agent", "Skill", "Cd", "Monitor", "AskUserQuestion"]
const spelling = new Map(
  [...fileTools.keys(), ...otherTools, "Fetch", "Task"].map((name) => [name.toLowerCase(), name]),
)

/** Fields that a tool judges by its own rules: to compare their text would be easy to get around. */
const ownField: Readonly<Record<string, { readonly field: string; readonly instead: string }>> = {
  Bash: { field: "command", instead: "Bash(rm *)" },
  PowerShell: { field: "command", instead: "PowerShell(Remove-Item *)" },
  Read: { field: "file_path", instead: "Read(./path)" },
  Edit: { field: "file_path", instead: "Edit(./path)" },
  Write: { field: "file_path", instead: "Edit(./path)" },
  MultiEdit: { field: "file_path", instead: "Edit(./path)" },
  Grep: { field: "path", instead: "Read(./path)" },
  Glob: { field: "path", instead: "Read(./path)" },
  LS: { field: "path", instead: "Read(./path)" },
  NotebookEdit: { field: "notebook_path", instead: "Edit(./path)" },
  WebFetch: { field: "url", instead: "WebFetch(domain:example.com)" },
}

/** Where a specifier has a meaning of its own, only these count as parameters; elsewhere any name does. */
const knownParams: Readonly<Record<string, ReadonlyArray<string>>> = {
  Bash: ["run_in_background", "description", "dangerouslyDisableSandbox", "timeout"],
  PowerShell: ["run_in_background", "description", "timeout"],
  Read: ["offset", "limit", "pages"],
  Edit: ["replace_all"],
  Write: [],
  MultiEdit: [],
  NotebookEdit: ["edit_mode", "cell_type", "cell_id"],
  Glob: ["pattern"],
  Grep: ["pattern", "glob", "type", "output_mode", "multiline"],
  LS: [],
  Cd: [],
  WebFetch: ["prompt"],
}

/** Characters that make a rule look like another one. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/** Reads one rule. What it may say depends on what it is for: a glob of tools, or a parameter, cannot allow anything. */
export const parse = (text: string, behavior: Behavior): Result.Result<Rule, RuleProblem> => {
  const start = text.trim() === "" ? 0 : text.length - text.trimStart().length
  const rule = text.trim()
  const open = rule.indexOf("(")
  const written = open === -1 ? rule : rule.slice(0, open)
  const known = /^[A-Za-z_*][\w*.:-]*$/.test(written) ? written : undefined
  const fail = (at: number, length: number, what: string, fix: string, severity: RuleProblem["severity"] = "error") =>
    Result.fail({ severity, text, at: start + at, length, what, fix, tool: known } satisfies RuleProblem)

  if (rule === "")
    return fail(0, text.length, "is empty", "Write a tool's name, for example Bash(npm test *), or remove it.")
  const hidden = invisible.exec(rule)
  if (hidden !== null) {
    const code = rule.charCodeAt(hidden.index).toString(16).toUpperCase().padStart(4, "0")
    return fail(hidden.index, 1, `contains the invisible character U+${code}`, "Remove it and type the rule again.")
  }
  if (written.trim() === "")
    return fail(0, 1, "names no tool", "Write the tool before the parenthesis: Bash(npm test *).")
  if (open === -1 && rule.includes(")")) {
    return fail(rule.indexOf(")"), 1, "has a closing parenthesis and no opening one", `Write ${rule.replace(")", "")}.`)
  }
  if (known === undefined) {
    const bad = /[^\w*.:-]|^[\d.:-]/.exec(written)
    return fail(
      bad?.index ?? 0,
      1,
      `names no tool: "${written}" contains "${bad?.[0] ?? ""}"`,
      "Names of tools are one word, as in Bash, TaskStop or mcp__server__tool.",
    )
  }
  if (open !== -1 && !rule.endsWith(")")) {
    const close = rule.lastIndexOf(")")
    return close > open
      ? fail(
          close + 1,
          rule.length - close - 1,
          `goes on behind its closing parenthesis`,
          `Write ${rule.slice(0, close + 1)}.`,
        )
      : fail(rule.length, 0, "has no closing parenthesis", `Write ${rule}).`)
  }

  const proper = spelling.get(written.toLowerCase()) ?? written
  const warnings: Array<RuleProblem> = []
  const warn = (at: number, length: number, what: string, fix: string) =>
    warnings.push({ severity: "warning", text, at: start + at, length, what, fix, tool: proper })
  if (proper !== written) {
    const fix = `Write ${proper}${open === -1 ? "" : rule.slice(open)}.`
    if (behavior === "allow")
      return fail(0, written.length, `names a tool that does not exist; it is called ${proper}`, fix)
    warn(0, written.length, `names a tool that is called ${proper}`, fix)
  }
  const tool = canonical(proper)
  const succeed = (form: RuleForm) => Result.succeed({ ...form, text: rule, warnings } satisfies Rule)

  if (tool.includes("*") && behavior === "allow" && !/^mcp__[^*]+?__/.test(tool)) {
    return fail(
      tool.indexOf("*"),
      1,
      "would allow tools that nobody has named",
      "An allow rule takes * only behind a server's name: mcp__server__*.",
    )
  }
  const whole = (): Result.Result<Rule, RuleProblem> => {
    const server = /^mcp__(?:(?!__).)+$/.test(tool) && !tool.includes("*")
    return succeed({ _tag: "Tool", name: tool, names: tool.includes("*") ? "glob" : server ? "server" : "one" })
  }
  if (open === -1) return whole()

  const inside = rule.slice(open + 1, -1)
  const specifier = inside.trim()
  const at = open + 1
  if (specifier === "")
    return fail(open, 2, "has nothing between its parentheses", `Write ${proper} for every call of it.`)
  const covers = fileTools.get(tool)
  const isPath = covers !== undefined || tool === "Cd"
  if (specifier === "*" && !isPath) return whole()
  if (tool.includes("*")) {
    return fail(
      at,
      inside.length,
      "has a specifier behind a glob of tools",
      "Name one tool, or leave out the parentheses.",
    )
  }

  const field = /^([A-Za-z_][\w-]*)\s*:\s*(.*)$/su.exec(specifier)
  const name = field?.[1] ?? ""
  const value = field?.[2] ?? ""
  const own = ownField[tool]
  if (own !== undefined && name === own.field) {
    return fail(at, name.length, `compares ${name}, which is easy to get around`, `Write it as in ${own.instead}.`)
  }
  const names = knownParams[tool]
  const isCommand = tool === "Bash" || tool === "PowerShell"
  // `Bash(timeout:*)` is the command timeout with any arguments.
  const isParam =
    field !== null &&
    (names === undefined ? true : names.includes(name) && !(isCommand && name === "timeout" && value === "*"))
  const param: Param | undefined = isParam && value !== "" ? { name, value: CommandPattern.make(value) } : undefined
  const noParam = () =>
    fail(
      at,
      inside.length,
      `matches the parameter ${name}, which shows nothing about the rest of the call`,
      `An allow rule cannot do that. Write it as deny or ask, or allow ${proper} as a whole.`,
    )

  if (tool === "Agent" || tool === "Skill") {
    if (tool === "Agent")
      return succeed({ _tag: "Agent", name: specifier, param: behavior === "allow" ? undefined : param })
    const anyArguments = /(?: |:)\*$/.test(specifier)
    const skill = anyArguments ? specifier.slice(0, -2).trim() : specifier
    return succeed({
      _tag: "Skill",
      name: skill.replace(/^\//, ""),
      anyArguments,
      param: behavior === "allow" ? undefined : param,
    })
  }
  if (param !== undefined) {
    if (behavior === "allow") return noParam()
    return succeed({ _tag: "Param", tool, param })
  }
  if (isCommand) {
    const inner = /:\*(?!$)/.exec(specifier)
    if (inner !== null) {
      warn(
        at + inner.index,
        2,
        `has ":*" before its end, where the colon is an ordinary character`,
        `Write " *" instead.`,
      )
    }
    const early = behavior === "allow" ? earlyStar(specifier) : -1
    if (early !== -1) {
      warn(at + inside.indexOf(specifier) + early, 1, "has a * before the rest of the command", openly)
    }
    return succeed({ _tag: "Command", tool, pattern: CommandPattern.make(specifier) })
  }
  if (tool === "WebFetch") {
    const domain = /^domain\s*:\s*(.*)$/su.exec(specifier)?.[1]
    if (domain === undefined) {
      return fail(
        at,
        inside.length,
        "does not say which domain",
        "Write WebFetch(domain:example.com), or WebFetch for all of them.",
      )
    }
    const host = hostOf(domain)
    if (host === undefined) {
      const where = at + inside.indexOf(domain)
      return fail(
        where,
        domain.length,
        `has no domain in "${domain}"`,
        "Write a host without scheme, port and path: example.com.",
      )
    }
    return succeed(host === "*" ? { _tag: "Tool", name: "WebFetch", names: "one" } : { _tag: "Domain", domain: host })
  }
  if (isPath) {
    if (covers !== undefined && tool !== covers) {
      const what = `is not consulted for ${tool}: only Read and Edit rules are`
      const fix = `Write ${covers}(${specifier}); it covers every tool that ${covers === "Edit" ? "edits" : "reads"} files.`
      if (behavior === "allow") return fail(0, proper.length, what, fix, "warning")
      warn(0, proper.length, `${what}, so it is taken as one of those`, fix)
    }
    const path = PathForm.read(specifier)
    if (path.negated && behavior === "allow") {
      return fail(
        at,
        1,
        "takes something out of nothing",
        "An allow rule with ! allows nothing; write it among the deny or ask rules.",
      )
    }
    const flaw = PathForm.flaw(path.pattern)
    if (flaw !== undefined) {
      const where = at + Math.max(0, inside.indexOf(path.pattern)) + flaw.at
      const fix = "Put a backslash before it to mean the character itself."
      if (behavior === "allow") return fail(where, 1, flaw.what, fix)
      warn(where, 1, `${flaw.what}, so it guards exactly that path`, fix)
      return succeed({ _tag: "Path", tool: covers ?? "Cd", ...path, pattern: PathForm.escape(path.pattern) })
    }
    return succeed({ _tag: "Path", tool: covers ?? "Cd", ...path })
  }
  if (field !== null)
    return fail(at + inside.length, 0, `gives no value to ${name}`, `Write ${tool}(${name}:value), with * for any.`)
  return fail(
    at,
    inside.length,
    `has a specifier, and ${tool} takes none`,
    behavior === "allow" ? `Write ${tool}.` : `Write ${tool}, or ${tool}(parameter:value).`,
  )
}

const openly =
  "It stands for any option too, also for one that makes the program run another. Put the * behind the words that say what is done."

/** Where a star stands for the subcommand or for options before it: `git * main`. */
const earlyStar = (specifier: string): number => {
  const words = specifier.split(" ")
  const star = words.indexOf("*")
  if (star === -1 || words.slice(1, star).some((word) => !word.startsWith("-"))) return -1
  const rest = words.slice(star + 1).some((word) => !word.startsWith("-") && word !== "*")
  return rest ? words.slice(0, star).join(" ").length + (star === 0 ? 0 : 1) : -1
}

const hostOf = (domain: string): string | undefined => {
  const host = domain.trim().toLowerCase().replace(/\.$/, "").normalize("NFC")
  return /^(?:\[[0-9a-f:.]+\]|[\p{L}\p{N}*_-]+(?:\.[\p{L}\p{N}*_-]+)*)$/u.test(host) ? host : undefined
}

/** The old form of a rule, `{ tool, args }`, as the text it means; anything else as a text that names no tool. */
export const migrate = (value: unknown): string => {
  if (typeof value === "string") return value
  if (typeof value !== "object" || value === null || !("tool" in value) || typeof value.tool !== "string") {
    return `(${JSON.stringify(value) ?? String(value)})`
  }
  const args = "args" in value ? value.args : undefined
  if (args === undefined || args === null) return value.tool
  if (typeof args === "string") return args === "" ? value.tool : `${value.tool}(${args})`
  if (Array.isArray(args)) return `${value.tool}(${args.join(" ")})`
  const [first, ...more] = typeof args === "object" ? Object.entries(args) : []
  // Several arguments in one rule have no text: left open, so that it is reported and fails as any malformed rule does.
  return first !== undefined && more.length === 0
    ? `${value.tool}(${first[0]}:${String(first[1])})`
    : `${value.tool}(${JSON.stringify(args)}`
}
