import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type { Agent } from "../../src/agents/Agent.ts"
import type { Batch } from "../../src/agents/Front.ts"
import { type PrintDoor, runPrint } from "../../src/cli/RunPrint.ts"
import * as Events from "./events.ts"
import * as Stage from "./stage.ts"

const start = Effect.fnUntraced(function* (
  play: Stage.Play,
  argv: ReadonlyArray<string>,
  options: Parameters<typeof Stage.stdio>[0] = { input: "" },
  more: Partial<PrintDoor> = {},
  rewriter?: Agent["rewriter"],
) {
  const stage = yield* Stage.make(play, rewriter)
  const edges = yield* Stage.stdio(options)
  const door = {
    agents: stage.agents,
    stdio: edges.stdio,
    cwd: "/",
    version: "1.0.0",
    apiKeySource: "none",
    modelOf: (name: string) => ({ id: `claude-${name}`, limits: undefined }),
    ...more,
  }
  const fiber = yield* Effect.forkChild(runPrint(door, Stage.args(...argv)), { startImmediately: true })
  return { ...stage, ...edges, fiber, code: Fiber.join(fiber) }
})

/** Lets everything run that can, without time passing. */
const settle = Effect.repeat(Effect.yieldNow, { times: 50 })

const user = (content: string, more: object = {}) =>
  `${JSON.stringify({ type: "user", message: { role: "user", content }, ...more })}\n`
const control = (request: object) => `${JSON.stringify({ type: "control_request", request_id: "1", request })}\n`
const talking = ["--input-format", "stream-json", "--output-format", "stream-json"]

describe("print mode", () => {
  it.effect("shows the model's text as hooks want it, once a message, and the result the same", () =>
    Effect.gen(function* () {
      const batches: Array<Batch> = []
      const rewrite = (batch: Batch) => {
        batches.push(batch)
        return Effect.succeed(batch.delta.replace("secret", "[hidden]"))
      }
      const { code, out } = yield* start(Stage.says("the secret"), ["-p", "say"], undefined, {}, () => rewrite)
      assert.strictEqual(yield* code, 0)
      assert.strictEqual(out(), "the [hidden]\n")
      assert.deepInclude(batches[0], { index: 0, final: true, delta: "the secret" })
      assert.lengthOf(batches, 1)
    }),
  )

  it.effect("prints the answer and exits 0", () =>
    Effect.gen(function* () {
      const { code, out, log } = yield* start(Stage.says("done"), ["-p", "fix it"])
      assert.strictEqual(yield* code, 0)
      assert.strictEqual(out(), "done\n")
      assert.deepStrictEqual(log, ['prompt "fix it"'])
    }),
  )

  it.effect("adds what is piped in to the prompt", () =>
    Effect.gen(function* () {
      const { code, log } = yield* start(Stage.says("done"), ["-p", "review"], { input: "a diff" })
      yield* code
      assert.deepStrictEqual(log, ['prompt "review\\na diff"'])
    }),
  )

  it.effect("takes the prompt from the pipe alone, and says when it is empty", () =>
    Effect.gen(function* () {
      const piped = yield* start(Stage.says("done"), ["-p"], { input: "from the pipe" })
      yield* piped.code
      assert.deepStrictEqual(piped.log, ['prompt "from the pipe"'])
      const empty = yield* start(Stage.says("done"), ["-p"], { input: " \n" })
      assert.include((yield* Effect.flip(empty.code)).message, "no prompt")
    }),
  )

  it.effect("does not wait for ever for a pipe that stays silent", () =>
    Effect.gen(function* () {
      const { code, err } = yield* start(Stage.says("done"), ["-p", "x"], {})
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(yield* code, 0)
      assert.include(err(), "nothing came through the pipe")
    }),
  )

  it.effect("opens every prompt with an init line in the model's full name", () =>
    Effect.gen(function* () {
      const { code, lines } = yield* start(Stage.says("done"), ["-p", "x", "--output-format", "stream-json"])
      yield* code
      assert.deepStrictEqual(
        lines().map(({ type }) => type),
        ["system", "assistant", "result"],
      )
      assert.deepInclude(lines()[0], { subtype: "init", model: "claude-sonnet", tools: ["Read"], session_id: "s1" })
    }),
  )

  it.effect("exits as the turn ended", () =>
    Effect.gen(function* () {
      for (const [reason, expected] of [
        ["max_turns", 3],
        ["refusal", 4],
        ["api_error", 1],
      ] as const) {
        const play = () => Stream.make(Events.ended({ terminal: { reason } }))
        assert.strictEqual(yield* (yield* start(play, ["-p", "x"])).code, expected)
      }
    }),
  )

  it.effect("passes the flags on to the session", () =>
    Effect.gen(function* () {
      const flags = ["--model", "opus", "--max-turns", "2", "--allowedTools", "Read", "--continue", "--fork-session"]
      const { code, opened } = yield* start(Stage.says("done"), ["-p", "x", ...flags])
      yield* code
      assert.strictEqual(opened[0]?.how, "fork latest-id")
      assert.deepInclude<unknown>(opened[0]?.options, { model: "opus", maxTurns: 2, allowedTools: ["Read"], cwd: "/" })
    }),
  )

  it.effect("ends quietly with 141 when its reader goes away, and the turn with it", () =>
    Effect.gen(function* () {
      let torn = false
      const play: Stage.Play = () =>
        Stream.make(Events.block({ type: "text", text: "a" }), Events.ended()).pipe(
          Stream.ensuring(Effect.sync(() => void (torn = true))),
        )
      const { code, err } = yield* start(play, ["-p", "x", "--output-format", "stream-json"], {
        input: "",
        closedAfter: 1,
      })
      assert.strictEqual(yield* code, 141)
      assert.strictEqual(err(), "")
      assert.isTrue(torn)
    }),
  )

  it.effect("keeps the turn's own code when only the last line finds no reader", () =>
    Effect.gen(function* () {
      const { code } = yield* start(Stage.says("done"), ["-p", "x"], { input: "", closedAfter: 0 })
      assert.strictEqual(yield* code, 0)
    }),
  )

  it.effect("shows tool activity on stderr with --verbose, and the answer only once", () =>
    Effect.gen(function* () {
      const play: Stage.Play = () =>
        Stream.make(
          Events.delta("answer"),
          Events.block({ type: "text", text: "answer" }),
          Events.toolEnded("t1", "Read", { content: "a" }),
          Events.ended({ result: "answer" }),
        )
      const { code, out, err } = yield* start(play, ["-p", "x", "--verbose"])
      yield* code
      assert.strictEqual(out(), "answer\n")
      assert.include(err(), "● Read")
      assert.notInclude(err(), "answer")
    }),
  )
})

describe("signals", () => {
  it.effect("one SIGINT ends the turn; the result is printed, the code is 130", () =>
    Effect.gen(function* () {
      const { code, signal, lines, log, quits } = yield* start(Stage.endless, ["-p", "x", "--output-format", "json"])
      yield* settle
      yield* signal("SIGINT")
      assert.strictEqual(yield* code, 130)
      assert.include(log, "interrupt")
      assert.deepInclude(lines().at(-1), { type: "result", terminal_reason: "aborted_tools" })
      assert.deepStrictEqual(quits, [])
    }),
  )

  it.effect("a second one leaves at once", () =>
    Effect.gen(function* () {
      const { signal, quits } = yield* start(() => Stream.never, ["-p", "x"])
      yield* settle
      yield* signal("SIGINT")
      yield* settle
      assert.deepStrictEqual(quits, [])
      yield* signal("SIGINT")
      yield* settle
      assert.deepStrictEqual(quits, [130])
    }),
  )

  it.effect("SIGTERM ends in order with 143", () =>
    Effect.gen(function* () {
      const { code, signal, log } = yield* start(Stage.endless, ["-p", "x"])
      yield* settle
      yield* signal("SIGTERM")
      assert.strictEqual(yield* code, 143)
      assert.include(log, "interrupt")
    }),
  )

  it.effect("SIGTERM does not wait for ever", () =>
    Effect.gen(function* () {
      const { signal, quits } = yield* start(() => Stream.never, ["-p", "x"])
      yield* settle
      yield* signal("SIGTERM")
      yield* TestClock.adjust("4 seconds")
      assert.deepStrictEqual(quits, [])
      yield* TestClock.adjust("1 seconds")
      assert.deepStrictEqual(quits, [143])
    }),
  )

  it.effect("before a session is open there is nothing to wait for", () =>
    Effect.gen(function* () {
      const { signal, quits } = yield* start(Stage.says("x"), ["-p"], {})
      yield* signal("SIGINT")
      yield* settle
      assert.deepStrictEqual(quits, [130])
    }),
  )
})

describe("stream-json input", () => {
  const finish = Effect.gen(function* () {
    yield* settle
    yield* TestClock.adjust("100 millis")
    yield* settle
    yield* TestClock.adjust("100 millis")
  })

  it.effect("answers each message in turn and exits when stdin ends", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.says("done"), talking, {})
      yield* run.type(user("one"))
      yield* settle
      yield* run.type(user("two"))
      yield* settle
      yield* run.close
      yield* finish
      assert.strictEqual(yield* run.code, 0)
      assert.deepStrictEqual(run.log, ['prompt "one"', 'prompt "two"'])
      assert.deepStrictEqual(
        run.lines().map(({ type }) => type),
        ["system", "assistant", "result", "system", "assistant", "result"],
      )
    }),
  )

  it.effect("steers a running turn, at once if asked, and lets it finish after stdin ended", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.endless, talking, {})
      yield* run.type(user("one"))
      yield* settle
      yield* run.type(user("more") + user("stop that", { priority: "now" }))
      yield* run.close
      yield* finish
      assert.deepStrictEqual(run.log.slice(1), ['steer between_rounds "more"', 'steer submit_interrupt "stop that"'])
      assert.isUndefined(run.fiber.pollUnsafe())
      yield* run.signal("SIGTERM")
      yield* finish
      assert.strictEqual(yield* run.code, 143)
    }),
  )

  it.effect("answers control requests", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.endless, talking, {})
      yield* run.type(control({ subtype: "initialize" }))
      yield* run.type(control({ subtype: "set_model", model: "opus" }))
      yield* run.type(control({ subtype: "set_permission_mode", mode: "plan" }))
      yield* run.type(control({ subtype: "set_permission_mode", mode: "sudo" }))
      yield* run.type(control({ subtype: "mcp_status" }))
      yield* run.type(control({ subtype: "set_modle", model: "opus" }))
      yield* run.type(control({ subtype: "set_model", model: 7 }))
      yield* run.type(control({ subtype: "set_max_thinking_tokens", max_thinking_tokens: 100 }))
      yield* run.type(user("go"))
      yield* settle
      yield* run.type(control({ subtype: "interrupt" }))
      yield* run.close
      yield* finish
      yield* run.code
      assert.deepStrictEqual(run.controls, { model: "opus", permissionMode: "plan" })
      assert.include(run.log, "interrupt")
      const answers = run
        .lines()
        .flatMap(({ type, response }) => (type === "control_response" ? [JSON.stringify(response)] : []))
      assert.deepStrictEqual(
        answers.map((text) => JSON.parse(text).subtype),
        ["success", "success", "success", "error", "success", "error", "error", "success", "success"],
      )
      assert.include(answers[5], 'Did you mean \\"set_model\\"')
      assert.include(answers[6], "set_model: ")
      assert.include(run.err(), "set_max_thinking_tokens has no effect yet.")
      assert.deepStrictEqual(JSON.parse(answers[8] ?? "").response, { still_queued: [] })
    }),
  )

  it.effect("takes the model back to the one it began with", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.endless, talking, {})
      yield* run.type(control({ subtype: "set_model", model: "opus" }) + control({ subtype: "set_model" }))
      yield* settle
      assert.strictEqual(run.controls.model, "sonnet")
    }),
  )

  it.effect("opens the session as the client's initialize wants it", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.says("done"), [...talking, "--disallowedTools", "Bash", "--tools=Read,Write"], {})
      yield* settle
      assert.deepStrictEqual(run.opened, [])
      const schema = { type: "object" }
      yield* run.type(
        control({
          subtype: "initialize",
          systemPrompt: ["You are a teapot."],
          appendSystemPrompt: "Short and stout.",
          jsonSchema: schema,
          disallowedTools: ["Write"],
          hooks: { PreToolUse: [{ matcher: "Bash", hookCallbackIds: ["hook_0"] }] },
          sdkMcpServers: ["mine"],
          agents: {},
        }),
      )
      yield* settle
      const options = run.opened[0]?.options
      assert.deepInclude<unknown>(options, {
        systemPrompt: "You are a teapot.",
        appendSystemPrompt: "Short and stout.",
        jsonSchema: schema,
        disallowedTools: ["Bash", "Write"],
      })
      assert(typeof options === "object" && options !== null && "tools" in options && Array.isArray(options.tools))
      assert.deepStrictEqual(
        options.tools.map(({ name }) => name),
        ["Read", "Write"],
      )
      assert.strictEqual(run.err(), "troupe: SDK MCP servers given in initialize have no effect yet.\n")
      const [line] = run.lines()
      assert.deepNestedInclude(line, { "response.response.hooks_applied": true })
      assert.deepNestedInclude(line, { "response.response.disallowed_tools_applied": true })
    }),
  )

  it.effect("keeps its own system prompt when the client's is empty", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.says("done"), talking, {})
      yield* run.type(control({ subtype: "initialize", systemPrompt: [""] }))
      yield* settle
      assert.propertyVal(run.opened[0]?.options, "systemPrompt", undefined)
    }),
  )

  it.effect("withdraws a message that still waits, and says which ones do", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.endless, talking, {})
      yield* run.type(user("one"))
      yield* settle
      yield* run.type(user("two", { priority: "later", uuid: "u2" }) + user("three", { priority: "later", uuid: "u3" }))
      yield* run.type(control({ subtype: "cancel_async_message", message_uuid: "u2" }))
      yield* run.type(control({ subtype: "cancel_async_message", message_uuid: "u9" }))
      yield* run.type(control({ subtype: "interrupt", cancel_queued: true }))
      yield* settle
      const answers = run.lines().filter(({ type }) => type === "control_response")
      assert.deepNestedInclude(answers[0], { "response.response": { cancelled: true } })
      assert.deepNestedInclude(answers[1], { "response.response": { cancelled: false } })
      assert.deepNestedInclude(answers[2], { "response.response": { still_queued: [], cancelled: ["u3"] } })
    }),
  )

  it.effect("tells a client that wants to know when something runs, and when nothing does", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.says("done"), talking, {}, { tellsState: true })
      yield* run.type(user("one"))
      yield* finish
      assert.deepStrictEqual(
        run.lines().map(({ type, subtype, state }) => state ?? subtype ?? type),
        ["running", "init", "assistant", "success", "idle"],
      )
    }),
  )

  it.effect("leaves the agent alone while a turn runs, and hears at once when it ends", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.endless, talking, { input: user("one") })
      yield* settle
      yield* TestClock.adjust("10 seconds")
      assert.isAtMost(run.asked.status, 12)
      assert.isUndefined(run.fiber.pollUnsafe())
      yield* run.signal("SIGINT")
      yield* settle
      yield* TestClock.adjust("20 millis")
      assert.strictEqual(yield* run.code, 130)
    }),
  )

  it.effect("reads nothing more after a signal", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.endless, talking, {})
      yield* run.type(user("one"))
      yield* settle
      yield* run.signal("SIGINT")
      yield* settle
      yield* run.type(user("two"))
      yield* finish
      assert.strictEqual(yield* run.code, 130)
      assert.deepStrictEqual(run.log, ['prompt "one"', "interrupt"])
    }),
  )

  it.effect("goes on after a line that cannot be read, and names it", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.says("done"), talking, { input: `nonsense\n${user("one")}` })
      yield* finish
      assert.strictEqual(yield* run.code, 0)
      assert.include(run.err(), "Line 1 of stdin")
      assert.strictEqual(run.lines().at(-1)?.["result"], "done")
    }),
  )

  it.effect("answers a broken request by its id, and a broken prompt with a result", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.says("done"), talking, {})
      yield* run.type('{"type":"control_request","request_id":"r7","request":{}}\n')
      yield* run.type('{"type":"user","message":{"role":"user"}}\n')
      yield* run.close
      yield* finish
      assert.strictEqual(yield* run.code, 2)
      const [refused, result] = run.lines()
      assert.deepNestedInclude(refused, { "response.request_id": "r7", "response.subtype": "error" })
      assert.deepInclude(result, { type: "result", is_error: true, terminal_reason: "turn_setup_failed", num_turns: 0 })
      assert.include(JSON.stringify(result), "Line 2 of stdin")
    }),
  )

  it.effect("that is nothing but nonsense is wrong usage", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.says("done"), talking, { input: "hello?\n" })
      assert.strictEqual(yield* run.code, 2)
      assert.deepStrictEqual(run.opened, [])
    }),
  )

  it.effect("exits 0 however the last turn ended: each result says it itself", () =>
    Effect.gen(function* () {
      const play = () => Stream.make(Events.ended({ terminal: { reason: "api_error" } }))
      const run = yield* start(play, talking, { input: user("one") })
      yield* finish
      assert.strictEqual(yield* run.code, 0)
    }),
  )

  it.effect("ends with 141 when nobody reads the answers", () =>
    Effect.gen(function* () {
      const run = yield* start(Stage.says("done"), talking, { closedAfter: 1 })
      yield* run.type(user("one"))
      yield* settle
      assert.strictEqual(yield* run.code, 141)
    }),
  )
})
