/**
 * Owns making a definition of what a file or a JSON object says: lenient about spelling, strict where leaving something out would
 * give an agent more than its author meant it to have. Pure.
 */
import * as Result from "effect/Result"
import * as HookConfig from "../hooks/HookConfig.ts"
import type { Problem } from "../platform/Frontmatter.ts"
import type { JsonObject } from "../settings/Merge.ts"
import { type AgentDefinition, type Diagnostic, type Origin, plain, type Prompt, withhold } from "./Definition.ts"
import * as Fields from "./DefinitionFields.ts"
import { switches } from "./ToolNames.ts"

export interface Draft {
  readonly data: Readonly<Record<string, unknown>>
  readonly origin: Origin
  /** What diagnostics call it. */
  readonly file: string
  readonly at: (key: string) => { readonly line?: number; readonly column?: number }
  /** The reader's own complaints. */
  readonly problems: ReadonlyArray<Problem>
  /** For a draft that names no agent: what its file or key is called. */
  readonly called: string
  /** Nothing when `data` has to say it. */
  readonly prompt: Prompt | undefined
  readonly isEmpty: boolean
  readonly hash: string
}

export type Outcome =
  | { readonly _tag: "Loaded"; readonly definition: AgentDefinition; readonly diagnostics: ReadonlyArray<Diagnostic> }
  | { readonly _tag: "Failed"; readonly name: string; readonly diagnostics: ReadonlyArray<Diagnostic> }
  /** No agent and not meant to be one: a note kept beside them. */
  | { readonly _tag: "Skipped"; readonly why: string }

/** The part in front is the plugin's and its folders'; the file's own name is at the end. */
const scoped = ({ plugin }: Origin, name: string, folders: ReadonlyArray<string>): string =>
  plugin === undefined ? name : [plugin, ...folders, name].join(":")

/** If one of these cannot be read, the agent would have more than it should. */
const limiting: ReadonlySet<string> = new Set(["tools", "disallowedTools", "allowedAgents", "allowedMcpServers"])

/** Understood, and without effect until what they need exists: whoever writes them should know. */
const pending = {
  background: "the agent runs while its sender waits",
  forkContext: "the agent starts with its prompt alone",
  thinkingBudget: "the model thinks as long as it does by itself",
  isolation: "there are no worktrees yet, so the agent is not started",
} as const
const pendingFields = ["background", "forkContext", "thinkingBudget", "isolation"] as const

const proper = /^[a-z][a-z0-9-]*$/

export const read = (draft: Draft, folders: ReadonlyArray<string> = []): Outcome => {
  const diagnostics: Array<Diagnostic> = []
  const say = (severity: Diagnostic["severity"], about: string | undefined, message: string, key = about): void => {
    const place = draft.at(key ?? "")
    diagnostics.push({ severity, file: draft.file, ...place, ...(about !== undefined && { about }), message })
  }
  const isPlugin = draft.origin.kind === "plugin"
  const { extra, keys, values } = sort(draft.data)
  const slug = draft.called
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")

  for (const { ignored, message, ...place } of draft.problems) {
    const lost = ignored === undefined ? undefined : Fields.fieldOf(ignored)
    const fatal = lost !== undefined && limiting.has(lost)
    const why = fatal ? `${message}; without it the agent would have more than it should, so it is not loaded` : message
    diagnostics.push({
      severity: fatal ? "error" : "warning",
      file: draft.file,
      ...place,
      ...(ignored !== undefined && { about: ignored }),
      message: why,
    })
  }
  if (draft.prompt !== undefined && !values.has("name") && !values.has("description") && !isPlugin) {
    if (draft.problems.length === 0) return { _tag: "Skipped", why: "it has neither a name nor a description" }
    say("error", undefined, "no agent can be read from it; put name and description between two lines of ---")
    return { _tag: "Failed", name: slug, diagnostics }
  }

  /** The value of a field; a bad one is named, and is as if it were not there. */
  const take = <A>(field: Fields.Field, reader: Fields.Read<A>): A | undefined => {
    const value = values.get(field)
    if (value === undefined || (value === null && !limiting.has(field))) return undefined
    const result = reader(value)
    if (Result.isSuccess(result)) return result.success
    const severity = limiting.has(field) ? "error" : "warning"
    say(
      severity,
      field,
      `${result.failure}; ${severity === "error" ? "the agent is not loaded" : "it is ignored"}`,
      keys.get(field),
    )
    return undefined
  }

  const name = take("name", Fields.text) ?? (isPlugin ? draft.called : slug)
  checkName(name, values.has("name"), draft, say, keys.get("name"))
  const described = take("description", Fields.text) ?? take("whenToUse", Fields.text)
  const fallback = isPlugin ? `Agent of the plugin ${draft.origin.plugin ?? ""}` : undefined
  // A model writes line breaks as \n where YAML does not read them.
  const description = (described ?? fallback)?.replaceAll("\\n", "\n")
  if (description === undefined) {
    say(
      "error",
      "description",
      "it is missing, and nothing says when to use the agent; add a line: description: Use it when …",
      keys.get("name"),
    )
  }
  const listed = switches(values.get("tools"))
  if (listed !== undefined) {
    say(
      "warning",
      "tools",
      "a map of true and false is read as which tools to take away; write disallowedTools: instead",
      keys.get("tools"),
    )
  }
  const tools = listed === undefined ? take("tools", Fields.list) : undefined
  if (tools?.length === 0)
    say(
      "warning",
      "tools",
      "it is empty, so the agent has no tools; leave the line out to give it all of them",
      keys.get("tools"),
    )
  const text = draft.prompt === undefined ? take("prompt", Fields.text) : undefined
  const prompt: Prompt | undefined = draft.prompt ?? (text === undefined ? undefined : { _tag: "Text", text })
  if (prompt === undefined) say("error", "prompt", 'it is missing; add "prompt": what the agent is to be told')
  if (draft.isEmpty)
    say("warning", undefined, "nothing stands below the front matter: the agent is told nothing about its work")
  const unknown = Object.keys(extra)
  if (unknown.length > 0) say("warning", unknown.join(", "), unknownText(unknown), unknown[0])

  const made = plain({
    name: scoped(draft.origin, name, folders),
    description: description ?? "",
    whenToUse: take("whenToUse", Fields.text)?.replaceAll("\\n", "\n") ?? description ?? "",
    tools: tools?.includes("*") === true ? undefined : tools,
    disallowedTools: [...(take("disallowedTools", Fields.list) ?? []), ...(listed?.off ?? [])],
    model: take("model", Fields.model),
    permissionMode: take("permissionMode", Fields.permissionMode),
    maxTurns: take("maxTurns", Fields.whole(1)),
    skills: take("skills", Fields.list) ?? [],
    mcpServers: take("mcpServers", Fields.mcpServers) ?? [],
    hooks: take("hooks", Fields.object),
    memory: take("memory", Fields.memory),
    background: take("background", Fields.flag) ?? false,
    effort: take("effort", Fields.effort),
    isolation: take("isolation", Fields.isolation),
    color: take("color", Fields.color),
    initialPrompt: take("initialPrompt", Fields.text),
    forkContext: take("forkContext", Fields.flag) ?? false,
    allowedAgents: values.has("allowedAgents") ? take("allowedAgents", Fields.list) : undefined,
    allowedMcpServers: values.has("allowedMcpServers") ? take("allowedMcpServers", Fields.list) : undefined,
    thinkingBudget: take("thinkingBudget", Fields.whole(0)),
    prompt: prompt ?? { _tag: "Text", text: "" },
    origin: draft.origin,
    hash: draft.hash,
    extra,
  })
  for (const field of pendingFields) {
    if (made[field] === undefined || made[field] === false) continue
    say("warning", field, `has no effect in this version: ${pending[field]}`, keys.get(field))
  }
  for (const message of HookConfig.complaints(made.hooks, "agent")) say("warning", "hooks", message, keys.get("hooks"))
  if (diagnostics.some(({ severity }) => severity === "error")) return { _tag: "Failed", name: made.name, diagnostics }
  return { _tag: "Loaded", definition: isPlugin ? limited(made, say) : made, diagnostics }
}

type Say = (severity: Diagnostic["severity"], about: string | undefined, message: string, key?: string) => void

/** Known fields under their one name, the rest as it is. */
const sort = (data: Draft["data"]) => {
  const values = new Map<Fields.Field, unknown>()
  const keys = new Map<Fields.Field, string>()
  const extra: Array<[string, JsonObject[string]]> = []
  for (const [key, value] of Object.entries(data)) {
    const field = Fields.fieldOf(key)
    if (field === undefined) extra.push([key, Fields.json(value)])
    else {
      values.set(field, value)
      keys.set(field, key)
    }
  }
  return { values, keys, extra: Object.fromEntries(extra) }
}

const checkName = (name: string, isWritten: boolean, { called, origin }: Draft, say: Say, key = "name"): void => {
  if (!isWritten) {
    if (origin.kind !== "plugin" && name === "") say("error", "name", "it is missing; add a line: name: my-agent")
    else if (origin.kind !== "plugin")
      say("warning", "name", `it is missing; taken from "${called}"; add a line: name: ${name}`)
    return
  }
  if (name.includes(":"))
    say("error", "name", `"${name}" has a colon, which only the agents of plugins may have; write a hyphen`, key)
  else if (name.startsWith("-"))
    say("error", "name", `"${name}" begins with a hyphen and would be taken for a flag; leave it out`, key)
  else if (/\p{Cc}/u.test(name) || name.length > 100)
    say("error", "name", "it is longer than 100 characters or has line breaks; write a short one", key)
  else if (!proper.test(name)) {
    say(
      "warning",
      "name",
      `"${name}" works, but names are small letters, digits and hyphens, beginning with a letter`,
      key,
    )
  }
}

const unknownText = (unknown: ReadonlyArray<string>): string => {
  const [first] = unknown
  const near = unknown.length === 1 && first !== undefined ? Fields.suggestion(first) : undefined
  const what = unknown.length === 1 ? "no field of an agent; it is" : "no fields of an agent; they are"
  return `${what} kept but not used${near === undefined ? "" : `; did you mean ${near}?`}`
}

/** A plugin's agents bring no hooks, no servers and no mode, whoever agreed to the plugin. */
const limited = (definition: AgentDefinition, say: Say): AgentDefinition => {
  const keys = [
    ...(definition.hooks === undefined ? [] : ["hooks"]),
    ...(definition.mcpServers.length === 0 ? [] : ["mcpServers"]),
    ...(definition.permissionMode === undefined ? [] : ["permissionMode"]),
  ]
  if (keys.length === 0) return definition
  say("warning", keys.join(", "), "not in force for an agent of a plugin; copy the file into your own agents to use it")
  return { ...withhold(definition, keys), mcpServers: [] }
}
