/** Owns the view a playbook has of a request: what the model was told, and what of it is new. */
import { plainText, toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import type { ApiRequest } from "./ApiRequest.ts"

export interface ToldResult {
  readonly id: string
  /** The tool that was called, found by its id. */
  readonly tool: string
  readonly text: string
  readonly isError: boolean
}

export interface Told {
  /** 1 for the first request the scripted model got; every attempt counts. */
  readonly request: number
  /** 1 + the assistant messages of the history: the same before and after a retry or a resume. */
  readonly turn: number
  readonly model: string
  readonly system: string
  /** The text of the last user message, empty when it only brings tool results. */
  readonly user: string
  /** The text of the last user message that has some. */
  readonly prompt: string
  /** The tool results of the last user message, in order. */
  readonly results: ReadonlyArray<ToldResult>
  /** Everything said so far, on all sides, as text; computed when asked for. */
  readonly history: () => string
  readonly body: ApiRequest
}

export const make = (body: ApiRequest, request: number): Told => {
  const last = body.messages.findLast((message) => message.role === "user")
  const system = body.system ?? ""
  let history: string | undefined
  return {
    request,
    turn: 1 + body.messages.filter((message) => message.role === "assistant").length,
    model: body.model,
    system: typeof system === "string" ? system : plainText(system),
    user: last === undefined ? "" : plainText(last.content),
    prompt: promptOf(body.messages),
    results: last === undefined ? [] : resultsOf(last, toolNames(body.messages)),
    history: () => (history ??= historyOf(body.messages)),
    body,
  }
}

const promptOf = (messages: ReadonlyArray<Message>): string => {
  const message = messages.findLast((message) => message.role === "user" && plainText(message.content) !== "")
  return message === undefined ? "" : plainText(message.content)
}

/** Only the last assistant turn: its calls are the ones the last user message answers. */
const toolNames = (messages: ReadonlyArray<Message>): ReadonlyMap<string, string> => {
  const names = new Map<string, string>()
  let seen = false
  for (const message of messages.toReversed()) {
    if (seen && message.role === "user") break
    if (message.role !== "assistant") continue
    seen = true
    for (const block of toBlocks(message.content)) if (block.type === "tool_use") names.set(block.id, block.name)
  }
  return names
}

const resultsOf = (message: Message, names: ReadonlyMap<string, string>): ReadonlyArray<ToldResult> =>
  toBlocks(message.content).flatMap((block) =>
    block.type !== "tool_result"
      ? []
      : [
          {
            id: block.tool_use_id,
            tool: names.get(block.tool_use_id) ?? "",
            text: resultText(block.content ?? ""),
            isError: block.is_error ?? false,
          },
        ],
  )

const resultText = (content: string | ReadonlyArray<{ readonly type: string }>): string =>
  typeof content === "string"
    ? content
    : content.flatMap((block) => ("text" in block && typeof block.text === "string" ? [block.text] : [])).join("\n")

const historyOf = (messages: ReadonlyArray<Message>): string =>
  messages
    .flatMap((message) => toBlocks(message.content))
    .flatMap((block) => {
      if (block.type === "text") return [block.text]
      if (block.type === "tool_result") return [resultText(block.content ?? "")]
      return block.type === "tool_use" ? [`${block.name} ${JSON.stringify(block.input)}`] : []
    })
    .join("\n")

/** The last thing said, short enough for an error message. */
export const lastMessage = (body: ApiRequest): string => {
  const message = body.messages.at(-1)
  if (message === undefined) return "nothing"
  const text = historyOf([message])
  return `${message.role}: ${JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}…` : text)}`
}
