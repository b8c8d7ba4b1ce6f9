/** Owns which content blocks the API takes where, and how the rest is put so that it does. */
import type { Content, ContentBlock, ToolResultBlock, ToolResultContent } from "../protocol/Content.ts"
import { text, toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"

/** How a tool call was answered. */
export interface Result {
  readonly content: ToolResultContent
  readonly isError: boolean
}

const isBlank = (block: ContentBlock): boolean => block.type === "text" && block.text.trim() === ""

const replyOnly = new Set<string>(["tool_use", "tool_result", "thinking", "redacted_thinking"])
const userOnly = new Set<string>(["tool_result", "image", "document"])

/** What of a person's message may stand in a user message; tool results get there another way. */
export const userBlocks = (content: Content): ReadonlyArray<ContentBlock> =>
  toBlocks(content).filter((block) => !replyOnly.has(block.type) && !isBlank(block))

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value)

/** The block as a reply may contain it, if it may. */
export const replyBlock = (block: ContentBlock): ContentBlock | undefined => {
  if (userOnly.has(block.type) || isBlank(block)) return undefined
  if (block.type !== "tool_use") return block
  if (!/^[a-zA-Z0-9_-]+$/.test(block.id)) return undefined
  // Arguments that are no object were never run; the API wants an object all the same.
  return isObject(block.input) ? block : { ...block, input: {} }
}

/** The API refuses a reply that ends in thinking, which a cut-off one may. */
export const withoutTrailingThinking = (blocks: ReadonlyArray<ContentBlock>): ReadonlyArray<ContentBlock> => {
  let end = blocks.length
  while (end > 0 && (blocks[end - 1]?.type === "thinking" || blocks[end - 1]?.type === "redacted_thinking")) end--
  return blocks.slice(0, end)
}

/** An error may only be answered in text, and no answer may be empty. */
export const toolResult = (id: string, result: Result): ToolResultBlock => {
  const blocks =
    typeof result.content === "string"
      ? result.content
      : result.content.filter((block) => !isBlank(block) && (block.type === "text" || !result.isError))
  const empty = typeof blocks === "string" ? blocks.trim() === "" : blocks.length === 0
  return {
    type: "tool_result",
    tool_use_id: id,
    content: empty ? "(no output)" : blocks,
    ...(result.isError && { is_error: true }),
  }
}

export const noResult = (id: string, started: boolean): ToolResultBlock => ({
  type: "tool_result",
  tool_use_id: id,
  content: started
    ? "This call was interrupted before a result was recorded. It may have taken effect, in part or in whole: check before repeating it."
    : "This call was interrupted before a result was recorded. It did not run.",
  is_error: true,
})

/** A conversation must begin with a person; one whose beginning is lost gets this instead. */
export const missingBeginning: Message = {
  role: "user",
  content: [text("(The beginning of this conversation is missing.)")],
}
