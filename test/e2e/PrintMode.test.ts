/** Print mode from the outside: real processes of the built command against the scripted model over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { endedWith, linesOf, offered, place, resultOf, systemOf, toldLast, world } from "./world.ts"

const hello = { rules: [{ reply: "Hello there." }] }

describe.concurrent("troupe -p prints", () => {
  it.live("the answer as text, and nothing else", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world(hello)
      const ended = yield* run(["-p", "hi"])
      endedWith(ended, 0)
      assert.strictEqual(ended.out, "Hello there.\n")
      assert.strictEqual(ended.err, "")
      assert.match(toldLast((yield* requests)[0]), /hi/)
    }),
  )

  it.live("one JSON object with the result, its cost and how it ended", () =>
    Effect.gen(function* () {
      const { run } = yield* world(hello)
      const ended = yield* run(["-p", "hi", "--output-format", "json"])
      endedWith(ended, 0)
      assert.strictEqual(linesOf(ended.out).length, 1)
      const result = resultOf(ended)
      assert.include(result, {
        subtype: "success",
        is_error: false,
        result: "Hello there.",
        num_turns: 1,
        terminal_reason: "completed",
        stop_reason: "end_turn",
      })
      assert.isAbove(Number(result["total_cost_usd"]), 0)
      assert.isObject(result["usage"])
      assert.isObject(result["modelUsage"])
      assert.match(String(result["session_id"]), /^[0-9a-f-]{36}$/)
    }),
  )

  it.live("a line for every message: init, the assistant's blocks, tool results, the result", () =>
    Effect.gen(function* () {
      const { run, write } = yield* world({
        turns: [
          { reply: [{ text: "I look." }, { tool: "Read", input: { file_path: "notes.txt" } }] },
          { reply: "Done." },
        ],
      })
      write("notes.txt", "remember the milk\n")
      const ended = yield* run(["-p", "read it", "--output-format", "stream-json", "--verbose"])
      endedWith(ended, 0)
      const lines = linesOf(ended.out)
      assert.deepStrictEqual(
        lines.map((line) => line.type + (line.subtype === undefined ? "" : `/${line.subtype}`)),
        ["system/init", "assistant", "assistant", "user", "assistant", "result/success"],
      )
      assert.strictEqual(new Set(lines.map((line) => line["session_id"])).size, 1)
      assert.strictEqual(new Set(lines.map((line) => line["uuid"])).size, lines.length)
      assert.include(lines[0]?.["tools"], "Read")
      assert.match(JSON.stringify(lines[3]), /remember the milk/)
    }),
  )

  it.live("the pieces as they arrive with --include-partial-messages", () =>
    Effect.gen(function* () {
      const { run } = yield* world({ rules: [{ reply: "one two three", pace: { chunk: 4 } }] })
      const argv = ["-p", "hi", "--output-format", "stream-json", "--include-partial-messages"]
      const ended = yield* run(argv)
      endedWith(ended, 0)
      const events = linesOf(ended.out).flatMap((line) => (line.type === "stream_event" ? [line["event"]] : []))
      const text = events
        .map((event) => /"text_delta","text":"([^"]*)"/.exec(JSON.stringify(event))?.[1] ?? "")
        .join("")
      assert.strictEqual(text, "one two three")
      assert.isAbove(events.length, 6)
    }),
  )

  it.live("what a schema asks for, checked and parsed", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world({ turns: [{ reply: '{"answer":"x"}' }, { reply: '{"answer":42}' }] })
      const schema = { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] }
      const ended = yield* run(["-p", "hi", "--output-format", "json", "--json-schema", JSON.stringify(schema)])
      endedWith(ended, 0)
      assert.deepStrictEqual(resultOf(ended)["structured_output"], { answer: 42 })
      assert.match(toldLast((yield* requests)[1]), /does not fit the required output schema/)
    }),
  )
})

describe.concurrent("troupe -p takes", () => {
  it.live("its prompt from stdin, alone or behind the one given", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world(hello)
      endedWith(yield* run(["-p"], { input: "from the pipe\n" }), 0)
      endedWith(yield* run(["-p", "look at this"], { input: "from the pipe\n" }), 0)
      const [alone, both] = yield* requests
      assert.match(toldLast(alone), /from the pipe/)
      assert.match(toldLast(both), /look at this.*from the pipe/)
      const nothing = yield* run(["-p"])
      endedWith(nothing, 1)
      assert.match(nothing.err, /no prompt: stdin is empty/)
    }),
  )

  it.live("messages line by line; one that comes during a turn is delivered between two rounds of it", () =>
    Effect.gen(function* () {
      const { start, requests, atLeast } = yield* world({
        turns: [
          { reply: [{ tool: "Bash", input: { command: "until [ -e go ]; do sleep 0.02; done" } }] },
          { reply: "Both heard." },
        ],
      })
      const flags = [
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--dangerously-skip-permissions",
      ]
      const { type, close, until, ended } = yield* start(["-p", ...flags], { input: "open" })
      const say = (content: string) => JSON.stringify({ type: "user", message: { role: "user", content } }) + "\n"
      yield* type(say("first") + '{"type":"control_request","request_id":"r1","request":{"subtype":"initialize"}}\n')
      yield* atLeast(1)
      yield* until((out) => out.includes('"tool_use"') && out.includes('"request_id":"r1"'))
      yield* type(say("second") + '{"type":"control_request","request_id":"r2","request":{"subtype":"nonsense"}}\n')
      // Lines are taken in order: the answer to the last one says that the message before it has arrived.
      yield* until((out) => out.includes('"request_id":"r2"'))
      const [asked] = yield* requests
      fs.writeFileSync(path.join(/Working directory: ([^\\]+)/.exec(systemOf(asked))?.[1] ?? "", "go"), "")
      yield* close
      const end = yield* ended
      endedWith(end, 0)
      const lines = linesOf(end.out)
      assert.strictEqual(lines.filter((line) => line.type === "result").length, 1)
      assert.strictEqual(lines.at(-1)?.["result"], "Both heard.")
      const second = toldLast((yield* requests)[1])
      assert.match(second, /tool_result.*second/)
      assert.notMatch(second, /cancel|interrupt/i)
    }),
  )

  it.live("a message that is no JSON as wrong usage, and says which line", () =>
    Effect.gen(function* () {
      const { run } = yield* world(hello)
      const flags = ["--input-format", "stream-json", "--output-format", "stream-json"]
      const ended = yield* run(["-p", ...flags], { input: "hello?\n" })
      endedWith(ended, 2)
      assert.match(ended.err, /Line 1 of stdin is no stream-json message.*"type":"user"/)
    }),
  )

  it.live("its own system prompt, or an addition to the usual one", () =>
    Effect.gen(function* () {
      const { run, requests, write } = yield* world(hello)
      write("more.txt", "And be kind.")
      yield* run(["-p", "hi", "--system-prompt", "You are a teapot."])
      yield* run(["-p", "hi", "--append-system-prompt", "Speak in rhymes."])
      yield* run(["-p", "hi", "--append-system-prompt-file", "more.txt"])
      const [replaced, added, fromFile] = (yield* requests).map(systemOf)
      assert.match(replaced ?? "", /You are a teapot/)
      assert.notMatch(replaced ?? "", /You are Troupe/)
      assert.match(added ?? "", /You are Troupe.*Speak in rhymes/)
      assert.match(fromFile ?? "", /And be kind/)
    }),
  )

  it.live("a model by its alias, by its id, and from the environment", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world(hello)
      yield* run(["-p", "hi", "--model", "haiku"])
      yield* run(["-p", "hi", "--model", "claude-opus-4-8"])
      yield* run(["-p", "hi"], { env: { ANTHROPIC_MODEL: "opus" } })
      const models = (yield* requests).map((request) => request.body.model)
      assert.match(models[0] ?? "", /^claude-haiku-/)
      assert.strictEqual(models[1], "claude-opus-4-8")
      assert.match(models[2] ?? "", /^claude-opus-/)
    }),
  )

  it.live("more directories to work in with --add-dir", () =>
    Effect.gen(function* () {
      const { run, requests, write, directory } = yield* world({
        rules: [
          { when: { tool: {} }, reply: "${lastToolResult}" },
          {
            when: { prompt: { matches: "Read (?<file>\\S+)" } },
            reply: [{ tool: "Read", input: { file_path: "${file}" } }],
          },
        ],
      })
      const file = write(path.join(directory, "elsewhere", "far.txt"), "far away\n")
      const prompt = `Read ${file}`
      const without = yield* run(["-p", prompt])
      assert.match(without.out, /Permission denied.*outside the workspace/)
      const within = yield* run(["-p", prompt, "--add-dir", path.dirname(file)])
      assert.match(within.out, /far away/)
      assert.include(systemOf((yield* requests).at(-1)), path.dirname(file))
      const missing = yield* run(["-p", prompt, "--add-dir", "nowhere"])
      endedWith(missing, 1)
      assert.match(missing.err, /nowhere is no directory/)
    }),
  )
})

describe.concurrent("troupe -p stops", () => {
  it.live("at --max-turns, after a last call without tools that asks for a summary", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world({
        rules: [
          { when: { user: "no more tools" }, reply: "Half of it is done." },
          { reply: [{ tool: "Glob", input: { pattern: "*" } }] },
        ],
      })
      const ended = yield* run(["-p", "work", "--max-turns", "2", "--output-format", "json"])
      endedWith(ended, 3)
      assert.include(resultOf(ended), {
        subtype: "error_max_turns",
        is_error: true,
        terminal_reason: "max_turns",
        result: "Half of it is done.",
      })
      const asked = yield* requests
      assert.strictEqual(asked.length, 3)
      assert.isUndefined(asked[2]?.body.tool_choice)
    }),
  )

  it.live("before more than --max-budget-usd is spent", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world({ rules: [{ reply: [{ tool: "Glob", input: { pattern: "*" } }] }] })
      const ended = yield* run(["-p", "work", "--max-budget-usd", "0.05", "--output-format", "json"])
      endedWith(ended, 3)
      const result = resultOf(ended)
      assert.include(result, { subtype: "error_max_budget_usd", terminal_reason: "budget_exhausted" })
      assert.isAtMost(Number(result["total_cost_usd"]), 0.05)
      assert.isAtMost((yield* requests).length, 100)
    }),
  )

  it.live("with 4 when the model declines", () =>
    Effect.gen(function* () {
      const { run } = yield* world({ rules: [{ reply: "No.", stop_reason: "refusal" }] })
      const ended = yield* run(["-p", "hi", "--output-format", "json"])
      endedWith(ended, 4)
      assert.strictEqual(resultOf(ended)["terminal_reason"], "refusal")
    }),
  )
})

describe.concurrent("without a prompt in mind", () => {
  it.live("--version and --help answer, also with no home at all", () =>
    Effect.gen(function* () {
      const { run } = yield* place({ HOME: "/nonexistent", CLAUDE_CONFIG_DIR: undefined })
      const version = yield* run(["--version"])
      endedWith(version, 0)
      assert.match(version.out, /^\d+\.\d+\.\d+ \(Troupe\)\n$/)
      const help = yield* run(["--help"])
      endedWith(help, 0)
      for (const flag of ["--output-format", "--max-budget-usd", "--fork-session", "Exit codes:"]) {
        assert.include(help.out, flag)
      }
    }),
  )

  it.live("model serve plays a playbook that the command can talk to, and says that it is scripted", () =>
    Effect.gen(function* () {
      const { run, start, write, directory } = yield* place()
      const witness = path.join(directory, "witness.txt")
      for (const [name, text] of Object.entries({ "a.txt": "alpha\n", "b.txt": "bravo\n" })) write(name, text)
      const playbook = path.resolve(import.meta.dirname, "../../evals/playbooks/crash.yaml")
      const server = yield* start(["model", "serve", playbook])
      let said = ""
      yield* server.until((out) => (said = out).includes("Ctrl-C ends it."))
      assert.match(said, /A scripted model, not a real one, plays "crash"/)
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0]
      const env = { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "scripted" }
      const prompt = `Do the ten steps. Witness: ${witness}`
      const ended = yield* run(["-p", prompt, "--dangerously-skip-permissions"], { env })
      endedWith(ended, 0)
      assert.strictEqual(ended.out, "All ten steps are done.\n")
      assert.strictEqual(fs.readFileSync(witness, "utf8"), "ran\n")
      yield* server.signal("SIGTERM")
      assert.strictEqual((yield* server.ended).code, 143)
    }),
  )

  it.live("the tools of a session are those that can be used without a terminal", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world(hello)
      yield* run(["-p", "hi"])
      const [request] = yield* requests
      const expected = "Agent Bash Edit Glob Grep Monitor NotebookEdit Read Skill TaskOutput TaskStop WebFetch Write"
      assert.strictEqual(offered(request).join(" "), expected)
    }),
  )
})
