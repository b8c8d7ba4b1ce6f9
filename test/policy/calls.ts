/** Calls and rules as short texts, for tables. The session is in /work with the home /home/u. */
import type { Call } from "../../src/policy/Call.ts"
import type * as Decide from "../../src/policy/Decide.ts"
import type { Touch } from "../../src/policy/Effects.ts"
import * as Rules from "../../src/policy/Rules.ts"
import { analyse } from "../../src/policy/Bash.ts"

export const place = { cwd: "/work", home: "/home/u" }

export const context = (mode: Decide.DecideContext["mode"] = "default"): Decide.DecideContext => ({ ...place, mode })

const roots: Partial<Record<Rules.RuleSource["kind"], string>> = { user: "/home/u/.claude", project: "/work" }

/** `deny Read(.env); user:allow Bash(npm *)`: a behavior, perhaps with its source, and a rule. */
export const texts = (rules: string): ReadonlyArray<Rules.RuleText> =>
  rules
    .split(";;")
    .map((one) => one.trim())
    .filter((one) => one !== "")
    .map((one) => {
      const [, kind = "project", behavior = "", text = ""] = /^(?:(\w+):)?(\w+) (.*)$/s.exec(one) ?? []
      if (behavior !== "allow" && behavior !== "ask" && behavior !== "deny") throw new Error(`no rule: ${one}`)
      const source = { kind: kind as Rules.RuleSource["kind"], file: `${kind}.json` }
      return { behavior, text, source, root: roots[source.kind] ?? "/work" }
    })

export const compiled = (rules: string, managedOnly = false): Rules.Compiled =>
  Rules.compile(texts(rules), { ...place, managedOnly })

export const absolute = (path: string): string =>
  path.startsWith("~")
    ? `/home/u${path.slice(1)}`
    : path.startsWith("/")
      ? path
      : path === "."
        ? "/work"
        : `/work/${path}`

const file = (tool: string, path: string, write: boolean): Call => {
  const at = absolute(path)
  const touches: ReadonlyArray<Touch> = write
    ? [{ _tag: "Writes", path: at, how: "change" }]
    : [{ _tag: "Reads", path: at }]
  return { tool, input: { file_path: path }, readOnly: !write, touches }
}

export const bash = (command: string, more: Partial<Call> = {}): Call => {
  const analysis = analyse(command, place)
  return {
    tool: "Bash",
    input: { command },
    readOnly: analysis._tag === "Understood" && analysis.readOnly,
    touches: analysis.touches,
    bash: analysis,
    ...more,
  }
}

/** `Read src/a.ts`, `$ npm test`, `WebFetch example.com`, `Agent Explore`, `Skill deploy prod`, or a tool's name. */
export const call = (text: string): Call => {
  const [tool = "", ...rest] = text.split(" ")
  const argument = rest.join(" ")
  switch (tool) {
    case "$":
      return bash(argument)
    case "Read":
    case "Glob":
    case "Grep":
    case "LS":
      return file(tool, argument, false)
    case "Edit":
    case "Write":
    case "MultiEdit":
    case "NotebookEdit":
      return file(tool, argument, true)
    case "Cd":
      return { tool, input: {}, readOnly: true, touches: [{ _tag: "Reads", path: absolute(argument) }] }
    case "WebFetch":
      return {
        tool,
        input: { url: `https://${argument}/` },
        readOnly: true,
        touches: [{ _tag: "Connects", host: argument }],
        domain: argument,
      }
    case "Agent":
      return {
        tool,
        input: { subagent_type: argument, model: "opus" },
        readOnly: false,
        touches: [],
        subagent: argument,
      }
    case "Skill":
      return { tool, input: { skill: argument }, readOnly: false, touches: [], skill: argument }
    case "PowerShell":
      return { tool, input: { command: argument }, readOnly: false, touches: [] }
    default:
      return { tool, input: argument === "" ? {} : JSON.parse(argument), readOnly: false, touches: [] }
  }
}
