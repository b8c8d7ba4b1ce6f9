/**
 * Owns how a compaction changes what is sent of a conversation: results put shorter, and stretches of messages that one message says
 * instead. Pure. A message that stays as it is stays the same object.
 */
import type { ContentBlock, ToolResultContent } from "../protocol/Content.ts"
import { toBlocks } from "../protocol/Content.ts"
import type { EventOf } from "../protocol/Event.ts"
import type { Message } from "../protocol/Message.ts"
import * as HistoryBlocks from "./HistoryBlocks.ts"

type Compacted = Pick<EventOf<"Compacted">, "results" | "spans">

export interface Edited {
  readonly messages: ReadonlyArray<Message>
  /** The place from which on messages stand behind something that has changed. */
  readonly changedFrom: number
}

export const apply = (messages: ReadonlyArray<Message>, { results, spans }: Compacted): Edited => {
  const edited: Array<Message> = []
  let changedFrom = Number.POSITIVE_INFINITY
  const changed = () => (changedFrom = Math.min(changedFrom, edited.length))
  for (let at = 0; at < messages.length; at++) {
    const span = spans.find(({ from, to }) => from === at && to > at)
    if (span !== undefined && isWhole(messages.slice(span.from, span.to))) {
      changed()
      edited.push({ role: "user", content: [...HistoryBlocks.userBlocks(span.content)] })
      at = Math.min(span.to, messages.length) - 1
      continue
    }
    const message = messages[at]
    if (message === undefined) continue
    const shorter = withResults(message, results)
    if (shorter !== message) changed()
    edited.push(shorter)
  }
  return { messages: edited, changedFrom }
}

/** No call of it is answered outside, and no answer in it belongs to a call outside: a history without pairs cannot come of it. */
export const isWhole = (messages: ReadonlyArray<Message>): boolean => {
  const open = new Set<string>()
  for (const { content } of messages) {
    for (const block of toBlocks(content)) {
      if (block.type === "tool_use") open.add(block.id)
      if (block.type === "tool_result" && !open.delete(block.tool_use_id)) return false
    }
  }
  return open.size === 0
}

const withResults = (message: Message, results: Compacted["results"]): Message => {
  if (message.role !== "user") return message
  const blocks = toBlocks(message.content)
  if (!blocks.some((block) => block.type === "tool_result" && results[block.tool_use_id] !== undefined)) return message
  return { role: "user", content: blocks.map((block) => withResult(block, results)) }
}

const withResult = (block: ContentBlock, results: Compacted["results"]): ContentBlock => {
  if (block.type !== "tool_result") return block
  const content: ToolResultContent | undefined = results[block.tool_use_id]
  return content === undefined
    ? block
    : HistoryBlocks.toolResult(block.tool_use_id, { content, isError: block.is_error === true })
}
