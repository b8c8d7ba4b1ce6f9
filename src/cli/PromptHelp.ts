/** Owns what the prompt says about itself and what a session has: its commands, skills, agents and hooks, each with where it comes from. */
import type { AgentDefinition } from "../agents/Definition.ts"
import type { Explained } from "../hooks/HookIndex.ts"
import type { HelpEntry } from "../skills/Skills.ts"
import { visible } from "./Reveal.ts"
import type { Tone, ViewLine } from "./ToolView.ts"

const keys = [
  "A line that ends in \\ goes on in the next one; pasted lines stay together.",
  "Up and Down recall, Ctrl-R searches. Ctrl-C interrupts, twice it leaves.",
]

const builtins: ReadonlyArray<readonly [name: string, does: string]> = [
  ["/model [name]", "show or change the model"],
  ["/mode [mode]", "show or change the permission mode"],
  ["/rewind [n] [what]", "go back to before a prompt: files, conversation, both"],
  ["/context", "how full the conversation is, and of what"],
  ["/compact [wish]", "sum the conversation up, and go on from there"],
  ["/add-dir <path>", "work in one more directory"],
  ["/agents", "the agents it can send out"],
  ["/skills", "the skills and commands there are, with their files"],
  ["/hooks [trust]", "the hooks there are; agree to what waits"],
  ["/teleport [file]", "write this session into a file, for another directory or machine"],
  ["/desktop [address]", "hand it over to another process on this machine, and leave"],
  ["/rename [title]", "show or change what the session is called"],
  ["/tag [tags]", "add tags to it, or take those it has"],
  ["/export [file]", "write it to a file: .md, .html or .json"],
  ["/exit", "leave (also Ctrl-D)"],
]

/** Longer names push their description to the right, and only theirs. */
const column = 16
const mostSaid = 80

export const help = (commands: ReadonlyArray<HelpEntry>): ReadonlyArray<ViewLine> => [
  ...builtins.map(([name, does]) => line(`${name.padEnd(column)}${does}`)),
  ...commands.map((entry) => line(`${typed(entry).padEnd(column - 1)} ${brief(entry.description)}  (${kind(entry)})`)),
  ...keys.map((text) => line(text)),
]

export const skills = (commands: ReadonlyArray<HelpEntry>): ReadonlyArray<ViewLine> =>
  commands.length === 0
    ? [line("There are no skills: put one into .claude/skills/<name>/SKILL.md.")]
    : commands.flatMap((entry) => [
        line(`${typed(entry)}  (${[kind(entry), entry.file].filter((part) => part !== "").join(", ")})`),
        line(`    ${brief(entry.description)}`),
      ])

export const agents = (types: ReadonlyArray<AgentDefinition>): ReadonlyArray<ViewLine> =>
  types.length === 0
    ? [line("This session sends out no agents.")]
    : types.flatMap(({ description, name, origin, withheld }) => [
        line(`${name}  (${[origin.kind, origin.file].filter((part) => part !== undefined).join(", ")})`),
        line(`    ${brief(description)}`),
        ...(withheld.length === 0 ? [] : [line(`    without its ${withheld.join(", ")}: ${howToAgree}`, "warning")]),
      ])

export const hooks = (rows: ReadonlyArray<Explained>): ReadonlyArray<ViewLine> => {
  if (rows.length === 0) return [line("There are no hooks. docs/hooks.md says what they can do.")]
  const waits = rows.some(({ runs, why }) => !runs && why.includes("your agreement"))
  return [
    ...rows.map(({ event, kind, matcher, runs, source, what, why }) => {
      const does = `${kind === "" ? "" : `${kind}: `}${what.split("\n")[0] ?? ""}`
      const text = `${event}  ${matcher === "" ? "*" : matcher}  ${does}  (${source})`
      return runs ? line(text) : line(`${text}  — ${why}`, "warning")
    }),
    ...(waits ? [line("/hooks trust shows what waits in full, and asks.", "warning")] : []),
  ]
}

/** There is no desktop program of ours: any process that waits for a session can be the other side. */
export const desktop: ReadonlyArray<ViewLine> = [
  "This hands the session over to another process on this machine: another terminal, directory or configuration.",
  "Start it over there with: troupe teleport receive",
  "It prints an address; type here: /desktop <address>. This process leaves when the other one has everything.",
].map((text) => ({ tone: "quiet", text }))

const howToAgree = "troupe config trust --yes agrees, from the next session on."

const typed = ({ hint, name }: HelpEntry): string => `/${name}${hint === undefined ? "" : ` ${hint}`}`

const kind = ({ form, origin }: HelpEntry): string => `${origin} ${form}`

const brief = (text: string): string => {
  const first = text.trim().split("\n")[0] ?? ""
  return first.length <= mostSaid ? first : `${first.slice(0, mostSaid - 1)}…`
}

const line = (text: string, tone: Tone = "quiet"): ViewLine => ({ tone, text: visible(text, true) })
