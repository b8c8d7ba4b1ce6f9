/**
 * Owns the one spelling of what a prompt is made of: what is sent, hashed and measured. Nothing of it ever changes, so the text of each
 * piece is made once and found again by the object's identity: turn 1,000 costs no more than its new messages.
 */
import type { ContentBlock, TextBlock } from "../protocol/Content.ts"
import { toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import type { ToolSchema } from "./Provider.ts"

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

const texts = new WeakMap<object, string>()

/** A tool, or a block of the system prompt, without anybody's own breakpoint. */
export const partText = (part: ToolSchema | TextBlock): string => {
  const before = texts.get(part)
  if (before !== undefined) return before
  const text = json({ ...part, cache_control: undefined })
  texts.set(part, text)
  return text
}

/** Always blocks, and without anybody's own cache breakpoints, so that a prefix stays the same bytes. */
export const plainBlocks = (message: Message): ReadonlyArray<ContentBlock> => toBlocks(message.content).map(unmarked)

/** Behind what cannot take one (thinking, empty text) the service refuses a cache breakpoint. */
export const takesBreakpoint = (block: ContentBlock): boolean =>
  block.type === "tool_use" ||
  block.type === "tool_result" ||
  block.type === "image" ||
  block.type === "document" ||
  (block.type === "text" && block.text !== "")

const unmarked = (block: ContentBlock): ContentBlock => {
  if (!("cache_control" in block)) return block
  const { cache_control: _, ...rest } = block
  return rest
}
