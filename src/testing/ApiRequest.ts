/** Owns a Messages API request as it goes over the wire: what the scripted model is told, in process or by HTTP. */
import * as Schema from "effect/Schema"
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

/** Counting tokens asks for the same, without a limit. */
export const CountRequest = Schema.Struct({ ...ApiRequest.fields, max_tokens: Schema.optionalKey(Schema.Int) })

/** The body a provider of this API would send for a request. */
export const fromProvider = (request: ProviderRequest, stream: boolean): ApiRequest => ({
  model: request.model,
  max_tokens: request.maxTokens,
  ...(request.system.length > 0 && { system: request.system }),
  ...(request.tools.length > 0 && { tools: request.tools.map((tool) => ({ ...tool })) }),
  messages: request.messages,
  ...(request.toolChoice !== undefined && { tool_choice: { type: request.toolChoice } }),
  ...(request.thinking !== undefined && { thinking: request.thinking }),
  ...(request.outputConfig !== undefined && { output_config: request.outputConfig }),
  ...(request.stopSequences !== undefined && { stop_sequences: request.stopSequences }),
  ...(request.metadata !== undefined && { metadata: request.metadata }),
  stream,
})
