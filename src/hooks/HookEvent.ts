/** Owns what can be said about an event at which hooks run: the shape of a row of the table, and the words it is made of. */
import * as Schema from "effect/Schema"

/** Who may answer an event. `function` is a hook in this process: an embedder's, or a client's behind its channel. */
export const kinds = ["command", "http", "mcp_tool", "prompt", "agent", "function"] as const
export type Kind = (typeof kinds)[number]

/** A feature that does not exist yet, and without which an event never happens. Whoever builds it clears the row. */
export type Pending = "mcp" | "teams" | "worktrees"

/** Kinds that nobody can answer yet. */
export const pendingKinds: Readonly<Partial<Record<Kind, Pending>>> = { mcp_tool: "mcp" }

/** What an event's own part of the JSON (`hookSpecificOutput`) may say. Each row names those that count for it. */
export const Specific = Schema.Struct({
  permissionDecision: Schema.optionalKey(Schema.Literals(["allow", "deny", "ask", "defer"])),
  permissionDecisionReason: Schema.optionalKey(Schema.String),
  updatedInput: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  additionalContext: Schema.optionalKey(Schema.String),
  updatedToolOutput: Schema.optionalKey(Schema.Unknown),
  updatedMCPToolOutput: Schema.optionalKey(Schema.Unknown),
  classifierContext: Schema.optionalKey(Schema.String),
  decision: Schema.optionalKey(
    Schema.Struct({
      behavior: Schema.Literals(["allow", "deny"]),
      updatedInput: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
      updatedPermissions: Schema.optionalKey(Schema.Array(Schema.Unknown)),
      message: Schema.optionalKey(Schema.String),
      interrupt: Schema.optionalKey(Schema.Boolean),
    }),
  ),
  retry: Schema.optionalKey(Schema.Boolean),
  worktreePath: Schema.optionalKey(Schema.String),
  action: Schema.optionalKey(Schema.Literals(["accept", "decline", "cancel"])),
  content: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
  displayContent: Schema.optionalKey(Schema.String),
  initialUserMessage: Schema.optionalKey(Schema.String),
  sessionTitle: Schema.optionalKey(Schema.String),
  suppressOriginalPrompt: Schema.optionalKey(Schema.Boolean),
  watchPaths: Schema.optionalKey(Schema.Array(Schema.String)),
  reloadSkills: Schema.optionalKey(Schema.Boolean),
})
export type Specific = typeof Specific.Type
export type SpecificField = keyof Specific

export interface EventSpec<Fields extends Schema.Struct.Fields = Schema.Struct.Fields> {
  readonly when: string
  /** The input field that matchers look at. Without it a matcher is ignored. */
  readonly matcher?: {
    readonly field: string
    readonly what: string
    readonly values?: ReadonlyArray<string>
    /** Only letters, digits, `_` and `|` make an exact list; everything else is a pattern. */
    readonly narrow?: true
    /** The matcher looks at the last part of the path. */
    readonly basename?: true
  }
  /** What comes beside the fields that all events share. */
  readonly input: Fields
  /** Which of the shared fields come only with some events. */
  readonly carries: ReadonlyArray<"permission_mode" | "effort">
  readonly kinds: ReadonlyArray<Kind>
  /** Until a command, a request, a tool or a function is given up, where it is not the usual time. */
  readonly seconds?: number
  /** What exit code 2 does; `fails`: any failure of a hook makes the action fail. */
  readonly exit2: "blocks" | "fails" | "tells the model" | "tells the person" | "is logged" | "is ignored"
  readonly exit2Means: string
  /** What `"decision": "block"` with `reason` means, where it means something. */
  readonly block?: string
  /** What of `hookSpecificOutput` counts, and what it means. */
  readonly outputs: Readonly<Partial<Record<SpecificField, string>>>
  /** Who hears `systemMessage`. */
  readonly systemMessage: "person" | "model" | "nobody"
  /** `"continue": false` ends the work. */
  readonly continues: boolean
  /** What plain text on stdout is: context for the model, the answer itself, or only for the log. */
  readonly stdout: "context" | "path" | "log"
  /** What `ok: false` of a prompt or agent hook does; `stop`: ends the turn unless `continueOnBlock`. */
  readonly notOk: "block" | "stop" | "nothing"
  /** What it means that no answer came in time: `functions`, a function guards here; `all`, whoever it is. Else nothing is decided. */
  readonly timeoutBlocks?: "functions" | "all"
  /** Commands may leave variables for later shells in `CLAUDE_ENV_FILE`. */
  readonly envFile?: true
  /** Nobody waits for it. */
  readonly background?: true
  readonly pending?: Pending
}

/** Keeps the types of a row's fields. */
export const row = <const Fields extends Schema.Struct.Fields>(spec: EventSpec<Fields>): EventSpec<Fields> => spec

export const everyKind: ReadonlyArray<Kind> = kinds
/** No model is asked where the answer could not change anything, or must be quick. */
export const noModels: ReadonlyArray<Kind> = ["command", "http", "mcp_tool", "function"]
export const atStart: ReadonlyArray<Kind> = ["command", "mcp_tool", "function"]

/** Seconds, where neither the handler nor the event says otherwise. */
export const usualSeconds: Readonly<Record<Kind, number>> = {
  command: 600,
  http: 600,
  mcp_tool: 600,
  function: 600,
  prompt: 30,
  agent: 60,
}
