/** Owns the names of the permission modes, and which spellings of them people use. */
import * as Schema from "effect/Schema"

export const PermissionMode = Schema.Literals([
  "default",
  "acceptEdits",
  "plan",
  "auto",
  "dontAsk",
  "bypassPermissions",
])
export type PermissionMode = typeof PermissionMode.Type

const isMode = Schema.is(PermissionMode)

/** Reads a mode as a person or a settings file spells it; `manual` is an older name of `default`. */
export const parse = (name: string): PermissionMode | undefined =>
  name === "manual" ? "default" : isMode(name) ? name : undefined
