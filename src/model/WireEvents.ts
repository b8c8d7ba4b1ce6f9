/**
 * Owns the reading of streamed events. Deltas make up nearly all of a stream, so they are checked by hand; everything else
 * goes through the schema.
 */
import * as Schema from "effect/Schema"
import { StreamEvent } from "../protocol/StreamEvent.ts"
import * as Nesting from "./Nesting.ts"

// A check rather than a decoding: fields that we do not know stay, for those who read the events as they came.
const isStreamEvent = Schema.is(StreamEvent)

const known = new Set<unknown>([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
  "ping",
  "error",
])

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The event, `undefined` for one of a kind we do not know, or `"garbled"`. */
export const parse = (data: string): StreamEvent | "garbled" | undefined => {
  if (Nesting.isTextTooDeep(data)) return "garbled"
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    return "garbled"
  }
  if (!isRecord(value)) return "garbled"
  return value["type"] === "content_block_delta" ? delta(value) : other(value)
}

const delta = ({ index, delta: change }: Readonly<Record<string, unknown>>): StreamEvent | "garbled" | undefined => {
  if (typeof index !== "number" || !isRecord(change)) return "garbled"
  const type = "content_block_delta"
  const { text, partial_json, thinking, signature } = change
  switch (change["type"]) {
    case "text_delta":
      return typeof text === "string" ? { type, index, delta: { type: "text_delta", text } } : "garbled"
    case "input_json_delta":
      return typeof partial_json === "string"
        ? { type, index, delta: { type: "input_json_delta", partial_json } }
        : "garbled"
    case "thinking_delta":
      return typeof thinking === "string" ? { type, index, delta: { type: "thinking_delta", thinking } } : "garbled"
    case "signature_delta":
      return typeof signature === "string" ? { type, index, delta: { type: "signature_delta", signature } } : "garbled"
    case "citations_delta":
      return { type, index, delta: { type: "citations_delta", citation: change["citation"] } }
    default:
      return typeof change["type"] === "string" ? undefined : "garbled"
  }
}

const other = (value: Readonly<Record<string, unknown>>): StreamEvent | "garbled" | undefined => {
  const type = value["type"]
  if (!known.has(type)) return typeof type === "string" ? undefined : "garbled"
  return isStreamEvent(value) ? value : "garbled"
}
