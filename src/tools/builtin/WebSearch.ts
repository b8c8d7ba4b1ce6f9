/** Owns searching the web through the service that runs the model; where that has no search, there is no such tool. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ModelTable } from "../../cost/ModelTable.ts"
import { Model } from "../../model/Model.ts"
import { Host } from "../../platform/Host.ts"
import type { ContentBlock } from "../../protocol/Content.ts"
import { Controls } from "../../session/Controls.ts"
import * as SideQuery from "../../model/SideQuery.ts"
import * as Tool from "../Tool.ts"
import { Workspace } from "../Workspace.ts"
import { failure, type Services } from "./Source.ts"

const Domains = Schema.Array(Schema.String.check(Schema.isNonEmpty()))
const Input = Schema.Struct({
  query: Schema.String.check(Schema.isMinLength(2)).annotate({ description: "What to search for" }),
  allowed_domains: Schema.optionalKey(Domains.annotate({ description: "Only results from these domains" })),
  blocked_domains: Schema.optionalKey(Domains.annotate({ description: "No results from these domains" })),
})
type Input = typeof Input.Type

const Hit = Schema.Struct({ title: Schema.String, url: Schema.String })
const Found = Schema.Struct({ tool_use_id: Schema.String, content: Schema.Array(Hit) })
const Output = Schema.Struct({
  query: Schema.String,
  results: Schema.Array(Schema.Union([Found, Schema.String])),
  durationSeconds: Schema.Finite,
  searchCount: Schema.Finite,
})
type Output = typeof Output.Type

const description = `Searches the web and returns titles and links with a short account of what was found.
- Read a result with WebFetch. Name the sources you used, as links, in your answer.
- allowed_domains and blocked_domains cannot be combined.`

const maxUses = 8

/** Whether the service can search; `auto` finds out from who and where it is. */
export const ServiceSearch = Context.Reference<"auto" | "present" | "absent">("troupe/tools/WebSearch/ServiceSearch", {
  defaultValue: () => "auto",
})

/** How often each session has searched, for the limit that all its agents share. */
export const SearchCounts = Context.Reference<Map<string, number>>("troupe/tools/WebSearch/SearchCounts", {
  defaultValue: () => new Map(),
})

/** Anthropic's own address and Vertex search; Bedrock and most of Foundry do not, and of a gateway nobody knows. */
const canSearch = Effect.gen(function* () {
  const known = yield* ServiceSearch
  if (known !== "auto") return known === "present"
  const { env } = yield* Host
  const { provider } = yield* Model
  const table = yield* ModelTable
  const { model } = yield* (yield* Controls).current
  if (provider === "vertex") return table.resolve(model).known
  const base = env("ANTHROPIC_BASE_URL")
  const atHome = base === undefined || (URL.canParse(base) && new URL(base).hostname === "api.anthropic.com")
  return provider === "anthropic" && atHome && table.resolve(model).known
})

export const WebSearch = Tool.make<Input, Services, Output>({
  name: "WebSearch",
  description,
  input: Input,
  output: Output,
  readOnly: true,
  concurrencySafe: true,
  maxResultChars: 100_000,
  deferred: true,
  enabled: canSearch,
  summary: (input) => `WebSearch ${input.query}`,
  // Not a host that a rule could name: the service searches wherever it likes.
  effects: () => Effect.succeed({ connects: ["the web"] }),
  validate: (input) =>
    (input.allowed_domains ?? []).length > 0 && (input.blocked_domains ?? []).length > 0
      ? Effect.fail(failure("Pass allowed_domains or blocked_domains, not both."))
      : Effect.void,
  show: {
    result: ({ searchCount, durationSeconds }) => `Did ${searchCount} searches in ${durationSeconds.toFixed(1)} s`,
  },
  run: Effect.fnUntraced(function* (input) {
    const startedAt = yield* Clock.currentTimeMillis
    const { sessionId } = yield* Workspace
    const { env } = yield* Host
    const counts = yield* SearchCounts
    const most = positive(env("CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION")) ?? 200
    const before = counts.get(sessionId) ?? 0
    if (before >= most) {
      return {
        content: `[The limit of ${most} searches of this session is reached. Go on with what you have; if more is needed, ask the user to raise CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION.]`,
      }
    }
    counts.set(sessionId, before + 1)
    const { model } = yield* (yield* Controls).current
    const { blocks } = yield* SideQuery.ask({
      agent: "WebSearch",
      model,
      maxTokens: 8_192,
      system: "You search the web for somebody else. Search, then say in a few sentences what the results contain.",
      messages: [{ role: "user", content: `Search the web for: ${input.query}` }],
      serverTools: [
        {
          type: "web_search_20250305",
          name: "web_search",
          max_uses: maxUses,
          ...((input.allowed_domains ?? []).length > 0 && { allowed_domains: input.allowed_domains }),
          ...((input.blocked_domains ?? []).length > 0 && { blocked_domains: input.blocked_domains }),
        },
      ],
    }).pipe(Effect.mapError((error) => failure(error.message)))
    const results = resultsOf(blocks)
    const durationSeconds = ((yield* Clock.currentTimeMillis) - startedAt) / 1000
    const searchCount = results.filter((one) => typeof one !== "string").length
    return {
      content: said(input.query, results),
      structured: { query: input.query, results, durationSeconds, searchCount },
    }
  }),
})

const positive = (text: string | undefined): number | undefined => {
  const value = Number(text)
  return text !== undefined && Number.isInteger(value) && value > 0 ? value : undefined
}

const isResult = Schema.is(
  Schema.Struct({
    type: Schema.Literal("web_search_tool_result"),
    tool_use_id: Schema.String,
    content: Schema.Array(Hit),
  }),
)
const isRefusal = Schema.is(
  Schema.Struct({
    type: Schema.Literal("web_search_tool_result"),
    content: Schema.Struct({ error_code: Schema.String }),
  }),
)

/** What was found and what the model said about it, in order; neighbouring text is one piece. */
const resultsOf = (blocks: ReadonlyArray<ContentBlock>): Output["results"] => {
  const results: Array<Output["results"][number]> = []
  let words = ""
  const flush = () => {
    if (words.trim() !== "") results.push(words.trim())
    words = ""
  }
  for (const block of blocks) {
    if (block.type === "text") words += block.text
    else if (isResult(block)) {
      flush()
      const content = block.content.map(({ title, url }) => ({ title, url }))
      results.push({ tool_use_id: block.tool_use_id, content })
    } else if (isRefusal(block)) {
      flush()
      results.push(`The search failed: ${block.content.error_code}.`)
    }
  }
  flush()
  return results
}

const said = (query: string, results: Output["results"]): string =>
  [
    `Web search results for query: ${JSON.stringify(query)}`,
    ...(results.length === 0 ? ["Nothing was found."] : []),
    ...results.map((one) => {
      if (typeof one === "string") return one
      return one.content.length === 0 ? "No links found." : `Links: ${JSON.stringify(one.content)}`
    }),
    "Name the sources you use as markdown links.",
  ].join("\n\n")
