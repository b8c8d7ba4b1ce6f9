/** Owns what a hook is once it is understood: where it comes from, when it runs, and what it does. */
import * as Schema from "effect/Schema"
import type * as Effect from "effect/Effect"
import type { Position } from "../settings/SettingsFile.ts"
import type { Condition } from "./Condition.ts"
import type { Kind } from "./HookEvent.ts"
import type { HookEventName } from "./HookEvents.ts"
import type { Matcher } from "./Matcher.ts"

/** Highest first: where several hooks give a call other arguments, the highest is heard. */
export const scopes = ["managed", "embedder", "flags", "user", "project", "local", "plugin", "agent", "skill"] as const
export type HookScope = (typeof scopes)[number]

export interface Origin {
  readonly scope: HookScope
  /** For people: a settings file, `--settings`, a plugin, an agent, a skill. */
  readonly name: string
  readonly file?: string
  /** Where a key of it is written, by its path below `hooks`. */
  readonly locate?: (path: ReadonlyArray<string>) => Position | undefined
  /** The plugin's or the skill's directory, and where it keeps its data. */
  readonly root?: string
  readonly data?: string
  /** What a leading `/` in an `if` stands for; the project's directory unless told. */
  readonly base?: string
  /** Deployed by the machine's policy, wherever it stands. */
  readonly managed?: boolean
  /** An agent that the session is, not one that was sent out. */
  readonly isSession?: boolean
}

const common = {
  if: Schema.optionalKey(Schema.String),
  timeout: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  statusMessage: Schema.optionalKey(Schema.String),
  once: Schema.optionalKey(Schema.Boolean),
}
const Words = Schema.String.check(Schema.isNonEmpty())

/** As they are written in settings. */
export const handlerSchemas = {
  command: Schema.Struct({
    ...common,
    type: Schema.Literal("command"),
    command: Words,
    args: Schema.optionalKey(Schema.Array(Schema.String)),
    async: Schema.optionalKey(Schema.Boolean),
    asyncRewake: Schema.optionalKey(Schema.Boolean),
    shell: Schema.optionalKey(Schema.Literals(["bash", "powershell"])),
  }),
  http: Schema.Struct({
    ...common,
    type: Schema.Literal("http"),
    url: Words,
    headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
    allowedEnvVars: Schema.optionalKey(Schema.Array(Schema.String)),
  }),
  mcp_tool: Schema.Struct({
    ...common,
    type: Schema.Literal("mcp_tool"),
    server: Words,
    tool: Words,
    input: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  }),
  prompt: Schema.Struct({
    ...common,
    type: Schema.Literal("prompt"),
    prompt: Words,
    model: Schema.optionalKey(Schema.String),
    continueOnBlock: Schema.optionalKey(Schema.Boolean),
  }),
  agent: Schema.Struct({
    ...common,
    type: Schema.Literal("agent"),
    prompt: Words,
    model: Schema.optionalKey(Schema.String),
  }),
} as const

export type Written = (typeof handlerSchemas)[keyof typeof handlerSchemas]["Type"]
export type WrittenOf<K extends Kind> = Extract<Written, { readonly type: K }>

/** A hook in this process: from the event's whole input to what a command would print as JSON. */
export interface InProcess {
  readonly type: "function"
  readonly name: string
  readonly run: (input: Readonly<Record<string, unknown>>, toolUseId: string | undefined) => Effect.Effect<unknown>
  readonly timeout?: number
}

export interface Handler {
  readonly event: HookEventName
  readonly matcher: Matcher
  readonly condition?: Condition
  readonly origin: Origin
  readonly position?: Position
  readonly action: Written | InProcess
  /** The same for hooks that would do the same: of those one runs. */
  readonly identity: string
}

/** What it does, in one line. */
export const describe = ({ action }: Pick<Handler, "action">): string => {
  switch (action.type) {
    case "command":
      return [action.command, ...(action.args ?? [])].join(" ")
    case "http":
      return action.url
    case "mcp_tool":
      return `${action.server}: ${action.tool}`
    case "prompt":
    case "agent":
      return action.prompt.split("\n")[0] ?? ""
    case "function":
      return action.name
  }
}

/** `file:line`, as far as it is known. */
export const placeOf = ({ origin, position }: Pick<Handler, "origin" | "position">): string => {
  const where = origin.file ?? origin.name
  return position === undefined ? where : `${where}:${position.line}`
}

export const rankOf = ({ origin }: Pick<Handler, "origin">): number =>
  origin.managed === true ? 0 : scopes.indexOf(origin.scope)
