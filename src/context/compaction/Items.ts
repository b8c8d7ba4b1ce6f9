/**
 * Owns what a conversation consists of, piece by piece: what kind of thing each is, how large, who said it, and when somebody last came
 * back to it. Pure; what was found out about a message is kept with it.
 */
import * as Tokens from "../../platform/Tokens.ts"
import {
  type ContentBlock,
  plainText,
  toBlocks,
  type ToolResultBlock,
  type ToolUseBlock,
} from "../../protocol/Content.ts"
import type { Message } from "../../protocol/Message.ts"
import * as Triage from "./Triage.ts"

export interface ContextItem {
  /** Of a call or its result, the call's. */
  readonly id: string
  /** The place of its message. */
  readonly message: number
  readonly source: Triage.Source
  readonly tool?: string
  readonly category: Triage.Category
  /** The rule that put it there. */
  readonly reason: string
  readonly content: string
  /** The same as triage sees it. */
  readonly said: Triage.Said
  readonly tokenCount: number
  /** Replies of the model are counted. */
  readonly createdAt: number
  readonly lastReferencedAt: number
  readonly referenceCount: number
}

/** Replies since somebody last came back to it, the fewer the more often they did. */
export const staleness = (item: ContextItem, now: number): number =>
  Math.max(0, now - item.lastReferencedAt) / Math.max(1, item.referenceCount)

/** What a message is, by itself. */
interface Piece {
  readonly block: ContentBlock
  readonly text: string
  readonly tokens: number
  /** Names in it that somebody may come back to, once somebody has looked for them. */
  names?: ReadonlySet<string>
  /** What kind of thing it is, once somebody has asked. */
  sorted?: Triage.Sorted
}

const pieces = new WeakMap<Message, ReadonlyArray<Piece>>()

const piecesOf = (message: Message): ReadonlyArray<Piece> => {
  const known = pieces.get(message)
  if (known !== undefined) return known
  const made = toBlocks(message.content).map((block): Piece => {
    const text = textOf(block)
    return { block, text, tokens: tokensOf(block, text) }
  })
  pieces.set(message, made)
  return made
}

export const textOf = (block: ContentBlock): string => {
  switch (block.type) {
    case "text":
      return block.text
    case "thinking":
      return block.thinking
    case "tool_use":
      return `${block.name} ${JSON.stringify(block.input)}`
    case "tool_result":
      return resultText(block)
    default:
      return ""
  }
}

export const resultText = ({ content }: ToolResultBlock): string =>
  content === undefined ? "" : typeof content === "string" ? content : plainText(content)

const tokensOf = (block: ContentBlock, text: string): number => {
  const media = block.type === "tool_result" && Array.isArray(block.content) ? block.content : [block]
  const pictures = media.filter(({ type }) => type === "image" || type === "document").length
  const rest = block.type === "text" || block.type === "tool_result" ? text : JSON.stringify(block)
  return (pictures > 0 && block.type !== "tool_result" ? 0 : Tokens.estimate(rest)) + pictures * Tokens.imageTokens()
}

const perMessage = 4
const sizes = new WeakMap<Message, number>()

/** An estimate of what a message takes. */
export const tokensOfMessage = (message: Message): number => {
  const known = sizes.get(message)
  if (known !== undefined) return known
  const size = piecesOf(message).reduce((sum, { tokens }) => sum + tokens, perMessage)
  sizes.set(message, size)
  return size
}

const apart = /[\s"'`()[\]{}<>,;=|*]+/
const mostNames = 200
const longestRead = 50_000

/** Paths, ids and identifiers of several words: what can be recognised when it is said again. */
const isName = (word: string): boolean =>
  word.length >= 5 &&
  word.length <= 200 &&
  (/[^/]\/[^/]/.test(word) || /[a-z0-9_$](?:[A-Z]|_[a-z])|^[0-9a-f]{7,40}$/.test(word))

const namesIn = (text: string): ReadonlySet<string> => {
  const found = new Set<string>()
  for (const word of text.slice(0, longestRead).split(apart)) {
    const bare = word.replace(/[.:]+$/, "").replace(/(?::\d+)+$/, "")
    if (isName(bare)) found.add(bare)
    if (found.size >= mostNames) break
  }
  return found
}

/** Every piece of a conversation, with what became of it. */
export const of = (messages: ReadonlyArray<Message>): ReadonlyArray<ContextItem> => {
  const calls = callsOf(messages)
  const items: Array<{ -readonly [Key in keyof ContextItem]: ContextItem[Key] }> = []
  /** For each name, the items that say it. */
  const holders = new Map<string, Set<number>>()
  let reply = 0
  for (const [at, message] of messages.entries()) {
    if (message.role === "assistant") reply++
    const mentioned = new Set<number>()
    const own = items.length
    for (const [index, piece] of piecesOf(message).entries()) {
      const { block, text, tokens } = piece
      const names = (piece.names ??= namesIn(text))
      const call = block.type === "tool_result" ? calls.get(block.tool_use_id) : undefined
      const about = aboutBlock(message, block, call)
      const said = { ...about, content: text }
      // Of a message that stays, it stays the same.
      piece.sorted ??= Triage.classify(said)
      const { category, reason } = piece.sorted
      for (const said of names) for (const holder of holders.get(said) ?? []) if (holder < own) mentioned.add(holder)
      items.push({
        id: block.type === "tool_use" ? block.id : block.type === "tool_result" ? block.tool_use_id : `${at}.${index}`,
        message: at,
        source: about.source,
        ...(about.tool !== undefined && { tool: about.tool }),
        category,
        reason,
        content: text,
        said,
        tokenCount: tokens,
        createdAt: reply,
        lastReferencedAt: reply,
        referenceCount: 0,
      })
      for (const said of names) {
        const known = holders.get(said)
        if (known === undefined) holders.set(said, new Set([items.length - 1]))
        // What everything mentions tells nothing.
        else if (known.size < 20) known.add(items.length - 1)
      }
    }
    for (const index of mentioned) {
      const item = items[index]
      if (item === undefined) continue
      item.lastReferencedAt = reply
      item.referenceCount++
    }
  }
  return items
}

export const callsOf = (messages: ReadonlyArray<Message>): ReadonlyMap<string, ToolUseBlock> => {
  const calls = new Map<string, ToolUseBlock>()
  for (const { content, role } of messages) {
    if (role !== "assistant") continue
    for (const block of toBlocks(content)) if (block.type === "tool_use") calls.set(block.id, block)
  }
  return calls
}

/** Who says a block, and by which tool. */
export const aboutBlock = (
  message: Message,
  block: ContentBlock,
  call: ToolUseBlock | undefined,
): Omit<Triage.Said, "content"> => {
  if (block.type === "tool_use") return { source: "tool_call", tool: block.name }
  if (block.type === "tool_result") {
    const command = commandOf(call?.input)
    return {
      source: "tool_result",
      tool: call?.name ?? "",
      ...(command !== undefined && { command }),
      ...(block.is_error === true && { isError: true }),
    }
  }
  if (message.role === "assistant") return { source: "assistant" }
  if (message.role === "system") return { source: "system" }
  return { source: block.type === "text" && block.text.startsWith("<system-reminder>") ? "system" : "user" }
}

const commandOf = (input: unknown): string | undefined => {
  if (typeof input !== "object" || input === null || !("command" in input)) return undefined
  return typeof input.command === "string" ? input.command : undefined
}
