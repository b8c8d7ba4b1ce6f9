/** What the example programs are played against and what must come of them, wherever they are run from. */
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Playbook } from "../../src/testing/Playbook.ts"
import type { Recording } from "../../src/testing/Recorder.ts"
import { ScriptedServer } from "../../src/testing/ScriptedServer.ts"
import { type Ended, type Options, root } from "./build.ts"

export const names = readdirSync(join(root, "examples")).flatMap((file) => /^(.+)\.ts$/.exec(file)?.[1] ?? [])

/** Runs an example that has been compiled somewhere. */
export type Start = (name: string, args: ReadonlyArray<string>, options: Options) => Effect.Effect<Ended>

/** An empty place for a program. */
export const place = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "troupe-example-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true })),
  ),
  (home) => ({ cwd: home, env: { HOME: home, CLAUDE_CONFIG_DIR: join(home, "config") } }),
)

/** The same with a model. */
const stage = Effect.fnUntraced(function* (playbook: Playbook) {
  const { url, requests, atLeast } = yield* ScriptedServer.serve({ playbook })
  const { cwd, env } = yield* place
  const options = { cwd, env: { ...env, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "scripted" } }
  return { options, requests, atLeast }
})

interface Case {
  readonly does: string
  readonly name: string
  readonly args: ReadonlyArray<string>
  readonly playbook: Playbook
  readonly check: (ended: Ended, requests: ReadonlyArray<Recording>) => void
}

const count = (item: string) => [{ tool: "CountStock", input: { item } }]

export const cases: ReadonlyArray<Case> = [
  {
    name: "guarded-agent",
    does: "is stopped by the hook, sends out the agent, and reports",
    args: ["Look at the licence"],
    playbook: {
      rules: [
        { when: { system: "You are a lawyer" }, reply: "It is a fine one." },
        { when: { tool: "Agent" }, reply: "The lawyer says: ${lastToolResult}" },
        {
          when: { tool: { name: "Read", contains: "nobody's business" } },
          reply: [
            {
              tool: "Agent",
              input: { description: "read the licence", prompt: "Is it good?", subagent_type: "lawyer" },
            },
          ],
        },
        { when: { user: "licence" }, reply: [{ tool: "Read", input: { file_path: ".env" } }] },
      ],
    },
    check: (ended, requests) => {
      assert.deepInclude(ended, { code: 0, out: "The lawyer says: It is a fine one.\n" }, ended.err)
      assert.include(ended.err, "→ lawyer: read the licence")
      const lawyer = requests.find(({ body }) => JSON.stringify(body.system).includes("You are a lawyer"))
      assert.deepStrictEqual(
        lawyer?.body.tools?.map(({ name }) => name),
        ["Read"],
      )
    },
  },
  {
    name: "one-shot",
    does: "answers, shows what it does, and ends with the turn's exit code",
    args: ["What is here?"],
    playbook: {
      rules: [
        { when: { tool: "Glob" }, reply: "Nothing yet." },
        { when: { user: "What is here" }, reply: [{ tool: "Glob", input: { pattern: "*" } }] },
      ],
    },
    check: (ended) => {
      assert.deepInclude(ended, { code: 0, out: "Nothing yet.\n" }, ended.err)
      assert.include(ended.err, 'Glob {"pattern":"*"}')
    },
  },
  {
    name: "custom-tool",
    does: "asks its service, corrects itself and prints a typed value",
    args: [],
    playbook: {
      rules: [
        { when: { tool: { contains: "try apples" } }, reply: count("apples") },
        { when: { tool: { contains: "3" } }, reply: '{"item":"apples","pieces":7}' },
        { reply: count("plums") },
      ],
    },
    check: (ended, requests) => {
      assert.deepStrictEqual(ended, { code: 0, out: "order 7 apples\n", err: "" })
      assert.lengthOf(requests, 3)
    },
  },
  {
    name: "budgeted-batch",
    does: "does its letters at once and adds up",
    args: ["late", "lovely", "odd"],
    playbook: {
      rules: [
        { when: { user: "late" }, reply: '{"mood":"angry"}' },
        { when: { user: "lovely" }, reply: '{"mood":"happy"}' },
        { reply: "no", stop_reason: "refusal" },
      ],
    },
    check: (ended) => {
      assert.strictEqual(ended.code, 0, ended.err)
      const [first, second, third = "", sum = ""] = ended.out.split("\n")
      assert.deepStrictEqual([first, second], ["angry: late", "happy: lovely"])
      assert.match(third, /^refusal: odd/)
      assert.match(sum, /^3 requests, 0\.\d{4} USD$/)
    },
  },
  {
    name: "supervised-fleet",
    does: "resumes the one that failed, with its history",
    args: [],
    playbook: {
      rules: [
        { when: { user: "Go on", history: "unfinished" }, reply: "Second time lucky." },
        { when: { user: "unfinished" }, reply: "no", stop_reason: "refusal" },
        { reply: "Fine." },
      ],
    },
    check: (ended, requests) => {
      const lines = ["List the entry points. Fine.", "Find unfinished work. Second time lucky."]
      assert.deepInclude(ended, { code: 0, out: [...lines, "Explain how it is tested. Fine.\n"].join("\n") }, ended.err)
      assert.include(ended.err, "declined")
      assert.lengthOf(requests, 4)
    },
  },
  {
    name: "testing-with-testclock",
    does: "passes without a model",
    args: [],
    playbook: { rules: [{ reply: "Nobody asks." }] },
    check: (ended, requests) => {
      assert.deepStrictEqual(ended, { code: 0, out: "passed, 24 hours later\n", err: "" })
      assert.lengthOf(requests, 0)
    },
  },
]

/** One example against its book. */
export const play = Effect.fnUntraced(function* (start: Start, { name, args, playbook, check }: Case) {
  const { options, requests } = yield* stage(playbook)
  const ended = yield* start(name, args, options)
  check(ended, yield* requests)
}, Effect.scoped)

/** Starts the web server until the scope closes, and gives what a browser does with it. */
export const browsing = Effect.fnUntraced(function* (start: Start, { cwd, env }: Options) {
  const listening = yield* Deferred.make<string>()
  const onOut = (out: string) => {
    const url = /http:\S+/.exec(out)?.[0]
    if (url !== undefined) Deferred.doneUnsafe(listening, Effect.succeed(url))
  }
  yield* Effect.forkScoped(start("web-server", [], { cwd, env: { ...env, PORT: "0" }, onOut }))
  const url = yield* Deferred.await(listening)
  return (path: string) => Effect.promise(async (signal) => (await fetch(`${url}${path}`, { signal })).text())
})

/** The web server with a browser that reads an answer, and one that goes away in the middle. */
export const serve = Effect.fnUntraced(function* (start: Start) {
  const { options, atLeast } = yield* stage({
    pace: { chunk: 5 },
    rules: [{ when: { user: "wait" }, reply: "never", faults: [{ stall: 3 }] }, { reply: "Hello, browser." }],
  })
  const get = yield* browsing(start, options)
  assert.include(yield* get("/"), "new EventSource")

  const stream = yield* get("/ask?q=hi")
  const pieces = [...stream.matchAll(/^event: message\ndata: (.+)$/gm)].map(([, data = ""]) => JSON.parse(data))
  assert.isAbove(pieces.length, 1)
  assert.strictEqual(pieces.join(""), "Hello, browser.")
  assert.match(stream, /event: end\ndata: "0\.\d+ USD"\n\n$/)

  const browser = yield* Effect.forkChild(get("/ask?q=wait"))
  const [, request] = yield* atLeast(2)
  assert(request !== undefined)
  yield* Fiber.interrupt(browser)
  assert.strictEqual(yield* request.ended, "abandoned")
}, Effect.scoped)
