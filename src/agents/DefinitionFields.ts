/** Owns the fields of an agent definition: how they may be spelled and what they may hold. Pure; each says what is wrong and what to write. */
import * as Result from "effect/Result"
import { type Effort, efforts } from "../protocol/Effort.ts"
import { nearest } from "../platform/Near.ts"
import * as PermissionMode from "../protocol/PermissionMode.ts"
import type { Json, JsonObject } from "../settings/Merge.ts"
import { colors, type McpServer, memories } from "./Definition.ts"
import { names } from "./ToolNames.ts"

export const fields = [
  "name",
  "description",
  "whenToUse",
  "tools",
  "disallowedTools",
  "model",
  "permissionMode",
  "maxTurns",
  "skills",
  "mcpServers",
  "hooks",
  "memory",
  "background",
  "effort",
  "isolation",
  "color",
  "initialPrompt",
  "forkContext",
  "allowedAgents",
  "allowedMcpServers",
  "thinkingBudget",
  "prompt",
] as const
export type Field = (typeof fields)[number]

const folded = (key: string): string => key.replace(/[-_\s]/g, "").toLowerCase()
const known: ReadonlyMap<string, Field> = new Map([
  ...fields.map((field) => [folded(field), field] as const),
  // Skills and commands call it so; to take it for unknown would hand out every tool.
  ["allowedtools", "tools"],
  ["colour", "color"],
])

/** `disallowed-tools`, `disallowed_tools` and `disallowedTools` are one field. */
export const fieldOf = (key: string): Field | undefined => known.get(folded(key))

/** The field that was probably meant. */
export const suggestion = (key: string): string | undefined => nearest(key, fields)

export type Read<A> = (value: unknown) => Result.Result<A, string>

const fail = (wanted: string, value: unknown): Result.Result<never, string> => {
  const shown = JSON.stringify(value) ?? String(value)
  return Result.fail(`${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown} is not ${wanted}`)
}

/** Numbers and booleans are what YAML makes of `name: 42` and `name: on`. */
export const text: Read<string> = (value) => {
  const said = typeof value === "number" || typeof value === "boolean" ? String(value) : value
  return typeof said === "string" && said.trim() !== "" ? Result.succeed(said.trim()) : fail("a text", value)
}

export const whole =
  (least: number): Read<number> =>
  (value) => {
    const number = typeof value === "string" && /^\d+$/.test(value.trim()) ? Number(value) : value
    return typeof number === "number" && Number.isSafeInteger(number) && number >= least
      ? Result.succeed(number)
      : fail(`a whole number of at least ${least}`, value)
  }

export const flag: Read<boolean> = (value) => {
  if (typeof value === "boolean") return Result.succeed(value)
  const said = typeof value === "string" ? value.trim().toLowerCase() : ""
  if (said === "true" || said === "yes" || said === "on") return Result.succeed(true)
  return said === "false" || said === "no" || said === "off" ? Result.succeed(false) : fail("true or false", value)
}

const oneOf =
  <A extends string>(choices: ReadonlyArray<A>, other: Readonly<Record<string, A>> = {}): Read<A> =>
  (value) => {
    const said = typeof value === "string" ? value.trim().toLowerCase() : ""
    const found =
      choices.find((choice) => choice.toLowerCase() === said) ?? (Object.hasOwn(other, said) ? other[said] : undefined)
    if (found !== undefined) return Result.succeed(found)
    const near = nearest(said, choices)
    return fail(`one of ${choices.join(", ")}${near === undefined ? "" : `; did you mean ${near}?`}`, value)
  }

export const color = oneOf(colors)
export const memory = oneOf(memories)
export const isolation = oneOf(["worktree"] as const)
/** The older words are those of a program that thought quickly or deeply. */
export const effort = oneOf<Effort>(efforts, {
  quick: "low",
  standard: "medium",
  deep: "xhigh",
})

export const permissionMode: Read<PermissionMode.PermissionMode> = (value) => {
  const said = typeof value === "string" ? value.trim() : ""
  const mode = PermissionMode.parse(said)
  if (mode !== undefined) return Result.succeed(mode)
  if (said === "delegate") return Result.fail(`"delegate" does not exist any more; leave it out, or write default`)
  return oneOf(PermissionMode.PermissionMode.literals)(value)
}

/** `inherit` and nothing are the same. Aliases are written small; what else there is only a provider knows. */
export const model: Read<string | undefined> = (value) => {
  const name = text(value)
  if (Result.isFailure(name)) return fail("the name of a model", value)
  const small = name.success.toLowerCase()
  if (small === "inherit" || small === "default") return Result.succeed(undefined)
  if (/\s/.test(name.success)) return fail("the name of a model: sonnet, opus, haiku, fable, an id, or inherit", value)
  return Result.succeed(/^[a-z]+$/.test(small) ? small : name.success)
}

export const list: Read<ReadonlyArray<string>> = (value) => {
  const found = names(value)
  return found === undefined ? fail("a list of names", value) : Result.succeed(found)
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Values from YAML and JSON are nothing else; the type does not know it. */
export const json = (value: unknown): Json => {
  if (Array.isArray(value)) return value.map(json)
  if (isRecord(value)) return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, json(one)]))
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null
}

const objectOf = (value: Readonly<Record<string, unknown>>): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([key, one]) => [key, json(one)]))

export const object: Read<JsonObject> = (value) =>
  isRecord(value) ? Result.succeed(objectOf(value)) : fail("a map", value)

/** A list of names and `{ name: config }`; also one map of them, and entries that carry their `name` inside. */
export const mcpServers: Read<ReadonlyArray<McpServer>> = (value) => {
  if (typeof value === "string") return Result.map(list(value), (all) => all.map((name) => ({ name })))
  const items: ReadonlyArray<unknown> = Array.isArray(value) ? value : [value]
  const servers: Array<McpServer> = []
  for (const item of items) {
    if (typeof item === "string" && item.trim() !== "") servers.push({ name: item.trim() })
    else if (isRecord(item) && typeof item["name"] === "string") {
      const config = Object.entries(item).filter(([key]) => key !== "name")
      const name = item["name"]
      servers.push(config.length === 0 ? { name } : { name, config: objectOf(Object.fromEntries(config)) })
    } else if (isRecord(item) && Object.values(item).every((config) => isRecord(config) || config === null)) {
      for (const [name, config] of Object.entries(item))
        servers.push(isRecord(config) ? { name, config: objectOf(config) } : { name })
    } else return fail("a server's name or { name: config }", item)
  }
  return Result.succeed(servers)
}
