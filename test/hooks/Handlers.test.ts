/** Hooks that are not commands: requests to a real server, a scripted model, tools of servers, functions; and who of them is heard. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { createServer, type IncomingHttpHeaders } from "node:http"
import { HookEngine } from "../../src/hooks/HookEngine.ts"
import { Hooks } from "../../src/hooks/Hooks.ts"
import { matches } from "../../src/hooks/run/RunHttp.ts"
import { HookMcp } from "../../src/hooks/run/RunMcp.ts"
import { HookAgent, type HookAgentRequest } from "../../src/hooks/run/RunModel.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import { bash, command, engineWith, functions, layer, machine, one } from "./engine.ts"

interface Asked {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A server on this machine that answers as told. */
const serving = (
  answer: (path: string) => { readonly status?: number; readonly body?: string; readonly to?: string },
) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const asked: Array<Asked> = []
      const server = createServer((request, response) => {
        let body = ""
        request.on("data", (piece: Buffer) => (body += piece.toString()))
        request.on("end", () => {
          asked.push({ headers: request.headers, body })
          const { body: said = "", status = 200, to } = answer(request.url ?? "")
          response.writeHead(status, to === undefined ? {} : { location: to }).end(said)
        })
      })
      await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      return { asked, server, url: `http://127.0.0.1:${port}` }
    }),
    ({ server }) => Effect.sync(() => server.close()),
  )

const http = (url: string, more: object = {}) => one("PreToolUse", { type: "http", url, ...more }, "Bash")
const deny = JSON.stringify({
  hookSpecificOutput: { hookEventName: "PreToolUse", permissionDecision: "deny", permissionDecisionReason: "no" },
})

describe("a request", () => {
  it.live("carries the event, and of the environment only what is named twice", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serving(() => ({ body: deny }))
      const headers = { Authorization: "Bearer $TOKEN[${OTHER}$SECRET]", "X-Line": "$BROKEN" }
      const hook = http(url, { headers, allowedEnvVars: ["TOKEN", "SECRET", "BROKEN"] })
      const { engine, ran } = yield* engineWith(
        [layer({ ...hook, httpHookAllowedEnvVars: ["TOKEN", "OTHER", "BROKEN"] })],
        {},
        { TOKEN: "t1", OTHER: "o1", SECRET: "s1", BROKEN: "a\r\nX-Evil: 1" },
      )
      const { permission } = yield* engine.fire("PreToolUse", bash("ls"))
      assert.deepStrictEqual(permission, { behavior: "deny", reason: "no", source: "User" })
      assert.strictEqual(asked[0]?.headers.authorization, "Bearer t1[]")
      assert.strictEqual(asked[0]?.headers["x-line"], "aX-Evil: 1")
      assert.strictEqual(asked[0]?.headers["content-type"], "application/json")
      assert.include(asked[0]?.body ?? "", '"tool_input":{"command":"ls"}')
      assert.strictEqual(ran()[0]?.kind, "http")
    }).pipe(Effect.provide(machine)),
  )

  it.live("that is answered with anything but JSON and 2xx, or elsewhere, or too much, stops nothing", () =>
    Effect.gen(function* () {
      const elsewhere = yield* serving(() => ({ body: deny }))
      const { url } = yield* serving((path) => {
        if (path === "/empty") return {}
        if (path === "/text") return { body: "hello" }
        if (path === "/large") return { body: "x".repeat(3_000_000) }
        return path === "/away" ? { status: 307, to: elsewhere.url } : { status: 500, body: deny }
      })
      for (const [path, says] of [
        ["/text", /something else than a JSON object/],
        ["/error", /status 500/],
        ["/away", /status 307; it is not followed/],
        ["/large", /more than 1 MB/],
      ] as const) {
        const { engine, said } = yield* engineWith([layer(http(url + path))])
        assert.isUndefined((yield* engine.fire("PreToolUse", bash("x"))).permission)
        assert.match(said()[0] ?? "", says)
      }
      assert.deepStrictEqual(elsewhere.asked, [])
      const { engine, said } = yield* engineWith([layer(http(`${url}/empty`))])
      yield* engine.fire("PreToolUse", bash("x"))
      assert.deepStrictEqual(said(), [])
    }).pipe(Effect.provide(machine)),
  )

  it.live("is not made where the settings do not allow the address", () =>
    Effect.gen(function* () {
      const { asked, url } = yield* serving(() => ({ body: deny }))
      const limited = layer({ ...http(url), allowedHttpHookUrls: ["https://hooks.example.com/*"] })
      const { engine, said } = yield* engineWith([limited])
      assert.isUndefined((yield* engine.fire("PreToolUse", bash("x"))).permission)
      assert.match(said()[0] ?? "", /not among allowedHttpHookUrls/)
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.provide(machine)),
  )

  it("is judged by the parts of its address", () => {
    const allowed: ReadonlyArray<readonly [string, string, boolean]> = [
      ["https://hooks.example.com/*", "https://HOOKS.example.com./a?b", true],
      ["https://hooks.example.com/*", "https://hooks.example.com.evil.org/a", false],
      ["https://hooks.example.com/*", "https://hooks.example.com@evil.org/", false],
      ["http://localhost:*", "http://localhost:8080/x", true],
      ["http://localhost:*", "http://localhost/x", true],
      ["http://localhost:*", "http://localhost:1@evil.org/x", false],
      ["https://a.org", "https://a.org/", true],
      ["https://a.org", "https://a.org/b", false],
    ]
    for (const [pattern, url, expected] of allowed)
      assert.strictEqual(matches(pattern, url), expected, `${pattern} ${url}`)
  })
})

describe("a prompt", () => {
  it.effect("is put to a small model with the event in it, and its judgement counts", () =>
    Effect.gen(function* () {
      const asks = one("Stop", { type: "prompt", prompt: "Price \\$5. Is it done? $ARGUMENTS" })
      const { engine } = yield* engineWith([layer(asks)])
      const { block } = yield* engine.fire("Stop", { stop_hook_active: false, last_assistant_message: "tests pass" })
      assert.strictEqual(block?.reason, "run the tests")
      const [request] = yield* ScriptedModel.requests
      const said = JSON.stringify(request?.body.messages)
      assert.include(said, "Price $5. Is it done? {")
      assert.include(said, "tests pass")
    }).pipe(
      Effect.provide(TestRuntime.layer({ rules: [{ reply: 'Well: {"ok": false, "reason": "run the tests"}' }] })),
    ),
  )

  it.effect("that is not answered clearly decides nothing", () =>
    Effect.gen(function* () {
      const { engine, said } = yield* engineWith([layer(one("Stop", { type: "prompt", prompt: "Done?" }))])
      assert.isUndefined((yield* engine.fire("Stop", { stop_hook_active: false })).block)
      assert.match(said()[0] ?? "", /no clear answer: Perhaps/)
    }).pipe(Effect.provide(TestRuntime.layer({ rules: [{ reply: "Perhaps." }] }))),
  )
})

describe("an agent", () => {
  it.effect("gets its task, few tools and little time, and is said to be missing where there is none", () =>
    Effect.gen(function* () {
      const verifies = layer(one("Stop", { type: "agent", prompt: "Verify it.", timeout: 5 }))
      const asked: Array<HookAgentRequest> = []
      const judge = (request: HookAgentRequest) =>
        Effect.sync(() => {
          asked.push(request)
          return { ok: false, reason: "no tests" }
        })
      const { engine } = yield* Effect.provideService(engineWith([verifies]), HookAgent, { judge })
      const heard = yield* engine.fire("Stop", { stop_hook_active: false })
      assert.strictEqual(heard.block?.reason, "no tests")
      assert.deepInclude(asked[0], { maxTurns: 50, seconds: 5, tools: ["Read", "Grep", "Glob"] })
      const alone = yield* engineWith([verifies])
      assert.isUndefined((yield* alone.engine.fire("Stop", { stop_hook_active: false })).block)
      assert.match(alone.said()[0] ?? "", /agents for hooks are not available/)
    }).pipe(Effect.provide(TestRuntime.layer({ rules: [{ reply: "x" }] }))),
  )
})

describe("a tool of a server", () => {
  it.effect("is called with arguments from the event, and its text is read like a command's", () =>
    Effect.gen(function* () {
      const input = { path: "${tool_input.command}", list: ["${tool_name}", "${nothing}"] }
      const checks = layer(one("PreToolUse", { type: "mcp_tool", server: "scan", tool: "check", input }))
      const calls: Array<unknown> = []
      const call = (request: unknown) => Effect.sync(() => (calls.push(request), { text: deny, isError: false }))
      const { engine } = yield* Effect.provideService(engineWith([checks]), HookMcp, { call })
      const heard = yield* engine.fire("PreToolUse", bash("ls"))
      assert.strictEqual(heard.permission?.behavior, "deny")
      assert.deepStrictEqual(calls, [{ server: "scan", tool: "check", input: { path: "ls", list: ["Bash", ""] } }])
      const alone = yield* engineWith([checks])
      yield* alone.engine.fire("PreToolUse", bash("ls"))
      assert.match(alone.said()[0] ?? "", /the MCP server "scan" is not connected/)
    }).pipe(Effect.provide(TestRuntime.layer({ rules: [{ reply: "x" }] }))),
  )
})

describe("a function of the embedding program", () => {
  it.effect("is heard in every session while its scope is open", () =>
    Effect.gen(function* () {
      const hooks = yield* Hooks
      const { engine } = yield* engineWith([])
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* hooks.on(
            "PreToolUse",
            ({ session_id, tool_name }) =>
              Effect.succeed({ decision: "block" as const, reason: `${tool_name} in ${session_id.slice(0, 4)}` }),
            { matcher: "Bash" },
          )
          assert.isFalse(engine.concerns("PreToolUse", "Read"))
          const { permission } = yield* engine.fire("PreToolUse", bash("x"))
          assert.deepStrictEqual(permission, { behavior: "deny", reason: "Bash in 5f0c", source: "Session" })
        }),
      )
      assert.isFalse(engine.concerns("PreToolUse", "Bash"))
      const refused = yield* Effect.flip(Effect.scoped(hooks.on("PreToolUse", () => Effect.void, { matcher: "(" })))
      assert.match(refused.message, /no regular expression/)
    }).pipe(Effect.provide(TestRuntime.layer({ rules: [{ reply: "x" }] }))),
  )

  it.effect("that crashes, hangs or answers nonsense harms nobody", () =>
    Effect.gen(function* () {
      const engine = yield* HookEngine
      const heard = yield* engine.fire("PostToolUse", { ...bash("x"), tool_response: "" })
      assert.strictEqual(heard.ran, 2)
      assert.isUndefined(heard.block)
    }).pipe(
      Effect.provide(
        functions((engine) =>
          Effect.gen(function* () {
            yield* engine.on("PostToolUse", () => Effect.die(new Error("oops")))
            yield* engine.on("PostToolUse", () => Effect.succeed({ async: true }))
          }),
        ),
      ),
    ),
  )
})

describe("the hooks of a session", () => {
  it.live("that are the same in several files run once, a plugin's copy by itself", () =>
    Effect.gen(function* () {
      const same = one("PreToolUse", command("echo x"))
      const { engine, ran } = yield* engineWith([layer(same), layer(same, "project"), layer(same, "local")])
      const plugin = { scope: "plugin", name: "p", root: "/plugins/p" } as const
      yield* engine.register(same.hooks, plugin)
      yield* engine.fire("PreToolUse", bash("x"))
      assert.deepStrictEqual(
        ran()
          .map(({ source }) => source.replace(/:\d+$/, ""))
          .toSorted(),
        ["/settings/user.json", "p"],
      )
    }).pipe(Effect.provide(machine)),
  )

  it.live("run at the same time", () =>
    Effect.gen(function* () {
      const meet = (mine: string, other: string) =>
        command(`: > ${mine}; while [ ! -e ${other} ]; do :; done`, { timeout: 5 })
      const { engine, ran } = yield* engineWith([
        layer({ hooks: { PreToolUse: [{ hooks: [meet("a", "b"), meet("b", "a")] }] } }),
      ])
      yield* engine.fire("PreToolUse", bash("x"))
      assert.deepStrictEqual(
        ran().map(({ outcome }) => outcome),
        ["success", "success"],
      )
    }).pipe(Effect.provide(machine)),
  )

  it.live("are the same in a subagent, which says who it is, and has hooks of its own for as long as it lives", () =>
    Effect.gen(function* () {
      const says = (text: string) => command(`cat >> all.txt; echo '{"systemMessage":"${text}"}'`)
      const { engine, events, said } = yield* engineWith([layer(one("PreToolUse", says("everywhere")))])
      const agent = engine.forAgent({ agentId: "agent-1", agentType: "reviewer" })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const origin = { scope: "agent", name: "reviewer.md" } as const
          const problems = yield* agent.register(
            { Stop: [{ hooks: [says("own stop")] }], PreToolUse: [{ hooks: [says("own")] }], Nope: [] },
            origin,
          )
          assert.match(problems[0] ?? "", /reviewer\.md: hooks\.Nope/)
          assert.isFalse(engine.concerns("SubagentStop", "reviewer"))
          assert.isTrue(agent.concerns("SubagentStop", "reviewer"))
          assert.isFalse(agent.concerns("Stop"))
          yield* agent.fire("PreToolUse", bash("x"))
        }),
      )
      assert.isFalse(agent.concerns("SubagentStop", "reviewer"))
      assert.deepStrictEqual(said().toSorted(), ["PreToolUse:Bash says: everywhere", "PreToolUse:Bash says: own"])
      assert.strictEqual(events.flatMap((event) => (event._tag === "HookRan" ? [event.agentId] : []))[0], "agent-1")
    }).pipe(Effect.provide(machine)),
  )

  it.live("of a skill are for the whole session, subagents included", () =>
    Effect.gen(function* () {
      const { engine } = yield* engineWith([])
      const agent = engine.forAgent({ agentId: "a", agentType: "t" })
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* engine.register(one("PreToolUse", command("x")).hooks, { scope: "skill", name: "s" })
          assert.isTrue(agent.concerns("PreToolUse", "Bash"))
        }),
      )
      assert.isFalse(agent.concerns("PreToolUse", "Bash"))
    }).pipe(Effect.provide(machine)),
  )

  it.live("of a skill may be for once", () =>
    Effect.gen(function* () {
      const { engine, ran } = yield* engineWith([layer(one("PreToolUse", command("echo user", { once: true })))])
      yield* engine.register(one("PreToolUse", command("echo skill", { once: true })).hooks, {
        scope: "skill",
        name: "s",
      })
      yield* engine.fire("PreToolUse", bash("x"))
      yield* engine.fire("PreToolUse", bash("x"))
      assert.deepStrictEqual(
        ran()
          .map(({ what }) => what)
          .toSorted(),
        ["echo skill", "echo user", "echo user"],
      )
    }).pipe(Effect.provide(machine)),
  )

  it.live("change with the settings, and can be explained", () =>
    Effect.gen(function* () {
      const { engine, said } = yield* engineWith([])
      assert.isFalse(engine.concerns("PreToolUse", "Bash"))
      yield* engine.renew([
        layer({
          hooks: {
            PreToolUse: [
              { matcher: "Bash", hooks: [command("a"), command("b", { if: "Bash(rm *)" })] },
              { matcher: "Edit", hooks: [command("c")] },
              { hooks: [command("a")] },
            ],
            Nope: [],
          },
        }),
      ])
      assert.isTrue(engine.concerns("PreToolUse", "Bash"))
      assert.match(said()[0] ?? "", /no event "Nope"/)
      const call = { tool: "Bash", input: { command: "ls" }, readOnly: false, touches: [] }
      const rows = engine.explain("PreToolUse", "Bash", call).map(({ runs, what, why }) => [what, runs, why])
      assert.deepStrictEqual(rows[0], ["a", true, 'its matcher "Bash" fits'])
      assert.deepStrictEqual(rows[2], ["c", false, 'its matcher "Edit" does not mean "Bash"'])
      assert.match(String(rows[3]?.[2]), /the same hook stands in \/settings\/user\.json:\d+, and runs once/)
      assert.strictEqual(engine.list().length, 4)
      yield* engine.renew([layer({ disableAllHooks: true, ...one("PreToolUse", command("a")) })])
      assert.isFalse(engine.concerns("PreToolUse", "Bash"))
      assert.match(engine.list()[0]?.why ?? "", /switched off/)
    }).pipe(Effect.provide(machine)),
  )

  it.live("that end with the session share a second and a half, unless a person gives them more", () =>
    Effect.gen(function* () {
      const { engine, ran } = yield* engineWith([layer(one("SessionEnd", command("exec sleep 30")))])
      yield* engine.fire("SessionEnd", { reason: "other" })
      assert.strictEqual(ran()[0]?.outcome, "cancelled")
      assert.isBelow(ran()[0]?.durationMs ?? Infinity, 3_000)
    }).pipe(Effect.provide(machine)),
  )

  it.live("end when whoever waits for them is interrupted", () =>
    Effect.gen(function* () {
      const { engine, ran } = yield* engineWith([layer(one("PreToolUse", command("exec sleep 30")))])
      const begun = yield* Deferred.make<void>()
      const waiting = Effect.andThen(Deferred.succeed(begun, undefined), engine.fire("PreToolUse", bash("x")))
      yield* Effect.race(waiting, Effect.andThen(Deferred.await(begun), Effect.sleep("50 millis")))
      assert.deepStrictEqual(
        ran().map(({ outcome }) => outcome),
        ["cancelled"],
      )
    }).pipe(Effect.provide(machine)),
  )

  it.live("cost next to nothing where none is meant", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 50 }, (_, at) => ({
        matcher: `^mcp__server${at}__`,
        hooks: [command(`echo ${at}`)],
      }))
      const { engine } = yield* engineWith([layer({ hooks: { PreToolUse: many } })])
      const rounds = 20_000
      engine.concerns("PreToolUse", "Bash")
      const begun = performance.now()
      for (let round = 0; round < rounds; round++) engine.concerns("PreToolUse", "Bash")
      const micros = ((performance.now() - begun) * 1000) / rounds
      // The bench has the figure; here only that nothing is compared with every hook.
      assert.isBelow(micros, 200)
    }).pipe(Effect.provide(machine)),
  )
})
