/** Owns the small words of the tests of the scripted model: requests, and what is in a reply. */
import type { ProviderRequest } from "../../src/model/Provider.ts"
import type { ContentBlock } from "../../src/protocol/Content.ts"
import type { Message } from "../../src/protocol/Message.ts"
import type { StreamEvent } from "../../src/protocol/StreamEvent.ts"
import type { ApiRequest } from "../../src/testing/ApiRequest.ts"

export const user = (content: Message["content"]): Message => ({ role: "user", content })
export const assistant = (content: Message["content"]): Message => ({ role: "assistant", content })
export const call = (id: string, name: string, input: unknown = {}): ContentBlock => ({
  type: "tool_use",
  id,
  name,
  input,
})
export const result = (id: string, content: string, isError = false): ContentBlock => ({
  type: "tool_result",
  tool_use_id: id,
  content,
  is_error: isError,
})

export const body = (messages: ReadonlyArray<Message>, more: Partial<ApiRequest> = {}): ApiRequest => ({
  model: "claude-test-1",
  max_tokens: 1024,
  messages,
  stream: true,
  ...more,
})

export const request = (
  messages: ReadonlyArray<Message> = [user("hello")],
  more: Partial<ProviderRequest> = {},
): ProviderRequest => ({
  requestId: "request-1",
  model: "claude-test-1",
  maxTokens: 1024,
  system: [],
  tools: [],
  messages,
  ...more,
})

/** What a stream says, put together. */
export const spoken = (events: Iterable<StreamEvent>): string =>
  [...events]
    .map((event) => {
      if (event.type !== "content_block_delta") return ""
      if (event.delta.type === "text_delta") return event.delta.text
      return event.delta.type === "input_json_delta" ? event.delta.partial_json : ""
    })
    .join("")
