/**
 * Owns reading hooks as people write them, from settings and front matter alike: tolerant, and exact about what is wrong. What cannot be
 * understood is named with its place and left out; the rest counts. Pure.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { nearest } from "../platform/Near.ts"
import * as Condition from "./Condition.ts"
import { describe, type Handler, handlerSchemas, type Origin, type Written } from "./Handler.ts"
import { eventNames, type HookEventName, isEventName, isToolEvent, specOf } from "./HookEvents.ts"
import * as Matcher from "./Matcher.ts"

export interface Problem {
  readonly origin: Origin
  /** Dotted, below `hooks`. */
  readonly key: string
  readonly line?: number
  readonly message: string
}

/** A hook that will not run, and why. */
export interface Refused {
  readonly event: HookEventName
  readonly matcher: string
  readonly what: string
  readonly origin: Origin
  readonly line?: number
  readonly why: string
}

export interface Found {
  readonly handlers: ReadonlyArray<Handler>
  readonly refused: ReadonlyArray<Refused>
  readonly problems: ReadonlyArray<Problem>
}

export const nothing: Found = { handlers: [], refused: [], problems: [] }

export const render = ({ key, line, message, origin }: Problem): string => {
  const where = origin.file ?? origin.name
  return `${where}${line === undefined ? "" : `:${line}`}: hooks${key === "" ? "" : `.${key}`}: ${message}`
}

/** What is wrong with the hooks of a front matter, for whoever checks the file; they are read again when they are to run. */
export const complaints = (value: unknown, scope: Origin["scope"]): ReadonlyArray<string> =>
  read(value, { scope, name: scope }, { cwd: "/", home: "/" }).problems.map(({ key, message }) =>
    key === "" ? message : `${key}: ${message}`,
  )

type Path = ReadonlyArray<string>

/** Reads the value of a `hooks` key. */
export const read = (value: unknown, origin: Origin, place: Condition.Place): Found => {
  const handlers: Array<Handler> = []
  const refused: Array<Refused> = []
  const problems: Array<Problem> = []
  const at = (path: Path) =>
    path.length === 0 ? origin.locate?.([]) : (origin.locate?.(path) ?? origin.locate?.(path.slice(0, -1)))
  const problem = (path: Path, message: string) => {
    const line = at(path)?.line
    problems.push({ origin, key: path.join("."), ...(line !== undefined && { line }), message })
  }

  if (value === undefined || value === null) return nothing
  if (!isJsonObject(value)) {
    problem([], "must be an object: events with lists of groups")
    return { handlers, refused, problems }
  }
  for (const [name, groups] of Object.entries(value)) {
    if (!isEventName(name)) {
      const near = nearest(name, eventNames)
      problem(
        [name],
        `there is no event "${name}"${near === undefined ? "." : `; did you mean "${near}"?`} It is ignored.`,
      )
      continue
    }
    // In an agent's file its own end is the end of a subagent, unless it is who everybody talks to.
    const isSent = origin.scope === "agent" && origin.isSession !== true
    const event = isSent && name === "Stop" ? "SubagentStop" : name
    if (!Array.isArray(groups)) {
      problem([name], `must be a list of groups: [{ "matcher": "…", "hooks": [ … ] }]. It is ignored.`)
      continue
    }
    for (const [index, group] of groups.entries()) readGroup(event, group, [name, String(index)])
  }
  return { handlers, refused, problems }

  function readGroup(event: HookEventName, group: unknown, path: Path): void {
    if (!isJsonObject(group))
      return problem(path, `must be an object: { "matcher": "…", "hooks": [ … ] }. It is ignored.`)
    const text = group["matcher"] ?? ""
    if (typeof text !== "string") {
      return problem([...path, "matcher"], "must be a text. The group is ignored, lest its hooks run for everything.")
    }
    const made = Matcher.make(event, text)
    if ("problem" in made) return problem([...path, "matcher"], `${made.problem}. The group is ignored.`)
    const hooks = group["hooks"]
    if (!Array.isArray(hooks)) return problem(path, `has no list "hooks". It is ignored.`)
    for (const [index, hook] of hooks.entries()) {
      readHandler(event, made.matcher, hook, [...path, "hooks", String(index)])
    }
  }

  function readHandler(event: HookEventName, matcher: Matcher.Matcher, given: unknown, path: Path): void {
    const decoded = decode(given)
    if (Result.isFailure(decoded)) return problem(path, `${decoded.failure} It is ignored.`)
    const action = decoded.success
    const position = at(path)
    const refuse = (why: string) => {
      problem(path, why)
      refused.push({
        event,
        matcher: matcher.text,
        what: describe({ action }),
        origin,
        ...(position !== undefined && { line: position.line }),
        why,
      })
    }
    const { kinds } = specOf(event)
    if (!kinds.includes(action.type)) {
      return refuse(
        `a hook of type "${action.type}" cannot answer ${event}; write one of ${kinds.filter((kind) => kind !== "function").join(", ")}.`,
      )
    }
    if (action.if !== undefined && !isToolEvent(event)) {
      return refuse(`"if" asks about a tool call, and ${event} is none: the hook never runs. Use its matcher.`)
    }
    const conditional = action.if === undefined ? undefined : Condition.make(action.if, place, origin.base ?? place.cwd)
    if (conditional?.problem !== undefined) problem([...path, "if"], conditional.problem)
    if (action.type === "command" && action.args !== undefined && /^[^/\\]*\s/.test(action.command)) {
      problem(
        [...path, "command"],
        `with "args", "command" is the program alone; there is none named "${action.command}".`,
      )
    }
    handlers.push({
      event,
      matcher,
      ...(conditional !== undefined && { condition: conditional.condition }),
      origin,
      ...(position !== undefined && { position }),
      action,
      identity: identityOf(action, origin),
    })
  }
}

const isJsonObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const types = Object.keys(handlerSchemas)

const decode = (given: unknown): Result.Result<Written, string> => {
  if (!isJsonObject(given)) return Result.fail(`must be an object: { "type": "command", "command": "…" }.`)
  const { type } = given
  if (typeof type !== "string" || !isType(type)) {
    const near = typeof type === "string" ? nearest(type, types) : undefined
    return Result.fail(
      `has the type ${JSON.stringify(type) ?? "(none)"}, which is none of ${types.join(", ")}${near === undefined ? "" : ` (did you mean "${near}"?)`}.`,
    )
  }
  return Result.mapError(decoders[type](given), (error) => `does not fit: ${error.message.replaceAll(/\s+/g, " ")}.`)
}

function isType(type: string): type is Written["type"] {
  return Object.hasOwn(handlerSchemas, type)
}

const decoders: { readonly [K in Written["type"]]: (given: unknown) => Result.Result<Written, Schema.SchemaError> } = {
  command: Schema.decodeUnknownResult(handlerSchemas.command),
  http: Schema.decodeUnknownResult(handlerSchemas.http),
  mcp_tool: Schema.decodeUnknownResult(handlerSchemas.mcp_tool),
  prompt: Schema.decodeUnknownResult(handlerSchemas.prompt),
  agent: Schema.decodeUnknownResult(handlerSchemas.agent),
}

/** Settings files share their hooks; a plugin's or a skill's copy is its own. */
const identityOf = (action: Written, { name, root, scope }: Origin): string => {
  const { statusMessage: _message, timeout: _timeout, once: _once, ...essence } = action
  const owner = scope === "plugin" || scope === "skill" || scope === "agent" ? (root ?? name) : ""
  const parts = Object.entries(essence).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([owner, parts])
}
