/** Owns what the model is told about the agents there are: one line each, in an order that never moves, and what changed since. Pure. */
import { type AgentDefinition, compare } from "./Definition.ts"

export interface Listed {
  readonly name: string
  readonly line: string
}

/** Longer reasons belong into the agent's own prompt, which only it pays for. */
const maxWhen = 1_500

const clip = (text: string): string => (text.length <= maxWhen ? text : `${text.slice(0, maxWhen)}…`)

const toolsOf = ({ disallowedTools, memory, tools }: AgentDefinition): string => {
  if (tools === undefined) {
    return disallowedTools.length === 0 ? "All tools" : `All tools except ${disallowedTools.join(", ")}`
  }
  const added = memory === undefined ? [] : ["Read", "Write", "Edit"]
  const named = [...new Set([...tools, ...added])].filter((tool) => !disallowedTools.includes(tool))
  return named.length === 0 ? "None" : named.join(", ")
}

export const line = (agent: AgentDefinition): string =>
  `- ${agent.name}: ${clip(agent.whenToUse)} (Tools: ${toolsOf(agent)})`

/** Sorted by name, so that a listing depends on nothing but which agents there are. */
export const listing = (
  active: ReadonlyArray<AgentDefinition>,
  isDenied: (agent: string) => boolean = () => false,
): ReadonlyArray<Listed> =>
  active
    .filter(({ aliases, name }) => ![name, ...aliases].some(isDenied))
    .toSorted((a, b) => compare(a.name, b.name))
    .map((agent) => ({ name: agent.name, line: line(agent) }))

export const text = (listed: ReadonlyArray<Listed>): string => listed.map((one) => one.line).join("\n")

/** What a listing said, read back from its text: a resumed session knows no more than that. */
export const read = (listed: string): ReadonlyArray<Listed> =>
  listed.split(/\n(?=- [\w:-]+: )/).flatMap((line) => {
    const name = /^- ([\w:-]+): /.exec(line)?.[1]
    return name === undefined ? [] : [{ name, line }]
  })

/** For a message to the model: what it was told at the start stays as it is. Nothing when nothing changed. */
export const since = (before: ReadonlyArray<Listed>, after: ReadonlyArray<Listed>): string | undefined => {
  const was = new Map(before.map((one) => [one.name, one.line]))
  const is = new Set(after.map((one) => one.name))
  const parts = [
    section(
      "These agents are available from now on:",
      after.filter(({ name }) => !was.has(name)),
    ),
    section(
      "These agents have changed:",
      after.filter(({ line: now, name }) => was.has(name) && was.get(name) !== now),
    ),
    goneText(before.filter(({ name }) => !is.has(name))),
  ].filter((part) => part !== "")
  return parts.length === 0 ? undefined : parts.join("\n\n")
}

const section = (title: string, listed: ReadonlyArray<Listed>): string =>
  listed.length === 0 ? "" : `${title}\n${text(listed)}`

const goneText = (listed: ReadonlyArray<Listed>): string =>
  listed.length === 0 ? "" : `These agents are no longer available: ${listed.map(({ name }) => name).join(", ")}`
