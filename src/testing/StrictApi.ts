/**
 * Owns the rules a real Messages API enforces on a conversation, so that every scripted session also proves that the
 * history it sends is one a real model would accept.
 */
import type { ContentBlock } from "../protocol/Content.ts"
import { toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import type { ApiRequest } from "./ApiRequest.ts"
import * as StrictMedia from "./StrictMedia.ts"
import * as StrictModels from "./StrictModels.ts"

/** Messages of one role in a row are one turn, as the API combines them. */
interface Turn {
  readonly role: "user" | "assistant"
  /** Index of the first message, for error messages. */
  readonly at: number
  readonly blocks: Array<ContentBlock>
}

/** What is wrong with a request, in words; nothing when all is well. */
export const problem = (body: ApiRequest, options: { readonly mayContinue: boolean }): string | undefined => {
  const turns = turnsOf(body.messages)
  return (
    emptiness(body) ??
    order(body, turns, options.mayContinue) ??
    pairing(turns) ??
    media(body) ??
    toolNames(body) ??
    breakpoints(body) ??
    StrictModels.problem(body)
  )
}

const turnsOf = (messages: ReadonlyArray<Message>): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  for (const [at, message] of messages.entries()) {
    if (message.role === "system") continue
    const last = turns.at(-1)
    const blocks = toBlocks(message.content)
    if (last?.role === message.role) last.blocks.push(...blocks)
    else turns.push({ role: message.role, at, blocks: [...blocks] })
  }
  return turns
}

const emptiness = (body: ApiRequest): string | undefined => {
  if (body.messages.length === 0) return "messages: at least one message is required"
  for (const [at, message] of body.messages.entries()) {
    const last = at === body.messages.length - 1
    if (message.content.length === 0 && !(last && message.role === "assistant")) {
      return `messages.${at}: content must not be empty`
    }
    for (const [index, block] of toBlocks(message.content).entries()) {
      if (block.type === "text" && !/\S/.test(block.text)) {
        return `messages.${at}.content.${index}: text blocks must contain more than whitespace`
      }
    }
  }
  if (Array.isArray(body.system) && body.system.some((block) => block.text === "")) {
    return "system: text blocks must not be empty"
  }
  return undefined
}

const order = (body: ApiRequest, turns: ReadonlyArray<Turn>, mayContinue: boolean): string | undefined => {
  if (body.messages[0]?.role !== "user") return "messages.0: the first message must have the role user"
  if (turns.at(-1)?.role === "assistant" && !mayContinue) {
    return "messages: the conversation must end with a user message; this model does not continue a started reply"
  }
  for (const { role, at, blocks } of turns) {
    const misplaced = blocks.find((block) => block.type === (role === "user" ? "tool_use" : "tool_result"))
    if (misplaced !== undefined) return `messages.${at}: ${misplaced.type} blocks do not belong in ${role} messages`
    if (role !== "user") continue
    const lastResult = blocks.findLastIndex((block) => block.type === "tool_result")
    const other = blocks.findIndex((block) => block.type !== "tool_result")
    if (other >= 0 && other < lastResult) {
      return `messages.${at}: tool_result blocks must come before other content in a user message`
    }
  }
  return undefined
}

const pairing = (turns: ReadonlyArray<Turn>): string | undefined => {
  const used = new Set<string>()
  let open = new Set<string>()
  for (const { role, at, blocks } of turns) {
    if (role === "assistant") {
      for (const block of blocks) {
        if (block.type !== "tool_use") continue
        if (!/^[a-zA-Z0-9_-]+$/.test(block.id))
          return `messages.${at}: malformed tool_use id ${JSON.stringify(block.id)}`
        if (used.has(block.id)) return `messages.${at}: tool_use ids must be unique; ${block.id} occurs twice`
        used.add(block.id)
        open.add(block.id)
      }
      continue
    }
    for (const block of blocks) {
      if (block.type !== "tool_result") continue
      if (!open.delete(block.tool_use_id)) {
        return `messages.${at}: tool_result for ${block.tool_use_id}, but the previous assistant message has no such open tool_use`
      }
    }
    if (open.size > 0) {
      return `messages.${at}: tool_use without a tool_result in the next message: ${[...open].join(", ")}`
    }
    open = new Set()
  }
  return open.size > 0 ? `messages: tool_use without a tool_result: ${[...open].join(", ")}` : undefined
}

const media = (body: ApiRequest): string | undefined => {
  for (const [at, { content }] of body.messages.entries()) {
    const found = typeof content === "string" ? undefined : StrictMedia.problem(`messages.${at}`, content)
    if (found !== undefined) return found
  }
  return undefined
}

const toolNames = (body: ApiRequest): string | undefined => {
  const seen = new Set<string>()
  for (const [at, tool] of (body.tools ?? []).entries()) {
    const { name } = tool
    if (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
      return `tools.${at}: a tool needs a name of letters, digits, _ and -`
    }
    if (seen.has(name)) return `tools.${at}: tool names must be unique; ${name} occurs twice`
    seen.add(name)
    // Tools the API runs itself have a type instead of a schema.
    if (tool["type"] === undefined && typeof tool["input_schema"] !== "object") {
      return `tools.${at}: ${name} has no input_schema`
    }
  }
  return undefined
}

const breakpoints = (body: ApiRequest): string | undefined => {
  const marks = [
    ...(body.tools ?? []),
    ...(Array.isArray(body.system) ? body.system : []),
    ...body.messages.flatMap((message) => (typeof message.content === "string" ? [] : message.content)),
  ].filter((block) => "cache_control" in block && block.cache_control !== undefined && block.cache_control !== null)
  const hour = marks.findLastIndex((block) => ttlOf(block) === "1h")
  if (marks.slice(0, Math.max(0, hour)).some((block) => ttlOf(block) !== "1h")) {
    return "cache_control: a block with ttl 1h must not come after one with ttl 5m"
  }
  const count = marks.length + ((body.cache_control ?? undefined) === undefined ? 0 : 1)
  return count > 4 ? `at most 4 blocks may have cache_control; this request has ${count}` : undefined
}

const ttlOf = (block: object): unknown =>
  "cache_control" in block && typeof block.cache_control === "object" && block.cache_control !== null
    ? "ttl" in block.cache_control && block.cache_control.ttl === "1h"
      ? "1h"
      : "5m"
    : undefined
