/**
 * Owns which tools an agent has: what its definition takes away first, then what it names, against the tools of the session. Pure.
 *
 * A definition only ever narrows: a pattern behind a tool's name (`Bash(git diff *)`) is a fence around the calls of that tool, on top of
 * the session's own rules.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { AgentDefinition } from "./Definition.ts"

export interface AgentTools {
  /** In the session's order. */
  readonly tools: ReadonlyArray<string>
  /** By tool: a call of it is allowed only if it fits one of these rules. */
  readonly only: Readonly<Record<string, ReadonlyArray<string>>>
  /** Rules that forbid, for parts of tools. */
  readonly deny: ReadonlyArray<string>
  /** The agents it may start; any when absent. */
  readonly agents: ReadonlyArray<string> | undefined
  /** Those it has only to keep its memory: outside of that they are none of its business. */
  readonly forMemory: ReadonlyArray<string>
  /** Named in the definition, but no tool of this session. */
  readonly unresolved: ReadonlyArray<string>
}

/** Nothing of what the definition names is a tool here: it could do nothing, and nobody would know why. */
export class NoTools extends Schema.TaggedError<NoTools>()("NoTools", {
  agent: Schema.String,
  named: Schema.Array(Schema.String),
}) {
  override get message(): string {
    return `The agent "${this.agent}" would start without any tool: none of ${this.named.join(", ")} is a tool it can have here. Correct its "tools", or leave that out to give it all of them.`
  }
}

type Wanted = Pick<
  AgentDefinition,
  "name" | "tools" | "disallowedTools" | "memory" | "allowedAgents" | "allowedMcpServers"
>

/** `Bash(git *)` in two; a star inside says nothing more. */
const parts = (entry: string): { readonly tool: string; readonly pattern: string | undefined } => {
  const [, tool = entry, inside] = /^([^()]*)\(([\s\S]*)\)$/.exec(entry) ?? []
  const pattern = inside?.trim()
  return { tool: tool.trim(), pattern: pattern === "" || pattern === "*" ? undefined : pattern }
}

/** Old names of tools, as agents still have them. */
const renamed: Readonly<Record<string, string>> = {
  task: "Agent",
  agent: "Agent",
  fetch: "WebFetch",
  bashoutput: "TaskOutput",
  agentoutput: "TaskOutput",
  killshell: "TaskStop",
  killbash: "TaskStop",
}

const mcpServerOf = (tool: string): string | undefined => /^mcp__(.+?)__/.exec(tool)?.[1]

/** Which of the session's tools a name means. */
const matching = (name: string, session: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (name === "*" || /^all( tools)?$/i.test(name)) return session
  if (name === "mcp__*" || name === "mcp__") return session.filter((tool) => tool.startsWith("mcp__"))
  const server = /^mcp__(.+?)(?:__\*)?$/.exec(name)?.[1]
  const exact = session.filter((tool) => tool === name)
  if (exact.length > 0) return exact
  if (server !== undefined) return session.filter((tool) => mcpServerOf(tool) === server)
  const small = name.toLowerCase()
  const now = Object.hasOwn(renamed, small) ? renamed[small]?.toLowerCase() : undefined
  return session.filter((tool) => tool.toLowerCase() === small || tool.toLowerCase() === now)
}

export const resolve = (definition: Wanted, session: ReadonlyArray<string>): Result.Result<AgentTools, NoTools> => {
  const taken = definition.disallowedTools.map((entry) => ({ entry, ...parts(entry) }))
  const whole = new Set(taken.flatMap(({ pattern, tool }) => (pattern === undefined ? matching(tool, session) : [])))
  const deny = taken.flatMap(({ pattern, tool }) =>
    pattern === undefined ? [] : matching(tool, session).map((name) => `${name}(${pattern})`),
  )
  const servers = definition.allowedMcpServers
  const left = session.filter((tool) => {
    const server = mcpServerOf(tool)
    return !whole.has(tool) && (server === undefined || servers === undefined || servers.includes(server))
  })
  if (definition.tools === undefined) {
    return Result.succeed({
      tools: left,
      only: {},
      deny,
      agents: definition.allowedAgents,
      forMemory: [],
      unresolved: [],
    })
  }
  const named = definition.tools.map((entry) => {
    const { pattern, tool } = parts(entry)
    return { entry, pattern, found: matching(tool, left) }
  })
  const unresolved = named.filter(({ found }) => found.length === 0).map(({ entry }) => entry)
  const listed = new Set(named.flatMap(({ found }) => found))
  const remembering = definition.memory === undefined ? [] : ["Read", "Write", "Edit"]
  const forMemory = remembering.flatMap((tool) => matching(tool, left)).filter((tool) => !listed.has(tool))
  if (named.length > 0 && unresolved.length === named.length) {
    return Result.fail(new NoTools({ agent: definition.name, named: unresolved }))
  }
  const only = new Map<string, ReadonlyArray<string>>()
  for (const { found, pattern } of named) {
    for (const tool of found) {
      if (pattern === undefined || tool === "Agent") only.set(tool, [])
      else if (only.get(tool)?.length !== 0) only.set(tool, [...(only.get(tool) ?? []), `${tool}(${pattern})`])
    }
  }
  return Result.succeed({
    tools: left.filter((tool) => listed.has(tool) || forMemory.includes(tool)),
    only: Object.fromEntries([...only].filter(([, rules]) => rules.length > 0)),
    deny,
    agents: agentsOf(definition),
    forMemory,
    unresolved,
  })
}

/** `Agent(worker, researcher)` names them; so does `allowedAgents`. Both together mean those in both. */
const agentsOf = ({ allowedAgents, tools = [] }: Wanted): ReadonlyArray<string> | undefined => {
  const entries = tools.map(parts).filter(({ tool }) => /^(?:agent|task)$/i.test(tool))
  const named = entries.flatMap(({ pattern }) => pattern?.split(",").map((name) => name.trim()) ?? [])
  const any = entries.length === 0 || entries.some(({ pattern }) => pattern === undefined)
  if (any) return allowedAgents
  return allowedAgents === undefined ? named : named.filter((name) => allowedAgents.includes(name))
}

const neverInside: ReadonlySet<string> = new Set([
  "AskUserQuestion",
  "EndConversation",
  "EnterPlanMode",
  "ScheduleWakeup",
  "TaskOutput",
  "WaitForMcpServers",
  "Workflow",
])
const inBackground: ReadonlySet<string> = new Set([
  "Read",
  "Grep",
  "Glob",
  "Bash",
  "PowerShell",
  "Edit",
  "Write",
  "NotebookEdit",
  "WebFetch",
  "WebSearch",
  "TodoWrite",
  "Skill",
  "ToolSearch",
  "EnterWorktree",
  "ExitWorktree",
  "Monitor",
  "TaskStop",
  "SendMessage",
  "Artifact",
  "Agent",
  "ExitPlanMode",
])

/** What of a session's tools its subagents may have at all, before their definitions are asked. */
export const forSubagent = (
  session: ReadonlyArray<string>,
  facts: { readonly background: boolean; readonly mayStart: boolean; readonly plans: boolean },
): ReadonlyArray<string> =>
  session.filter(
    (tool) =>
      !neverInside.has(tool) &&
      (tool !== "Agent" || facts.mayStart) &&
      (tool !== "ExitPlanMode" || facts.plans) &&
      (!facts.background || tool.startsWith("mcp__") || inBackground.has(tool)),
  )
