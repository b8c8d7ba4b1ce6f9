/**
 * Owns the conversation as a fold over events: what the next request may send, valid by construction.
 *
 * Only the newest reply and what came after it can still change. Sending a request freezes everything before, so
 * messages already sent stay the same values, and each call of `messages` costs only what is new. Every way into the
 * frozen part goes through `freeze`, which puts the answers of a reply's tool calls right behind it: an unpaired call
 * cannot be expressed. The fold reads the events of one agent.
 */
import * as Effect from "effect/Effect"
import type { Content, ContentBlock, TextBlock, ToolUseBlock } from "../protocol/Content.ts"
import { plainText, toBlocks } from "../protocol/Content.ts"
import type { DurableEvent, EventOf, Idempotency } from "../protocol/Event.ts"
import type { Message } from "../protocol/Message.ts"
import * as Usage from "../protocol/Usage.ts"
import type { ControlsState } from "./Controls.ts"
import * as Facts from "./Facts.ts"
import * as HistoryBlocks from "./HistoryBlocks.ts"
import * as HistoryEdits from "./HistoryEdits.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as Undone from "./Undone.ts"

/** A tool call of the newest reply that has no recorded result. */
export interface PendingCall {
  readonly toolUseId: string
  readonly tool: string
  readonly input: unknown
  /** It was begun: what it did is unknown. Absent: it never ran. */
  readonly started?: { readonly idempotency: Idempotency; readonly evidence: Readonly<Record<string, string>> }
  /** A person was asked about it and has not answered. */
  readonly asked?: true
  /** The raw arguments that are not JSON: such a call is answered with an error, never run. */
  readonly malformedInput?: string
}

/** A tool call of the newest reply, and what came of it. */
export interface AnsweredCall {
  readonly toolUseId: string
  readonly tool: string
  readonly input: unknown
  readonly result: HistoryBlocks.Result
}

export interface Totals {
  readonly usage: Usage.Usage
  readonly costUsd: number
  /** Replies of the model. */
  readonly turns: number
}

/** The part of every request that comes before the messages. */
export interface Latched {
  readonly system: ReadonlyArray<TextBlock>
  /** What the descriptions of tools list, by the tool's name. */
  readonly listings: Readonly<Record<string, string>>
}

/** What the service counted for the newest request, and how many messages that had. */
export interface Measured {
  readonly prompt: number
  readonly reply: number
  readonly messages: number
}

const nothing: Totals = { usage: Usage.none, costUsd: 0, turns: 0 }

interface Call {
  readonly block: ToolUseBlock
  readonly malformedInput?: string
  started?: NonNullable<PendingCall["started"]>
  asked?: boolean
  result?: HistoryBlocks.Result
}

interface Reply {
  readonly model: string | undefined
  readonly requestId: string | undefined
  readonly messageId: string | undefined
  readonly imported: boolean
  readonly blocks: Array<ContentBlock>
  readonly calls: Map<string, Call>
  ended: boolean
  /** It broke off and was kept on purpose. */
  sealed: boolean
}

export class History {
  private frozen: Array<Message> = []
  private readonly usedIds = new Set<string>()
  private readonly authors = new WeakMap<Message, string>()
  private reply: Reply | undefined
  /** What people said after the newest reply was asked for. */
  private said: Array<ContentBlock> = []
  /** The prompt that a block of `said` belongs to. */
  private readonly promptOf = new WeakMap<ContentBlock, string>()
  private requestId: string | undefined
  private built: ReadonlyArray<Message> | undefined
  /** Written behind something that has been changed since. */
  private readonly rebased = new WeakSet<Message>()

  sessionId: string | undefined
  /** The sessions that this one is a copy of, the first one first. */
  elders: ReadonlyArray<string> = []
  /** Where it was handed over to, if it is not here any more. */
  goneTo: string | undefined
  cwd: string | undefined
  /** Where the model believes to work: it was told so at the beginning, or when the session had moved. */
  toldCwd: string | undefined
  /** The same wherever the session goes on. */
  traceId: string | undefined
  controls: ControlsState | undefined
  title: string | undefined
  tags: ReadonlyArray<string> = []
  firstPrompt: string | undefined
  lastPromptId: string | undefined
  /** The prompt whose turn has not ended. */
  openPromptId: string | undefined
  /** What every request begins with, if that has been settled. */
  latched: Latched | undefined
  /** What the harness has told the model, by its origin: the latest of each, in the order it was told. */
  readonly told = new Map<string, string>()
  /** How often it has been put shorter. */
  compactions = 0
  /** What is known beside the conversation, whatever becomes of that. */
  facts: Facts.Facts = Facts.none
  /** What the service has counted, where that still holds. */
  measured: Measured | undefined
  /** Of this session alone, not of the one it was forked from. */
  totals: Totals = nothing

  apply(event: DurableEvent): void {
    this.built = undefined
    this.facts = Facts.apply(this.facts, event)
    switch (event._tag) {
      case "SessionHandedOver":
        this.goneTo = event.to
        return
      case "SessionStarted":
        this.goneTo = undefined
        if (event.forkedFrom !== undefined) this.elders = [...this.elders, event.forkedFrom.sessionId]
        // A copy has not spent what its original spent.
        if (this.sessionId !== event.sessionId) this.totals = nothing
        this.sessionId = event.sessionId
        this.cwd = event.cwd
        this.traceId ??= event.traceId ?? traceOf(event.sessionId)
        return
      case "SessionTitled":
        this.title = event.title
        return
      case "SessionTagged":
        this.tags = event.tags
        return
      case "ControlsChanged":
        this.controls = {
          model: event.model,
          permissionMode: event.permissionMode,
          ...(event.effort !== undefined && { effort: event.effort }),
        }
        return
      case "PromptReceived":
        return this.prompted(event)
      case "PromptExpanded":
        return this.replace(event.promptId, HistoryBlocks.userBlocks(event.content))
      case "PromptRefused":
        return this.replace(event.promptId, [])
      case "ContextAdded":
        if (event.origin === movedOrigin) this.toldCwd = this.cwd
        this.said.push(...HistoryBlocks.userBlocks(event.content))
        this.told.delete(event.origin)
        this.told.set(event.origin, plainText(event.content))
        return
      case "PromptLatched":
        this.toldCwd = this.cwd
        this.latched = { system: event.system, listings: event.listings }
        return
      case "RequestSent":
        return this.requested(event)
      case "BlockReceived":
        return this.received(event)
      case "ReplyAbandoned":
        return this.abandoned(event)
      case "ReplyEnded":
        return this.ended(event)
      case "PermissionAsked": {
        const call = this.reply?.calls.get(event.toolUseId)
        if (call !== undefined) call.asked = true
        return
      }
      case "ToolStarted":
        return this.started(event)
      case "ToolEnded":
        return this.took(event)
      case "TurnEnded":
        this.openPromptId = undefined
        return
      case "MessageImported":
        return event.role === "user" ? this.importedUser(event) : this.importedReply(event)
      case "Compacted":
        return this.compacted(event)
      // What it takes back is left out by `fold`.
      case "Rewound":
      case "Checkpointed":
      case "RetryWaiting":
      case "RulesGranted":
      case "PermissionDecided":
      case "SubagentStarted":
      case "SubagentEnded":
      case "TransitionTaken":
      case "ConfigChanged":
      case "HookRan":
      case "SegmentKept":
      case "CacheMissed":
      case "Diagnosed":
        return
    }
  }

  /** Of what was taken back, only what stays true: what it cost, and which ids are taken. */
  account(event: DurableEvent): void {
    switch (event._tag) {
      case "SessionStarted":
      case "SessionHandedOver":
      case "SessionTitled":
      case "SessionTagged":
      case "ControlsChanged":
      case "PromptLatched":
        return this.apply(event)
      case "ReplyEnded":
        return this.count(event)
      case "BlockReceived":
        if (event.block.type === "tool_use") this.usedIds.add(event.block.id)
        return
      default:
        return
    }
  }

  /** Becomes what another one is. */
  become(other: History): void {
    Object.assign(this, other)
  }

  /** The conversation so far; a call without a result gets an answer that says so. */
  messages(): ReadonlyArray<Message> {
    this.built ??= [...this.frozen, ...this.tail(this.frozen.length === 0)]
    return this.built
  }

  /** A call of this id has been made before. */
  knowsCall(id: string): boolean {
    return this.usedIds.has(id)
  }

  /** The model that wrote a message of this conversation. */
  authorOf(message: Message): string | undefined {
    return this.authors.get(message)
  }

  /** The prompt of a person that a block belongs to. */
  promptOfBlock(block: ContentBlock): string | undefined {
    return this.promptOf.get(block)
  }

  /** What stood before it when it was written has been changed: its thinking is void. */
  isRebased(message: Message): boolean {
    return this.rebased.has(message)
  }

  /** The calls of the newest reply that still need a result, in order. */
  pending(): ReadonlyArray<PendingCall> {
    if (this.reply === undefined || this.reply.imported || !isKept(this.reply)) return []
    return [...this.reply.calls.values()].filter((call) => call.result === undefined).map(pendingOf)
  }

  /** People's prompts that no request contains yet, in order, with what they say. */
  unasked(): ReadonlyArray<{ readonly promptId: string; readonly content: ReadonlyArray<ContentBlock> }> {
    const prompts = new Map<string, Array<ContentBlock>>()
    for (const block of this.said) {
      const promptId = this.promptOf.get(block)
      if (promptId === undefined) continue
      const content = prompts.get(promptId) ?? []
      prompts.set(promptId, [...content, block])
    }
    return [...prompts].map(([promptId, content]) => ({ promptId, content }))
  }

  /** The calls of the newest reply that have their results, in order. */
  answered(): ReadonlyArray<AnsweredCall> {
    return [...(this.reply?.calls.values() ?? [])].flatMap(({ block, result }) =>
      result === undefined ? [] : [{ toolUseId: block.id, tool: block.name, input: block.input, result }],
    )
  }

  /** Results of calls wait to be told to the model. */
  hasResults(): boolean {
    return this.reply !== undefined && this.reply.calls.size > 0
  }

  /** How many blocks people have said since the newest reply was asked for. */
  saidSoFar(): number {
    return this.said.length
  }

  /** Somebody said something that the newest request does not contain. */
  waiting(): boolean {
    return this.said.length > 0
  }

  /** The last word is not the model's: results or messages wait to be answered. */
  awaitsReply(): boolean {
    return this.said.length > 0 || this.hasResults()
  }

  private prompted(event: EventOf<"PromptReceived">): void {
    const blocks = HistoryBlocks.userBlocks(event.content)
    if (event.harness !== true) for (const block of blocks) this.promptOf.set(block, event.promptId)
    this.said.push(...blocks)
    this.lastPromptId = event.promptId
    this.openPromptId ??= event.promptId
    if (event.harness !== true) this.remember(event.content)
  }

  /** Only before the model has been shown it. */
  private replace(promptId: string, blocks: ReadonlyArray<ContentBlock>): void {
    const first = this.said.findIndex((block) => this.promptOf.get(block) === promptId)
    const others = this.said.filter((block) => this.promptOf.get(block) !== promptId)
    const at = first === -1 ? others.length : first
    for (const block of blocks) this.promptOf.set(block, promptId)
    this.said = [...others.slice(0, at), ...blocks, ...others.slice(at)]
  }

  private remember(content: Content): void {
    const words = plainText(content).trim()
    if (this.firstPrompt === undefined && words !== "") this.firstPrompt = words
  }

  private requested(event: EventOf<"RequestSent">): void {
    // What was said since the attempt that this one repeats is not in it, and stays behind its reply.
    if (event.repeats !== true) this.freeze(event.said)
    this.requestId = event.requestId
  }

  private received(event: EventOf<"BlockReceived">): void {
    if (this.reply?.requestId !== event.requestId || this.reply.ended) {
      if (this.reply !== undefined || this.requestId !== event.requestId) this.freeze()
      this.requestId = event.requestId
      this.reply = newReply(event, false)
    }
    this.take(this.reply, event.block, event.malformedInput)
  }

  private take(reply: Reply, block: ContentBlock, malformedInput?: string): void {
    const kept = HistoryBlocks.replyBlock(block)
    if (kept === undefined) return
    if (kept.type === "tool_use") {
      // The API refuses a second call of the same id. Our own never have one twice; an imported history may.
      if (this.usedIds.has(kept.id)) return
      this.usedIds.add(kept.id)
      reply.calls.set(kept.id, { block: kept, ...(malformedInput !== undefined && { malformedInput }) })
    }
    reply.blocks.push(kept)
  }

  private abandoned(event: EventOf<"ReplyAbandoned">): void {
    const { reply } = this
    if (reply === undefined || reply.requestId !== event.requestId) return
    // What has begun cannot be made undone by forgetting it.
    if (reply.sealed || hasStarted(reply)) return
    this.forget(reply)
  }

  private forget(reply: Reply): void {
    for (const id of reply.calls.keys()) this.usedIds.delete(id)
    this.reply = undefined
  }

  private count(event: EventOf<"ReplyEnded">): void {
    this.totals = {
      usage: Usage.add(this.totals.usage, event.usage),
      costUsd: this.totals.costUsd + (event.costUsd ?? 0),
      turns: this.totals.turns + 1,
    }
  }

  private ended(event: EventOf<"ReplyEnded">): void {
    this.count(event)
    const prompt = Usage.promptTokens(event.usage)
    if (prompt > 0 && this.requestId === event.requestId) {
      this.measured = { prompt, reply: event.usage.output_tokens, messages: this.frozen.length }
    }
    if (this.reply?.requestId !== event.requestId) return
    this.reply.ended = true
    this.reply.sealed = event.stopReason === null
  }

  private started(event: EventOf<"ToolStarted">): void {
    const call = this.reply?.calls.get(event.toolUseId)
    if (call !== undefined) call.started ??= { idempotency: event.idempotency, evidence: event.evidence ?? {} }
  }

  private took(event: EventOf<"ToolEnded">): void {
    const call = this.reply?.calls.get(event.toolUseId)
    if (call !== undefined) call.result ??= { content: event.content, isError: event.outcome !== "completed" }
  }

  private compacted(event: EventOf<"Compacted">): void {
    this.measured = undefined
    this.compactions++
    for (const call of this.reply?.calls.values() ?? []) {
      const content = event.results[call.block.id]
      if (content !== undefined && call.result !== undefined) call.result = { ...call.result, content }
    }
    // Beyond what is frozen there is only the newest reply; it is a part of the stretch when nothing of it is open.
    if (event.spans.some(({ to }) => to > this.frozen.length)) this.freeze(0)
    const { messages, changedFrom } = HistoryEdits.apply(this.frozen, event)
    for (const message of messages.slice(changedFrom)) if (message.role === "assistant") this.rebased.add(message)
    this.frozen = [...messages]
  }

  private importedUser(event: EventOf<"MessageImported">): void {
    for (const block of toBlocks(event.content)) {
      if (block.type !== "tool_result") continue
      const call = this.reply?.calls.get(block.tool_use_id)
      if (call !== undefined) call.result ??= { content: block.content ?? "", isError: block.is_error === true }
    }
    this.said.push(...HistoryBlocks.userBlocks(event.content))
    this.remember(event.content)
  }

  private importedReply(event: EventOf<"MessageImported">): void {
    // One reply stands in several lines, the results of its first calls maybe between them.
    const same = event.messageId !== undefined && this.reply?.messageId === event.messageId && this.said.length === 0
    if (!same || this.reply === undefined) {
      this.freeze()
      this.reply = newReply(event, true)
      this.requestId = undefined
    }
    for (const block of toBlocks(event.content)) this.take(this.reply, block)
  }

  /** What was said beyond `count` blocks is not a part of it yet. */
  private freeze(count = this.said.length): void {
    const later = this.said.splice(count)
    this.frozen.push(...this.tail(this.frozen.length === 0))
    if (this.reply !== undefined && !isKept(this.reply)) this.forget(this.reply)
    this.reply = undefined
    this.said = later
  }

  /** The newest reply, the answers to its calls in their order, then what people said. */
  private tail(first: boolean): ReadonlyArray<Message> {
    const reply = this.reply !== undefined && isKept(this.reply) ? this.reply : undefined
    const assistant = reply === undefined ? [] : HistoryBlocks.withoutTrailingThinking(reply.blocks)
    const results = reply === undefined ? [] : [...reply.calls.values()].map(answerOf)
    const user = [...results, ...this.said]
    const messages: Array<Message> = []
    if (assistant.length > 0) {
      if (first) messages.push(HistoryBlocks.missingBeginning)
      const message: Message = { role: "assistant", content: assistant }
      if (reply?.model !== undefined) this.authors.set(message, reply.model)
      messages.push(message)
    }
    if (user.length > 0) messages.push({ role: "user", content: user })
    return messages
  }
}

/** Says to the model that the session goes on in another directory. */
export const movedOrigin = "moved"

/** Of a session that began before there were any. */
export const traceOf = (sessionId: string): string => sessionId.replaceAll("-", "").toLowerCase()

export const make = (): History => new History()

/** The history of an agent's records, without what was taken back. */
export const fold = (records: ReadonlyArray<Pick<JournalRecord, "seq" | "event">>): History => {
  const history = make()
  const isUndone = Undone.of(records)
  for (const { seq, event } of records) {
    if (isUndone(seq)) history.account(event)
    else history.apply(event)
  }
  return history
}

/** Makes a history of an agent's records as they are read, one after the other; `restored` is what is known already. */
export const folding = (agent: string, restored?: History) => {
  let history = restored ?? make()
  let isUndone: (seq: number) => boolean = () => false
  return {
    isRestored: restored !== undefined,
    restart: (landmarks: ReadonlyArray<JournalRecord>) =>
      Effect.sync(() => {
        history = make()
        isUndone = Undone.of(landmarks.filter((record) => record.agent === agent))
      }),
    take: (record: JournalRecord) => {
      if (record.agent !== agent) return
      if (isUndone(record.seq)) history.account(record.event)
      else history.apply(record.event)
    },
    current: () => history,
  }
}

/** The history of events that are already there. */
export const from = (events: Iterable<DurableEvent>): History => {
  const history = make()
  for (const event of events) history.apply(event)
  return history
}

const newReply = (
  from: { readonly requestId?: string; readonly messageId?: string; readonly model?: string },
  imported: boolean,
): Reply => ({
  model: from.model,
  requestId: from.requestId,
  messageId: from.messageId,
  imported,
  blocks: [],
  calls: new Map(),
  ended: imported,
  sealed: false,
})

const hasStarted = (reply: Reply): boolean => {
  for (const call of reply.calls.values()) if (call.started !== undefined || call.result !== undefined) return true
  return false
}

/** A reply that a crash cut off counts only when something of it was begun. */
const isKept = (reply: Reply): boolean => reply.ended || hasStarted(reply)

const pendingOf = ({ asked, block, started, malformedInput }: Call): PendingCall => ({
  toolUseId: block.id,
  tool: block.name,
  input: block.input,
  ...(started !== undefined && { started }),
  ...(asked === true && { asked }),
  ...(malformedInput !== undefined && { malformedInput }),
})

const answerOf = (call: Call): ContentBlock =>
  call.result === undefined
    ? HistoryBlocks.noResult(call.block.id, call.started !== undefined)
    : HistoryBlocks.toolResult(call.block.id, call.result)
