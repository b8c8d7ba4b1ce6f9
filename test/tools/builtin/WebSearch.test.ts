import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { ContentBlock } from "../../../src/protocol/Content.ts"
import { text } from "../../../src/protocol/Content.ts"
import { SearchCounts, WebSearch } from "../../../src/tools/builtin/WebSearch.ts"
import { call, inWorkspace, refusal, said } from "./kit.ts"
import { sideModel } from "./sideModel.ts"

const result = (content: unknown) =>
  ({ type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content }) as unknown as ContentBlock

describe("WebSearch", () => {
  const found = sideModel(() => [
    text("I search."),
    { type: "server_tool_use" },
    result([{ type: "web_search_result", title: "Effect", url: "https://effect.website", encrypted_content: "…" }]),
    text("Effect is "),
    text("a library."),
  ])

  it.live("asks the service to search and returns links and words", () =>
    inWorkspace(
      () =>
        Effect.gen(function* () {
          const output = yield* call(WebSearch, { query: "effect ts", allowed_domains: ["effect.website"] })
          assert.strictEqual(
            output.content,
            [
              'Web search results for query: "effect ts"',
              "I search.",
              'Links: [{"title":"Effect","url":"https://effect.website"}]',
              "Effect is a library.",
              "Name the sources you use as markdown links.",
            ].join("\n\n"),
          )
          assert.deepInclude(output.structured, { query: "effect ts", searchCount: 1 })
          assert.deepStrictEqual(found.asked.at(-1)?.serverTools, [
            { type: "web_search_20250305", name: "web_search", max_uses: 8, allowed_domains: ["effect.website"] },
          ])
        }),
      { model: found.service },
    ),
  )

  it.live("says what failed, and refuses what cannot be searched", () =>
    Effect.gen(function* () {
      const limited = sideModel(() => [
        result({ type: "web_search_tool_result_error", error_code: "max_uses_exceeded" }),
      ])
      yield* inWorkspace(
        () =>
          Effect.map(said(WebSearch, { query: "xy" }), (words) =>
            assert.match(words, /search failed: max_uses_exceeded/),
          ),
        { model: limited.service },
      )
      yield* inWorkspace(
        () =>
          Effect.gen(function* () {
            assert.match(yield* refusal(WebSearch, { query: "xy" }), /overloaded/)
            assert.match(yield* refusal(WebSearch, { query: "x" }), /query/)
            const both = { query: "xy", allowed_domains: ["a"], blocked_domains: ["b"] }
            assert.match(yield* refusal(WebSearch, both), /not both/)
          }),
        { model: sideModel(() => "overloaded").service },
      )
    }),
  )

  it.live("stops searching at the session's limit without calling it an error", () =>
    inWorkspace(
      () =>
        Effect.gen(function* () {
          yield* call(WebSearch, { query: "xy" })
          assert.match(yield* said(WebSearch, { query: "xy" }), /limit of 1 searches/)
        }).pipe(Effect.provideService(SearchCounts, new Map())),
      { model: found.service, env: { CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION: "1" } },
    ),
  )

  it.live("is there only where the service can search", () =>
    Effect.gen(function* () {
      const offered = (provider: string, env: Record<string, string> = {}, model = "sonnet") =>
        inWorkspace(() => WebSearch.enabled, {
          model: sideModel(() => [], provider).service,
          env,
          controls: { model, permissionMode: "default" },
        })
      assert.isTrue(yield* offered("anthropic"))
      assert.isTrue(yield* offered("anthropic", { ANTHROPIC_BASE_URL: "https://api.anthropic.com/" }))
      assert.isFalse(yield* offered("anthropic", { ANTHROPIC_BASE_URL: "http://127.0.0.1:4000" }))
      assert.isFalse(yield* offered("anthropic", {}, "somebody-elses-model"))
      assert.isTrue(yield* offered("vertex"))
      for (const provider of ["bedrock", "foundry", "scripted"]) assert.isFalse(yield* offered(provider), provider)
    }),
  )
})
