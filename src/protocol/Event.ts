/**
 * Owns the one vocabulary of what happens in a session.
 *
 * A durable event is journaled before the effect it announces, and the session's state is a fold over them. An
 * ephemeral event is only for people watching: losing one loses nothing, because a durable one repeats its content.
 * All values are plain JSON, so that a journal line is the event itself.
 */
import * as Schema from "effect/Schema"
import { Content, ContentBlock, TextBlock, ToolResultContent } from "./Content.ts"
import { CompactionLayer, CompactionTrigger, Health, NotedFacts } from "./Compaction.ts"
import { Effort } from "./Effort.ts"
import { PermissionMode } from "./PermissionMode.ts"
import { StopReason, StreamEvent } from "./StreamEvent.ts"
import { Terminal } from "./Terminal.ts"
import { Transition } from "./Transition.ts"
import { Usage } from "./Usage.ts"

/** What may be done with a tool call whose outcome a crash has hidden. */
export const Idempotency = Schema.Literals(["read_only", "idempotent", "once"])
export type Idempotency = typeof Idempotency.Type

/** How a tool call ended; `unknown` is a `once` call that a crash cut off, and is reported as such, never repeated. */
export const ToolOutcome = Schema.Literals(["completed", "failed", "denied", "cancelled", "unknown"])
export type ToolOutcome = typeof ToolOutcome.Type

/** The reaction to a person's message: a new prompt, a message for the running turn, or one that ends the running work first. */
export const Delivery = Schema.Literals(["prompt", "between_rounds", "submit_interrupt"])
export type Delivery = typeof Delivery.Type

const CacheTtl = Schema.Literals(["5m", "1h"])

/** Why a prompt was not read from the service's cache. `changed`: a layer's bytes; `evicted`: nothing of ours, and nothing else known. */
export const MissCause = Schema.Literals([
  "model changed",
  "tools changed",
  "system changed",
  "controls changed",
  "messages changed",
  "compacted",
  "rewound",
  "expired",
  "evicted",
])
export type MissCause = typeof MissCause.Type
/** A file as it was: what it held (a hash, or `git:` and the id of a blob; empty where that was not kept), its size and mode. */
export const FileState = Schema.Struct({ content: Schema.String, size: Schema.Finite, mode: Schema.Finite })
export type FileState = typeof FileState.Type

/** Absent: there was no file. */
export const FileChange = Schema.Struct({
  path: Schema.String,
  before: Schema.optionalKey(FileState),
  after: Schema.optionalKey(FileState),
})
export type FileChange = typeof FileChange.Type

const durable = {
  SessionStarted: {
    sessionId: Schema.String,
    cwd: Schema.String,
    version: Schema.String,
    source: Schema.Literals(["startup", "resume", "fork", "import"]),
    forkedFrom: Schema.optionalKey(Schema.Struct({ sessionId: Schema.String, sequence: Schema.Finite })),
    /** One name for all that belongs together, wherever it goes on: 32 hex digits, said at the very beginning. */
    traceId: Schema.optionalKey(Schema.String),
    /** It was brought here from another place. */
    arrived: Schema.optionalKey(Schema.Struct({ cwd: Schema.String, by: Schema.String, exportedAt: Schema.Finite })),
  },
  /** The session goes on elsewhere, from the record before this one on: here it is only a copy. */
  SessionHandedOver: { handOver: Schema.String, to: Schema.String },
  /** What the session is called. */
  SessionTitled: { title: Schema.String, by: Schema.String },
  /** All the tags it has from now on. */
  SessionTagged: { tags: Schema.Array(Schema.String), by: Schema.String },
  /** The model, the permission mode or the effort is now this; `by` says who changed it. */
  ControlsChanged: {
    model: Schema.String,
    permissionMode: PermissionMode,
    /** The model's own default where absent. */
    effort: Schema.optionalKey(Effort),
    by: Schema.String,
  },
  PromptReceived: {
    uuid: Schema.String,
    promptId: Schema.String,
    content: Content,
    delivery: Delivery,
    /** Written by the harness, not by a person: a continuation request, a summary request. */
    harness: Schema.optionalKey(Schema.Boolean),
    /** The call that had more to say than its result. */
    toolUseId: Schema.optionalKey(Schema.String),
  },
  /** What a prompt stands for: a command that was typed, and what it expands to. It takes the place of what was typed. */
  PromptExpanded: {
    uuid: Schema.String,
    promptId: Schema.String,
    command: Schema.String,
    content: Content,
  },
  /** A prompt that the model is not shown. */
  PromptRefused: {
    promptId: Schema.String,
    reason: Schema.String,
    /** The harness has done itself what was asked for. */
    done: Schema.optionalKey(Schema.Boolean),
  },
  /** Said to the model by the harness, beside the conversation: a hook's words, a folder's instructions, a listing that changed. */
  ContextAdded: {
    uuid: Schema.String,
    /** Who says it, and about what: `hook SessionStart`, `instructions src/CLAUDE.md`, `skills`. */
    origin: Schema.String,
    content: Content,
  },
  /** What every request of the session begins with, as it was when the session was opened; a resumed one sends the same bytes. */
  PromptLatched: {
    system: Schema.Array(TextBlock),
    /** What the descriptions of tools list, by the tool's name. */
    listings: Schema.Record(Schema.String, Schema.String),
  },
  RequestSent: {
    requestId: Schema.String,
    attempt: Schema.Finite,
    model: Schema.String,
    maxTokens: Schema.Finite,
    streaming: Schema.Boolean,
    messages: Schema.Finite,
    /** It sends what the attempt before it sent. */
    repeats: Schema.optionalKey(Schema.Boolean),
    /** How many blocks it contains of what was said since the newest reply; whatever else was said came too late for it. */
    said: Schema.optionalKey(Schema.Finite),
    /** The layers of the prompt in cache order, each with its hash: `tools 1f0c…`, `static system 77ab…`, `messages/12 90fe…`. */
    ledger: Schema.Array(Schema.String),
    /** How long the service was asked to keep tools and system, and messages. */
    cacheTtl: Schema.optionalKey(Schema.Struct({ head: CacheTtl, messages: CacheTtl })),
  },
  /** A layer that a ledger names by this hash for the first time, so that it can be compared with what it will be one day. */
  SegmentKept: { layer: Schema.String, hash: Schema.String, text: Schema.String },
  /** The service read much less of the prompt from its cache than it had been given, or than was the same as before. */
  CacheMissed: {
    requestId: Schema.String,
    expectedTokens: Schema.Finite,
    readTokens: Schema.Finite,
    /** The first layer that is not what it was; `none` where all are. */
    layer: Schema.String,
    cause: MissCause,
    /** For people: what changed, from what to what. */
    detail: Schema.String,
  },
  RetryWaiting: {
    requestId: Schema.String,
    attempt: Schema.Finite,
    maxAttempts: Schema.Finite,
    delayMs: Schema.Finite,
    reason: Schema.String,
    /** The same for people: what happened, and where. */
    detail: Schema.optionalKey(Schema.String),
    status: Schema.optionalKey(Schema.Finite),
  },
  BlockReceived: {
    uuid: Schema.String,
    messageId: Schema.String,
    requestId: Schema.String,
    model: Schema.String,
    index: Schema.Finite,
    block: ContentBlock,
    /** The raw arguments of a tool call that is not valid JSON. Such a call is answered with an error, never run. */
    malformedInput: Schema.optionalKey(Schema.String),
  },
  /** Everything received for this request so far is void; another attempt follows or the turn ends. */
  ReplyAbandoned: {
    requestId: Schema.String,
    reason: Schema.String,
    /** What the void part has used all the same, as far as the service told. */
    usage: Schema.optionalKey(Usage),
    costUsd: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  },
  ReplyEnded: {
    messageId: Schema.String,
    requestId: Schema.String,
    model: Schema.String,
    /** `null`: the stream broke off and its complete blocks were kept. */
    stopReason: Schema.NullOr(StopReason),
    stopDetail: Schema.optionalKey(Schema.String),
    usage: Usage,
    costUsd: Schema.NullOr(Schema.Finite),
    durationMs: Schema.Finite,
  },
  /** A person is asked. Written before: should the session end first, the question is put again. */
  PermissionAsked: {
    toolUseId: Schema.String,
    tool: Schema.String,
    input: Schema.Unknown,
    why: Schema.String,
  },
  PermissionDecided: {
    toolUseId: Schema.String,
    tool: Schema.String,
    behavior: Schema.Literals(["allow", "deny"]),
    reason: Schema.String,
    /** Who decided: a mode, a rule, a person, a hook. */
    by: Schema.String,
    /** The step of the policy that had the answer, or that left it open. */
    step: Schema.optionalKey(Schema.String),
    /** The rules that decided, and where they stand. */
    rules: Schema.optionalKey(Schema.Array(Schema.Struct({ text: Schema.String, source: Schema.String }))),
    /** What the call would touch. */
    effects: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  },
  /** Somebody who may decide has added rules that hold from now on. */
  RulesGranted: {
    behavior: Schema.Literals(["allow", "deny", "ask"]),
    rules: Schema.Array(Schema.String),
    destination: Schema.Literals(["session", "local", "project", "user"]),
  },
  /** Written before the tool runs: after a crash it tells what may have happened. */
  ToolStarted: {
    toolUseId: Schema.String,
    tool: Schema.String,
    input: Schema.Unknown,
    idempotency: Idempotency,
    /** What is known beforehand that may tell after a crash whether it happened (a file's hash, for instance). */
    evidence: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  },
  ToolEnded: {
    uuid: Schema.String,
    toolUseId: Schema.String,
    tool: Schema.String,
    outcome: ToolOutcome,
    content: ToolResultContent,
    /** The tool's own typed output, for tools that read transcripts. */
    structured: Schema.optionalKey(Schema.Unknown),
    /** How the tool shows its result to people. */
    display: Schema.optionalKey(Schema.String),
    durationMs: Schema.Finite,
  },
  /** An agent was sent out by a tool call; its own records carry its id. */
  SubagentStarted: {
    agentId: Schema.String,
    agentType: Schema.String,
    toolUseId: Schema.String,
    description: Schema.String,
    prompt: Schema.String,
    model: Schema.String,
  },
  SubagentEnded: {
    agentId: Schema.String,
    agentType: Schema.String,
    toolUseId: Schema.String,
    terminal: Terminal,
    turns: Schema.Finite,
    toolUses: Schema.Finite,
    durationMs: Schema.Finite,
    usage: Usage,
    costUsd: Schema.Finite,
  },
  TransitionTaken: { transition: Transition, detail: Schema.optionalKey(Schema.String) },
  TurnEnded: {
    promptId: Schema.String,
    terminal: Terminal,
    /** What the model said last. */
    result: Schema.String,
    structuredOutput: Schema.optionalKey(Schema.Unknown),
    turns: Schema.Finite,
    durationMs: Schema.Finite,
    apiDurationMs: Schema.Finite,
    usage: Usage,
    costUsd: Schema.Finite,
  },
  /** A settings source was changed and read again while the session was open. */
  ConfigChanged: {
    /** Its kind: `user`, `project`, `local`, `managed`, … */
    source: Schema.String,
    /** Its path, or the name of what is no file. */
    file: Schema.String,
    /** Dotted keys that have another value now. */
    keys: Schema.Array(Schema.String),
    /** Dotted keys it would like to change: executable or opening, and in force only when a person agrees. */
    withheld: Schema.Array(Schema.String),
  },
  /** A hook was run to its end, whatever the end was. */
  HookRan: {
    hookId: Schema.String,
    hookEvent: Schema.String,
    /** `PreToolUse:Bash`. */
    name: Schema.String,
    /** What it does: the command, the address, the beginning of the prompt. */
    what: Schema.String,
    /** The file and line it stands in, or who registered it. */
    source: Schema.String,
    kind: Schema.Literals(["command", "http", "mcp_tool", "prompt", "agent", "function"]),
    outcome: Schema.Literals(["success", "blocked", "error", "cancelled"]),
    exitCode: Schema.optionalKey(Schema.Finite),
    durationMs: Schema.Finite,
    toolUseId: Schema.optionalKey(Schema.String),
    /** Why it blocked, or what went wrong with it. */
    detail: Schema.optionalKey(Schema.String),
    /** What it printed, as far as it is kept. */
    stdout: Schema.optionalKey(Schema.String),
    stderr: Schema.optionalKey(Schema.String),
    /** For a terminal, if there is one: a title, a notification, the bell. Nothing else gets here. */
    terminalSequence: Schema.optionalKey(Schema.String),
    /** In which agent, where it is not the main one. */
    agentId: Schema.optionalKey(Schema.String),
  },
  /**
   * From here on requests contain less of what was said before; the journal keeps all of it. Places are those of the messages as
   * they would have been sent until now.
   */
  Compacted: {
    uuid: Schema.String,
    trigger: CompactionTrigger,
    layer: CompactionLayer,
    /** How many tokens a request had, and has. */
    preTokens: Schema.Finite,
    postTokens: Schema.Finite,
    /** What calls are said to have answered, by their ids. */
    results: Schema.Record(Schema.String, ToolResultContent),
    /** Messages from one place to before another, and the one of the user that says it instead. In order, none in another. */
    spans: Schema.Array(Schema.Struct({ from: Schema.Finite, to: Schema.Finite, content: Content })),
    /** What a model wrote about all that. */
    summary: Schema.optionalKey(Schema.String),
    /** What it found worth keeping as facts. */
    facts: Schema.optionalKey(NotedFacts),
  },
  /** The conversation goes on from before a prompt: what was recorded from there to here is not sent any more. */
  Rewound: {
    uuid: Schema.String,
    promptId: Schema.String,
    /** The sequence of the first record that does not count any more. */
    to: Schema.Finite,
  },
  /** Files were changed; what they held before is kept. */
  Checkpointed: {
    uuid: Schema.String,
    /** The prompt that it was done for. */
    promptId: Schema.String,
    /** A call, work in the background, a call that a crash cut off, or going back itself. */
    cause: Schema.Literals(["call", "background", "crash", "rewind"]),
    toolUseId: Schema.optionalKey(Schema.String),
    /** Where to it went back. */
    to: Schema.optionalKey(Schema.String),
    changes: Schema.Array(FileChange),
  },
  Diagnosed: {
    level: Schema.Literals(["info", "warning", "error"]),
    message: Schema.String,
  },
  /** A message of a foreign transcript, taken over when its session is resumed here. */
  MessageImported: {
    uuid: Schema.String,
    role: Schema.Literals(["user", "assistant"]),
    content: Content,
    messageId: Schema.optionalKey(Schema.String),
    model: Schema.optionalKey(Schema.String),
  },
} as const

const ephemeral = {
  /** One event of the stream, as it arrived. */
  StreamChunk: { requestId: Schema.String, event: StreamEvent },
  ToolProgressed: {
    toolUseId: Schema.String,
    tool: Schema.String,
    text: Schema.String,
    data: Schema.optionalKey(Schema.Unknown),
    elapsedMs: Schema.Finite,
  },
  /** How full the conversation is: told when that has changed noticeably. */
  ContextMeasured: { health: Health },
  /** The conversation is being summed up, which takes as long as a reply. */
  CompactionStarted: { trigger: CompactionTrigger },
  HookStarted: {
    hookId: Schema.String,
    hookEvent: Schema.String,
    name: Schema.String,
    what: Schema.String,
    /** What people are told while it runs. */
    statusMessage: Schema.optionalKey(Schema.String),
    toolUseId: Schema.optionalKey(Schema.String),
  },
} as const

export const DurableEvent = Schema.TaggedUnion(durable)
export type DurableEvent = typeof DurableEvent.Type

/** What an agent's own recorder tells. */
const OwnEvent = Schema.TaggedUnion({ ...durable, ...ephemeral })

/** What happens in an agent that was sent out, shown where it was sent from; it is durable in that agent's own records. */
const shown = { SubagentShown: { agentId: Schema.String, toolUseId: Schema.String, event: OwnEvent } } as const

export const EphemeralEvent = Schema.TaggedUnion({ ...ephemeral, ...shown })
export type EphemeralEvent = typeof EphemeralEvent.Type

export const Event = Schema.TaggedUnion({ ...durable, ...ephemeral, ...shown })
export type Event = typeof Event.Type

export type EventOf<Tag extends Event["_tag"]> = Extract<Event, { readonly _tag: Tag }>

const ephemeralTags: ReadonlySet<string> = new Set(Object.keys(EphemeralEvent.cases))

export const isDurable = (event: Event): event is DurableEvent => !ephemeralTags.has(event._tag)
