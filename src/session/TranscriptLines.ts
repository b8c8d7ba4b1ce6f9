/**
 * Owns what the journal looks like to the ecosystem: the transcript lines of a record, in the order of the conversation.
 *
 * A reply's lines wait until it is clear that it counts, and what was said or answered meanwhile waits behind it. So an
 * abandoned reply leaves no line, and every line follows the one it belongs to.
 */
import * as Schema from "effect/Schema"
import type { ContentBlock, ToolResultContent } from "../protocol/Content.ts"
import { plainText } from "../protocol/Content.ts"
import type { EventOf } from "../protocol/Event.ts"
import * as Usage from "../protocol/Usage.ts"
import type { JournalRecord } from "./JournalRecord.ts"

/** A line without the fields that depend on the file: its parent and the session. */
export interface Line {
  /** Absent in a note beside the chain. */
  readonly uuid?: string
  readonly seq: number
  readonly time: number
  readonly type: string
  readonly fields: Readonly<Record<string, unknown>>
  /** The tool call whose result it is. */
  readonly answers?: string
  /** A chain begins here; what came before is only its logical parent. */
  readonly begins?: boolean
}

export const LinesState = Schema.Struct({
  /** Calls without a result, and their lines. */
  callers: Schema.Array(Schema.Tuple([Schema.String, Schema.String])),
  lastPrompt: Schema.optionalKey(Schema.String),
})
export type LinesState = typeof LinesState.Type

interface HeldBlock {
  readonly record: JournalRecord
  readonly event: EventOf<"BlockReceived">
}

interface HeldReply {
  readonly requestId: string
  readonly blocks: Array<HeldBlock>
  end: EventOf<"ReplyEnded"> | undefined
  started: boolean
}

/** Makes a stable uuid for a record that has none of its own. */
export type UuidOf = (seq: number) => string

export class TranscriptLines {
  private reply: HeldReply | undefined
  /** Lines that come after the reply that is being received. */
  private waiting: Array<Line> = []
  /** A request is out and its reply has not ended. */
  private asked = false
  /** Which line made a tool call. */
  private readonly callers = new Map<string, string>()
  private lastPrompt: string | undefined
  private readonly uuidOf: UuidOf

  constructor(uuidOf: UuidOf) {
    this.uuidOf = uuidOf
  }

  /** What it holds, when no reply is on its way. */
  state(): LinesState | undefined {
    if (this.reply !== undefined || this.waiting.length > 0 || this.asked) return undefined
    return { callers: [...this.callers], ...(this.lastPrompt !== undefined && { lastPrompt: this.lastPrompt }) }
  }

  restore({ callers, lastPrompt }: LinesState): void {
    for (const [call, uuid] of callers) this.callers.set(call, uuid)
    this.lastPrompt = lastPrompt
  }

  /** The lines that are due with this record. */
  of(record: JournalRecord): ReadonlyArray<Line> {
    const { event } = record
    switch (event._tag) {
      case "RequestSent": {
        // A further attempt sends what the first one sent; what came since stays behind its reply.
        const lines = event.repeats === true ? [] : this.settle()
        this.asked = true
        return lines
      }
      case "BlockReceived": {
        const lines = this.reply !== undefined && this.reply.requestId !== event.requestId ? this.settle() : []
        this.asked = true
        this.reply ??= { requestId: event.requestId, blocks: [], end: undefined, started: false }
        this.reply.blocks.push({ record, event })
        return lines
      }
      case "ReplyEnded":
        if (this.reply?.requestId !== event.requestId) {
          this.asked = false
          return []
        }
        this.reply.end = event
        // Hooks that now run read it in the file. Only one that was cut off may still be asked for again.
        return event.stopReason === "max_tokens" || event.stopReason === null ? [] : this.settle()
      case "ReplyAbandoned":
        if (this.reply?.requestId === event.requestId && !this.reply.started && this.reply.end?.stopReason !== null)
          this.reply = undefined
        return []
      case "ToolStarted":
        if (this.reply?.blocks.some((held) => isCall(held.event.block, event.toolUseId))) this.reply.started = true
        return this.settleEnded()
      case "PermissionAsked":
      case "PermissionDecided":
        return this.settleEnded()
      case "ToolEnded":
        return [...this.settleEnded(), ...this.behind(() => this.result(record, event))]
      case "PromptReceived": {
        const before = event.delivery === "prompt" ? this.settle() : this.settleEnded()
        if (event.harness !== true) this.lastPrompt = plainText(event.content)
        return [...before, ...this.behind(() => prompt(record, event))]
      }
      case "PromptExpanded":
      case "ContextAdded":
        return this.behind(() => told(record, event))
      case "PromptRefused":
        return this.behind(() =>
          this.system(record, {
            subtype: event.done === true ? "local_command" : "informational",
            level: event.done === true ? "info" : "warning",
            content: event.reason,
          }),
        )
      case "TurnEnded":
        return [...this.settle(), this.turn(record, event), ...this.note(record)]
      case "MessageImported":
        return [imported(record, event)]
      case "RetryWaiting":
        return this.behind(() => this.retry(record, event))
      case "Diagnosed":
        return event.level === "info" ? [] : this.behind(() => this.diagnosis(record, event))
      case "SessionTitled":
        return [{ seq: record.seq, time: record.time, type: "custom-title", fields: { customTitle: event.title } }]
      case "SessionTagged":
        return [
          { seq: record.seq, time: record.time, type: "tag", fields: { tag: event.tags.join(", "), tags: event.tags } },
        ]
      case "SessionStarted":
      case "ControlsChanged":
      case "ConfigChanged":
      case "PromptLatched":
      case "SegmentKept":
      case "CacheMissed":
      case "SubagentStarted":
      case "SubagentEnded":
      case "HookRan":
      case "TransitionTaken":
      case "Checkpointed":
      case "Rewound":
      case "SessionHandedOver":
      case "RulesGranted":
        return []
      case "Compacted":
        return event.layer === "summary" ? [...this.settle(), ...this.boundary(record, event)] : []
    }
  }

  /** A tool result may come while its reply is still arriving. */
  private behind(make: () => Line): ReadonlyArray<Line> {
    const line = make()
    if (!this.asked) return [line]
    this.waiting.push(line)
    return []
  }

  private settleEnded(): ReadonlyArray<Line> {
    return this.reply?.end === undefined ? [] : this.settle()
  }

  /** Decides about the reply: it counts when it ended, or when something of it was begun. */
  private settle(): ReadonlyArray<Line> {
    const { reply, waiting } = this
    this.reply = undefined
    this.waiting = []
    this.asked = false
    if (reply === undefined || (reply.end === undefined && !reply.started)) return waiting
    const lines = reply.blocks.map((held) => this.block(held, reply.end))
    return [...lines, ...waiting.map((line) => this.withCaller(line))]
  }

  private block({ record, event }: HeldBlock, end: HeldReply["end"]): Line {
    if (event.block.type === "tool_use") this.callers.set(event.block.id, event.uuid)
    return {
      uuid: event.uuid,
      seq: record.seq,
      time: record.time,
      type: "assistant",
      fields: {
        message: {
          id: event.messageId,
          type: "message",
          role: "assistant",
          model: event.model,
          content: [event.block],
          stop_reason: end?.stopReason ?? null,
          stop_sequence: null,
          usage: end?.usage ?? Usage.none,
        },
        requestId: event.requestId,
      },
    }
  }

  private result(record: JournalRecord, event: EventOf<"ToolEnded">): Line {
    const failed = event.outcome !== "completed"
    return this.withCaller({
      uuid: event.uuid,
      seq: record.seq,
      time: record.time,
      type: "user",
      fields: {
        message: {
          role: "user",
          content: [
            {
              tool_use_id: event.toolUseId,
              type: "tool_result",
              content: event.content,
              ...(failed && { is_error: true }),
            },
          ],
        },
        toolUseResult: event.structured ?? words(event.content, failed),
      },
      answers: event.toolUseId,
    })
  }

  private withCaller(line: Line): Line {
    const caller = line.answers === undefined ? undefined : this.callers.get(line.answers)
    if (line.answers !== undefined) this.callers.delete(line.answers)
    return caller === undefined ? line : { ...line, fields: { ...line.fields, sourceToolAssistantUUID: caller } }
  }

  private system(record: JournalRecord, fields: Line["fields"]): Line {
    const { seq, time } = record
    return { uuid: this.uuidOf(seq), seq, time, type: "system", fields: { isMeta: false, ...fields } }
  }

  /** A new beginning of the chain, and what stands for all that came before. */
  private boundary(record: JournalRecord, event: EventOf<"Compacted">): ReadonlyArray<Line> {
    const { seq, time } = record
    const { postTokens, preTokens, trigger } = event
    const compactMetadata = { trigger: trigger === "manual" ? "manual" : "auto", preTokens, postTokens }
    const line = this.system(record, {
      subtype: "compact_boundary",
      content: "Conversation compacted",
      compactMetadata,
    })
    const [span] = event.spans
    if (span === undefined) return [{ ...line, begins: true }]
    const message = { role: "user", content: span.content }
    const fields = { message, isCompactSummary: true, isVisibleInTranscriptOnly: true }
    return [
      { ...line, begins: true },
      { uuid: event.uuid, seq, time, type: "user", fields },
    ]
  }

  private turn(record: JournalRecord, event: EventOf<"TurnEnded">): Line {
    return this.system(record, {
      subtype: "turn_duration",
      durationMs: event.durationMs,
      terminalReason: event.terminal.reason,
    })
  }

  private note({ seq, time }: JournalRecord): ReadonlyArray<Line> {
    if (this.lastPrompt === undefined) return []
    return [{ seq, time, type: "last-prompt", fields: { lastPrompt: this.lastPrompt.slice(0, 200) } }]
  }

  private retry(record: JournalRecord, event: EventOf<"RetryWaiting">): Line {
    return this.system(record, {
      subtype: "api_error",
      level: "error",
      error: { message: event.detail ?? event.reason, ...(event.status !== undefined && { status: event.status }) },
      retryInMs: event.delayMs,
      retryAttempt: event.attempt,
      maxRetries: event.maxAttempts,
    })
  }

  private diagnosis(record: JournalRecord, event: EventOf<"Diagnosed">): Line {
    return this.system(record, { subtype: "informational", level: event.level, content: event.message })
  }
}

const isCall = (block: ContentBlock, id: string): boolean => block.type === "tool_use" && block.id === id

const words = (content: ToolResultContent, failed: boolean): unknown => {
  if (typeof content !== "string") return content
  return failed ? `Error: ${content}` : content
}

const prompt = ({ seq, time }: JournalRecord, event: EventOf<"PromptReceived">): Line => ({
  uuid: event.uuid,
  seq,
  time,
  type: "user",
  fields: {
    message: { role: "user", content: event.content },
    promptId: event.promptId,
    ...(event.harness === true && { isMeta: true }),
  },
})

/** Said by the harness, not by a person. */
const told = ({ seq, time }: JournalRecord, { content, uuid }: EventOf<"ContextAdded" | "PromptExpanded">): Line => ({
  uuid,
  seq,
  time,
  type: "user",
  fields: { message: { role: "user", content }, isMeta: true },
})

const imported = ({ seq, time }: JournalRecord, event: EventOf<"MessageImported">): Line => ({
  uuid: event.uuid,
  seq,
  time,
  type: event.role,
  fields: {
    message:
      event.role === "user"
        ? { role: "user", content: event.content }
        : {
            ...(event.messageId !== undefined && { id: event.messageId }),
            type: "message",
            role: "assistant",
            ...(event.model !== undefined && { model: event.model }),
            content: event.content,
            stop_reason: null,
            stop_sequence: null,
          },
  },
})
