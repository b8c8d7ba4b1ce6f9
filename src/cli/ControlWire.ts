/**
 * Owns the words of the control protocol: what a client may ask of us, what we may ask of it, and what is answered.
 *
 * A field that a client leaves out may also be `null`, and fields that nobody knows here are passed over.
 */
import * as Schema from "effect/Schema"
import { PermissionMode } from "../protocol/PermissionMode.ts"

const maybe = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
const Fields = Schema.Record(Schema.String, Schema.Unknown)

/** Callbacks of the client that want to hear of an event; they are called by their ids. */
export const HookMatcher = Schema.Struct({
  matcher: maybe(Schema.String),
  hookCallbackIds: Schema.Array(Schema.String),
  timeout: maybe(Schema.Finite),
  onFailure: maybe(Schema.String),
})

/** The first thing a client says; how the session is opened depends on it. */
export const Initialize = Schema.Struct({
  subtype: Schema.Literal("initialize"),
  hooks: maybe(Schema.Record(Schema.String, Schema.Array(HookMatcher))),
  /** Servers that live in the client's process and are reached through `mcp_message`. */
  sdkMcpServers: maybe(Schema.Array(Schema.String)),
  systemPrompt: maybe(Schema.Union([Schema.String, Schema.Array(Schema.String)])),
  appendSystemPrompt: maybe(Schema.String),
  jsonSchema: maybe(Fields),
  disallowedTools: maybe(Schema.Array(Schema.String)),
  agents: maybe(Fields),
  mcpServers: maybe(Fields),
  plugins: maybe(Schema.Array(Schema.Unknown)),
  settings: maybe(Fields),
  managedSettings: maybe(Schema.Unknown),
  skills: maybe(Schema.Array(Schema.String)),
  toolAliases: maybe(Fields),
  planModeInstructions: maybe(Schema.String),
})
export type Initialize = typeof Initialize.Type

/** What a client may ask, by its `subtype`. */
export const Request = Schema.Union([
  Initialize,
  Schema.Struct({ subtype: Schema.Literal("interrupt"), cancel_queued: maybe(Schema.Boolean) }),
  /** Without a model: the one the session was opened with. */
  Schema.Struct({ subtype: Schema.Literal("set_model"), model: maybe(Schema.NonEmptyString) }),
  Schema.Struct({ subtype: Schema.Literal("set_permission_mode"), mode: Schema.String }),
  Schema.Struct({ subtype: Schema.Literal("set_max_thinking_tokens"), max_thinking_tokens: maybe(Schema.Finite) }),
  Schema.Struct({ subtype: Schema.Literal("cancel_async_message"), message_uuid: Schema.String }),
  Schema.Struct({ subtype: Schema.Literal("list_models") }),
  /** Files go back to before the message of this id. */
  Schema.Struct({
    subtype: Schema.Literal("rewind_files"),
    user_message_id: Schema.String,
    dry_run: maybe(Schema.Boolean),
  }),
  Schema.Struct({ subtype: Schema.Literal("mcp_status") }),
  Schema.Struct({ subtype: Schema.Literal("mcp_set_servers"), servers: Fields }),
  /** A server in the client's process says something unasked. */
  Schema.Struct({ subtype: Schema.Literal("mcp_message"), server_name: Schema.String, message: Fields }),
])
export type Request = typeof Request.Type
export type RequestOf<Subtype extends Request["subtype"]> = Extract<Request, { readonly subtype: Subtype }>

export const subtypes: ReadonlyArray<string> = Request.members.map((member) => member.fields.subtype.literal)

const Model = Schema.Struct({
  value: Schema.String,
  resolvedModel: Schema.String,
  displayName: Schema.String,
  description: Schema.String,
})
export type Model = typeof Model.Type

const Nothing = Schema.Struct({})

/** What each request is answered with. */
export const Answers = {
  initialize: Schema.Struct({
    commands: Schema.Array(Schema.Unknown),
    agents: Schema.Array(Schema.Unknown),
    output_style: Schema.String,
    available_output_styles: Schema.Array(Schema.String),
    models: Schema.Array(Model),
    account: Schema.Struct({ apiKeySource: Schema.String }),
    pid: Schema.Int,
    /** Of what was sent along: whether it counts. Absent when it was not sent. */
    hooks_applied: Schema.optionalKey(Schema.Boolean),
    disallowed_tools_applied: Schema.optionalKey(Schema.Boolean),
    settings_applied: Schema.optionalKey(Schema.Boolean),
    mcp_servers_applied: Schema.optionalKey(Schema.Boolean),
    plugins_applied: Schema.optionalKey(Schema.Boolean),
  }),
  /** Messages that wait and will still be answered, by the ids their sender gave them. */
  interrupt: Schema.Struct({
    still_queued: Schema.Array(Schema.String),
    cancelled: Schema.optionalKey(Schema.Array(Schema.String)),
  }),
  set_model: Nothing,
  set_permission_mode: Schema.Struct({ mode: Schema.String }),
  set_max_thinking_tokens: Nothing,
  cancel_async_message: Schema.Struct({ cancelled: Schema.Boolean }),
  rewind_files: Schema.Struct({
    canRewind: Schema.Boolean,
    error: Schema.optionalKey(Schema.String),
    filesChanged: Schema.optionalKey(Schema.Array(Schema.String)),
    insertions: Schema.optionalKey(Schema.Finite),
    deletions: Schema.optionalKey(Schema.Finite),
  }),
  list_models: Schema.Struct({ models: Schema.Array(Model) }),
  mcp_status: Schema.Struct({ mcpServers: Schema.Array(Schema.Unknown) }),
  mcp_set_servers: Schema.Struct({
    added: Schema.Array(Schema.String),
    removed: Schema.Array(Schema.String),
    errors: Schema.Record(Schema.String, Schema.String),
  }),
  mcp_message: Nothing,
} as const satisfies Record<Request["subtype"], Schema.Top>
export type AnswerTo<Subtype extends Request["subtype"]> = (typeof Answers)[Subtype]["Type"]

/** Either side's answer to a request of the other. */
export const Response = Schema.Struct({
  type: Schema.Literal("control_response"),
  response: Schema.Union([
    Schema.Struct({
      subtype: Schema.Literal("success"),
      request_id: Schema.String,
      response: Schema.optionalKey(Schema.Unknown),
    }),
    Schema.Struct({ subtype: Schema.Literal("error"), request_id: Schema.String, error: Schema.String }),
  ]),
})
export type Response = typeof Response.Type

/** Whether a tool may run. */
export interface CanUseTool {
  readonly subtype: "can_use_tool"
  readonly tool_name: string
  readonly input: unknown
  readonly tool_use_id: string
  /** What an answer may bring along as `updatedPermissions`, so that the same is not asked again. */
  readonly permission_suggestions: ReadonlyArray<PermissionUpdate>
  readonly description: string
  readonly blocked_path?: string
  readonly decision_reason?: string
}

/** A change that an answer may bring about; there are others, which nothing here can do. */
export const PermissionUpdate = Schema.Union([
  Schema.Struct({ type: Schema.Literal("setMode"), mode: PermissionMode }),
  Schema.Struct({
    type: Schema.Literal("addRules"),
    behavior: Schema.Literal("allow"),
    rules: Schema.Array(Schema.Struct({ toolName: Schema.NonEmptyString, ruleContent: maybe(Schema.String) })),
    destination: Schema.Literals(["session", "cliArg", "localSettings", "projectSettings", "userSettings"]),
  }),
])
export type PermissionUpdate = typeof PermissionUpdate.Type

/** `updatedInput` replaces the arguments of the call; `interrupt` ends the turn as well. */
export const PermissionResult = Schema.Union([
  Schema.Struct({
    behavior: Schema.Literal("allow"),
    updatedInput: maybe(Fields),
    updatedPermissions: maybe(Schema.Array(Schema.Unknown)),
  }),
  Schema.Struct({ behavior: Schema.Literal("deny"), message: Schema.String, interrupt: maybe(Schema.Boolean) }),
])
export type PermissionResult = typeof PermissionResult.Type

/** What a hook answers is judged by whoever called it; here it is only an object. */
export const HookOutput = Fields
export type HookOutput = typeof HookOutput.Type

export const McpResponse = Schema.Struct({ mcp_response: Fields })
