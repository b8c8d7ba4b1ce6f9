/**
 * Owns the one spelling of a message as text: what is sent, hashed and measured. History objects never change, so the text of
 * each is made once and found again by the object's identity: turn 1,000 costs no more than its new messages.
 */
import type { ContentBlock } from "../protocol/Content.ts"
import { toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"

const texts = new WeakMap<Message, string>()

export const textOf = (message: Message): string => {
  const before = texts.get(message)
  if (before !== undefined) return before
  const text = JSON.stringify({ role: message.role, content: plainBlocks(message) })
  texts.set(message, text)
  return text
}

/** Always blocks, and without anybody's own cache breakpoints, so that a prefix stays the same bytes. */
export const plainBlocks = (message: Message): ReadonlyArray<ContentBlock> => toBlocks(message.content).map(unmarked)

const unmarked = (block: ContentBlock): ContentBlock => {
  if (!("cache_control" in block)) return block
  const { cache_control: _, ...rest } = block
  return rest
}
