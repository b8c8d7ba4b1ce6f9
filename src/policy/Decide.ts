/**
 * Owns the decision about a call, as a plain function of the call, the rules and the mode. The first step that has an answer decides:
 *
 * hook deny, deny rules → hook ask or defer, ask rules, protected paths → the tool's own opinion → hook allow, allow rules, sandbox → mode.
 * A denial by the tool or by plan mode counts as early as a rule's; so does a call that an agent's tools do not name. A critical removal
 * and an opinion that a person must hear (`always`) are asked before all other questions, in every mode. What is left is asked. `bypassPermissions` answers what would be asked, never
 * what is denied; `dontAsk` denies it. Nobody is asked here, and no classifier: that is for the caller of an "ask".
 */
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import type { Call, Facts, PathTouch } from "./Call.ts"
import * as CommandPattern from "./CommandPattern.ts"
import type { Touch } from "./Effects.ts"
import * as FactsOf from "./Facts.ts"
import * as Protected from "./Protected.ts"
import * as Rule from "./Rule.ts"
import * as RuleAllow from "./RuleAllow.ts"
import * as RuleMatch from "./RuleMatch.ts"
import type { Compiled, Entry, RuleSource } from "./Rules.ts"

export type Step =
  | "hook-deny"
  | "agent-tools"
  | "deny-rule"
  | "hook-ask"
  | "hook-defer"
  | "ask-rule"
  | "protected-path"
  | "critical-removal"
  | "tool"
  | "hook-allow"
  | "allow-rule"
  | "sandbox"
  | "mode"
  /** Nothing had an answer. */
  | "default"

export interface DecideContext {
  /** `bubble`: what is left goes to the parent's person. */
  readonly mode: PermissionMode | "bubble"
  readonly cwd: string
  readonly home: string
  /** The directories of the workspace; `cwd` alone when absent. */
  readonly roots?: ReadonlyArray<string>
  /** `disableBypassPermissionsMode` and `disableAutoMode`: the mode counts as `default`. */
  readonly bypassDisabled?: boolean
  readonly autoDisabled?: boolean
  /** What an agent's `tools` name, outermost first: a call that one of them does not name is denied. They never allow anything. */
  readonly within?: ReadonlyArray<Compiled>
}

export interface Settled {
  readonly decision: Rule.Behavior
  /** One sentence for people. */
  readonly reason: string
  readonly step: Step
  /** The rules that decided. */
  readonly by: ReadonlyArray<Entry>
  /** Before the mode turned an "ask" into something else. */
  readonly asked: boolean
}

export interface RuleReport {
  readonly behavior: Rule.Behavior
  readonly text: string
  readonly source: RuleSource["kind"]
  readonly file?: string
  readonly line?: number
  readonly matched: boolean
  readonly why: string
}

/** The decision with everything that led to it, as `permissions explain --json` prints it. */
export interface Verdict {
  readonly decision: Rule.Behavior
  readonly reason: string
  readonly step: Step
  readonly rules: ReadonlyArray<RuleReport>
  readonly effects: ReadonlyArray<Touch>
}

export const decide = (call: Call, rules: Compiled, context: DecideContext): Settled =>
  settle(FactsOf.of(call, context), rules, context)

const effectiveMode = ({ mode, bypassDisabled, autoDisabled }: DecideContext): DecideContext["mode"] => {
  if (mode === "bypassPermissions" && bypassDisabled === true) return "default"
  return mode === "auto" && autoDisabled === true ? "default" : mode
}

const settle = (facts: Facts, rules: Compiled, context: DecideContext): Settled => {
  const { call } = facts
  const mode = effectiveMode(context)
  const answer = (decision: Rule.Behavior, step: Step, reason: string, by: ReadonlyArray<Entry> = []): Settled => ({
    decision,
    step,
    reason,
    by,
    asked: false,
  })
  /** `always`: the mode does not answer for a person. */
  const ask = (step: Step, reason: string, by: ReadonlyArray<Entry> = [], always = false): Settled => {
    if (mode === "dontAsk") {
      const decided = step === "default" ? "mode" : step
      return { decision: "deny", step: decided, by, asked: true, reason: `${reason}, and this session does not ask` }
    }
    if (mode === "bypassPermissions" && !always) {
      return { decision: "allow", step: "mode", by, asked: true, reason: `permissions are bypassed (else: ${reason})` }
    }
    return { decision: "ask", step, by, asked: true, reason }
  }

  // Forbidden.
  if (call.hook?.behavior === "deny") return answer("deny", "hook-deny", call.hook.reason ?? "a hook forbids it")
  const denied = RuleMatch.firstTightening(rules.deny, facts)
  if (denied !== undefined) return answer("deny", "deny-rule", ruleSays(denied, "forbids"), [denied.entry])
  for (const own of context.within ?? []) {
    if (RuleAllow.allows(own.allow, facts, { strict: true })._tag === "Open") {
      return answer("deny", "agent-tools", `this agent's tools do not include such a call of ${call.tool}`)
    }
  }
  if (facts.names.includes("Cd") && rules.allow.directories.length > 0) {
    if (RuleAllow.allows(rules.allow, facts)._tag === "Open") {
      return answer("deny", "deny-rule", "only the directories that Cd rules allow may be entered")
    }
  }
  if (call.opinion?.behavior === "deny") return answer("deny", "tool", call.opinion.reason ?? `${call.tool} refuses it`)

  const reads = onlyReads(facts, rules, mode === "auto")
  const planned = mode === "plan" && !reads ? inPlan(facts) : undefined
  // Its own plan a tool may write; nothing else makes a change part of planning.
  if (planned === "edit" && call.opinion?.behavior !== "allow") {
    return answer("deny", "mode", "plan mode only reads; leave plan mode to change anything")
  }

  // To be asked, whatever allows it; what no mode may answer comes first, so that no other question hides it.
  const critical = Protected.criticalRemoval(call, context)
  if (critical !== undefined) return ask("critical-removal", `it would remove ${critical}`, [], true)
  const { opinion } = call
  const opines = () => ask("tool", opinion?.reason ?? `${call.tool} wants it to be asked`, [], opinion?.always === true)
  if (opinion?.behavior === "ask" && opinion.always === true) return opines()
  if (call.hook?.behavior === "ask") return ask("hook-ask", call.hook.reason ?? "a hook wants it to be asked")
  if (call.hook?.behavior === "defer") return ask("hook-defer", call.hook.reason ?? "a hook defers it")
  const asking = RuleMatch.firstTightening(rules.ask, facts, call.sandboxed === true ? isWholeTool : undefined)
  if (asking !== undefined) return ask("ask-rule", ruleSays(asking, "wants it to be asked"), [asking.entry])
  const guarded = facts.paths.find((touch) => touch.kind === "write" && touch.protected && !isGranted(touch, rules))
  if (guarded !== undefined) {
    return ask("protected-path", `${guarded.path} can change how tools behave, so writing it is always asked`)
  }

  // The tool's own word.
  if (opinion?.behavior === "ask") return opines()
  if (opinion?.behavior === "allow") return answer("allow", "tool", opinion.reason ?? `${call.tool} allows it`)

  // Allowed.
  if (call.hook?.behavior === "allow") return answer("allow", "hook-allow", call.hook.reason ?? "a hook allows it")
  if (planned === "run") return ask("mode", "plan mode only reads, and this may do more")
  const allowed = RuleAllow.allows(rules.allow, facts, { narrow: mode === "auto", guarded: isGuarded(rules) })
  if (allowed._tag === "Allowed") {
    const texts = [...new Set(allowed.entries.map(({ rule }) => `"${rule.text}"`))]
    const subject = texts.length === 1 ? `the rule ${texts[0]} allows` : `the rules ${texts.join(", ")} allow`
    return answer("allow", "allow-rule", `${subject} it`, allowed.entries)
  }
  if (call.sandboxed === true) return answer("allow", "sandbox", "it runs inside the sandbox")

  // The mode.
  if (reads) return answer("allow", "mode", "it only reads inside the workspace")
  if (mode === "acceptEdits" || mode === "auto") {
    if (editsInside(facts)) return answer("allow", "mode", "edits inside the workspace are accepted")
    if (mode === "acceptEdits" && commandsEdit(facts, rules)) {
      return answer("allow", "mode", "it only changes files inside the workspace, and edits are accepted")
    }
  }
  return ask("default", allowed.why ?? leftover(facts))
}

const isGuarded = ({ deny, ask }: Compiled): boolean =>
  [deny.reads, deny.edits, ask.reads, ask.edits].some((groups) => groups.length > 0)

const ruleSays = ({ entry, why }: { readonly entry: Entry; readonly why: string }, verb: string): string =>
  entry.broken === undefined
    ? `the rule "${entry.rule.text}" ${verb}: ${why}`
    : `the rule "${entry.rule.text}" cannot be read, so it ${verb}: ${why}`

/** `Bash`, or `Bash(*)`: the sandbox stands for that question, not for one about a certain command. */
const isWholeTool = ({ rule }: Entry): boolean => rule._tag === "Tool"

/** A person has said so for this session, about this very place. */
const isGranted = (touch: PathTouch, rules: Compiled): boolean =>
  RuleAllow.allowsPath(rules.allow.edits, touch)?.source.kind === "session"

/** Nothing is changed, run or sent, and what is read lies inside, or where a Read rule allows it. */
const onlyReads = (facts: Facts, rules: Compiled, anywhere: boolean): boolean => {
  const { call } = facts
  if (call.bash === undefined ? !call.readOnly || facts.opaque : call.bash._tag === "Opaque" || !call.bash.readOnly) {
    return false
  }
  if (facts.hosts.length > 0 || call.tool.startsWith("mcp__")) return false
  return facts.paths.every((touch) => {
    if (FactsOf.isStream(touch.path)) return true
    if (touch.kind === "write") return false
    return anywhere || !touch.outside || RuleAllow.allowsPath(rules.allow.reads, touch) !== undefined
  })
}

const inPlan = (facts: Facts): "edit" | "run" | undefined => {
  if (facts.call.bash !== undefined || facts.names.includes("PowerShell") || facts.opaque) return "run"
  if (facts.paths.some(({ kind }) => kind === "write")) return "edit"
  return facts.call.touches.some(({ _tag }) => _tag === "Executes" || _tag === "Unknown") ? "run" : undefined
}

const isInside = (touch: PathTouch): boolean =>
  FactsOf.isStream(touch.path) || (!touch.outside && !(touch.kind === "write" && touch.protected))

const editsInside = (facts: Facts): boolean =>
  facts.names.some((name) => Rule.fileTools.get(name) === "Edit") &&
  facts.paths.length > 0 &&
  facts.paths.every(isInside)

const fileCommands = new Set(["mkdir", "touch", "rm", "rmdir", "mv", "cp"])

/** They only print, so with a redirect they only change that file. */
const printers = new Set(["echo", "printf", "cat", "head", "tail", "wc", "ls", "grep", "pwd", "date"])

/** Every command reads, edits files by a well-known name, or is allowed; all of it inside the workspace and plain to see. */
const commandsEdit = (facts: Facts, rules: Compiled): boolean => {
  const { bash, touches } = facts.call
  if (bash?._tag !== "Understood" || facts.commands.length === 0 || facts.hosts.length > 0) return false
  if (touches.some(({ _tag }) => _tag === "Unknown") || !facts.paths.every(isInside)) return false
  return facts.commands.every((command) => {
    if (command.readOnly) return true
    if (!command.literal || !command.prefixAllowable) return false
    // What a whole tree brings along nobody sees here.
    if (command.loose.some(({ text }) => /^cp (?:.* )?(?:-[A-Za-z]*[rRa]|--(?:recursive|archive))/.test(text)))
      return false
    const programs = command.loose.map(({ text }) => CommandPattern.firstWord(text))
    return (
      programs.some((program) => fileCommands.has(program) || (command.redirects && printers.has(program))) ||
      RuleAllow.commandAllowed(rules.allow, command) !== undefined
    )
  })
}

const leftover = (facts: Facts): string => {
  const { call } = facts
  const outside = facts.paths.find((touch) => touch.outside && touch.possible !== true && !FactsOf.isStream(touch.path))
  if (outside !== undefined) return `it touches ${outside.path}, outside the workspace`
  if (call.bash === undefined && facts.hosts.length > 0) return `it talks to ${facts.hosts.join(", ")}`
  if (call.bash !== undefined) return call.bash.why === "" ? "no rule allows this command" : call.bash.why
  return `no rule allows ${call.tool}`
}

/** The decision with every rule that was considered: by the same code, only that nothing stops at the first answer. */
export const explain = (call: Call, rules: Compiled, context: DecideContext): Verdict => {
  const facts = FactsOf.of(call, context)
  const { decision, reason, step, by } = settle(facts, rules, context)
  const reports = rules.entries
    .filter((entry) => isAbout(entry, facts))
    .map((entry) => report(entry, facts, by.includes(entry)))
  const effects = call.bash === undefined ? call.touches : [...new Set([...call.touches, ...call.bash.touches])]
  return { decision, reason, step, rules: reports, effects }
}

const report = (entry: Entry, facts: Facts, decided: boolean): RuleReport => {
  const isAllow = entry.behavior === "allow"
  const why = isAllow ? RuleAllow.partlyAllows(entry, facts) : RuleMatch.tightens(entry, facts)
  const { kind, file, line } = entry.source
  return {
    behavior: entry.behavior,
    text: entry.rule.text,
    source: kind,
    ...(file !== undefined && { file }),
    ...(line !== undefined && { line }),
    matched: why !== undefined || decided,
    why: why ?? (isAllow ? "it does not cover this call" : "it does not mean this call"),
  }
}

/** Whether a rule is about this kind of call at all. */
const isAbout = ({ rule, behavior }: Entry, facts: Facts): boolean => {
  const tightens = behavior !== "allow"
  const isCommand = facts.call.bash !== undefined || facts.opaque
  switch (rule._tag) {
    case "Tool":
      if (rule.names === "one") return facts.folded.includes(rule.name.toLowerCase())
      return !rule.name.startsWith("mcp__") || facts.call.tool.startsWith("mcp__")
    case "Command":
      return rule.tool === "Bash" ? isCommand : facts.names.includes("PowerShell")
    case "Path":
      if (rule.tool === "Cd") return facts.names.includes("Cd")
      return facts.paths.length > 0 && (tightens || !isCommand || rule.tool === "Read")
    case "Domain":
      return facts.hosts.length > 0 && (tightens || facts.names.includes("WebFetch"))
    case "Agent":
    case "Skill":
      return facts.names.includes(rule._tag)
    case "Param":
      return facts.names.includes(rule.tool)
  }
}
