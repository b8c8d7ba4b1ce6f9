/**
 * Owns the body of a request to the Messages API, byte for byte.
 *
 * The breakpoints move from turn to turn while history stays as it is, so they are put in only here, into text that is otherwise spelled
 * once (`MessageText`): what is hashed is what is sent.
 */
import type { Message } from "../protocol/Message.ts"
import * as CachePlan from "./CachePlan.ts"
import { bytesOf, json, partText, plainBlocks, takesBreakpoint } from "./MessageText.ts"
import type { CacheTtl, ProviderRequest } from "./Provider.ts"

export const encode = (request: ProviderRequest, stream: boolean): Uint8Array => {
  const plan = request.caching === false ? none : CachePlan.make(request, request.caching ?? CachePlan.usual)
  const head = {
    model: request.model,
    max_tokens: request.maxTokens,
    stream,
    ...(request.toolChoice !== undefined && request.tools.length > 0 && { tool_choice: { type: request.toolChoice } }),
    ...(request.thinking !== undefined && { thinking: request.thinking }),
    ...(request.outputConfig !== undefined && { output_config: request.outputConfig }),
    ...(request.stopSequences !== undefined && { stop_sequences: request.stopSequences }),
    ...(request.metadata !== undefined && { metadata: request.metadata }),
  }
  const tools = [
    ...request.tools.map((tool, index) => marked(partText(tool), plan.tools.get(index))),
    ...(request.serverTools ?? []).map(json),
  ]
  const system = request.system.map((block, index) => marked(partText(block), plan.system.get(index)))
  const parts = [
    json(head).slice(0, -1),
    ...(tools.length > 0 ? [`"tools":[${tools.join(",")}]`] : []),
    ...(system.length > 0 ? [`"system":[${system.join(",")}]`] : []),
    '"messages":[',
  ]
  const messages = request.messages.map((message, i) => markedBytes(message, plan.messages.get(i)))
  return joined(utf8.encode(parts.join(",")), messages)
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

const none: CachePlan.Plan = { tools: new Map(), system: new Map(), messages: new Map() }
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

const breakpoint = (ttl: CacheTtl) => ({ type: "ephemeral", ...(ttl === "1h" && { ttl }) })

const marked = (object: string, ttl: CacheTtl | undefined): string =>
  ttl === undefined ? object : `${object.slice(0, -1)},"cache_control":${JSON.stringify(breakpoint(ttl))}}`

const markedBytes = (message: Message, ttl: CacheTtl | undefined): Uint8Array => {
  if (ttl === undefined) return bytesOf(message)
  const blocks = plainBlocks(message)
  const at = blocks.findLastIndex(takesBreakpoint)
  if (at < 0) return bytesOf(message)
  const sent: ReadonlyArray<object> = blocks
  const content = sent.with(at, { ...blocks[at], cache_control: breakpoint(ttl) })
  return utf8.encode(json({ role: message.role, content }))
}
