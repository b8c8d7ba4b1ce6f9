/** Owns how `troupe context cache` shows what a session's requests found in the service's prompt cache. */
import * as DateTime from "effect/DateTime"
import { promptTokens, type Usage } from "../protocol/Usage.ts"
import type { Answered } from "../session/CacheLog.ts"
import { visible, visibleJson } from "./Reveal.ts"

export interface AgentCache {
  readonly agent: string
  readonly requests: ReadonlyArray<Answered>
}

interface Sum {
  readonly requests: number
  readonly misses: number
  readonly promptTokens: number
  readonly readTokens: number
  readonly writtenTokens: number
  readonly uncachedTokens: number
  /** Of all that was sent; `null` where nothing was. */
  readonly hitRate: number | null
}

const sumOf = (requests: ReadonlyArray<Answered>): Sum => {
  const of = (figure: (usage: Usage) => number) => requests.reduce((sum, { usage }) => sum + figure(usage), 0)
  const [prompt, read] = [of(promptTokens), of((usage) => usage.cache_read_input_tokens)]
  return {
    requests: requests.length,
    misses: requests.filter(({ miss }) => miss !== undefined).length,
    promptTokens: prompt,
    readTokens: read,
    writtenTokens: of((usage) => usage.cache_creation_input_tokens),
    uncachedTokens: of((usage) => usage.input_tokens),
    hitRate: prompt === 0 ? null : read / prompt,
  }
}

const row = ({ at, miss, model, requestId, ttl, usage }: Answered) => ({
  requestId,
  at: DateTime.formatIso(DateTime.makeUnsafe(at)),
  model,
  promptTokens: promptTokens(usage),
  readTokens: usage.cache_read_input_tokens,
  writtenTokens: usage.cache_creation_input_tokens,
  uncachedTokens: usage.input_tokens,
  hitRate: promptTokens(usage) === 0 ? null : usage.cache_read_input_tokens / promptTokens(usage),
  ttl: ttl ?? null,
  miss: miss === undefined ? null : (({ _tag, requestId: _id, ...rest }) => rest)(miss),
})

export const shown = (session: string, agents: ReadonlyArray<AgentCache>, json: boolean): string => {
  const total = sumOf(agents.flatMap(({ requests }) => requests))
  if (json) {
    const value = {
      session,
      ...total,
      agents: agents.map(({ agent, requests }) => ({ agent, ...sumOf(requests), rows: requests.map(row) })),
    }
    return `${visibleJson(JSON.stringify(value, undefined, 2))}\n`
  }
  if (total.requests === 0) return `No request of session ${session} has been answered yet.\n`
  const parts = agents.flatMap(({ agent, requests }) => [
    `${agent}: ${inWords(sumOf(requests))}`,
    ...table([head, ...requests.map((one, index) => cells(one, index + 1))]),
    ...requests.flatMap(({ miss }, index) =>
      miss === undefined
        ? []
        : [
            `  ${index + 1}: ${miss.cause}; ${grouped(miss.readTokens)} of ${grouped(miss.expectedTokens)} tokens were read. ${miss.detail}`,
          ],
    ),
    "",
  ])
  return visible([...parts, `session ${session}: ${inWords(total)}`, ""].join("\n"))
}

const head = ["", "model", "input", "read", "written", "hit", "kept", ""]

const cells = ({ miss, model, ttl, usage }: Answered, number: number): ReadonlyArray<string> => [
  String(number),
  model,
  grouped(promptTokens(usage)),
  grouped(usage.cache_read_input_tokens),
  grouped(usage.cache_creation_input_tokens),
  percent(usage.cache_read_input_tokens, promptTokens(usage)),
  ttl === undefined ? "-" : ttl.head === ttl.messages ? ttl.head : `${ttl.head}/${ttl.messages}`,
  miss === undefined ? "" : `missed: ${miss.cause}`,
]

const inWords = ({ misses, promptTokens: prompt, readTokens: read, requests }: Sum): string =>
  `${grouped(requests)} ${requests === 1 ? "request" : "requests"}, ${percent(read, prompt)} of ${grouped(prompt)} tokens read from the cache` +
  (misses === 0 ? ", nothing missed" : `, ${grouped(misses)} missed`)

const percent = (part: number, whole: number): string => (whole === 0 ? "-" : `${Math.round((part / whole) * 100)} %`)

const grouped = (count: number): string => String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",")

/** Figures to the right, the model and what is said at the end to the left. */
const table = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widths = head.map((_, column) => Math.max(...rows.map((cell) => cell[column]?.length ?? 0)))
  return rows.map((line) =>
    line
      .map((cell, column) =>
        column === 1 || column === head.length - 1
          ? cell.padEnd(widths[column] ?? 0)
          : cell.padStart(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  )
}
