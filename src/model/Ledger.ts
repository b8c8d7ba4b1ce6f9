/** Owns the fingerprints of a prompt's layers. Equal fingerprints mean equal bytes, so they tell what broke a cached prefix. */
import type { TextBlock } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import { textOf } from "./MessageText.ts"
import type { ToolSchema } from "./Provider.ts"

interface Link {
  readonly before: string
  readonly after: string
}

export interface Prompt {
  readonly tools: ReadonlyArray<ToolSchema>
  readonly system: ReadonlyArray<TextBlock>
  readonly messages: ReadonlyArray<Message>
}

/**
 * Makes a ledger: a prompt in, its hashes out, in cache order (tools, system, messages). The messages' hash is a chain, and each
 * message remembers its link, so that a long history is not hashed again.
 */
export const make = (hash: (text: string) => string): ((prompt: Prompt) => ReadonlyArray<string>) => {
  const known = new WeakMap<object, string>()
  const links = new WeakMap<Message, Link>()
  const short = (text: string) => hash(text).slice(0, 16)
  const whole = (layer: object): string => {
    const before = known.get(layer)
    if (before !== undefined) return before
    const after = short(JSON.stringify(layer))
    known.set(layer, after)
    return after
  }
  return ({ tools, system, messages }) => {
    let chain = ""
    for (const message of messages) {
      const link = links.get(message)
      if (link?.before === chain) {
        chain = link.after
        continue
      }
      const after = short(`${chain}\n${textOf(message)}`)
      links.set(message, { before: chain, after })
      chain = after
    }
    return [whole(tools), whole(system), chain]
  }
}
