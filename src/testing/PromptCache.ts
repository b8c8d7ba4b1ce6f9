/**
 * Owns the token figures of scripted replies: an estimate of the prompt, and a simulated prompt cache.
 *
 * Like the API's, the cache holds prefixes in the order tools, system, messages, block by block; it is written at breakpoints, and read
 * from the longest entry that is at one or at most twenty blocks before it. Entries expire, and a prompt that is too short for the model
 * leaves none. What thinking, tools or effort a request asks for is a part of what its messages are found by.
 */
import { estimateTokenCount } from "tokenx"
import * as ModelTable from "../cost/ModelTable.ts"
import type { ApiRequest } from "./ApiRequest.ts"

export interface PromptTokens {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  /** How much of what is written is kept for an hour. */
  readonly cacheWriteHour: number
  readonly total: number
}

type Prompt = Pick<
  ApiRequest,
  "messages" | "system" | "tools" | "model" | "cache_control" | "thinking" | "tool_choice" | "output_config"
>

export interface PromptCache {
  /** `now` in milliseconds: an entry that nobody read for its time is gone. */
  readonly read: (body: Prompt, now?: number) => PromptTokens
  /** The size of a prompt; the cache is not used and not changed. */
  readonly count: (body: Prompt) => number
}

type Ttl = "5m" | "1h"

/**
 * One block of a prompt after those before it. A tree of them knows every prompt seen, so a block is measured once, and
 * a request that repeats a long history costs a comparison, not an estimate.
 */
interface Node {
  readonly value: object
  readonly tokens: number
  /** An entry ends here, and until when. */
  expires: number
  readonly next: Array<Node>
}

// A session of a thousand turns has a few thousand; beyond this many the cache starts afresh.
const maximum = 100_000
const lookback = 20
const lifetimes = { "5m": 5 * 60_000, "1h": 60 * 60_000 } as const

const models = ModelTable.make()

/**
 * `marks`: only what lies before a cache breakpoint is cached, as with the API. `always`: the whole prompt is, however short and for
 * ever; for in-process requests, where the provider that would place the breakpoints has not seen them.
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
        node = { value: part, tokens: tokensOf(part), expires: -1, next: [] }
        level.push(node)
        nodes++
      }
      path.push(node)
      level = node.next
    }
    return path
  }

  /** What the whole prompt is, and everything before its end with it. */
  const always = (path: ReadonlyArray<Node>): PromptTokens => {
    const known = path.findIndex((node) => node.expires < 0)
    const common = known < 0 ? path.length : known
    for (const node of path) node.expires = Number.MAX_SAFE_INTEGER
    const total = sum(path, 0, path.length)
    const cacheRead = sum(path, 0, common)
    return { cacheRead, cacheWrite: total - cacheRead, cacheWriteHour: 0, input: 0, total }
  }

  const read = (body: Prompt, now: number): PromptTokens => {
    const parts = partsOf(body)
    const path = find(body.model, parts)
    if (mode === "always") return always(path)
    const least = models.resolve(body.model).spec.minimumCacheTokens
    const marks = parts.flatMap((part, index) => {
      const ttl = markOf(part)
      return ttl === undefined || sum(path, 0, index + 1) < least ? [] : [{ index, ttl }]
    })
    if ((body.cache_control ?? undefined) !== undefined) marks.push({ index: path.length - 1, ttl: "5m" })
    const hits = marks.map(({ index }) =>
      path.findLastIndex((node, at) => at <= index && at > index - lookback && node.expires >= now),
    )
    const hit = Math.max(-1, ...hits)
    const end = marks.at(-1)?.index ?? -1
    const hour = Math.max(-1, ...marks.filter(({ ttl }) => ttl === "1h").map(({ index }) => index))
    for (const [at, { index, ttl }] of marks.entries()) {
      const entries = index > hit ? [index] : [index, hits[at] ?? index]
      for (const entry of entries) {
        const node = path[entry]
        // One that was not there is written only where something new is written.
        if (node !== undefined && (entry > hit || node.expires >= now)) node.expires = now + lifetimes[ttl]
      }
    }
    return {
      cacheRead: sum(path, 0, hit + 1),
      cacheWrite: sum(path, hit + 1, end + 1),
      cacheWriteHour: sum(path, hit + 1, hour + 1),
      input: sum(path, Math.max(hit, end) + 1, path.length),
      total: sum(path, 0, path.length),
    }
  }

  return {
    read: (body, now = 0) => read(body, now),
    count: (body) => {
      const path = find(body.model, partsOf(body))
      return sum(path, 0, path.length)
    },
  }
}

export const estimate = (text: string): number => (text === "" ? 0 : estimateTokenCount(text))

/** Block by block. A deferred tool is no part of the prompt. */
const partsOf = (body: Prompt): ReadonlyArray<object> => [
  ...(body.tools ?? []).filter((tool) => tool["defer_loading"] !== true),
  ...systemBlocks(body.system),
  { controls: [body.thinking ?? null, body.tool_choice ?? null, body.output_config ?? null] },
  ...body.messages.flatMap(({ content, role }) =>
    (typeof content === "string" ? [{ type: "text", text: content }] : content).map((block) => ({ role, block })),
  ),
]

const systemBlocks = (system: ApiRequest["system"]): ReadonlyArray<object> =>
  system === undefined || system === "" ? [] : typeof system === "string" ? [{ type: "text", text: system }] : system

const sum = (path: ReadonlyArray<Node>, from: number, to: number): number => {
  let total = 0
  for (let index = from; index < to; index++) total += path[index]?.tokens ?? 0
  return total
}

const markOf = (part: object): Ttl | undefined => {
  const block: unknown = "block" in part ? part.block : part
  if (typeof block !== "object" || block === null || !("cache_control" in block)) return undefined
  const control: unknown = block.cache_control
  if (typeof control !== "object" || control === null) return undefined
  return "ttl" in control && control.ttl === "1h" ? "1h" : "5m"
}

/** Breakpoints move from request to request and do not change the content. */
const same = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
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

/** An image costs by its size in pixels, not by the length of its encoding: a middling one is assumed. */
const tokensOf = (value: object): number => {
  if ("controls" in value) return 0
  let images = 0
  const json = JSON.stringify(value, (key, item: unknown) => {
    if (key === "cache_control") return undefined
    if (key !== "data" || typeof item !== "string" || item.length < 64) return item
    images++
    return undefined
  })
  return estimate(json) + images * 1500
}
