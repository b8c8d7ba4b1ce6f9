/**
 * Owns the guess of how many tokens a prompt has at most. It starts from what the service reported for the same prefix, where it
 * did, so only what is new has to be guessed, and a long history is not measured again.
 */
import type { ContentBlock, TextBlock } from "../protocol/Content.ts"
import { toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import { textOf } from "./MessageText.ts"
import type { ToolSchema } from "./Provider.ts"

/** Tokenizers differ by a third between model generations, on top of what the estimate allows for. */
const margin = 1.35
const perMessage = 8
/** What the service adds by itself to a request with tools. */
const overhead = 800
/** The largest picture the service keeps at full size. */
const perImage = 5_000

export interface Prompt {
  readonly tools: ReadonlyArray<ToolSchema>
  readonly system: ReadonlyArray<TextBlock>
  readonly messages: ReadonlyArray<Message>
}

/** What a service reported for the prompt that ended with a certain message. */
interface Reported {
  readonly model: string
  readonly tokens: number
  /** The guess for tools and system at that time. */
  readonly head: number
}

export interface InputBound {
  readonly of: (model: string, prompt: Prompt) => number
  /** Remembers what a prompt really had. */
  readonly learn: (model: string, prompt: Prompt, tokens: number) => void
}

export const make = (estimate: (text: string) => number): InputBound => {
  const known = new WeakMap<object, number>()
  const reports = new WeakMap<Message, Reported>()
  const guess = (value: object, text: () => string): number => {
    const before = known.get(value)
    if (before !== undefined) return before
    const tokens = estimate(text())
    known.set(value, tokens)
    return tokens
  }
  const head = ({ tools, system }: Prompt) =>
    guess(tools, () => JSON.stringify(tools)) + guess(system, () => JSON.stringify(system))
  const ofMessage = (message: Message): number => {
    const before = known.get(message)
    if (before !== undefined) return before
    const media = toBlocks(message.content).reduce((sum, block) => sum + mediaTokens(block), 0)
    const tokens = perMessage + (media > 0 ? media + estimate(withoutMedia(message)) : estimate(textOf(message)))
    known.set(message, tokens)
    return tokens
  }
  return {
    of: (model, prompt) => {
      let fresh = 0
      for (let i = prompt.messages.length - 1; i >= 0; i--) {
        const message = prompt.messages[i]
        if (message === undefined) break
        const reported = reports.get(message)
        if (reported?.model === model) {
          return Math.ceil(reported.tokens + margin * (fresh + Math.max(0, head(prompt) - reported.head)))
        }
        fresh += ofMessage(message)
      }
      return Math.ceil(overhead + margin * (fresh + head(prompt)))
    },
    learn: (model, prompt, tokens) => {
      const last = prompt.messages.at(-1)
      if (last !== undefined) reports.set(last, { model, tokens, head: head(prompt) })
    },
  }
}

const mediaTokens = (block: ContentBlock): number => {
  switch (block.type) {
    case "image":
      return perImage
    case "document":
      // Its pages are read as text and as pictures; nobody knows how many there are before the service counts them.
      return Math.max(perImage, JSON.stringify(block.source ?? "").length / 8)
    case "tool_result":
      return typeof block.content === "string"
        ? 0
        : (block.content ?? []).reduce((sum, part) => sum + mediaTokens(part), 0)
    default:
      return 0
  }
}

const withoutMedia = (message: Message): string =>
  JSON.stringify(message, (key: string, value: unknown) => (key === "source" ? undefined : value))
