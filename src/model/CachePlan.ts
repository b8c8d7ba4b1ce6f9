/**
 * Owns where a request's cache breakpoints are and how long what they write is kept. Pure.
 *
 * The service takes four, writes at each, and looks for something written before at each and up to twenty blocks back. So there is one at
 * the end, one where the request before ended, and the others behind the layers that are shared: what is the same for everyone, then
 * what is the session's.
 */
import type { ModelSpec } from "../cost/ModelSpec.ts"
import type { TextBlock } from "../protocol/Content.ts"
import { toBlocks } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import { isOn } from "./Access.ts"
import { bytesOf, partText, takesBreakpoint } from "./MessageText.ts"
import type { CacheTerms as Terms, CacheTtl as Ttl, ToolSchema } from "./Provider.ts"

/** Where nobody says anything. */
export const usual: Terms = { minimum: 0, head: "5m", messages: "5m" }

export interface Prompt {
  readonly tools: ReadonlyArray<ToolSchema>
  readonly system: ReadonlyArray<TextBlock>
  readonly messages: ReadonlyArray<Message>
}

/** By index, and for how long. In a message it stands behind the last block that takes one. */
export interface Plan {
  readonly tools: ReadonlyMap<number, Ttl>
  readonly system: ReadonlyMap<number, Ttl>
  readonly messages: ReadonlyMap<number, Ttl>
}

/** Marks the end of what everybody shares: the block that begins with it is the session's, and so are those behind it. */
export const boundary = "=== DYNAMIC BOUNDARY ==="

/** How many blocks of the system prompt are the same for everybody. */
export const sharedBlocks = (system: ReadonlyArray<TextBlock>): number => {
  const first = system.findIndex(({ text }) => text.startsWith(boundary))
  return first === -1 ? system.length : first
}

/** The service takes no more. */
const most = 4
/** How far it looks back from a breakpoint. */
const lookback = 20
/** Fewer than any text has: what is left out for being too small is too small. */
const charactersPerToken = 2.5

interface Place {
  readonly layer: keyof Plan
  readonly index: number
  /** Characters before it. */
  readonly size: number
  readonly ttl: Ttl
}

export const make = (prompt: Prompt, terms: Terms): Plan => {
  const { system, tools } = prompt
  const sizes = sizesOf(prompt)
  const isLargeEnough = ({ size }: Place) => size >= terms.minimum * charactersPerToken
  const at = (layer: keyof Plan, index: number, ttl: Ttl): ReadonlyArray<Place> => {
    const size = sizes[layer][index]
    return size === undefined ? [] : [{ layer, index, size, ttl }].filter(isLargeEnough)
  }
  // A deferred tool is no part of what is cached.
  const lastTool = tools.findLastIndex((tool) => tool.defer_loading !== true)
  const shared = sharedBlocks(system)
  const stated = system.flatMap(({ cache_control: said }, index) => (said === undefined ? [] : [{ index, said }]))
  const behindTools = at("tools", lastTool, terms.head)
  const behindShared = at("system", shared - 1, terms.head)
  const behindSystem = shared === system.length ? [] : at("system", system.length - 1, terms.head)
  // Whoever assembled the system prompt may say where it is stable.
  const head =
    stated.length > 0
      ? stated
          .slice(-2)
          .toReversed()
          .flatMap(({ index, said }) => at("system", index, said.ttl ?? terms.head))
      : [...behindSystem, ...behindShared]
  const [last, before, earlier] = endsOf(prompt.messages).map((index) => at("messages", index, terms.messages))
  // Was the request that ended there cut off, the one before it is out of reach unless it has a breakpoint of its own.
  const isFar = earlier !== undefined && blocksBetween(prompt.messages, earlier, before) > lookback
  const [inner = [], ...outer] = head.map((place) => [place])
  const wanted = [
    ...(last ?? []),
    ...(before ?? []),
    ...(head.length === 0 ? behindTools : outer.length === 0 ? inner : outer.flat()),
    ...(isFar ? earlier : []),
    ...inner,
    ...behindTools,
  ]
  return planned([...new Set(wanted)].slice(0, most))
}

/** The longer-lived ones must come first: what stands before one is kept at least as long. */
const planned = (places: ReadonlyArray<Place>): Plan => {
  const plan = { tools: new Map<number, Ttl>(), system: new Map<number, Ttl>(), messages: new Map<number, Ttl>() }
  let longest: Ttl = "5m"
  for (const { index, layer, ttl } of places.toSorted((a, b) => b.size - a.size)) {
    if (ttl === "1h") longest = ttl
    plan[layer].set(index, longest)
  }
  return plan
}

/** How many characters of the prompt there are up to the end of each piece, in the order of the cache. */
const sizesOf = ({ messages, system, tools }: Prompt): Readonly<Record<keyof Plan, ReadonlyArray<number>>> => {
  let size = 0
  const upTo = (more: number) => (size += more)
  return {
    tools: tools.map((tool) => upTo(tool.defer_loading === true ? 0 : partText(tool).length)),
    system: system.map((block) => upTo(partText(block).length)),
    messages: messages.map((message) => upTo(bytesOf(message).length)),
  }
}

/** Where this request ends, and where earlier ones did: the messages that a reply followed. The latest first. */
export const endsOf = (messages: ReadonlyArray<Message>): ReadonlyArray<number> => {
  const ends: Array<number> = []
  for (let i = messages.length - 1; i >= 0 && ends.length < 3; i--) {
    const message = messages[i]
    const isEnd = i === messages.length - 1 || (message?.role !== "assistant" && messages[i + 1]?.role === "assistant")
    if (isEnd && message !== undefined && toBlocks(message.content).some(takesBreakpoint)) ends.push(i)
  }
  return ends
}

const blocksBetween = (
  messages: ReadonlyArray<Message>,
  [from]: ReadonlyArray<Place>,
  [to]: ReadonlyArray<Place> = [],
): number =>
  from === undefined || to === undefined
    ? 0
    : messages.slice(from.index + 1, to.index + 1).reduce((sum, { content }) => sum + toBlocks(content).length, 0)

/**
 * How long things are kept. Writing for an hour costs 2 × the input, for five minutes 1.25 ×; a person who thinks for longer than five
 * minutes makes the difference good with the first look-up, so tools and system prompt, which never change, are kept for an hour where a
 * person is there and the service is known to do it. Messages change with every request and are kept for five minutes unless told.
 */
export const terms = (
  spec: ModelSpec,
  env: (name: string) => string | undefined,
  may: { readonly rests: boolean; readonly hour: boolean },
): Terms => {
  const { minimumCacheTokens: minimum } = spec
  const said = env("CLAUDE_CODE_PROMPT_CACHE_TTL")
  if (isOn(env("FORCE_PROMPT_CACHING_5M")) || said === "5m") return { minimum, head: "5m", messages: "5m" }
  if (isOn(env("ENABLE_PROMPT_CACHING_1H")) || said === "1h") return { minimum, head: "1h", messages: "1h" }
  return { minimum, head: may.rests && may.hour ? "1h" : "5m", messages: "5m" }
}
