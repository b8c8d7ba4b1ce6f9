/**
 * Owns the ledger of a prompt: its layers in the order of the service's cache, each with the hash of the very bytes that are sent
 * (breakpoints apart). Equal hashes mean equal bytes, so two ledgers tell what broke a cached prefix.
 */
import type { TextBlock } from "../protocol/Content.ts"
import * as LedgerLine from "../protocol/LedgerLine.ts"
import type { Message } from "../protocol/Message.ts"
import { endsOf, sharedBlocks } from "./CachePlan.ts"
import { json, partText, textOf } from "./MessageText.ts"
import type { ProviderRequest, ToolSchema } from "./Provider.ts"

/** A layer with what it says, to be compared with another of its name. */
export interface Segment {
  readonly layer: LedgerLine.Layer
  readonly hash: string
  readonly text: string
}

export interface Ledger {
  /** `static system 4f0c…` in cache order, then `messages/12 9a1b…`: up to there, for where the request before ended and for its own end. */
  readonly lines: ReadonlyArray<string>
  readonly segments: ReadonlyArray<Segment>
}

export type Prompt = Pick<
  ProviderRequest,
  "tools" | "serverTools" | "system" | "messages" | "thinking" | "toolChoice" | "outputConfig"
>

interface Link {
  readonly before: string
  readonly after: string
}

/**
 * Makes ledgers. The hash of messages is a chain, and each message remembers its link, so that a long history is not hashed again.
 */
export const make = (hash: (text: string) => string): ((prompt: Prompt) => Ledger) => {
  const known = new WeakMap<object, ReadonlyArray<Segment>>()
  const links = new WeakMap<Message, Link>()
  const short = (text: string) => hash(text).slice(0, 16)
  const segment = (layer: LedgerLine.Layer, parts: ReadonlyArray<string>): ReadonlyArray<Segment> => {
    const text = parts.join(",\n")
    return parts.length === 0 ? [] : [{ layer, hash: short(text), text }]
  }
  const once = <Whole extends object>(whole: Whole, make: (whole: Whole) => ReadonlyArray<Segment>) => {
    const before = known.get(whole)
    if (before !== undefined) return before
    const segments = make(whole)
    known.set(whole, segments)
    return segments
  }

  const toolSegments = (tools: ReadonlyArray<ToolSchema>) => {
    // The service does not count a deferred one as a part of the prompt.
    const told = tools.filter((tool) => tool.defer_loading !== true)
    return [
      ...segment("tools", told.filter((tool) => !isServers(tool)).map(partText)),
      ...segment("mcp tools", told.filter(isServers).map(partText)),
    ]
  }
  const systemSegments = (system: ReadonlyArray<TextBlock>) => {
    const shared = sharedBlocks(system)
    return [
      ...segment("static system", system.slice(0, shared).map(partText)),
      ...segment("session system", system.slice(shared).map(partText)),
    ]
  }
  const chain = (messages: ReadonlyArray<Message>): ReadonlyArray<string> => {
    let before = ""
    return messages.map((message) => {
      const link = links.get(message)
      const after = link?.before === before ? link.after : short(`${before}\n${textOf(message)}`)
      if (link?.after !== after) links.set(message, { before, after })
      before = after
      return after
    })
  }

  return ({ messages, outputConfig, serverTools = [], system, thinking, toolChoice, tools }) => {
    const controls = { thinking, tool_choice: toolChoice, output_config: outputConfig }
    const segments = [
      ...once(tools, toolSegments),
      ...segment("server tools", serverTools.map(json)),
      ...once(system, systemSegments),
      ...segment("controls", [json(controls)]),
    ]
    const hashes = chain(messages)
    const ends = endsOf(messages).slice(0, 2).toReversed()
    const last = messages.length - 1
    if (last >= 0 && ends.at(-1) !== last) ends.push(last)
    return {
      lines: [
        ...segments.map((one) => LedgerLine.ofLayer(one.layer, one.hash)),
        ...ends.map((end) => LedgerLine.ofEnd({ messages: end + 1, hash: hashes[end] ?? "" })),
      ],
      segments,
    }
  }
}

const isServers = ({ name }: ToolSchema): boolean => name.startsWith("mcp__")
