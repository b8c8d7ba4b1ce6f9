/** The real Claude Agent SDK drives the built command against the scripted model: what its users do must just work. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { linesOf, offered, survivors, systemOf, toldLast } from "../e2e/world.ts"
import * as Program from "../../src/cli/Program.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { conversation, flags, type Message, type Options, type Seen, tapped, typeErrors } from "./client.ts"
import { bypass, gather, hello, resultOf, scene, start } from "./scene.ts"

const isCall = (message: Message): boolean => message.type === "assistant" && /"tool_use"/.test(JSON.stringify(message))
const waits = "until [ -e go ]; do sleep 0.02; done"

describe.concurrent("a query", () => {
  scene(
    "streams its answer in pieces and as a whole",
    { rules: [{ reply: "one two three", pace: { chunk: 4 } }] },
    async (made) => {
      const all = await gather(start(made, "hi", { includePartialMessages: true }))
      const pieces = all.map((message) => /"text_delta","text":"([^"]*)"/.exec(JSON.stringify(message))?.[1] ?? "")
      assert.strictEqual(pieces.join(""), "one two three")
      assert.strictEqual(all[0]?.subtype, "init")
      assert.include(resultOf(all), { subtype: "success", is_error: false, result: "one two three", num_turns: 1 })
    },
  )

  scene(
    "hears a second message during a turn, between two rounds of it",
    {
      turns: [{ reply: [{ tool: "Bash", input: { command: waits } }] }, { reply: "Both heard." }],
    },
    async (made) => {
      const talk = conversation()
      talk.say("first")
      const all = await gather(start(made, talk.messages, bypass), (message) => {
        if (isCall(message)) {
          talk.say("second")
          made.write("go", "")
        }
        if (message.type === "result") talk.end()
      })
      assert.strictEqual(all.filter(({ type }) => type === "result").length, 1)
      assert.strictEqual(resultOf(all)["result"], "Both heard.")
      const requests = await Effect.runPromise(made.requests)
      assert.match(toldLast(requests[1]), /tool_result.*second/)
    },
  )

  scene(
    "goes on with a second message after the result",
    { turns: [{ reply: "First." }, { reply: "Second." }] },
    async (made) => {
      const talk = conversation()
      talk.say("one")
      const results: Array<unknown> = []
      await gather(start(made, talk.messages), (message) => {
        if (message.type !== "result") return
        results.push(message["result"])
        if (results.length === 1) talk.say("two")
        else talk.end()
      })
      assert.deepStrictEqual(results, ["First.", "Second."])
    },
  )

  scene(
    "whose messages were all sent at once gets an answer to each, with a callback to ask",
    {
      rules: [
        { when: { tool: {} }, reply: "Done." },
        {
          when: { prompt: { matches: "^(?<file>.)$" } },
          reply: [{ tool: "Write", input: { file_path: "${file}.txt", content: "x" } }],
        },
      ],
    },
    async (made) => {
      const talk = conversation()
      talk.say("a")
      talk.say("b", { priority: "later" })
      talk.end()
      const asked: Array<unknown> = []
      const all = await gather(
        start(made, talk.messages, {
          canUseTool: async (_tool, input) => {
            asked.push(input["file_path"])
            return { behavior: "allow", updatedInput: input }
          },
        }),
      )
      assert.deepStrictEqual(asked, ["a.txt", "b.txt"])
      assert.strictEqual(all.filter(({ type }) => type === "result").length, 2)
      assert.isTrue(fs.existsSync(path.join(made.work, "b.txt")))
    },
  )

  scene(
    "is interrupted, and goes on",
    {
      rules: [
        { when: { prompt: { equals: "continue" } }, reply: "I go on." },
        { reply: [{ tool: "Bash", input: { command: waits } }] },
      ],
    },
    async (made) => {
      const talk = conversation()
      talk.say("hang")
      const results: Array<Message> = []
      const query = start(made, talk.messages, bypass)
      await gather(query, async (message) => {
        if (isCall(message)) assert.deepStrictEqual(await query.interrupt(), { still_queued: [] })
        if (message.type !== "result") return
        results.push(message)
        if (results.length === 1) talk.say("continue")
        else talk.end()
      })
      assert.include(results[0], { subtype: "error_during_execution", is_error: true })
      assert.include(results[1], { subtype: "success", result: "I go on." })
    },
  )

  scene(
    "changes its model and its permission mode on the way",
    {
      rules: [
        { when: { prompt: { equals: "write" }, tool: {} }, reply: "Written." },
        {
          when: { prompt: { equals: "write" } },
          reply: [{ tool: "Write", input: { file_path: "a.txt", content: "x" } }],
        },
        { reply: "Hello." },
      ],
    },
    async (made) => {
      const talk = conversation()
      talk.say("hi")
      let results = 0
      const query = start(made, talk.messages, { model: "sonnet" })
      const all = await gather(query, async (message) => {
        if (message.type !== "result") return
        if (++results === 2) return talk.end()
        await query.setModel("opus")
        await query.setPermissionMode("acceptEdits")
        await query.setMaxThinkingTokens(1000)
        talk.say("write")
      })
      const models = (await Effect.runPromise(made.requests)).map(({ body }) => body.model)
      assert.match(models[0] ?? "", /^claude-sonnet-/)
      assert.match(models[1] ?? "", /^claude-opus-/)
      assert.strictEqual(made.read("a.txt"), "x")
      const inits = all.filter(({ subtype }) => subtype === "init")
      assert.deepStrictEqual(
        inits.map((line) => line["permissionMode"]),
        ["default", "acceptEdits"],
      )
      await query.setModel().then(
        () => assert.fail("the query is over"),
        () => undefined,
      )
    },
  )

  scene("is resumed, continued and forked", { rules: [{ reply: "Hello." }] }, async (made) => {
    const first = resultOf(await gather(start(made, "one")))
    const id = String(first["session_id"])
    const resumed = resultOf(await gather(start(made, "two", { resume: id })))
    const continued = resultOf(await gather(start(made, "three", { continue: true })))
    const forked = resultOf(await gather(start(made, "four", { resume: id, forkSession: true })))
    assert.strictEqual(resumed["session_id"], id)
    assert.strictEqual(continued["session_id"], id)
    assert.notStrictEqual(forked["session_id"], id)
    const last = JSON.stringify((await Effect.runPromise(made.requests)).at(-1)?.body.messages)
    assert.match(last, /one.*two.*three.*four/)
    const named = "11111111-2222-4333-8444-555555555555"
    const own = resultOf(await gather(start(made, "five", { sessionId: named })))
    assert.strictEqual(own["session_id"], named)
  })

  scene(
    "answers as its output format asks",
    { turns: [{ reply: '{"answer":"x"}' }, { reply: '{"answer":42}' }] },
    async (made) => {
      const schema = { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] }
      const all = await gather(start(made, "hi", { outputFormat: { type: "json_schema", schema } }))
      assert.deepStrictEqual(resultOf(all)["structured_output"], { answer: 42 })
    },
  )

  scene("says what it offers", hello, async (made) => {
    const query = start(made, "hi")
    assert.include(
      (await query.supportedModels()).map(({ value }) => value),
      "sonnet",
    )
    assert.isArray(await query.supportedCommands())
    assert.isArray(await query.mcpServerStatus())
    assert.include(await query.accountInfo(), { apiKeySource: "ANTHROPIC_API_KEY" })
    await gather(query)
  })

  scene("takes its directory, environment and system prompt", hello, async (made) => {
    const inner = path.join(made.work, "inner")
    fs.mkdirSync(inner)
    const env = { ...made.env, ANTHROPIC_MODEL: "haiku" }
    await gather(start(made, "hi", { systemPrompt: "You are a teapot.", cwd: inner, env }))
    await gather(start(made, "hi", { systemPrompt: { type: "preset", preset: "claude_code", append: "Rhyme." } }))
    await gather(start(made, "hi", { tools: ["Read"] }))
    const [own, preset, none] = await Effect.runPromise(made.requests)
    assert.match(own?.body.model ?? "", /^claude-haiku-/)
    assert.match(systemOf(own), /You are a teapot.*inner/)
    assert.notMatch(systemOf(own), /You are Troupe/)
    assert.match(systemOf(preset), /You are Troupe.*Rhyme\./)
    assert.match(systemOf(none), /You are Troupe/)
    assert.deepStrictEqual(offered(none), ["Read"])
  })

  scene("takes what the client can say over stdin instead of the command line", hello, async (made) => {
    const disallowed = { disallowedTools: ["Bash"], disallowedToolsDelivery: "initialize" }
    const servers = { mcpServers: { one: { command: "true" } }, mcpServersDelivery: "initialize" }
    const plugins = { plugins: [{ type: "local", path: made.work }], pluginDelivery: "initialize" }
    assert.strictEqual(
      resultOf(await gather(start(made, "hi", { ...disallowed, ...servers, ...plugins })))["is_error"],
      false,
    )
    assert.notInclude(offered((await Effect.runPromise(made.requests))[0]), "Bash")
  })

  scene("that relies on what we do not do yet is ended by the client, not run without it", hello, async (made) => {
    const hooks = { PreToolUse: [{ hooks: [async () => ({})], onFailure: "block" }] }
    for (const options of [{ settings: { model: "opus" }, settingsDelivery: "initialize" }, { hooks }]) {
      const error = await gather(start(made, "hi", options)).then(
        () => "no error",
        (failure: unknown) => String(failure),
      )
      assert.match(error, /did not confirm the settings|does not honor onFailure/)
    }
    assert.deepStrictEqual(await Effect.runPromise(made.requests), [])
  })

  scene("takes every option of the client, and says which ones have no effect yet", hello, async (made) => {
    let said = ""
    const all = await gather(
      start(made, "hi", {
        additionalDirectories: [made.directory],
        agents: { helper: { description: "d", prompt: "p" } },
        allowedTools: ["Read"],
        betas: ["context-1m-2025-08-07"],
        disallowedTools: ["WebSearch"],
        effort: "high",
        fallbackModel: "haiku",
        hooks: { PreToolUse: [{ matcher: "Bash", hooks: [async () => ({})] }] },
        includeHookEvents: true,
        maxBudgetUsd: 1,
        maxThinkingTokens: 2000,
        maxTurns: 3,
        mcpServers: { one: { command: "true" } },
        model: "sonnet",
        permissionMode: "default",
        permissionPrompts: "none",
        persistSession: false,
        plugins: [{ type: "local", path: made.work }],
        settings: { model: "sonnet" },
        strictMcpConfig: true,
        taskBudget: { total: 1000 },
        stderr: (text: string) => (said += text),
      }),
    )
    assert.strictEqual(resultOf(all)["subtype"], "success", said)
    for (const flag of ["--max-thinking-tokens", "--betas", "--mcp-config", "--plugin-dir", "--task-budget"]) {
      assert.strictEqual(said.split(`${flag} has no effect yet.`).length, 2, `${flag}: ${said}`)
    }
    assert.notMatch(said, /(hooks|agents) given in initialize have no effect/)
  })
})

describe.concurrent("a result that is an error", () => {
  const loops: Playbook = { rules: [{ reply: [{ tool: "Glob", input: { pattern: "*" } }] }] }

  scene("tells that the turns are used up", loops, async (made) => {
    assert.include(resultOf(await gather(start(made, "go", { maxTurns: 2 }))), {
      subtype: "error_max_turns",
      is_error: true,
    })
  })

  scene("tells that the budget is spent", loops, async (made) => {
    const all = await gather(start(made, "go", { maxBudgetUsd: 0.0001 }))
    assert.include(resultOf(all), { subtype: "error_max_budget_usd", is_error: true })
  })

  scene(
    "tells what the service said",
    { rules: [{ reply: "never", faults: [{ status: 400, message: "your request is strange" }] }] },
    async (made) => {
      const result = resultOf(await gather(start(made, "go")))
      assert.include(result, { subtype: "error_during_execution", is_error: true, terminal_reason: "api_error" })
      assert.match(JSON.stringify(result["errors"]), /strange/)
    },
  )

  scene("that there is no such session ends the query with our words", hello, async (made) => {
    const resume = "99999999-2222-4333-8444-555555555555"
    const error = await gather(start(made, "go", { resume })).then(
      () => "",
      (failure: unknown) => String(failure),
    )
    assert.match(error, /no session 99999999/)
  })
})

describe.concurrent("canUseTool", () => {
  const writes: Playbook = {
    rules: [
      { when: { tool: {} }, reply: "${lastToolResult}" },
      { reply: [{ tool: "Write", input: { file_path: "a.txt", content: "model" } }] },
    ],
  }

  scene("allows a call", writes, async (made) => {
    const asked: Array<unknown> = []
    await gather(
      start(made, "go", {
        canUseTool: async (tool, input, { toolUseID }) => {
          asked.push([tool, input, toolUseID])
          return { behavior: "allow" }
        },
      }),
    )
    assert.deepStrictEqual(asked, [["Write", { file_path: "a.txt", content: "model" }, "toolu_scripted_1"]])
    assert.strictEqual(made.read("a.txt"), "model")
  })

  scene("denies a call, and the model hears why", writes, async (made) => {
    const canUseTool = async () => ({ behavior: "deny", message: "not on a Friday" })
    const result = resultOf(await gather(start(made, "go", { canUseTool })))
    assert.match(String(result["result"]), /not on a Friday/)
    assert.match(JSON.stringify(result["permission_denials"]), /"tool_name":"Write"/)
    assert.isFalse(fs.existsSync(path.join(made.work, "a.txt")))
  })

  scene("rewrites a call", writes, async (made) => {
    const canUseTool = async () => ({ behavior: "allow", updatedInput: { file_path: "b.txt", content: "person" } })
    await gather(start(made, "go", { canUseTool }))
    assert.isFalse(fs.existsSync(path.join(made.work, "a.txt")))
    assert.strictEqual(made.read("b.txt"), "person")
  })

  scene("cannot rewrite a call into one that makes no sense", writes, async (made) => {
    const nonsense = { behavior: "allow", updatedInput: { content: 7 } }
    const result = resultOf(await gather(start(made, "go", { canUseTool: async () => nonsense })))
    assert.match(String(result["result"]), /file_path/)
  })

  scene(
    "cannot rewrite a call into one that a rule forbids",
    {
      rules: [
        { when: { tool: {} }, reply: "${lastToolResult}" },
        { reply: [{ tool: "Bash", input: { command: "touch a" } }] },
      ],
    },
    async (made) => {
      made.write("precious", "")
      const canUseTool = async () => ({ behavior: "allow", updatedInput: { command: "rm precious" } })
      const result = resultOf(await gather(start(made, "go", { canUseTool, disallowedTools: ["Bash(rm *)"] })))
      assert.match(String(result["result"]), /the rule "Bash\(rm \*\)" forbids/)
      assert.isTrue(fs.existsSync(path.join(made.work, "precious")))
    },
  )

  scene(
    "is not asked again about what it agreed to for the session",
    {
      turns: [
        { reply: [{ tool: "Bash", input: { command: "touch a" } }] },
        { reply: [{ tool: "Bash", input: { command: "touch a" } }] },
        { reply: [{ tool: "Bash", input: { command: "mkdir b" } }] },
        { reply: "Done." },
      ],
    },
    async (made) => {
      const asked: Array<unknown> = []
      const canUseTool: Options["canUseTool"] = async (_tool, { command }, { suggestions = [] }) => {
        asked.push(command)
        const session = suggestions.map((suggestion) => ({ ...suggestion, destination: "session" }))
        return { behavior: "allow", updatedPermissions: session }
      }
      await gather(start(made, "go", { canUseTool }))
      assert.deepStrictEqual(asked, ["touch a", "mkdir b"])
    },
  )

  scene("denies and ends the turn", writes, async (made) => {
    const canUseTool = async () => ({ behavior: "deny", message: "stop", interrupt: true })
    assert.include(resultOf(await gather(start(made, "go", { canUseTool }))), { terminal_reason: "aborted_tools" })
  })

  scene("hears that its answer is not wanted any more", writes, async (made) => {
    const talk = conversation()
    talk.say("go")
    const query = start(made, talk.messages, {
      canUseTool: (_tool, _input, { signal }) => {
        void query.interrupt()
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            made.write("withdrawn", "")
            resolve({ behavior: "deny", message: "too late" })
          })
        })
      },
    })
    await gather(query, (message) => {
      if (message.type === "result") talk.end()
    })
    assert.isTrue(fs.existsSync(path.join(made.work, "withdrawn")))
  })
})

describe("the client", () => {
  it("knows no flag that we do not", () => {
    const silent = { out: () => {}, err: () => {}, columns: 100 }
    const ours = new Set(Program.make("0", silent, () => {}).options.flatMap(({ long, short }) => [long, short]))
    assert.isAbove(flags().length, 35)
    assert.deepStrictEqual(
      flags().filter((flag) => !ours.has(flag)),
      [],
    )
  })

  scene(
    "that aborts leaves nothing running",
    { rules: [{ reply: [{ tool: "Bash", input: { command: "true; sleep 61" } }] }] },
    async (made) => {
      const abortController = new AbortController()
      const seen: Seen = { out: [], in: [] }
      const options = { ...bypass, abortController, spawnClaudeCodeProcess: tapped(seen) }
      const error = await gather(start(made, "hang", options), (message) => {
        if (isCall(message)) abortController.abort()
      }).then(
        () => "no error",
        (failure: unknown) => String(failure),
      )
      assert.match(error, /abort/i)
      // The client gives us two seconds before it sends SIGTERM.
      await seen.exited
      assert.deepStrictEqual(survivors(made.directory), [])
    },
  )

  scene(
    "finds every field in our lines that its types promise",
    {
      turns: [
        { reply: [{ text: "I look." }, { tool: "Glob", input: { pattern: "*" } }] },
        {
          reply: [{ tool: "Write", input: { file_path: "/etc/x", content: "" } }],
          faults: [{ status: 529, retry_after: 0.05, times: 1 }],
        },
        { reply: "Done." },
        { reply: "never", faults: [{ status: 400, message: "no" }] },
      ],
    },
    async (made) => {
      const seen: Seen = { out: [], in: [] }
      const talk = conversation()
      talk.say("one")
      let results = 0
      const query = start(made, talk.messages, { includePartialMessages: true, spawnClaudeCodeProcess: tapped(seen) })
      await gather(query, async (message) => {
        if (message.type !== "result") return
        await query.setPermissionMode("plan")
        if (++results === 1) talk.say("two")
        else talk.end()
      })
      const lines = linesOf(seen.out.join("")).filter(({ type }) => !type.startsWith("control_"))
      const kinds = new Set(lines.map(({ type, subtype }) => subtype ?? type))
      for (const kind of ["init", "assistant", "user", "stream_event", "api_retry", "permission_denied", "status"]) {
        assert.isTrue(kinds.has(kind), `${kind} is not among ${[...kinds].join(", ")}`)
      }
      assert.strictEqual(typeErrors(lines.map(asTyped)), "")
      const answers = linesOf(seen.out.join("")).filter(({ type }) => type === "control_response")
      assert.strictEqual(typeErrors(answers, "SDKControlResponse"), "")
      assert.strictEqual(typeErrors(answers.slice(0, 1).map(contentOf), "SDKControlInitializeResponse"), "")
    },
  )
})

const contentOf = (line: Message): object => {
  const { response } = line
  assert(typeof response === "object" && response !== null && "response" in response)
  assert(typeof response.response === "object" && response.response !== null)
  return response.response
}

/** The declarations are stricter than the service: it leaves out `citations`, and pieces of a stream say only what is new. */
const asTyped = (line: Message): Message => {
  const { sdk_host_only: _, ...rest } = line
  return JSON.parse(JSON.stringify({ ...rest, type: line.type }, (_key, value: unknown) => withCitations(value)))
}

const withCitations = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "type" in value && value.type === "text" && !("citations" in value)
    ? { ...value, citations: null }
    : value
