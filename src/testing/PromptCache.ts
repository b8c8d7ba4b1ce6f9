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

interface Segment {
  /** Without cache marks: those move from request to request and do not change the content. */
  readonly json: string
  readonly tokens: number
  readonly mark: "5m" | "1h" | undefined
}

export interface PromptCache {
  readonly read: (body: Pick<ApiRequest, "messages" | "system" | "tools" | "model" | "cache_control">) => PromptTokens
}

// Enough for a lead and its parallel children to find their own prefixes again.
const remembered = 32

/**
 * `marks`: only what lies before a cache breakpoint is cached, as with the API. `always`: the whole prompt is; for
 * in-process requests, where the provider that would place the breakpoints has not seen them.
 */
export const make = (mode: "marks" | "always"): PromptCache => {
  const written = new Map<string, Array<ReadonlyArray<Segment>>>()
  const known = new WeakMap<object, Segment>()

  const segment = (value: object): Segment => {
    const before = known.get(value)
    if (before !== undefined) return before
    const made = makeSegment(value)
    known.set(value, made)
    return made
  }

  return {
    read: (body) => {
      const segments = [
        ...(body.tools === undefined || body.tools.length === 0 ? [] : [segment(body.tools)]),
        ...systemBlocks(body.system).map(segment),
        ...body.messages.map(segment),
      ]
      const automatic = mode === "always" || (body.cache_control ?? undefined) !== undefined
      const end = automatic ? segments.length : segments.findLastIndex((part) => part.mark !== undefined) + 1
      const earlier = written.get(body.model) ?? []
      const common = Math.min(end, Math.max(0, ...earlier.map((prefix) => commonLength(prefix, segments))))
      if (end > 0) written.set(body.model, [segments.slice(0, end), ...earlier].slice(0, remembered))
      return {
        cacheRead: sum(segments, 0, common),
        cacheWrite: sum(segments, common, end),
        input: sum(segments, end, segments.length),
        ttl: segments[end - 1]?.mark ?? "5m",
        total: sum(segments, 0, segments.length),
      }
    },
  }
}

export const estimate = (text: string): number => (text === "" ? 0 : estimateTokenCount(text))

const systemBlocks = (system: ApiRequest["system"]): ReadonlyArray<object> =>
  system === undefined || system === "" ? [] : typeof system === "string" ? [{ text: system }] : system

const sum = (segments: ReadonlyArray<Segment>, from: number, to: number): number => {
  let total = 0
  for (const part of segments.slice(from, to)) total += part.tokens
  return total
}

const commonLength = (a: ReadonlyArray<Segment>, b: ReadonlyArray<Segment>): number => {
  let length = 0
  while (length < a.length && length < b.length && a[length]?.json === b[length]?.json) length++
  return length
}

const makeSegment = (value: object): Segment => {
  const plain = JSON.stringify(value)
  const marked = plain.includes('"cache_control"')
  const media = plain.includes('"base64"')
  if (!marked && !media) return { json: plain, tokens: estimate(plain), mark: undefined }
  let mark: Segment["mark"]
  let images = 0
  const strip = (data: boolean) =>
    JSON.stringify(value, (key, item: unknown) => {
      if (key === "cache_control" && typeof item === "object" && item !== null) {
        mark = "ttl" in item && item.ttl === "1h" ? "1h" : "5m"
        return undefined
      }
      if (data && key === "data" && typeof item === "string") {
        images++
        return undefined
      }
      return item
    })
  // An image costs by its size in pixels, not by the length of its encoding: a middling one is assumed.
  const json = strip(false)
  return { json, tokens: estimate(media ? strip(true) : json) + images * 1500, mark }
}
