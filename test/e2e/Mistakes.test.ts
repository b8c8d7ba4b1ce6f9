/** Whatever is wrong outside, the command says what, where and how to fix it, in words and with the right exit code. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as http from "node:http"
import * as net from "node:net"
import * as path from "node:path"
import { endedWith, place, resultOf, toldLast, world } from "./world.ts"

const hello = { rules: [{ reply: "Hello there." }] }

/** A port on which nobody listens: it was free a moment ago. */
const deadPort = Effect.callback<number>((resume) => {
  const server = net.createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** A web server that has never heard of models. */
const wiki = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly server: http.Server }>((resume) => {
    const server = http.createServer((_, response) => {
      response.writeHead(404, { "content-type": "text/html" }).end("<h1>There is no such article</h1>")
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, server }))
    })
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.close()
      server.closeAllConnections()
    }),
)

describe.concurrent("a model that cannot be asked", () => {
  it.live("no key: says which variables to set", () =>
    Effect.gen(function* () {
      const { run } = yield* place()
      const ended = yield* run(["-p", "hi"])
      endedWith(ended, 1)
      assert.strictEqual(ended.out, "")
      assert.match(ended.err, /No credentials.*Set ANTHROPIC_API_KEY.*ANTHROPIC_AUTH_TOKEN/)
    }),
  )

  it.live("a key that is not accepted: says so at once, and names the variable", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world({
        faults: [{ status: 401, message: "invalid x-api-key" }],
        rules: [{ reply: "never" }],
      })
      const text = yield* run(["-p", "hi"])
      endedWith(text, 1)
      assert.match(text.err, /401: invalid x-api-key.*check ANTHROPIC_API_KEY/)
      const json = yield* run(["-p", "hi", "--output-format", "json"])
      endedWith(json, 1)
      assert.include(resultOf(json), {
        subtype: "error_during_execution",
        is_error: true,
        terminal_reason: "api_error",
      })
      assert.strictEqual((yield* requests).length, 2)
    }),
  )

  it.live("an address at which nobody listens, or that is none: names it and the variable", () =>
    Effect.gen(function* () {
      const { run } = yield* place({ ANTHROPIC_API_KEY: "scripted", CLAUDE_CODE_MAX_RETRIES: "1" })
      const url = `http://127.0.0.1:${yield* deadPort}`
      const refused = yield* run(["-p", "hi"], { env: { ANTHROPIC_BASE_URL: url } })
      endedWith(refused, 1)
      assert.include(refused.err, url)
      assert.match(refused.err, /Check ANTHROPIC_BASE_URL/)
      const banana = yield* run(["-p", "hi"], { env: { ANTHROPIC_BASE_URL: "banana" } })
      endedWith(banana, 1)
      assert.match(banana.err, /ANTHROPIC_BASE_URL is not an http\(s\) address: "banana"/)
    }),
  )

  it.live("a service that is not reached, for longer than a moment: says what it waits for", () =>
    Effect.gen(function* () {
      const { run } = yield* world({
        rules: [{ reply: "At last.", faults: [{ status: 529, retry_after: 2, times: 1 }] }],
      })
      const ended = yield* run(["-p", "hi"])
      endedWith(ended, 0)
      assert.strictEqual(ended.out, "At last.\n")
      assert.match(ended.err, /^troupe: .*529; trying again in 2\.0 s \(attempt 1 of 11\)\n$/)
    }),
  )

  it.live("an address that is something else: asks whether it is a model service", () =>
    Effect.gen(function* () {
      const { run } = yield* place({ ANTHROPIC_API_KEY: "scripted" })
      const { url } = yield* wiki
      const ended = yield* run(["-p", "hi"], { env: { ANTHROPIC_BASE_URL: url } })
      endedWith(ended, 1)
      assert.match(ended.err, /404.*Check ANTHROPIC_BASE_URL/)
    }),
  )

  it.live("the right server under a wrong path: does not blame the model's name", () =>
    Effect.gen(function* () {
      const { run, env } = yield* world(hello)
      const ended = yield* run(["-p", "hi"], { env: { ANTHROPIC_BASE_URL: `${env["ANTHROPIC_BASE_URL"]}/wiki` } })
      endedWith(ended, 1)
      assert.match(ended.err, /404.*Check ANTHROPIC_BASE_URL/)
    }),
  )

  it.live("a model that does not exist: names it and the flag", () =>
    Effect.gen(function* () {
      const { run } = yield* world({ ...hello, models: ["claude-sonnet-5"] })
      const ended = yield* run(["-p", "hi", "--model", "claude-sonnett-5"])
      endedWith(ended, 1)
      assert.match(ended.err, /claude-sonnett-5/)
      assert.match(ended.err, /--model/)
    }),
  )
})

describe.concurrent("a command line that is wrong", () => {
  const wrong = [
    { argv: ["-p", "hi", "--modle", "opus"], says: /unknown flag --modle\. Did you mean --model\?/ },
    { argv: ["-p", "hi", "--output-format", "jsno"], says: /"jsno" is not valid.*Did you mean json\?/ },
    { argv: ["-p", "hi", "--permission-mode", "acceptEdit"], says: /"acceptEdit".*Did you mean acceptEdits\?/ },
    { argv: ["-p", "hi", "--max-turns", "none"], says: /"none" is not valid for --max-turns.*whole number/ },
    { argv: ["-p", "hi", "--max-budget-usd", "-1"], says: /--max-budget-usd.*amount in US dollars/ },
    { argv: ["-p", "hi", "--json-schema", "schema.json"], says: /--json-schema is not valid JSON/ },
    { argv: ["-p", "hi", "--model"], says: /--model.* needs a value/ },
    { argv: ["-p", "hi", "there"], says: /must be one argument; put it in quotes/ },
    { argv: ["-p", "hi", "--session-id", "mine"], says: /"mine" is not valid for --session-id\. It must be a UUID/ },
    { argv: ["-p", "hi", "--resume", "that-one"], says: /"that-one" is no session id.*--continue/ },
    { argv: ["-p", "hi", "--fork-session"], says: /--fork-session needs --continue or --resume/ },
    { argv: ["-p", "hi", "--input-format", "stream-json"], says: /needs --output-format stream-json/ },
    { argv: ["config", "explian"], says: /unknown command "explian".*explain/ },
  ]
  it.live("exits with 2, names the flag, the reason and the nearest valid one", () =>
    Effect.gen(function* () {
      const { run } = yield* place()
      yield* Effect.forEach(
        wrong,
        Effect.fnUntraced(function* ({ argv, says }) {
          const ended = yield* run(argv)
          endedWith(ended, 2)
          assert.strictEqual(ended.out, "")
          assert.match(ended.err, says)
          assert.match(ended.err, /See troupe --help\.\n$/)
        }),
        { concurrency: 4 },
      )
    }),
  )
})

describe.concurrent("a settings file that is broken", () => {
  it.live("is named with line and column, and the session works without it", () =>
    Effect.gen(function* () {
      const { run, write, config } = yield* world(hello)
      const file = write(path.join(config, "settings.json"), '{\n  "model": "opus",\n  "env" {}\n}\n')
      const ended = yield* run(["-p", "hi"])
      endedWith(ended, 0)
      assert.strictEqual(ended.out, "Hello there.\n")
      assert.include(ended.err, `${file}:3:9: `)
      assert.match(ended.err, /a colon is expected here/)
    }),
  )

  it.live("a value of the wrong type is named too, and the rest of the file counts", () =>
    Effect.gen(function* () {
      const { run, write, requests } = yield* world(hello)
      const file = write(".claude/settings.json", '{\n  "model": "haiku",\n  "permissions": { "allow": "Write" }\n}\n')
      const ended = yield* run(["-p", "hi"])
      endedWith(ended, 0)
      assert.include(ended.err, `${file}:3:`)
      assert.match((yield* requests)[0]?.body.model ?? "", /haiku/)
    }),
  )

  it.live("config explain shows who sets a value, with file, line and column, and who is overridden", () =>
    Effect.gen(function* () {
      const { run, write, config } = yield* place()
      const user = write(path.join(config, "settings.json"), '{\n  "model": "opus"\n}\n')
      const project = write(".claude/settings.json", '{\n\n  "model": "haiku"\n}\n')
      const ended = yield* run(["config", "explain", "model"])
      endedWith(ended, 0)
      const [head, first, second] = ended.out.split("\n")
      assert.strictEqual(head, 'model = "haiku"')
      assert.match(first ?? "", /wins +project/)
      assert.include(first, `${project}:3:3`)
      assert.match(second ?? "", /overridden +user/)
      assert.include(second, `${user}:2:3`)
      const json = yield* run(["config", "explain", "model", "--json"])
      assert.include(JSON.parse(json.out), { key: "model", value: "haiku" })
    }),
  )

  it.live("--settings takes a file or JSON, and one that is broken stops the command", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world(hello)
      endedWith(yield* run(["-p", "hi", "--settings", '{"model":"haiku"}']), 0)
      assert.match((yield* requests)[0]?.body.model ?? "", /haiku/)
      const broken = yield* run(["-p", "hi", "--settings", '{"model":'])
      endedWith(broken, 1)
      assert.match(broken.err, /--settings/)
      assert.strictEqual((yield* requests).length, 1)
    }),
  )
})

describe.concurrent("a model that makes mistakes", () => {
  it.live("unknown tools, wrong types, missing files and broken JSON are answered, and the session goes on", () =>
    Effect.gen(function* () {
      const { run, requests, write } = yield* world({
        turns: [
          { reply: [{ tool: "Teleport", input: {} }] },
          { reply: [{ tool: "Read", input: { file_path: 7 } }] },
          { reply: [{ tool: "Read", input: { file_path: "redme.md" } }] },
          { reply: [{ tool: "Bash", raw: '{"command": "touch never' }] },
          { reply: "I see." },
        ],
      })
      write("readme.md", "hello\n")
      const ended = yield* run(["-p", "go", "--dangerously-skip-permissions"])
      endedWith(ended, 0)
      const told = (yield* requests).map(toldLast)
      assert.match(told[1] ?? "", /no tool named Teleport.*Read/)
      assert.match(told[2] ?? "", /file_path/)
      assert.match(told[3] ?? "", /readme\.md/)
      assert.match(told[4] ?? "", /not complete, valid JSON/)
    }),
  )
})
