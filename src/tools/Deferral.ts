/**
 * Owns which tools' schemas the model is told only when it asks for them, and how it finds them. Pure.
 *
 * Where the schemas of deferrable tools would fill more than a share of the model's window, they are left out: by the service itself
 * where the model supports that (`defer_loading`), by us otherwise. Decided once per session, so that the prompt does not move.
 */
import * as Context from "effect/Context"
import type { Tool } from "./Tool.ts"

/** `api`: the service leaves them out. `client`: we do. */
export type Deferral = "none" | "api" | "client"

/** The share of the window above which tools are deferred: 0 always, 1 never (`ENABLE_TOOL_SEARCH`). */
export const DeferAbove = Context.Reference<number>("troupe/tools/Deferral/DeferAbove", { defaultValue: () => 0.1 })

/** `true`, `false`, `auto`, or `auto:N` with N percent. */
export const shareOf = (text: string | undefined): number | undefined => {
  const word = text?.trim().toLowerCase()
  if (word === "true" || word === "1") return 0
  if (word === "false" || word === "0") return 1
  const percent = /^auto:(\d{1,3})$/.exec(word ?? "")?.[1]
  return percent === undefined ? undefined : Math.min(100, Number(percent)) / 100
}

export interface Capacity {
  readonly contextWindow: number
  readonly toolSearch: boolean
}

export interface Plan {
  readonly deferral: Deferral
  /** How many tools, and about how many tokens of every request that saves. */
  readonly tools: number
  readonly tokens: number
}

export const plan = (tools: ReadonlyArray<Tool<never>>, capacity: Capacity, above: number): Plan => {
  const deferrable = tools.filter((tool) => tool.deferred)
  const tokens = deferrable.reduce((sum, tool) => sum + tokensOf(tool), 0)
  if (deferrable.length === 0 || above >= 1 || tokens <= capacity.contextWindow * above) {
    return { deferral: "none", tools: 0, tokens: 0 }
  }
  return { deferral: capacity.toolSearch ? "api" : "client", tools: deferrable.length, tokens }
}

/** Roughly, because every start pays for it: schemas are plain text of about so many characters a token. */
const tokensOf = ({ description, inputSchema, name }: Tool<never>): number =>
  Math.ceil((name.length + description.length + JSON.stringify(inputSchema).length) / 3.5)

/**
 * The tools that a query means, best first. `select:A,B` names them; otherwise words are looked for in names and descriptions, and a
 * word with `+` must be there.
 */
export const search = (query: string, tools: ReadonlyArray<Tool<never>>, most: number): ReadonlyArray<Tool<never>> => {
  const named = /^select:(.+)$/s.exec(query.trim())?.[1]?.split(",")
  if (named !== undefined) {
    const wanted = new Set(named.map((name) => name.trim().toLowerCase()))
    return tools.filter(({ name }) => wanted.has(name.toLowerCase())).slice(0, most)
  }
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "" && word !== "+")
  const required = words.flatMap((word) => (word.startsWith("+") ? [word.slice(1)] : []))
  const scored = tools.map((tool) => ({
    tool,
    score: scoreOf(tool, words),
    fits: required.every((word) => holds(tool, word)),
  }))
  return scored
    .filter(({ fits, score }) => fits && score > 0)
    .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
    .slice(0, most)
    .map(({ tool }) => tool)
}

const holds = ({ description, name }: Tool<never>, word: string): boolean =>
  `${name} ${description}`.toLowerCase().includes(word)

const scoreOf = ({ description, name }: Tool<never>, words: ReadonlyArray<string>): number => {
  const parts = name.toLowerCase().split(/[^a-z0-9]+|(?<=[a-z])(?=[A-Z])/)
  const said = description.toLowerCase()
  return words.reduce((sum, given) => {
    const word = given.replace(/^\+/, "")
    if (parts.includes(word)) return sum + 10
    if (name.toLowerCase().includes(word)) return sum + 5
    return said.includes(word) ? sum + 2 : sum
  }, 0)
}
