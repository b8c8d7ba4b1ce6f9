/**
 * Owns what one model is shown of a conversation and of the wishes for it: thinking that another model wrote is left out, and so
 * is every parameter that this one would refuse. Pure. A message that needs no change stays the same object.
 */
import type { ModelSpec } from "../cost/ModelSpec.ts"
import { efforts } from "../protocol/Effort.ts"
import type { ContentBlock } from "../protocol/Content.ts"
import { plainText, toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import { reminder } from "../protocol/Reminder.ts"
import { isOn } from "./Access.ts"

type Wish = Readonly<Record<string, unknown>>

export interface Projection {
  readonly spec: ModelSpec
  /** The id of the model that wrote a message; the thinking of another one is left out. */
  readonly authorOf: (message: Message) => string
  /** Leave out all thinking: the service did not accept it. */
  readonly withoutThinking: boolean
}

const cache = new WeakMap<Message, Map<string, Message | null>>()

export const messages = (history: ReadonlyArray<Message>, projection: Projection): ReadonlyArray<Message> => {
  const projected = history.flatMap((message) => one(message, projection) ?? [])
  return projected.length === history.length && projected.every((message, i) => message === history[i])
    ? history
    : projected
}

/** The same change of the same message gives the same object, so that what is cached by identity stays. */
const one = (message: Message, projection: Projection): Message | null => {
  if (message.role === "user") return message
  const { spec } = projection
  if (message.role === "system") {
    return spec.midConversationSystem ? message : changed(message, "user", () => asReminder(message))
  }
  const foreign =
    projection.withoutThinking || (spec.thinkingBinding !== "none" && projection.authorOf(message) !== spec.id)
  const blocks = toBlocks(message.content)
  const drop = foreign ? isThinking : isUnsigned
  if (!blocks.some(drop)) return message
  return changed(message, foreign ? "foreign" : "unsigned", () => {
    const content = blocks.filter((block) => !drop(block))
    return content.length === 0 ? null : { role: message.role, content }
  })
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
export const thinking = (spec: ModelSpec, wish: Wish | undefined, maxTokens: number): Wish | undefined => {
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
      // It counts against the reply's own limit, and the least the service takes is 1,024.
      const budget = Math.min(Number(wish?.["budget_tokens"] ?? 0), maxTokens - 1)
      return budget >= 1_024 ? { ...wish, budget_tokens: budget } : undefined
    }
    default:
      return wish
  }
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
