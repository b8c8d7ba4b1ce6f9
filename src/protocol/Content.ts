/** Owns the content blocks that models, tools and people exchange, in the API's own spelling. */
import * as Schema from "effect/Schema"

const CacheControl = Schema.Struct({
  type: Schema.Literal("ephemeral"),
  ttl: Schema.optionalKey(Schema.Literals(["5m", "1h"])),
})

export const TextBlock = Schema.Struct({
  type: Schema.Literal("text"),
  text: Schema.String,
  citations: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Unknown))),
  cache_control: Schema.optionalKey(CacheControl),
})
export type TextBlock = typeof TextBlock.Type

export const ThinkingBlock = Schema.Struct({
  type: Schema.Literal("thinking"),
  thinking: Schema.String,
  signature: Schema.String,
})
export type ThinkingBlock = typeof ThinkingBlock.Type

export const RedactedThinkingBlock = Schema.Struct({
  type: Schema.Literal("redacted_thinking"),
  data: Schema.String,
})

export const ToolUseBlock = Schema.Struct({
  type: Schema.Literal("tool_use"),
  id: Schema.String,
  name: Schema.String,
  input: Schema.Unknown,
  cache_control: Schema.optionalKey(CacheControl),
})
export type ToolUseBlock = typeof ToolUseBlock.Type

export const ImageBlock = Schema.Struct({
  type: Schema.Literal("image"),
  source: Schema.Unknown,
  cache_control: Schema.optionalKey(CacheControl),
})

export const DocumentBlock = Schema.Struct({
  type: Schema.Literal("document"),
  source: Schema.Unknown,
  title: Schema.optionalKey(Schema.NullOr(Schema.String)),
  context: Schema.optionalKey(Schema.NullOr(Schema.String)),
  citations: Schema.optionalKey(Schema.Unknown),
  cache_control: Schema.optionalKey(CacheControl),
})

const modelled = new Set(["text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document"])

/**
 * A block this version has no use for: the API's server-side tools, and whatever it adds next. It is carried along
 * unchanged, so that the API gets back what it sent. The literals are examples; any unmodelled type is let through.
 */
export interface OpaqueBlock {
  readonly type: "server_tool_use" | "web_search_tool_result" | "tool_reference" | "compaction"
}

const isOpaqueBlock = (value: unknown): value is OpaqueBlock =>
  typeof value === "object" &&
  value !== null &&
  "type" in value &&
  typeof value.type === "string" &&
  !modelled.has(value.type)

export const OpaqueBlock = Schema.declare(isOpaqueBlock, { expected: "a content block with a type" })

/** What a tool may answer with. */
export const ToolResultContent = Schema.Union([
  Schema.String,
  Schema.Array(Schema.Union([TextBlock, ImageBlock, DocumentBlock, OpaqueBlock])),
])
export type ToolResultContent = typeof ToolResultContent.Type

export const ToolResultBlock = Schema.Struct({
  type: Schema.Literal("tool_result"),
  tool_use_id: Schema.String,
  content: Schema.optionalKey(ToolResultContent),
  is_error: Schema.optionalKey(Schema.Boolean),
  cache_control: Schema.optionalKey(CacheControl),
})
export type ToolResultBlock = typeof ToolResultBlock.Type

export const ContentBlock = Schema.Union([
  TextBlock,
  ThinkingBlock,
  RedactedThinkingBlock,
  ToolUseBlock,
  ToolResultBlock,
  ImageBlock,
  DocumentBlock,
  OpaqueBlock,
])
export type ContentBlock = typeof ContentBlock.Type

/** A message's content: plain text or blocks. */
export const Content = Schema.Union([Schema.String, Schema.Array(ContentBlock)])
export type Content = typeof Content.Type

export const text = (value: string): TextBlock => ({ type: "text", text: value })

export const toBlocks = (content: Content): ReadonlyArray<ContentBlock> =>
  typeof content === "string" ? [text(content)] : content

/** The readable text of some content; everything that is not text is left out. */
export const plainText = (content: Content): string =>
  typeof content === "string"
    ? content
    : content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")
