/** Owns a Messages API request as it goes over the wire: what the scripted model is told, in process or by HTTP. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import type { ProviderRequest } from "../model/Provider.ts"
import { TextBlock } from "../protocol/Content.ts"
import { Message } from "../protocol/Message.ts"

const Json = Schema.Record(Schema.String, Schema.Unknown)

export const ApiRequest = Schema.Struct({
  model: Schema.NonEmptyString,
  max_tokens: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  messages: Schema.Array(Message),
  system: Schema.optionalKey(Schema.Union([Schema.String, Schema.Array(TextBlock)])),
  tools: Schema.optionalKey(Schema.Array(Json)),
  tool_choice: Schema.optionalKey(Json),
  stream: Schema.optionalKey(Schema.Boolean),
  cache_control: Schema.optionalKey(Schema.NullOr(Json)),
  thinking: Schema.optionalKey(Json),
  output_config: Schema.optionalKey(Json),
  stop_sequences: Schema.optionalKey(Schema.Array(Schema.String)),
  metadata: Schema.optionalKey(Json),
})
export type ApiRequest = typeof ApiRequest.Type

const decode = Schema.decodeUnknownResult(ApiRequest)
const flat = SchemaIssue.makeFormatterStandardSchemaV1()

/**
 * A request out of parsed JSON, or what is wrong with it. A history of a thousand turns comes with every request, so
 * what looks right is taken after a cheap look; only what does not is decoded, for the words of the refusal.
 */
export const read = (value: unknown): Result.Result<ApiRequest, string> =>
  isRequest(value)
    ? Result.succeed(value)
    : Result.mapError(decode(value), (error) => {
        const [first] = flat(error.issue).issues
        const path = (first?.path ?? []).map((key) => String(typeof key === "object" ? key.key : key)).join(".")
        const reason = first === undefined ? error.message : first.message
        return `${path === "" ? "body" : path}: ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`
      })

type Loose = Readonly<Record<string, unknown>>
const isRecord = (value: unknown): value is Loose =>
  typeof value === "object" && value !== null && !Array.isArray(value)
const optional = (value: unknown, is: (value: unknown) => boolean): boolean => value === undefined || is(value)
const isString = (value: unknown): value is string => typeof value === "string"
const isList = (value: unknown, is: (item: unknown) => boolean): boolean => Array.isArray(value) && value.every(is)

const isRequest = (value: unknown): value is ApiRequest =>
  isRecord(value) &&
  isString(value.model) &&
  value.model !== "" &&
  Number.isInteger(value.max_tokens) &&
  Number(value.max_tokens) >= 0 &&
  isList(value.messages, isMessage) &&
  optional(value.system, (system) => isString(system) || isList(system, isText)) &&
  optional(value.tools, (tools) => isList(tools, isRecord)) &&
  optional(value.tool_choice, isRecord) &&
  optional(value.stream, (stream) => typeof stream === "boolean") &&
  optional(value.cache_control, (control) => control === null || isRecord(control)) &&
  optional(value.thinking, isRecord) &&
  optional(value.output_config, isRecord) &&
  optional(value.stop_sequences, (stops) => isList(stops, isString)) &&
  optional(value.metadata, isRecord)

const isMessage = (value: unknown): boolean =>
  isRecord(value) &&
  (value.role === "user" || value.role === "assistant" || value.role === "system") &&
  (isString(value.content) || isList(value.content, isBlock))

const isText = (block: unknown): boolean => isRecord(block) && block.type === "text" && isBlock(block)

const isBlock = (block: unknown): boolean => {
  if (!isRecord(block) || !optional(block.cache_control, isCacheControl)) return false
  switch (block.type) {
    case "text":
      return isString(block.text) && optional(block.citations, (list) => list === null || Array.isArray(list))
    case "tool_use":
      return isString(block.id) && isString(block.name) && "input" in block
    case "tool_result":
      return (
        isString(block.tool_use_id) &&
        optional(block.is_error, (flag) => typeof flag === "boolean") &&
        optional(block.content, (content) => isString(content) || isList(content, isResultBlock))
      )
    case "thinking":
      return isString(block.thinking) && isString(block.signature)
    case "redacted_thinking":
      return isString(block.data)
    case "image":
      return "source" in block
    case "document":
      return "source" in block && optional(block.title, nullOrString) && optional(block.context, nullOrString)
    default:
      return isString(block.type)
  }
}

const nullOrString = (value: unknown): boolean => value === null || isString(value)

const isCacheControl = (value: unknown): boolean =>
  isRecord(value) && value.type === "ephemeral" && optional(value.ttl, (ttl) => ttl === "5m" || ttl === "1h")

const inMessagesOnly: ReadonlySet<unknown> = new Set(["tool_use", "tool_result", "thinking", "redacted_thinking"])
const isResultBlock = (block: unknown): boolean => isBlock(block) && isRecord(block) && !inMessagesOnly.has(block.type)

/** The body a provider of this API would send for a request. */
export const fromProvider = (request: ProviderRequest, stream: boolean): ApiRequest => ({
  model: request.model,
  max_tokens: request.maxTokens,
  ...(request.system.length > 0 && { system: request.system }),
  ...(request.tools.length + (request.serverTools ?? []).length > 0 && {
    tools: [...request.tools, ...(request.serverTools ?? [])].map((tool) => ({ ...tool })),
  }),
  messages: request.messages,
  ...(request.toolChoice !== undefined && { tool_choice: { type: request.toolChoice } }),
  ...(request.thinking !== undefined && { thinking: request.thinking }),
  ...(request.outputConfig !== undefined && { output_config: request.outputConfig }),
  ...(request.stopSequences !== undefined && { stop_sequences: request.stopSequences }),
  ...(request.metadata !== undefined && { metadata: request.metadata }),
  stream,
})
