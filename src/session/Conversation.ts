/**
 * Owns a session as people read it: what was said, what was done and what came of it, in order. What was taken back and replies that
 * broke off are left out; what compactions took out of requests is all there.
 */
import type { Content, ContentBlock } from "../protocol/Content.ts"
import { plainText, toBlocks } from "../protocol/Content.ts"
import type { DurableEvent, EventOf, ToolOutcome } from "../protocol/Event.ts"
import { endings, isError } from "../protocol/Terminal.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as Undone from "./Undone.ts"

interface Common {
  /** Milliseconds; nothing where it was not recorded. */
  readonly time: number | undefined
}

export interface Said extends Common {
  readonly kind: "prompt" | "reply" | "thinking"
  readonly text: string
  /** How many images and documents came with it. */
  readonly attachments: number
}

export interface Called extends Common {
  readonly kind: "call"
  readonly id: string
  readonly tool: string
  readonly input: unknown
  /** What it answered; nothing when it never did. */
  result: string | undefined
  outcome: ToolOutcome | undefined
  durationMs: number | undefined
}

/** What happened to the conversation itself. */
export interface Noted extends Common {
  readonly kind: "note"
  readonly text: string
}

export type Item = Said | Called | Noted

interface Placed {
  readonly item: Item
  /** The request that a part of a reply answers. */
  readonly requestId: string | undefined
}

const attached = new Set<string>(["image", "document"])

const said = (kind: Said["kind"], content: Content, time: number | undefined): ReadonlyArray<Said> => {
  const text = plainText(content).trim()
  const attachments = toBlocks(content).filter(({ type }) => attached.has(type)).length
  return text === "" && attachments === 0 ? [] : [{ kind, text, attachments, time }]
}

class Fold {
  placed: Array<Placed> = []
  private readonly calls = new Map<string, Called>()

  apply(event: DurableEvent, time: number | undefined): void {
    switch (event._tag) {
      case "PromptReceived":
        return event.harness === true ? undefined : this.put(said("prompt", event.content, time))
      case "PromptRefused":
        if (event.done === true) return undefined
        return this.put([{ kind: "note", text: `This was not shown to the model: ${event.reason}`, time }])
      case "BlockReceived":
        return this.block(event.block, time, event.requestId)
      case "ReplyAbandoned":
        return this.abandoned(event.requestId)
      case "ToolEnded":
        return this.ended(event)
      case "MessageImported":
        return this.imported(event, time)
      case "Compacted":
        if (event.layer !== "summary") return
        return this.put([
          { kind: "note", text: "From here on the model was told a summary of what came before.", time },
        ])
      case "TurnEnded": {
        if (!isError(event.terminal)) return
        const text = event.terminal.detail ?? endings[event.terminal.reason].says
        return this.put([{ kind: "note", text, time }])
      }
      default:
        return
    }
  }

  private put(items: ReadonlyArray<Item>, requestId?: string): void {
    for (const item of items) this.placed.push({ item, requestId })
  }

  private block(block: ContentBlock, time: number | undefined, requestId?: string): void {
    switch (block.type) {
      case "text":
        return this.put(said("reply", block.text, time), requestId)
      case "thinking":
        return this.put(said("thinking", block.thinking, time), requestId)
      case "tool_use": {
        const { id, input, name: tool } = block
        const none = { result: undefined, outcome: undefined, durationMs: undefined }
        const call: Called = { kind: "call", id, tool, input, time, ...none }
        this.calls.set(id, call)
        return this.put([call], requestId)
      }
    }
  }

  /** What has begun stays. */
  private abandoned(requestId: string): void {
    const own = this.placed.filter((one) => one.requestId === requestId)
    if (own.some(({ item }) => item.kind === "call" && item.outcome !== undefined)) return
    this.placed = this.placed.filter((one) => one.requestId !== requestId)
  }

  private ended({ content, durationMs, outcome, toolUseId }: EventOf<"ToolEnded">): void {
    const call = this.calls.get(toolUseId)
    if (call === undefined || call.result !== undefined) return
    Object.assign(call, { result: resultText(content), outcome, durationMs } satisfies Partial<Called>)
  }

  private imported(event: EventOf<"MessageImported">, time: number | undefined): void {
    if (event.role === "assistant") {
      for (const block of toBlocks(event.content)) this.block(block, time)
      return
    }
    for (const block of toBlocks(event.content)) {
      const call = block.type === "tool_result" ? this.calls.get(block.tool_use_id) : undefined
      if (block.type !== "tool_result" || call === undefined || call.result !== undefined) continue
      call.result = resultText(block.content ?? "")
      call.outcome = block.is_error === true ? "failed" : "completed"
    }
    this.put(said("prompt", event.content, time))
  }
}

const resultText = (content: Content): string => {
  const pictures = toBlocks(content).filter(({ type }) => attached.has(type)).length
  const text = plainText(content)
  return pictures === 0 ? text : `${text}${text === "" ? "" : "\n"}[${pictures} attachment(s)]`
}

/** The conversation of the records of one agent. */
export const of = (
  records: ReadonlyArray<Pick<JournalRecord, "seq" | "event"> & { readonly time: number | undefined }>,
): ReadonlyArray<Item> => {
  const fold = new Fold()
  const isUndone = Undone.of(records)
  for (const { event, seq, time } of records) if (!isUndone(seq)) fold.apply(event, time)
  return fold.placed.map(({ item }) => item)
}
