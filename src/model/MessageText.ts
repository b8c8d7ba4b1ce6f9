/**
 * Owns the one spelling of a message: what is sent, hashed and measured. History objects never change, so the bytes of each are
 * made once and found again by the object's identity: turn 1,000 costs no more than its new messages.
 */
import type { ContentBlock } from "../protocol/Content.ts"
import { toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"

/** Text that was cut may end in half a character: as JSON that is an escape, and the service refuses the whole request for it. */
export const json = (value: object): string => {
  const text = JSON.stringify(value)
  return text.includes("\\ud") ? text.replaceAll(halfCharacter, "$1\ufffd") : text
}
const halfCharacter = /((?<!\\)(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g

export const textOf = (message: Message): string => json({ role: message.role, content: plainBlocks(message) })

const utf8 = new TextEncoder()
const known = new WeakMap<Message, Uint8Array>()

export const bytesOf = (message: Message): Uint8Array => {
  const before = known.get(message)
  if (before !== undefined) return before
  const bytes = utf8.encode(textOf(message))
  known.set(message, bytes)
  return bytes
}

/** Always blocks, and without anybody's own cache breakpoints, so that a prefix stays the same bytes. */
export const plainBlocks = (message: Message): ReadonlyArray<ContentBlock> => toBlocks(message.content).map(unmarked)

const unmarked = (block: ContentBlock): ContentBlock => {
  if (!("cache_control" in block)) return block
  const { cache_control: _, ...rest } = block
  return rest
}
