/** The edges of a conversation in JSON lines: real processes whose client says strange things, stops reading, or goes away. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { appeared, endedWith, linesOf, resultOf, type Running, survivors, toldLast, world } from "./world.ts"

const flags = ["--input-format", "stream-json", "--output-format=stream-json", "--verbose"]
const say = (content: unknown, more: object = {}) =>
  `${JSON.stringify({ type: "user", message: { role: "user", content }, parent_tool_use_id: null, session_id: "", ...more })}\n`
const request = (id: string, request: object) =>
  `${JSON.stringify({ type: "control_request", request_id: id, request })}\n`
const hello = { rules: [{ reply: "Hello there." }] }
const waits = "touch running; until [ -e go ]; do sleep 0.02; done"

/** The most memory it has had so far, in MB; known on Linux only. */
const peakOf = ({ pid }: Running): number => {
  if (process.platform !== "linux") return 0
  return Number(/VmHWM:\s*(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024
}

/** The next request of ours with this subtype, and a way to answer it. */
const asked = Effect.fnUntraced(function* (child: Running, subtype: string) {
  let found: Readonly<Record<string, unknown>> | undefined
  yield* child.until((out) => {
    const line = out.split("\n").find((text) => text.includes(`"subtype":"${subtype}"`))
    if (line !== undefined) found = JSON.parse(line)
    return found !== undefined
  })
  assert(found !== undefined)
  const id = found["request_id"]
  const reply = (response: object) =>
    child.type(
      `${JSON.stringify({ type: "control_response", response: { subtype: "success", request_id: id, response } })}\n`,
    )
  return { request: found["request"], id, reply }
})

describe.concurrent("stdin", () => {
  it.live("that ends lets the turn finish: 0, whatever the turn came to", () =>
    Effect.gen(function* () {
      const made = yield* world({
        rules: [
          { when: { tool: {} }, reply: "never", faults: [{ status: 400, message: "no" }] },
          { reply: [{ tool: "Bash", input: { command: waits } }] },
        ],
      })
      const child = yield* made.start([...flags, "--dangerously-skip-permissions"], { input: "open" })
      yield* child.type(say("go"))
      yield* appeared(path.join(made.work, "running"))
      yield* child.close
      made.write("go", "")
      const ended = yield* child.ended
      endedWith(ended, 0)
      assert.include(resultOf(ended), { is_error: true, terminal_reason: "api_error" })
    }),
  )

  it.live("that ends at once ends the command, without a session", () =>
    Effect.gen(function* () {
      const { run, config } = yield* world(hello)
      const ended = yield* run(flags)
      endedWith(ended, 0)
      assert.strictEqual(ended.out + ended.err, "")
      assert.isFalse(fs.existsSync(path.join(config, "troupe/sessions")))
    }),
  )

  it.live("that ends while the client is asked denies the call, and the turn goes on", () =>
    Effect.gen(function* () {
      const made = yield* world({
        turns: [
          { reply: [{ tool: "Write", input: { file_path: "a.txt", content: "x" } }] },
          { reply: [{ tool: "Write", input: { file_path: "b.txt", content: "x" } }] },
          { reply: "Then not." },
        ],
      })
      const child = yield* made.start([...flags, "--permission-prompt-tool=stdio"], { input: "open" })
      yield* child.type(say("go"))
      yield* asked(child, "can_use_tool")
      yield* child.close
      const ended = yield* child.ended
      endedWith(ended, 0)
      assert.strictEqual(resultOf(ended)["result"], "Then not.")
      const denials = resultOf(ended)["permission_denials"]
      assert(Array.isArray(denials))
      assert.strictEqual(denials.length, 2)
      assert.match(toldLast((yield* made.requests)[1]), /Permission denied: The client cannot be asked/)
      assert.isFalse(fs.existsSync(path.join(made.work, "a.txt")))
    }),
  )
})

describe.concurrent("a line", () => {
  it.live("that is no message is answered if it can be, and passed over", () =>
    Effect.gen(function* () {
      const { start } = yield* world(hello)
      const child = yield* start(flags, { input: "open" })
      yield* child.type('{"type":"control_request","request_id":"r1","request":\n')
      yield* child.type("hello?\n[]\nnull\n\n")
      yield* child.type('{"type":"keep_alive"}\n{"type":"of_tomorrow","x":1}\n')
      yield* child.type('{"type":"control_cancel_request","request_id":"r9"}\n')
      yield* child.type('{"type":"control_response","response":{"subtype":"success","request_id":"r9"}}\n')
      yield* child.type(request("r2", { subtype: "of_tomorrow" }))
      yield* child.type(request("r3", { subtype: "set_permission_mode" }))
      yield* child.type('{"type":"user","message":{"role":"user"}}\n')
      yield* child.type(say("hi"))
      yield* child.close
      const ended = yield* child.ended
      endedWith(ended, 0)
      const lines = linesOf(ended.out)
      const refused = lines.filter(({ type }) => type === "control_response").map((line) => JSON.stringify(line))
      assert.strictEqual(refused.length, 3)
      for (const [at, part] of [/"r1".*Line 1 of stdin/, /"r2".*no control request/, /"r3".*mode/].entries()) {
        assert.match(refused[at] ?? "", part)
      }
      const results = lines.filter(({ type }) => type === "result")
      assert.include(results[0], { is_error: true, terminal_reason: "turn_setup_failed" })
      assert.include(results[1], { is_error: false, result: "Hello there." })
      assert.deepStrictEqual(
        [...ended.err.matchAll(/Line (\d+) of stdin/g)].map(([, number]) => number),
        ["1", "2", "3", "4", "12"],
      )
    }),
  )

  it.live("of 50 MB is refused without filling the memory, and the next one is heard", () =>
    Effect.gen(function* () {
      const { start } = yield* world(hello)
      const child = yield* start(flags, { input: "open" })
      const megabyte = "x".repeat(1024 * 1024)
      yield* child.type('{"type":"user","message":{"role":"user","content":"')
      for (let at = 0; at < 50; at++) yield* child.type(megabyte)
      yield* child.type(`"}}\n${say("hi")}`)
      yield* child.until((out) => out.split('"type":"result"').length === 3)
      const peak = peakOf(child)
      yield* child.close
      const ended = yield* child.ended
      endedWith(ended, 0)
      const [refused, answered] = linesOf(ended.out).filter(({ type }) => type === "result")
      assert.match(JSON.stringify(refused?.["errors"]), /Line 1 of stdin.*more than 32 MB/)
      assert.include(answered, { result: "Hello there." })
      assert.isBelow(peak, 400)
    }),
  )

  it.live("of 5 MB is a message like any other", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world(hello)
      const data = `iVBORw0KGgoA${"A".repeat(5_000_000)}`
      const image = { type: "image", source: { type: "base64", media_type: "image/png", data } }
      const ended = yield* run(flags, { input: say([{ type: "text", text: "look" }, image]) })
      endedWith(ended, 0)
      assert.strictEqual(resultOf(ended)["result"], "Hello there.")
      assert.isAbove(JSON.stringify((yield* requests)[0]?.body.messages).length, 5_000_000)
    }),
  )
})

describe.concurrent("the client", () => {
  it.live("is asked before a call, and its word counts: allowed, denied, rewritten", () =>
    Effect.gen(function* () {
      const made = yield* world({
        rules: [
          { when: { tool: {} }, reply: "${lastToolResult}" },
          { reply: [{ tool: "Write", input: { file_path: "a.txt", content: "model" } }] },
        ],
      })
      let times = 0
      const play = Effect.fnUntraced(function* (answer: object) {
        const child = yield* made.start([...flags, "--permission-prompt-tool", "stdio"], { input: "open" })
        yield* child.type(request("r1", { subtype: "initialize" }) + say("go"))
        const question = yield* asked(child, "can_use_tool")
        assert.deepInclude<unknown>(question.request, {
          tool_name: "Write",
          input: { file_path: "a.txt", content: "model" },
        })
        assert.nestedPropertyVal(question, "request.tool_use_id", `toolu_scripted_${++times}`)
        yield* question.reply(answer)
        yield* child.close
        return String(resultOf(yield* child.ended)["result"])
      })
      assert.match(yield* play({ behavior: "deny", message: "not now" }), /not now/)
      assert.isFalse(fs.existsSync(path.join(made.work, "a.txt")))
      assert.match(yield* play({ behavior: "perhaps" }), /answer to can_use_tool is not valid/)
      assert.match(yield* play({ behavior: "allow", updatedInput: { content: 7 } }), /file_path/)
      yield* play({ behavior: "allow", updatedInput: { file_path: "b.txt", content: "client" } })
      assert.isFalse(fs.existsSync(path.join(made.work, "a.txt")))
      assert.strictEqual(made.read("b.txt"), "client")
      yield* play({ behavior: "allow", updatedInput: { file_path: "a.txt", content: "model" } })
      assert.strictEqual(made.read("a.txt"), "model")
    }),
  )

  it.live("cannot rewrite a call into one that a rule forbids", () =>
    Effect.gen(function* () {
      const made = yield* world({
        rules: [
          { when: { tool: {} }, reply: "${lastToolResult}" },
          { reply: [{ tool: "Bash", input: { command: "touch a" } }] },
        ],
      })
      made.write("precious", "")
      const argv = [...flags, "--permission-prompt-tool=stdio", "--disallowedTools=Bash(rm *)"]
      const child = yield* made.start(argv, { input: "open" })
      yield* child.type(say("go"))
      const question = yield* asked(child, "can_use_tool")
      yield* question.reply({ behavior: "allow", updatedInput: { command: "rm precious" } })
      yield* child.close
      const result = resultOf(yield* child.ended)
      assert.match(String(result["result"]), /the rule "Bash\(rm \*\)" forbids/)
      assert.match(JSON.stringify(result["permission_denials"]), /"tool_name":"Bash"/)
      assert.isTrue(fs.existsSync(path.join(made.work, "precious")))
    }),
  )

  it.live("may take back a message that waits for the end of the turn", () =>
    Effect.gen(function* () {
      const made = yield* world({
        rules: [{ when: { tool: {} }, reply: "Done." }, { reply: [{ tool: "Bash", input: { command: waits } }] }],
      })
      const child = yield* made.start([...flags, "--dangerously-skip-permissions"], { input: "open" })
      yield* child.type(say("one"))
      yield* appeared(path.join(made.work, "running"))
      const [two, three] = ["22222222-2222-4222-8222-222222222222", "33333333-3333-4333-8333-333333333333"]
      yield* child.type(say("two", { priority: "later", uuid: two }) + say("three", { priority: "later", uuid: three }))
      yield* child.type(request("r1", { subtype: "cancel_async_message", message_uuid: two }))
      yield* child.until((out) => out.includes('"request_id":"r1"'))
      made.write("go", "")
      yield* child.close
      const ended = yield* child.ended
      endedWith(ended, 0)
      const answer = linesOf(ended.out).find(({ type }) => type === "control_response")
      assert.deepNestedInclude(answer, { "response.response": { cancelled: true } })
      assert.strictEqual(linesOf(ended.out).filter(({ type }) => type === "result").length, 2)
      const asked = JSON.stringify((yield* made.requests).at(-1)?.body.messages)
      assert.include(asked, "three")
      assert.notInclude(asked, "two")
    }),
  )

  it.live("hears that its answer is not wanted any more when the turn is interrupted", () =>
    Effect.gen(function* () {
      const { start } = yield* world({
        rules: [{ reply: [{ tool: "Write", input: { file_path: "a", content: "" } }] }],
      })
      const child = yield* start([...flags, "--permission-prompt-tool=stdio"], { input: "open" })
      yield* child.type(say("go"))
      const { id } = yield* asked(child, "can_use_tool")
      yield* child.type(request("r1", { subtype: "interrupt" }))
      yield* child.until((out) => out.includes('"type":"result"'))
      yield* child.close
      const ended = yield* child.ended
      endedWith(ended, 0)
      const withdrawn = linesOf(ended.out).find(({ type }) => type === "control_cancel_request")
      assert.strictEqual(withdrawn?.["request_id"], id)
      assert.strictEqual(resultOf(ended)["terminal_reason"], "aborted_tools")
    }),
  )

  it.live("that stops reading holds nobody up and loses nothing that lasts", () =>
    Effect.gen(function* () {
      const turns = 40
      const made = yield* world({
        rules: [
          { when: { turn: { max: turns } }, reply: [{ tool: "Bash", input: { command: "printf '%28000s' x" } }] },
          { reply: [{ tool: "Bash", input: { command: "touch finished" } }], when: { turn: turns + 1 } },
          { reply: "Done.", pace: { chunk: 1 } },
        ],
      })
      const argv = [...flags, "--dangerously-skip-permissions", "--include-partial-messages"]
      const child = yield* made.start(argv, { input: "open", unread: true })
      yield* child.type(say("go"))
      // The pipe is full long before: the work goes on, and what is to be printed waits.
      yield* appeared(path.join(made.work, "finished"))
      assert.isBelow(peakOf(child), 400)
      yield* child.read
      yield* child.until((out) => out.includes('"type":"result"'))
      yield* child.close
      const ended = yield* child.ended
      endedWith(ended, 0)
      const lines = linesOf(ended.out)
      assert.strictEqual(lines.filter(({ type }) => type === "user").length, turns + 1)
      assert.include(resultOf(ended), { result: "Done.", num_turns: turns + 2 })
    }),
  )

  it.live.skipIf(process.platform !== "linux")(
    "that stops reading for good is left with SIGTERM, and the journal is whole",
    () =>
      Effect.gen(function* () {
        const id = "44444444-4444-4444-8444-444444444444"
        const made = yield* world({
          rules: [
            { when: { prompt: { equals: "continue" } }, reply: "I go on." },
            { when: { turn: { max: 12 } }, reply: [{ tool: "Bash", input: { command: "printf '%28000s' x" } }] },
            { reply: [{ tool: "Bash", input: { command: waits } }] },
          ],
        })
        const argv = [...flags, "--dangerously-skip-permissions"]
        const child = yield* made.start([...argv, "--session-id", id], { input: "open", unread: true })
        yield* child.type(say("go"))
        yield* appeared(path.join(made.work, "running"))
        yield* child.signal("SIGTERM")
        endedWith(yield* child.ended, 143)
        assert.deepStrictEqual(survivors(made.directory), [])
        const resumed = yield* made.run([...argv, "--resume", id], { input: say("continue") })
        endedWith(resumed, 0)
        assert.strictEqual(resultOf(resumed)["result"], "I go on.")
        assert.strictEqual(resumed.err, "")
      }),
  )

  it.live("that goes away ends the session with 141", () =>
    Effect.gen(function* () {
      const { start } = yield* world({
        rules: [
          {
            when: { turn: { max: 30 } },
            reply: [{ text: "line ".repeat(400) }, { tool: "Glob", input: { pattern: "*" } }],
          },
          { reply: "Done." },
        ],
      })
      const child = yield* start(flags, { input: "open" })
      yield* child.type(say("talk"))
      yield* child.until((out) => out.includes("\n"))
      yield* child.leave
      const ended = yield* child.ended
      endedWith(ended, 141)
      assert.strictEqual(ended.err, "")
    }),
  )

  it.live("may give every flag it knows, in both spellings; each without effect is named once", () =>
    Effect.gen(function* () {
      const { run } = yield* world(hello)
      const more = [
        ["--thinking=adaptive", "--max-thinking-tokens", "5", "--thinking-display=omitted", "--effort", "high"],
        [
          "--task-budget=9",
          "--agent",
          "Explore",
          "--agents={}",
          "--betas=a,b",
          "--channels",
          "c",
          "--mcp-config",
          "{}",
        ],
        ["--strict-mcp-config", "--include-hook-events", "--session-mirror", "--project-config-root=/", "--bare"],
        ["--plugin-dir=/a", "--plugin-dir-no-mcp=/b", "--no-session-persistence", "--initialize-fields=settings"],
        ["--managed-settings={}", "--managed-settings-in-initialize", "--workload=x", "--replay-user-messages"],
        ["--resume-session-at=u", "--resume-drops-turn=1", "--permission-prompt-tool=mcp__a__b"],
        ["--await-initialize", "--allow-dangerously-skip-permissions", "--permission-prompts=host", "--tools=default"],
        ["--setting-sources=", "--max-turns=3", "--max-budget-usd=1", "--model=sonnet", "--allowedTools=Read,Glob"],
      ]
      const ended = yield* run([...flags, ...more.flat()], { input: say("hi") })
      endedWith(ended, 0)
      const named = [...ended.err.matchAll(/^troupe: (--\S+) has no effect yet/gm)].map(([, flag]) => flag)
      assert.strictEqual(new Set(named).size, named.length)
      assert.includeMembers(named, ["--thinking", "--mcp-config", "--no-session-persistence", "--betas"])
      assert.notIncludeMembers(named, [
        "--tools",
        "--effort",
        "--agent",
        "--agents",
        "--await-initialize",
        "--permission-prompts",
      ])
      const bad = yield* run([...flags, "--permission-prompts=maybe"], { input: say("hi") })
      endedWith(bad, 2)
      assert.match(bad.err, /host, none/)
    }),
  )
})
