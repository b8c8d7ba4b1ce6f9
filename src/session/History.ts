/**
 * Owns the conversation as a fold over events: what the next request may send, valid by construction.
 *
 * Only the newest reply and what came after it can still change. Sending a request freezes everything before, so
 * messages already sent stay the same values, and each call of `messages` costs only what is new. Every way into the
 * frozen part goes through `freeze`, which puts the answers of a reply's tool calls right behind it: an unpaired call
 * cannot be expressed. The fold reads the events of one agent.
 */
import * as Effect from "effect/Effect"
import type { Content, ContentBlock } from "../protocol/Content.ts"
import { plainText, toBlocks } from "../protocol/Content.ts"
import type { DurableEvent, EventOf } from "../protocol/Event.ts"
import type { Message } from "../protocol/Message.ts"
import * as Usage from "../protocol/Usage.ts"
import { About } from "./About.ts"
import * as Facts from "./Facts.ts"
import * as HistoryBlocks from "./HistoryBlocks.ts"
import * as HistoryEdits from "./HistoryEdits.ts"
import * as HistoryReply from "./HistoryReply.ts"
import type { JournalRecord } from "./JournalRecord.ts"
import * as Undone from "./Undone.ts"

/** What the service counted for the newest request, and how many messages that had. */
export interface Measured {
  readonly prompt: number
  readonly reply: number
  readonly messages: number
}

export class History extends About {
  private frozen: Array<Message> = []
  private readonly usedIds = new Set<string>()
  private readonly authors = new WeakMap<Message, string>()
  private reply: HistoryReply.Reply | undefined
  /** What people said after the newest reply was asked for. */
  private said: Array<ContentBlock> = []
  /** The prompt that a block of `said` belongs to. */
  private readonly promptOf = new WeakMap<ContentBlock, string>()
  private requestId: string | undefined
  private built: ReadonlyArray<Message> | undefined
  /** Written behind something that has been changed since. */
  private readonly rebased = new WeakSet<Message>()

  firstPrompt: string | undefined
  lastPromptId: string | undefined
  /** The prompt whose turn has not ended. */
  openPromptId: string | undefined
  /** What the harness has told the model, by its origin: the latest of each, in the order it was told. */
  readonly told = new Map<string, string>()
  /** How often it has been put shorter. */
  compactions = 0
  /** What is known beside the conversation, whatever becomes of that. */
  facts: Facts.Facts = Facts.none
  /** What the service has counted, where that still holds. */
  measured: Measured | undefined

  apply(event: DurableEvent): void {
    this.built = undefined
    this.facts = Facts.apply(this.facts, event)
    this.note(event)
    switch (event._tag) {
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
      // `About` has noted it.
      case "SessionStarted":
      case "SessionHandedOver":
      case "SessionTitled":
      case "SessionTagged":
      case "ControlsChanged":
      case "PromptLatched":
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

  /** Of what was taken back, only what stays true: what is known about the session, and which ids are taken. */
  account(event: DurableEvent): void {
    this.note(event)
    if (event._tag === "BlockReceived" && event.block.type === "tool_use") this.usedIds.add(event.block.id)
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
  pending(): ReadonlyArray<HistoryReply.PendingCall> {
    return this.reply === undefined ? [] : HistoryReply.pending(this.reply)
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
  answered(): ReadonlyArray<HistoryReply.AnsweredCall> {
    return this.reply === undefined ? [] : HistoryReply.answered(this.reply)
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
      this.reply = HistoryReply.make(event, false)
    }
    this.take(this.reply, event.block, event.malformedInput)
  }

  private take(reply: HistoryReply.Reply, block: ContentBlock, malformedInput?: string): void {
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
    if (reply.sealed || HistoryReply.hasStarted(reply)) return
    this.forget(reply)
  }

  private forget(reply: HistoryReply.Reply): void {
    for (const id of reply.calls.keys()) this.usedIds.delete(id)
    this.reply = undefined
  }

  private ended(event: EventOf<"ReplyEnded">): void {
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
    HistoryReply.answer(this.reply, event.toolUseId, { content: event.content, isError: event.outcome !== "completed" })
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
      const result = { content: block.content ?? "", isError: block.is_error === true }
      HistoryReply.answer(this.reply, block.tool_use_id, result)
    }
    const blocks = HistoryBlocks.userBlocks(event.content)
    // Nobody else's words are in a transcript's user messages but a person's, as far as it tells.
    for (const block of blocks) this.promptOf.set(block, event.uuid)
    this.said.push(...blocks)
    this.remember(event.content)
  }

  private importedReply(event: EventOf<"MessageImported">): void {
    // One reply stands in several lines, the results of its first calls maybe between them.
    const same = event.messageId !== undefined && this.reply?.messageId === event.messageId && this.said.length === 0
    if (!same || this.reply === undefined) {
      this.freeze()
      this.reply = HistoryReply.make(event, true)
      this.requestId = undefined
    }
    for (const block of toBlocks(event.content)) this.take(this.reply, block)
  }

  /** What was said beyond `count` blocks is not a part of it yet. */
  private freeze(count = this.said.length): void {
    const later = this.said.splice(count)
    this.frozen.push(...this.tail(this.frozen.length === 0))
    if (this.reply !== undefined && !HistoryReply.isKept(this.reply)) this.forget(this.reply)
    this.reply = undefined
    this.said = later
  }

  /** The newest reply, the answers to its calls in their order, then what people said. */
  private tail(first: boolean): ReadonlyArray<Message> {
    const reply = this.reply !== undefined && HistoryReply.isKept(this.reply) ? this.reply : undefined
    const assistant = reply === undefined ? [] : HistoryBlocks.withoutTrailingThinking(reply.blocks)
    const results = reply === undefined ? [] : HistoryReply.answers(reply)
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
