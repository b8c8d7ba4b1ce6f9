/**
 * Owns what in a folder's skill waits for trust: commands in its text, tools it would allow, hooks. What it says is data and loads freely.
 *
 * The hash is over exactly these, so prose can be edited without asking again. Scripts that a command starts are not part of it, as they
 * are not part of a hook's.
 */
import { canonical, type Json, type JsonObject } from "../settings/Merge.ts"
import type { Review } from "../settings/Trust.ts"
import * as ShellMarks from "./ShellMarks.ts"
import { isFolders, type Skill } from "./Skill.ts"

/** What of it makes something run or opens a permission. */
export const executable = (skill: Skill, body: string): JsonObject => {
  const shell = ShellMarks.commands(body)
  return {
    ...(skill.allowedTools.length > 0 && { "allowed-tools": skill.allowedTools }),
    ...(skill.hooks !== undefined && { hooks: jsonOf(skill.hooks) }),
    ...(shell.length > 0 && { shell }),
  }
}

/** `undefined` where nothing has to wait. */
export const review = (skill: Skill, body: string, hash: (text: string) => string): Review | undefined => {
  if (!isFolders(skill.source)) return undefined
  const parts = executable(skill, body)
  const keys = Object.keys(parts)
  if (keys.length === 0) return undefined
  const { directory, file } = skill.source
  return { source: { kind: "project", name: file, directory }, keys, hash: hash(canonical(parts)) }
}

const jsonOf = (value: unknown): Json => {
  if (Array.isArray(value)) return value.map(jsonOf)
  if (value === null || typeof value === "boolean" || typeof value === "number") return value
  if (typeof value !== "object") return String(value)
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, jsonOf(one)]))
}
