import { assert, describe, it } from "@effect/vitest"
import * as SdkMessages from "../../src/cli/SdkMessages.ts"
import * as SdkUsage from "../../src/cli/SdkUsage.ts"
import type { AssistantLine, Line } from "../../src/cli/SdkLine.ts"
import type { Event } from "../../src/protocol/Event.ts"
import { endings, reasons } from "../../src/protocol/Terminal.ts"
import * as Events from "./events.ts"

const fold = (partial = false) => {
  let n = 0
  const messages = SdkMessages.make({
    sessionId: "s1",
    partial,
    limitsOf: (model) => (model === "claude-x" ? { contextWindow: 200_000, maxOutput: 64_000 } : undefined),
  })
  const all = (events: ReadonlyArray<Event>): ReadonlyArray<Line> =>
    events.flatMap((event) => messages.apply(event, `id-${++n}`))
  return { messages, all }
}

const result = (events: ReadonlyArray<Event>) => {
  const line = fold().all(events).at(-1)
  if (line?.type !== "result") throw new Error("no result line")
  return line
}

describe("SdkMessages", () => {
  it("tells of hooks only where somebody wants to know", () => {
    const started = { hookId: "h1", hookEvent: "PreToolUse", name: "PreToolUse:Bash", what: "./guard.sh" }
    const ran = {
      source: "/s.json:3",
      kind: "command",
      outcome: "blocked",
      exitCode: 2,
      stderr: "no",
      durationMs: 4,
    } as const
    const events: ReadonlyArray<Event> = [
      { _tag: "HookStarted", ...started },
      { _tag: "HookRan", ...started, ...ran },
    ]
    assert.deepStrictEqual(fold().all(events), [])
    const messages = SdkMessages.make({ sessionId: "s1", partial: false, hooks: true, limitsOf: () => undefined })
    const common = {
      type: "system",
      hook_id: "h1",
      hook_name: "PreToolUse:Bash",
      hook_event: "PreToolUse",
      session_id: "s1",
    } as const
    assert.deepStrictEqual(
      events.flatMap((event) => messages.apply(event, "u")),
      [
        { ...common, subtype: "hook_started", uuid: "u" },
        {
          ...common,
          subtype: "hook_response",
          output: "no",
          stdout: "",
          stderr: "no",
          exit_code: 2,
          outcome: "error",
          uuid: "u",
        },
      ],
    )
  })

  it("opens with who, where and what", () => {
    const line = fold().messages.init(
      {
        cwd: "/w",
        tools: ["Read"],
        model: "claude-x",
        permissionMode: "plan",
        slash_commands: [],
        agents: [],
        skills: [],
        output_style: "default",
        apiKeySource: "none",
        version: "1.0.0",
      },
      "id-0",
    )
    assert.deepStrictEqual(line, {
      type: "system",
      subtype: "init",
      cwd: "/w",
      tools: ["Read"],
      model: "claude-x",
      permissionMode: "plan",
      apiKeySource: "none",
      mcp_servers: [],
      slash_commands: [],
      agents: [],
      skills: [],
      plugins: [],
      output_style: "default",
      claude_code_version: "1.0.0",
      capabilities: [],
      session_id: "s1",
      uuid: "id-0",
    })
  })

  it("tells a turn with a tool as assistant, user and result lines", () => {
    const lines = fold().all([
      Events.prompted(),
      Events.started,
      Events.delta("hello"),
      Events.block({ type: "text", text: "hello" }),
      Events.call("t1", "Read", { file_path: "/w/a" }),
      Events.replied({ stopReason: "tool_use" }),
      Events.toolStarted("t1", "Read", { file_path: "/w/a" }),
      Events.toolEnded("t1", "Read", { content: "text of a", structured: { type: "text" } }),
      Events.replied(),
      Events.ended({ costUsd: 0.5 }),
    ])
    const message: Omit<AssistantLine["message"], "content"> = {
      ...SdkUsage.unfinished,
      id: "m1",
      model: "claude-x",
      usage: SdkUsage.ofReply({ input_tokens: 100, output_tokens: 1 }),
    }
    const common = { parent_tool_use_id: null, session_id: "s1" }
    assert.deepStrictEqual(lines, [
      {
        type: "assistant",
        message: { ...message, content: [{ type: "text", text: "hello" }] },
        ...common,
        uuid: "u-block-0",
      },
      {
        type: "assistant",
        message: {
          ...message,
          content: [{ type: "tool_use", id: "t1", name: "Read", input: { file_path: "/w/a" } }],
        },
        ...common,
        uuid: "u-block-1",
      },
      {
        type: "user",
        message: { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "text of a" }] },
        tool_use_result: { type: "text" },
        ...common,
        uuid: "u-t1",
      },
      {
        type: "result",
        subtype: "success",
        is_error: false,
        result: "all done",
        stop_reason: "end_turn",
        terminal_reason: "completed",
        num_turns: 2,
        duration_ms: 1500,
        duration_api_ms: 900,
        total_cost_usd: 0.5,
        usage: {
          input_tokens: 100,
          output_tokens: 20,
          cache_creation_input_tokens: 50,
          cache_read_input_tokens: 400,
          cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 10 },
          server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
          service_tier: "standard",
          speed: "standard",
          inference_geo: "",
          iterations: [],
          output_tokens_details: { thinking_tokens: 0 },
          fallback_credit: null,
        },
        modelUsage: {
          "claude-x": {
            inputTokens: 200,
            outputTokens: 40,
            cacheReadInputTokens: 800,
            cacheCreationInputTokens: 100,
            webSearchRequests: 0,
            costUSD: 0.5,
            contextWindow: 200_000,
            maxOutputTokens: 64_000,
          },
        },
        permission_denials: [],
        session_id: "s1",
        uuid: "id-10",
      },
    ])
  })

  it("repeats the stream only when asked, and never its pings", () => {
    const events = [Events.started, Events.chunk({ type: "ping" }), Events.delta("a")]
    assert.deepStrictEqual(fold().all(events), [])
    const lines = fold(true).all(events)
    assert.deepStrictEqual(
      lines.map((line) => line.type === "stream_event" && line.event.type),
      ["message_start", "content_block_delta"],
    )
  })

  it("marks what a tool could not do as an error", () => {
    for (const outcome of ["failed", "denied", "cancelled", "unknown"] as const) {
      const [line] = fold().all([Events.toolEnded("t1", "Bash", { outcome })])
      assert.deepInclude(line, { type: "user" })
      assert.include(JSON.stringify(line), '"is_error":true')
    }
  })

  it("names denials with their input, once as a line and once in the result", () => {
    const lines = fold().all([Events.call("t1", "Bash", { command: "rm x" }), Events.denied, Events.ended()])
    assert.deepInclude(lines[1], {
      type: "system",
      subtype: "permission_denied",
      tool_name: "Bash",
      decision_reason: "nobody is there",
    })
    const denial = { tool_name: "Bash", tool_use_id: "t1", tool_input: { command: "rm x" } }
    assert.deepInclude(lines[2], { permission_denials: [denial] })
  })

  it("tells of retries with the status, or null where there was none", () => {
    const waiting = {
      _tag: "RetryWaiting",
      requestId: "r1",
      attempt: 2,
      maxAttempts: 10,
      delayMs: 800,
      reason: "overloaded",
    } as const
    const [first, second] = fold().all([{ ...waiting, status: 529 }, waiting])
    assert.deepInclude(first, {
      subtype: "api_retry",
      attempt: 2,
      max_retries: 10,
      retry_delay_ms: 800,
      error_status: 529,
    })
    assert.deepInclude(second, { error_status: null, error: "overloaded" })
  })

  it("tells of a changed permission mode, not of the first one", () => {
    const controls = { _tag: "ControlsChanged", model: "m", by: "x" } as const
    const lines = fold().all([
      { ...controls, permissionMode: "default" },
      { ...controls, model: "n", permissionMode: "default" },
      { ...controls, permissionMode: "plan" },
    ])
    assert.lengthOf(lines, 1)
    assert.deepInclude(lines[0], { subtype: "status", permissionMode: "plan" })
  })

  it("repeats the progress of a tool at most once a second", () => {
    const at = (elapsedMs: number) =>
      ({ _tag: "ToolProgressed", toolUseId: "t1", tool: "Bash", text: "…", elapsedMs }) as const
    const lines = fold().all([at(200), at(1000), at(1500), at(2100)])
    assert.deepStrictEqual(
      lines.map((line) => line.type === "tool_progress" && line.elapsed_time_seconds),
      [1, 2.1],
    )
  })

  it("gives every way to end its subtype, and the reason in words where it is an error", () => {
    for (const reason of reasons) {
      const line = result([Events.ended({ terminal: { reason } })])
      assert.strictEqual(line.subtype, endings[reason].subtype)
      assert.strictEqual(line.terminal_reason, reason)
      assert.strictEqual(line.is_error, line.subtype !== "success")
      assert.strictEqual(line.errors?.[0] === undefined, line.subtype === "success")
    }
    const detailed = result([Events.ended({ terminal: { reason: "api_error", detail: "the key is wrong" } })])
    assert.deepStrictEqual(detailed.errors, ["the key is wrong"])
  })

  it("carries structured output", () => {
    assert.deepStrictEqual(result([Events.ended({ structuredOutput: { a: 1 } })]).structured_output, { a: 1 })
    assert.notProperty(result([Events.ended()]), "structured_output")
  })

  it("adds the cost up over prompts, and starts denials and stop reason anew", () => {
    const { all } = fold()
    all([Events.denied, Events.replied(), Events.ended()])
    const second = all([Events.ended({ costUsd: 0.5 })])[0]
    assert.deepInclude(second, { total_cost_usd: 0.75, permission_denials: [], stop_reason: null })
  })

  it("ends a prompt that broke off", () => {
    const line = fold().messages.failed({ reason: "session_failed", detail: "the disk is full" }, "id")
    assert.deepInclude(line, { is_error: true, terminal_reason: "session_failed", errors: ["the disk is full"] })
  })

  it("has no price for a model without one", () => {
    assert.strictEqual(result([Events.replied({ costUsd: null }), Events.ended()]).modelUsage["claude-x"]?.costUSD, 0)
  })
})
