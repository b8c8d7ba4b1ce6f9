/**
 * Owns the body of a request to the Messages API, byte for byte, and where its cache breakpoints are.
 *
 * The breakpoints move from turn to turn while history stays as it is, so they are put in only here.
 */
import type { ContentBlock, TextBlock } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import { bytesOf, json, plainBlocks } from "./MessageText.ts"
import type { ProviderRequest, ToolSchema } from "./Provider.ts"

const breakpoint = { type: "ephemeral" } as const

/** The API takes no more than this many breakpoints. */
const most = 4

export const encode = (request: ProviderRequest, stream: boolean): Uint8Array => {
  const cached = request.caching !== false
  const system = cached ? systemOf(request.system) : request.system.map(unmarked)
  const systemMarks = system.filter((block) => "cache_control" in block).length
  const toolMark = cached && request.tools.length > 0 && systemMarks < 2
  const head = {
    model: request.model,
    max_tokens: request.maxTokens,
    stream,
    ...(system.length > 0 && { system }),
    ...(request.toolChoice !== undefined && request.tools.length > 0 && { tool_choice: { type: request.toolChoice } }),
    ...(request.thinking !== undefined && { thinking: request.thinking }),
    ...(request.outputConfig !== undefined && { output_config: request.outputConfig }),
    ...(request.stopSequences !== undefined && { stop_sequences: request.stopSequences }),
    ...(request.metadata !== undefined && { metadata: request.metadata }),
  }
  const tools = request.tools.length > 0 ? [toolsText(request.tools, toolMark).slice(1, -1)] : []
  tools.push(...(request.serverTools ?? []).map(json))
  const toolsPart = tools.length > 0 ? `"tools":[${tools.join(",")}],` : ""
  const start = utf8.encode(`${json(head).slice(0, -1)},${toolsPart}"messages":[`)
  return joined(start, messageBytes(request.messages, cached ? most - systemMarks - (toolMark ? 1 : 0) : 0))
}

/** The same as text, with further fields: what a cloud's client takes apart and puts together its own way. */
export const text = (
  request: ProviderRequest,
  stream: boolean,
  extra: Readonly<Record<string, string>> = {},
): string => {
  const body = new TextDecoder().decode(encode(request, stream))
  const more = JSON.stringify(extra).slice(1, -1)
  return more === "" ? body : `{${more},${body.slice(1)}`
}

const utf8 = new TextEncoder()
const comma = 0x2c
const end = utf8.encode("]}")

/** Copied once: a long history is megabytes, and each step in between would be one more copy of it. */
const joined = (start: Uint8Array, messages: ReadonlyArray<Uint8Array>): Uint8Array => {
  const size = messages.reduce((sum, message) => sum + message.length, 0)
  const body = new Uint8Array(start.length + size + Math.max(0, messages.length - 1) + end.length)
  body.set(start)
  let at = start.length
  for (const [index, message] of messages.entries()) {
    if (index > 0) body[at++] = comma
    body.set(message, at)
    at += message.length
  }
  body.set(end, at)
  return body
}

/** Whoever assembled the system prompt may say where it is stable; otherwise all of it is. */
const systemOf = (blocks: ReadonlyArray<TextBlock>): ReadonlyArray<TextBlock> => {
  const said = blocks.flatMap((block, index) => (block.cache_control === undefined ? [] : [index])).slice(-2)
  const marked = new Set(said.length > 0 ? said : [blocks.length - 1])
  return blocks.map(({ cache_control = breakpoint, ...block }, index) =>
    marked.has(index) ? { ...block, cache_control } : block,
  )
}

const unmarked = ({ type, text }: TextBlock): TextBlock => ({ type, text })

const toolTexts = new WeakMap<ReadonlyArray<ToolSchema>, { readonly marked: boolean; readonly text: string }>()

const toolsText = (tools: ReadonlyArray<ToolSchema>, marked: boolean): string => {
  const before = toolTexts.get(tools)
  if (before?.marked === marked) return before.text
  // A deferred tool is no part of what is cached.
  const last = tools.findLastIndex((tool) => tool.defer_loading !== true)
  const text = json(
    tools.map((tool, index) => (marked && index === last ? { ...tool, cache_control: breakpoint } : tool)),
  )
  toolTexts.set(tools, { marked, text })
  return text
}

/**
 * Marks the end, and the end of the request before it: the API looks back only twenty blocks from a breakpoint, and one round
 * of many tool calls is longer than that.
 */
const messageBytes = (messages: ReadonlyArray<Message>, marks: number): ReadonlyArray<Uint8Array> => {
  const marked = new Set<number>()
  for (let i = messages.length - 1; i >= 0 && marked.size < Math.min(2, marks); i--) {
    if (messages[i]?.role === "user" || i === messages.length - 1) marked.add(i)
  }
  return messages.map((message, i) => (marked.has(i) ? markedBytes(message) : bytesOf(message)))
}

const markedBytes = (message: Message): Uint8Array => {
  const blocks = plainBlocks(message)
  const at = blocks.findLastIndex(markable)
  if (at < 0) return bytesOf(message)
  const sent: ReadonlyArray<object> = blocks
  const content = sent.with(at, { ...blocks[at], cache_control: breakpoint })
  return utf8.encode(json({ role: message.role, content }))
}

/** Thinking takes no breakpoint, and neither does empty text. */
const markable = (block: ContentBlock): boolean =>
  block.type === "tool_use" ||
  block.type === "tool_result" ||
  block.type === "image" ||
  block.type === "document" ||
  (block.type === "text" && block.text !== "")
