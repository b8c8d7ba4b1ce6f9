/**
 * Owns what single models refuse, by the table of models: ways of thinking, forced tools, efforts, system messages in the middle, deferred
 * tools, and thinking that another model wrote or that was written behind something else. Models nobody described refuse nothing.
 */
import * as ModelTable from "../cost/ModelTable.ts"
import type { ModelSpec } from "../cost/ModelSpec.ts"
import { toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import type { ApiRequest } from "./ApiRequest.ts"

const table = ModelTable.make()

/** What is wrong with a request for its model, in words; nothing when all is well. */
export const problem = (body: ApiRequest): string | undefined => {
  const { known, spec } = table.resolve(body.model)
  if (!known) return undefined
  return (
    thinking(body, spec) ??
    choice(body, spec) ??
    effort(body, spec) ??
    sampling(body, spec) ??
    systemMessages(body, spec) ??
    toolSearch(body, spec) ??
    signatures(body, spec)
  )
}

const modes: Readonly<Record<string, ModelSpec["thinking"][number]>> = {
  adaptive: "adaptive",
  between_tools: "between_tools",
  enabled: "manual",
  disabled: "disabled",
}

const thinking = ({ max_tokens, messages, thinking: asked }: ApiRequest, { id, thinking: taken }: ModelSpec) => {
  if (asked === undefined) return undefined
  const mode = modes[String(asked["type"])]
  if (mode === undefined || !taken.includes(mode))
    return `thinking.type: "${String(asked["type"])}" is not supported by ${id}`
  if (mode !== "manual") return undefined
  const [first] = toBlocks(messages.findLast(({ role }) => role === "assistant")?.content ?? [])
  const inTheMiddle = toBlocks(messages.at(-1)?.content ?? []).some(({ type }) => type === "tool_result")
  if (inTheMiddle && first?.type !== "thinking" && first?.type !== "redacted_thinking") {
    return `messages: when thinking is enabled, the final assistant message must start with a thinking block; found ${first?.type}`
  }
  const budget = Number(asked["budget_tokens"])
  return budget >= 1_024 && budget < max_tokens
    ? undefined
    : "thinking.budget_tokens: must be at least 1024 and less than max_tokens"
}

const choice = ({ tool_choice: asked }: ApiRequest, { forcedToolChoice, id }: ModelSpec) =>
  !forcedToolChoice && (asked?.["type"] === "any" || asked?.["type"] === "tool")
    ? `tool_choice: ${id} chooses by itself whether it uses tools`
    : undefined

const effort = ({ output_config: asked }: ApiRequest, { efforts, id }: ModelSpec) => {
  const level = asked?.["effort"]
  return level === undefined || efforts.some((one) => one === level)
    ? undefined
    : `output_config.effort: "${String(level)}" is not supported by ${id}`
}

const sampling = (body: ApiRequest, { id, sampling: taken }: ModelSpec) => {
  const found = ["temperature", "top_p", "top_k"].find((name) => name in body)
  return taken || found === undefined ? undefined : `${found}: not supported by ${id}`
}

const systemMessages = ({ messages }: ApiRequest, { id, midConversationSystem }: ModelSpec) => {
  for (const [at, { role }] of messages.entries()) {
    if (role !== "system") continue
    if (!midConversationSystem) return `messages.${at}: role 'system' is not supported by ${id}`
    const after = messages.slice(at + 1).find((message) => message.role !== "system")
    if (messages[at - 1]?.role === "assistant") return `messages.${at}: role 'system' must follow a user message`
    if (after?.role === "user")
      return `messages.${at}: role 'system' must precede an 'assistant' message or end the array`
  }
  return undefined
}

const toolSearch = ({ messages, tools = [] }: ApiRequest, { id, toolSearch: taken }: ModelSpec) => {
  const deferred = tools.filter((tool) => tool["defer_loading"] === true)
  if (deferred.length > 0 && !taken) return `tools: ${id} does not know defer_loading`
  if (deferred.length > 0 && deferred.length === tools.length) return "tools: at least one tool must not be deferred"
  const named = new Set(tools.map(({ name }) => name))
  for (const [at, { content }] of messages.entries()) {
    for (const block of toBlocks(content)) {
      if (block.type !== "tool_result" || !Array.isArray(block.content)) continue
      for (const part of block.content) {
        if (part.type !== "tool_reference") continue
        if (!taken) return `messages.${at}: ${id} does not know tool_reference`
        if (!("tool_name" in part) || !named.has(part.tool_name))
          return `messages.${at}: tool_reference to a tool that is not there`
      }
    }
  }
  return undefined
}

const mark = "scripted:"

/** What a thinking block of a reply to this request is signed with: who wrote it, and behind what. */
export const sign = ({ messages, model }: Pick<ApiRequest, "messages" | "model">): string =>
  `${mark}${table.resolve(model).spec.id}:${messages.reduce(chained, "")}`

const signatures = ({ messages }: ApiRequest, { id, thinkingBinding }: ModelSpec) => {
  if (thinkingBinding === "none") return undefined
  let before = ""
  for (const [at, message] of messages.entries()) {
    for (const [index, block] of toBlocks(message.content).entries()) {
      // What a playbook signs itself is nobody's business.
      if (block.type !== "thinking" || !block.signature.startsWith(mark)) continue
      const [, author, prefix] = block.signature.split(":")
      const where = `messages.${at}.content.${index}: invalid signature in thinking block`
      if (author !== id) return `${where}: it was written by ${author}`
      if (prefix !== before) return `${where}: what stands before it is not what it was written behind`
    }
    before = chained(before, message)
  }
  return undefined
}

const chained = (before: string, { content, role }: Message): string =>
  hash(
    `${before}${role}${JSON.stringify(toBlocks(content), (key, value: unknown) => (key === "cache_control" ? undefined : value))}`,
  )

const hash = (text: string): string => {
  let [a, b] = [0x811c9dc5, 0x1b873593]
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193)
    b = Math.imul(b ^ text.charCodeAt(i), 0x85ebca6b)
  }
  return ((a >>> 0).toString(36) + (b >>> 0).toString(36)).padStart(1, "0")
}
