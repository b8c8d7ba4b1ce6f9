/**
 * Owns the token figures of scripted replies: an estimate of the prompt, and a simulated prompt cache.
 *
 * Like the API's, the cache holds prefixes in the order tools, system, messages, written at breakpoints. Unlike it,
 * prefixes are compared by whole messages, nothing expires, and no prompt is too short to be cached.
 */
import { estimateTokenCount } from "tokenx"
import type { ApiRequest } from "./ApiRequest.ts"

export interface PromptTokens {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly ttl: "5m" | "1h"
  readonly total: number
}

type Prompt = Pick<ApiRequest, "messages" | "system" | "tools" | "model" | "cache_control">

export interface PromptCache {
  readonly read: (body: Prompt) => PromptTokens
  /** The size of a prompt; the cache is not used and not changed. */
  readonly count: (body: Prompt) => number
}

/**
 * One part of a prompt after those before it. A tree of them knows every prompt seen, so a part is measured once, and
 * a request that repeats a long history costs a comparison, not an estimate.
 */
interface Node {
  readonly value: object
  readonly tokens: number
  cached: boolean
  readonly next: Array<Node>
}

// A session of a thousand turns has two thousand; beyond this many the cache starts afresh.
const maximum = 50_000

/**
 * `marks`: only what lies before a cache breakpoint is cached, as with the API. `always`: the whole prompt is; for
 * in-process requests, where the provider that would place the breakpoints has not seen them.
 */
export const make = (mode: "marks" | "always"): PromptCache => {
  const roots = new Map<string, Array<Node>>()
  let nodes = 0

  const find = (model: string, parts: ReadonlyArray<object>): ReadonlyArray<Node> => {
    if (nodes > maximum) {
      roots.clear()
      nodes = 0
    }
    let level = roots.get(model) ?? []
    roots.set(model, level)
    const path: Array<Node> = []
    for (const part of parts) {
      let node: Node | undefined = level.find((known) => same(known.value, part))
      if (node === undefined) {
        node = { value: part, tokens: tokensOf(part), cached: false, next: [] }
        level.push(node)
        nodes++
      }
      path.push(node)
      level = node.next
    }
    return path
  }

  return {
    read: (body) => {
      const parts = partsOf(body)
      const path = find(body.model, parts)
      const automatic = mode === "always" || (body.cache_control ?? undefined) !== undefined
      const marked = parts.findLastIndex((part) => markOf(part) !== undefined)
      const end = automatic ? parts.length : marked + 1
      const known = path.findIndex((node) => !node.cached)
      const common = Math.min(end, known < 0 ? path.length : known)
      for (const node of path.slice(common, end)) node.cached = true
      return {
        cacheRead: sum(path, 0, common),
        cacheWrite: sum(path, common, end),
        input: sum(path, end, path.length),
        ttl: markOf(parts[end - 1]) ?? "5m",
        total: sum(path, 0, path.length),
      }
    },
    count: (body) => {
      const path = find(body.model, partsOf(body))
      return sum(path, 0, path.length)
    },
  }
}

export const estimate = (text: string): number => (text === "" ? 0 : estimateTokenCount(text))

const partsOf = (body: Prompt): ReadonlyArray<object> => [
  ...(body.tools === undefined || body.tools.length === 0 ? [] : [body.tools]),
  ...systemBlocks(body.system),
  ...body.messages,
]

const systemBlocks = (system: ApiRequest["system"]): ReadonlyArray<object> =>
  system === undefined || system === "" ? [] : typeof system === "string" ? [{ type: "text", text: system }] : system

const sum = (path: ReadonlyArray<Node>, from: number, to: number): number => {
  let total = 0
  for (let index = from; index < to; index++) total += path[index]?.tokens ?? 0
  return total
}

/** The last breakpoint inside a part: tools and messages carry it on one of their items, system blocks themselves. */
const markOf = (part: object | undefined): "5m" | "1h" | undefined => {
  if (part === undefined) return undefined
  const items: unknown = Array.isArray(part) ? part : "content" in part ? part.content : [part]
  if (!Array.isArray(items)) return undefined
  const control: unknown = items.findLast(hasMark)?.cache_control
  if (typeof control !== "object" || control === null) return undefined
  return "ttl" in control && control.ttl === "1h" ? "1h" : "5m"
}

const hasMark = (item: unknown): item is { readonly cache_control: object } =>
  typeof item === "object" &&
  item !== null &&
  "cache_control" in item &&
  typeof item.cache_control === "object" &&
  item.cache_control !== null

/** Breakpoints move from request to request and do not change the content; nor does text written as a block. */
const same = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (typeof a === "string") return typeof b !== "string" && isLoneText(b, a)
  if (typeof b === "string") return isLoneText(a, b)
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => same(item, b[index]))
  }
  if (!isRecord(a) || !isRecord(b)) return false
  let extra = 0
  for (const key of Object.keys(b)) if (key !== "cache_control") extra++
  for (const key of Object.keys(a)) {
    if (key === "cache_control") continue
    if (!same(a[key], b[key])) return false
    extra--
  }
  return extra === 0
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const isLoneText = (blocks: unknown, text: string): boolean => {
  const block: unknown = Array.isArray(blocks) && blocks.length === 1 ? blocks[0] : undefined
  return typeof block === "object" && block !== null && "text" in block && block.text === text
}

/** An image costs by its size in pixels, not by the length of its encoding: a middling one is assumed. */
const tokensOf = (value: object): number => {
  let images = 0
  const json = JSON.stringify(value, (key, item: unknown) => {
    if (key === "cache_control") return undefined
    if (key !== "data" || typeof item !== "string" || item.length < 64) return item
    images++
    return undefined
  })
  return estimate(json) + images * 1500
}
