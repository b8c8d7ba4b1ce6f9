/** Owns the answers to a client's control requests. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type { Agent } from "../agents/Agent.ts"
import { families } from "../cost/KnownModels.ts"
import type { Table } from "../cost/ModelTable.ts"
import { parse as parseMode } from "../protocol/PermissionMode.ts"
import { nearest } from "../platform/Near.ts"
import { type AnswerTo, type Initialize, type Model, Request, type RequestOf, subtypes } from "./ControlWire.ts"

/** What a request is answered from. */
export interface Answering {
  readonly agent: Agent
  readonly facts: Facts
  /** The model the session was opened with. */
  readonly model: string
  /** Messages that wait for the end of the turn, by the ids their sender gave them. Interrupting one withdraws it. */
  readonly queued: Map<string, Fiber.Fiber<unknown, unknown>>
  /** Says something once. */
  readonly note: (text: string) => Effect.Effect<void>
}

export interface Facts {
  /** What the client may choose from. */
  readonly models: Pick<Table, "models" | "resolve"> | undefined
  readonly apiKeySource: string
  readonly pid: number
}

/** The families by their short names, then every model by its id. */
const choices = ({ models: table }: Facts): ReadonlyArray<Model> =>
  table === undefined
    ? []
    : [...families, ...table.models.map(({ id }) => id)].map((value) => {
        const { id, spec } = table.resolve(value)
        const description = `${spec.contextWindow} tokens of context, ${spec.maxOutput} of output`
        return { value, resolvedModel: id, displayName: value, description }
      })

/** A request that cannot be granted, in words for the client. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

/** Reads a request. One that is not known, or not well-formed, is refused. */
export const read = Effect.fnUntraced(function* (request: { readonly subtype: string }) {
  const { subtype } = request
  if (!subtypes.includes(subtype)) {
    const near = nearest(subtype, subtypes)
    return yield* new Refused({
      message: `This version has no control request "${subtype}".${near === undefined ? "" : ` Did you mean "${near}"?`}`,
    })
  }
  return yield* Effect.mapError(
    Schema.decodeUnknownEffect(Request)(request),
    (error) => new Refused({ message: `${subtype}: ${error.message.replace(/\s*\n\s*/g, "; ")}` }),
  )
})

/** Answers one. */
export const answer = (
  answering: Answering,
  request: Request,
): Effect.Effect<AnswerTo<Request["subtype"]>, Refused> => {
  switch (request.subtype) {
    case "initialize":
      return initialized(answering, request)
    case "interrupt":
      return interrupted(answering, request)
    case "set_model":
      return Effect.as(answering.agent.setModel(request.model ?? answering.model, "control_request"), {})
    case "set_permission_mode":
      return setMode(answering, request)
    case "set_max_thinking_tokens":
      return Effect.as(answering.note("set_max_thinking_tokens has no effect yet."), {})
    case "cancel_async_message":
      return Effect.map(withdraw(answering, [request.message_uuid]), (gone) => ({ cancelled: gone.length > 0 }))
    case "rewind_files":
      return rewound(answering, request)
    case "list_models":
      return Effect.succeed({ models: choices(answering.facts) })
    case "mcp_status":
      return Effect.succeed({ mcpServers: [] })
    case "mcp_set_servers": {
      const errors = Object.keys(request.servers).map((name) => [name, "MCP servers have no effect yet."])
      return Effect.succeed({ added: [], removed: [], errors: Object.fromEntries(errors) })
    }
    case "mcp_message":
      return Effect.fail(new Refused({ message: `No MCP server "${request.server_name}" is connected.` }))
  }
}

const initialized = Effect.fnUntraced(function* ({ agent, facts, note }: Answering, request: Initialize) {
  for (const [field, what] of withoutEffect) {
    const value = request[field]
    if (value != null && Object.keys(value).length > 0) yield* note(`${what} given in initialize have no effect yet.`)
  }
  const commands = (yield* agent.commands).map(({ description, hint, name }) => ({
    name,
    description,
    argumentHint: hint ?? "",
  }))
  const agents = (yield* agent.agentTypes).map(({ description, model, name }) => ({
    name,
    description,
    ...(model !== undefined && { model }),
  }))
  return {
    commands,
    agents,
    output_style: agent.outputStyle,
    available_output_styles: [...new Set(["default", agent.outputStyle])],
    models: choices(facts),
    account: { apiKeySource: facts.apiKeySource },
    pid: facts.pid,
    ...(request.hooks != null && { hooks_applied: true }),
    // The client must not believe in guards that are not there.
    ...(request.settings != null && { settings_applied: false }),
    ...(request.mcpServers != null && { mcp_servers_applied: false }),
    ...(request.plugins != null && { plugins_applied: false }),
    ...(request.disallowedTools != null && { disallowed_tools_applied: true }),
  } satisfies AnswerTo<"initialize">
})

/** Fields of `initialize` that nothing reads yet. */
const withoutEffect = [
  ["sdkMcpServers", "SDK MCP servers"],
  ["mcpServers", "MCP servers"],
  ["plugins", "plugins"],
  ["skills", "skills"],
  ["settings", "settings"],
  ["toolAliases", "tool aliases"],
  ["planModeInstructions", "plan mode instructions"],
] as const satisfies ReadonlyArray<readonly [keyof Initialize, string]>

const interrupted = Effect.fnUntraced(function* (answering: Answering, request: RequestOf<"interrupt">) {
  const waiting = [...answering.queued.keys()]
  const cancelled = request.cancel_queued === true ? yield* withdraw(answering, waiting) : undefined
  yield* answering.agent.interrupt()
  return {
    still_queued: waiting.filter((uuid) => cancelled?.includes(uuid) !== true),
    ...(cancelled !== undefined && { cancelled }),
  } satisfies AnswerTo<"interrupt">
})

/** Answers those that were still waiting. */
const withdraw = Effect.fnUntraced(function* ({ queued }: Answering, uuids: ReadonlyArray<string>) {
  const found: Array<string> = []
  for (const uuid of uuids) {
    const fiber = queued.get(uuid)
    if (fiber === undefined) continue
    queued.delete(uuid)
    found.push(uuid)
    yield* Fiber.interrupt(fiber)
  }
  return found
})

/** A client asks in the middle of a turn, too, when it has seen enough of it. */
const rewound = Effect.fnUntraced(function* ({ agent }: Answering, request: RequestOf<"rewind_files">) {
  const dryRun = request.dry_run === true
  const resting = Effect.match(agent.status, { onSuccess: ({ busy }) => !busy, onFailure: () => true })
  if (!dryRun && !(yield* resting)) {
    yield* agent.interrupt()
    while (!(yield* resting)) yield* Effect.sleep("20 millis")
  }
  const went = yield* Effect.result(agent.rewind(request.user_message_id, { what: "code", dryRun }))
  if (went._tag === "Failure") return { canRewind: false, error: went.failure.message }
  const files = went.success.files.filter(({ problem }) => problem === undefined)
  const sum = (of: "insertions" | "deletions") => files.reduce((total, file) => total + file[of], 0)
  return {
    canRewind: true,
    filesChanged: files.map(({ path }) => path),
    insertions: sum("insertions"),
    deletions: sum("deletions"),
  } satisfies AnswerTo<"rewind_files">
})

const setMode = Effect.fnUntraced(function* ({ agent }: Answering, { mode }: RequestOf<"set_permission_mode">) {
  const found = parseMode(mode)
  if (found === undefined)
    return yield* new Refused({ message: `There is no permission mode ${JSON.stringify(mode)}.` })
  yield* agent.setPermissionMode(found, "control_request")
  return { mode: found } satisfies AnswerTo<"set_permission_mode">
})
