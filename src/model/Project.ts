/**
 * Owns what one model is shown of a conversation and of the wishes for it: thinking that another model wrote, or that was written behind
 * something else, is left out, and so is every parameter that this one would refuse. Pure. A message that needs no change stays the same
 * object.
 */
import type { ModelSpec } from "../cost/ModelSpec.ts"
import { efforts } from "../protocol/Effort.ts"
import type { ContentBlock } from "../protocol/Content.ts"
import { plainText, toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import { reminder } from "../protocol/Reminder.ts"
import { isOn } from "./Access.ts"
import type { ToolSchema } from "./Provider.ts"

type Wish = Readonly<Record<string, unknown>>

export interface Projection {
  readonly spec: ModelSpec
  /** The id of the model that wrote a message; the thinking of another one is left out. */
  readonly authorOf: (message: Message) => string
  /** Its thinking is worth nothing any more, whoever wrote it. */
  readonly isVoid?: (message: Message) => boolean
  /** Leave out all thinking: the service did not accept it. */
  readonly withoutThinking: boolean
}

const cache = new WeakMap<Message, Map<string, Message | null>>()

export const messages = (history: ReadonlyArray<Message>, projection: Projection): ReadonlyArray<Message> => {
  const projected = history.flatMap((message, at) => one(message, projection, () => mayStand(history, at)) ?? [])
  const last = projected.at(-1)
  if (last !== undefined && isForeign(last, projection)) projected.push(goOn)
  return projected.length === history.length && projected.every((message, i) => message === history[i])
    ? history
    : projected
}

/** The same change of the same message gives the same object, so that what is cached by identity stays. */
const one = (message: Message, projection: Projection, stands: () => boolean): Message | null => {
  const { spec } = projection
  if (message.role === "system") {
    return spec.midConversationSystem && stands() ? message : changed(message, "user", () => asReminder(message))
  }
  if (message.role === "user") {
    if (spec.toolSearch || !toBlocks(message.content).some(refersToTools)) return message
    return changed(message, "named", () => ({ ...message, content: toBlocks(message.content).map(withNames) }))
  }
  const foreign =
    projection.withoutThinking ||
    projection.isVoid?.(message) === true ||
    (spec.thinkingBinding !== "none" && projection.authorOf(message) !== spec.id)
  const blocks = toBlocks(message.content)
  const drop = foreign ? isThinking : isUnsigned
  if (!blocks.some(drop)) return message
  return changed(message, foreign ? "foreign" : "unsigned", () => {
    const content = blocks.filter((block) => !drop(block))
    return content.length === 0 ? null : { role: message.role, content }
  })
}

/** The service takes a system message only behind one of the user, and only before a reply or at the end. */
const mayStand = (history: ReadonlyArray<Message>, at: number): boolean => {
  const before = history.slice(0, at).findLast(({ role }) => role !== "system")
  const after = history.slice(at + 1).find(({ role }) => role !== "system")
  return before?.role === "user" && after?.role !== "user"
}

/** No model goes on with a reply that another one began; what the service itself interrupted is sent back as it is. */
const isForeign = (last: Message, { authorOf, spec }: Projection): boolean =>
  last.role === "assistant" && authorOf(last) !== spec.id

const goOn: Message = { role: "user", content: [{ type: "text", text: reminder("Go on from here.") }] }

/** Found tools, as the service refers to them; a model that does not know the reference is told the name. */
const refersToTools = (block: ContentBlock): boolean =>
  block.type === "tool_result" &&
  Array.isArray(block.content) &&
  block.content.some(({ type }) => type === "tool_reference")

const withNames = (block: ContentBlock): ContentBlock =>
  block.type !== "tool_result" || !Array.isArray(block.content)
    ? block
    : {
        ...block,
        content: block.content.map((part) =>
          part.type === "tool_reference"
            ? { type: "text", text: "tool_name" in part ? String(part.tool_name) : "a tool" }
            : part,
        ),
      }

const plainTools = new WeakMap<ReadonlyArray<ToolSchema>, ReadonlyArray<ToolSchema>>()

/** A model without tool search is told every schema. */
export const tools = (spec: ModelSpec, all: ReadonlyArray<ToolSchema>): ReadonlyArray<ToolSchema> => {
  if (spec.toolSearch || !all.some((tool) => tool.defer_loading === true)) return all
  const plain =
    plainTools.get(all) ?? all.map(({ description, input_schema, name }) => ({ name, description, input_schema }))
  plainTools.set(all, plain)
  return plain
}

const changed = (message: Message, how: string, make: () => Message | null): Message | null => {
  const before = cache.get(message) ?? new Map<string, Message | null>()
  cache.set(message, before)
  const known = before.get(how)
  if (known !== undefined) return known
  const made = make()
  before.set(how, made)
  return made
}

/** For models that take no system messages in the middle. */
const asReminder = (message: Message): Message => ({
  role: "user",
  content: [{ type: "text", text: reminder(plainText(message.content)) }],
})

const isThinking = (block: ContentBlock): boolean => block.type === "thinking" || block.type === "redacted_thinking"

/** Cut off before its signature came; the service takes it back only whole. */
const isUnsigned = (block: ContentBlock): boolean => block.type === "thinking" && block.signature === ""

/** What to ask for under `thinking`: the wish where the model takes it, else the model's own default. */
export const thinking = (
  spec: ModelSpec,
  wish: Wish | undefined,
  maxTokens: number,
  shown: ReadonlyArray<Message> = [],
): Wish | undefined => {
  const modes = spec.thinking
  const standard = modes.includes("adaptive") ? { type: "adaptive", display: "summarized" } : undefined
  switch (wish?.["type"]) {
    case undefined:
      return standard
    case "adaptive":
      return modes.includes("adaptive") ? wish : undefined
    case "between_tools":
      return modes.includes("between_tools") ? wish : standard
    case "disabled":
      return modes.includes("disabled") ? wish : standard
    case "enabled": {
      if (!modes.includes("manual")) return standard
      if (isInTheMiddle(shown)) return undefined
      // It counts against the reply's own limit, and the least the service takes is 1,024.
      const budget = Math.min(Number(wish?.["budget_tokens"] ?? 0), maxTokens - 1)
      return budget >= 1_024 ? { ...wish, budget_tokens: budget } : undefined
    }
    default:
      return wish
  }
}

/** Calls wait for their results, and the thinking before them was another's: a budget is refused until they are through. */
const isInTheMiddle = (shown: ReadonlyArray<Message>): boolean => {
  const blocks = toBlocks(shown.findLast(({ role }) => role === "assistant")?.content ?? [])
  const last = toBlocks(shown.at(-1)?.content ?? [])
  const [first] = blocks
  return last.some(({ type }) => type === "tool_result") && first !== undefined && !isThinking(first)
}

/** Whether to send cache breakpoints: unless settings or the environment say no, for all models or for one family. */
export const caching = (spec: ModelSpec, env: (name: string) => string | undefined): boolean => {
  const family = /claude-([a-z]+)/.exec(spec.id)?.[1]?.toUpperCase()
  const off = ["DISABLE_PROMPT_CACHING", `DISABLE_PROMPT_CACHING_${family}`]
  return spec.caching !== false && !off.some((name) => isOn(env(name)))
}

/** The wishes for the output; an effort that the model does not know becomes the next lower one that it does. */
export const outputConfig = (spec: ModelSpec, wish: Wish | undefined): Wish | undefined => {
  if (wish === undefined) return undefined
  const { effort, ...rest } = wish
  const asked = efforts.findIndex((level) => level === effort)
  const taken = spec.efforts.findLast((level) => efforts.indexOf(level) <= asked)
  const result = { ...rest, ...(taken !== undefined && { effort: taken }) }
  return Object.keys(result).length === 0 ? undefined : result
}
