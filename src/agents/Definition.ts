/**
 * Owns what an agent definition is, wherever it comes from: who it is, what it may use, how it is told what to do; which of several of
 * one name counts, and which parts of it need a person's agreement. The last two are separate properties of where it comes from.
 */
import type { Effort } from "../protocol/Effort.ts"
import type { PermissionMode } from "../protocol/PermissionMode.ts"
import { canonical, type Json, type JsonObject } from "../settings/Merge.ts"
import * as Trust from "../settings/Trust.ts"

/** The strongest first: of two definitions of one name the earlier kind counts. */
export const kinds = ["managed", "flag", "project", "user", "library", "plugin", "built-in"] as const
export type Kind = (typeof kinds)[number]

export interface Origin {
  readonly kind: Kind
  /** The file, or the settings file that holds it. */
  readonly file?: string
  /** Among those of the same kind, the lower counts: the nearest directory first. */
  readonly near: number
  readonly plugin?: string
  /** It stands in a settings file, which was reviewed as a whole. */
  readonly reviewed?: boolean
}

/** Of what comes with a folder, the parts that execute wait for a person; of what a plugin brings, they are never in force. */
export const trustOf = ({ kind, reviewed }: Origin): "full" | "review" | "limited" =>
  kind === "plugin" ? "limited" : kind === "project" && reviewed !== true ? "review" : "full"

/** Where the text of the system prompt is: a file's body is read when the agent starts. */
export type Prompt =
  | { readonly _tag: "Text"; readonly text: string }
  | { readonly _tag: "File"; readonly path: string; readonly line: number }

/** An MCP server of the session by its name, or one of the agent's own. */
export interface McpServer {
  readonly name: string
  readonly config?: JsonObject
}

export const colors = ["red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"] as const
export type Color = (typeof colors)[number]
export const memories = ["user", "project", "local"] as const
export type Memory = (typeof memories)[number]

/** What only the built-in agents can be. */
export interface Traits {
  /** Never a dearer model than this one, whatever is inherited. */
  readonly modelCap?: string
  /** Starts without instruction files and the state of git. */
  readonly bare?: boolean
  /** Answers once and cannot be spoken to again. */
  readonly oneShot?: boolean
  /** Said again with every turn. */
  readonly reminder?: string
}

export interface AgentDefinition {
  readonly name: string
  /** Other names it answers to. */
  readonly aliases: ReadonlyArray<string>
  readonly description: string
  /** For the model to choose by; the description unless told. */
  readonly whenToUse: string
  /** As they are written; absent, every tool of the session. `AgentTools.resolve` says which they are. */
  readonly tools: ReadonlyArray<string> | undefined
  readonly disallowedTools: ReadonlyArray<string>
  /** An alias or an id; absent, the model of whoever starts it. */
  readonly model: string | undefined
  readonly permissionMode: PermissionMode | undefined
  readonly maxTurns: number | undefined
  readonly skills: ReadonlyArray<string>
  readonly mcpServers: ReadonlyArray<McpServer>
  /** As in settings; whoever runs hooks reads it. */
  readonly hooks: JsonObject | undefined
  readonly memory: Memory | undefined
  readonly background: boolean
  readonly effort: Effort | undefined
  readonly isolation: "worktree" | undefined
  readonly color: Color | undefined
  readonly initialPrompt: string | undefined
  readonly forkContext: boolean
  readonly allowedAgents: ReadonlyArray<string> | undefined
  readonly allowedMcpServers: ReadonlyArray<string> | undefined
  readonly thinkingBudget: number | undefined
  readonly prompt: Prompt
  readonly origin: Origin
  /** Of all it was made from: another hash, another agent. */
  readonly hash: string
  /** Fields nobody here knows, kept for those who do. */
  readonly extra: JsonObject
  /** Fields that are not in force, because nobody agreed to them or because of where they come from. */
  readonly withheld: ReadonlyArray<string>
  readonly traits: Traits
}

/** What is wrong, where, why, and what helps. */
export interface Diagnostic {
  readonly severity: "error" | "warning"
  /** A path, `--agents`, or a settings file. */
  readonly file: string
  readonly line?: number
  readonly column?: number
  /** The agent or the field it is about. */
  readonly about?: string
  readonly message: string
}

/** What was meant to be an agent and cannot be one. */
export interface Failed {
  readonly name: string
  readonly file: string
  readonly kind: Kind
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

export const render = ({ about, column, file, line, message }: Diagnostic): string =>
  `${file}${line === undefined ? "" : `:${line}:${column ?? 1}`}: ${about === undefined ? "" : `${about}: `}${message}`

/** A definition with nothing but a name, a reason and a prompt. */
export const plain = (
  given: Pick<AgentDefinition, "name" | "description" | "prompt" | "origin" | "hash"> & Partial<AgentDefinition>,
): AgentDefinition => ({
  aliases: [],
  whenToUse: given.description,
  tools: undefined,
  disallowedTools: [],
  model: undefined,
  permissionMode: undefined,
  maxTurns: undefined,
  skills: [],
  mcpServers: [],
  hooks: undefined,
  memory: undefined,
  background: false,
  effort: undefined,
  isolation: undefined,
  color: undefined,
  initialPrompt: undefined,
  forkContext: false,
  allowedAgents: undefined,
  allowedMcpServers: undefined,
  thinkingBudget: undefined,
  extra: {},
  withheld: [],
  traits: {},
  ...given,
})

/** The order in which definitions count. */
export const strongestFirst = (a: AgentDefinition, b: AgentDefinition): number =>
  kinds.indexOf(a.origin.kind) - kinds.indexOf(b.origin.kind) ||
  a.origin.near - b.origin.near ||
  compare(a.origin.file ?? "", b.origin.file ?? "")

export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** What of it makes something run or asks less than the session does: what it remembers it writes without asking. */
export const executable = ({ hooks, mcpServers, memory, permissionMode }: AgentDefinition): JsonObject => {
  const own = mcpServers.flatMap(({ config, name }): ReadonlyArray<Json> =>
    config === undefined ? [] : [{ name, config }],
  )
  return {
    ...(hooks !== undefined && Object.keys(hooks).length > 0 && { hooks }),
    ...(own.length > 0 && { mcpServers: own }),
    ...(memory !== undefined && { memory }),
    ...(permissionMode !== undefined && Trust.loose.has(permissionMode) && { permissionMode }),
  }
}

/** What a person has to agree to; over the meaning, not the text. */
export const review = (definition: AgentDefinition, hash: (text: string) => string): Trust.Review | undefined => {
  const parts = executable(definition)
  const keys = Object.keys(parts)
  const name = definition.origin.file ?? definition.name
  return keys.length === 0 ? undefined : { source: { kind: "project", name }, keys, hash: hash(canonical(parts)) }
}

/** The same agent without what executes. Servers of the session may stay: somebody else agreed to those. */
export const withhold = (definition: AgentDefinition, keys: ReadonlyArray<string>): AgentDefinition => ({
  ...definition,
  hooks: keys.includes("hooks") ? undefined : definition.hooks,
  mcpServers: keys.includes("mcpServers")
    ? definition.mcpServers.filter(({ config }) => config === undefined)
    : definition.mcpServers,
  memory: keys.includes("memory") ? undefined : definition.memory,
  permissionMode: keys.includes("permissionMode") ? undefined : definition.permissionMode,
  withheld: [...new Set([...definition.withheld, ...keys])],
})
