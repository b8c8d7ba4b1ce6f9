/** Signals and closed pipes: the turn ends in order, nothing is left running, and the session can go on. Linux only: it looks into /proc. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as fs from "node:fs"
import * as path from "node:path"
import process from "node:process"
import { appeared, endedWith, linesOf, place, resultOf, survivors, toldLast, world } from "./world.ts"

const id = "33333333-3333-4333-8333-333333333333"

/** A command with a child in the background, one in the foreground and one that leaves its group and its environment. */
const hangs = [
  "sleep 61 &",
  "setsid sleep 62 &",
  '(trap "" TERM INT; sleep 63) &',
  "env -i sleep 64 &",
  "touch running",
  "sleep 65",
].join("\n")

const book = {
  rules: [
    { when: { prompt: { equals: "continue" } }, reply: "I go on." },
    {
      when: { turn: 1 },
      reply: [
        { text: "I begin." },
        { tool: "Bash", input: { command: hangs } },
        { tool: "Bash", input: { command: "touch never" } },
      ],
    },
    { when: { turn: 2 }, reply: "Not reached." },
  ],
}

const flags = ["--dangerously-skip-permissions", "--output-format", "stream-json"]

/** A session in the middle of its command. */
const started = Effect.gen(function* () {
  const made = yield* world(book)
  const child = yield* made.start(["-p", "hang", "--session-id", id, ...flags])
  yield* appeared(path.join(made.work, "running"))
  return { ...made, child }
})

/** A process that was killed takes a moment to be gone. */
const noOrphans = Effect.fnUntraced(function* (directory: string) {
  const none = Effect.sync(() => survivors(directory).length === 0)
  yield* Effect.timeoutOption(
    Effect.repeat(none, { until: (yes) => yes, schedule: Schedule.spaced("10 millis") }),
    "2 seconds",
  )
  assert.deepStrictEqual(survivors(directory), [])
})

/** The next process finds every call answered, and the strict server accepts the history. */
const goesOn = Effect.fnUntraced(function* (made: Effect.Success<typeof started>) {
  const before = (yield* made.requests).length
  const resumed = yield* made.run(["-p", "continue", "--resume", id, ...flags])
  endedWith(resumed, 0)
  assert.strictEqual(resultOf(resumed)["result"], "I go on.")
  const asked = (yield* made.requests)[before]
  assert.isUndefined(asked?.note.problem)
  const told = toldLast(asked)
  assert.strictEqual(told.match(/"tool_result"/g)?.length, 2, told)
  assert.match(told, /Cancelled|interrupted|outcome is unknown/)
  assert.isFalse(fs.existsSync(path.join(made.work, "never")))
})

describe.skipIf(process.platform !== "linux").concurrent("while a tool runs", () => {
  it.live("SIGINT ends the turn: a result, 130, no process left, and the session can be resumed", () =>
    Effect.gen(function* () {
      const made = yield* started
      yield* made.child.signal("SIGINT")
      const ended = yield* made.child.ended
      endedWith(ended, 130)
      assert.include(resultOf(ended), {
        subtype: "error_during_execution",
        is_error: true,
        terminal_reason: "aborted_tools",
      })
      yield* noOrphans(made.directory)
      const results = linesOf(ended.out).filter((line) => line.type === "user")
      assert.strictEqual(results.length, 2)
      assert.match(JSON.stringify(results[0]), /It was stopped; it may have done part of its work/)
      assert.match(JSON.stringify(results[1]), /It was not run/)
      yield* goesOn(made)
    }),
  )

  it.live("SIGINT twice leaves at once, without processes, and the session can be resumed", () =>
    Effect.gen(function* () {
      const made = yield* started
      yield* made.child.signal("SIGINT")
      yield* made.child.heard
      yield* made.child.signal("SIGINT")
      endedWith(yield* made.child.ended, 130)
      yield* noOrphans(made.directory)
      yield* goesOn(made)
    }),
  )

  it.live("SIGINT twice leaves at once even when nobody reads the output", () =>
    Effect.gen(function* () {
      const { start, work, directory } = yield* world({
        rules: [
          // More than any pipe holds, then a command that hangs.
          { when: { turn: { max: 4 } }, reply: [{ tool: "Bash", input: { command: "printf '%28000s' x" } }] },
          { reply: [{ tool: "Bash", input: { command: hangs } }] },
        ],
      })
      const child = yield* start(["-p", "hang", ...flags], { unread: true })
      yield* appeared(path.join(work, "running"))
      yield* child.signal("SIGINT")
      yield* child.heard
      yield* child.signal("SIGINT")
      endedWith(yield* child.ended, 130)
      yield* noOrphans(directory)
    }),
  )

  it.live("SIGTERM ends it in order with 143", () =>
    Effect.gen(function* () {
      const made = yield* started
      yield* made.child.signal("SIGTERM")
      const ended = yield* made.child.ended
      endedWith(ended, 143)
      assert.strictEqual(resultOf(ended)["terminal_reason"], "aborted_tools")
      yield* noOrphans(made.directory)
      yield* goesOn(made)
    }),
  )

  it.live("SIGHUP, a closed terminal, ends it in order with 129", () =>
    Effect.gen(function* () {
      const made = yield* started
      yield* made.child.signal("SIGHUP")
      endedWith(yield* made.child.ended, 129)
      yield* noOrphans(made.directory)
      yield* goesOn(made)
    }),
  )
})

describe.skipIf(process.platform !== "linux").concurrent("before there is a session", () => {
  it.live("a signal ends the command with its code", () =>
    Effect.gen(function* () {
      const { start, requests } = yield* world({ rules: [{ reply: "never" }] })
      for (const [name, code] of [["SIGINT", 130] as const, ["SIGTERM", 143] as const]) {
        const child = yield* start(["-p", ...flags], { input: "open" })
        yield* child.type("half a prompt")
        yield* child.listens
        yield* child.signal(name)
        endedWith(yield* child.ended, code)
      }
      assert.strictEqual((yield* requests).length, 0)
    }),
  )
})

describe.concurrent("while the model answers", () => {
  it.live("SIGINT keeps what was said and ends with 130", () =>
    Effect.gen(function* () {
      const { start, run, requests } = yield* world({
        rules: [
          { when: { prompt: { equals: "continue" } }, reply: "I go on." },
          { reply: "One two three four five six seven.", pace: { chunk: 4, delay: "100ms" }, faults: [{ stall: 8 }] },
        ],
      })
      const argv = ["-p", "speak", "--session-id", id, ...flags, "--include-partial-messages"]
      const child = yield* start(argv)
      yield* child.until((out) => out.includes("text_delta"))
      yield* child.signal("SIGINT")
      const ended = yield* child.ended
      endedWith(ended, 130)
      assert.strictEqual(resultOf(ended)["terminal_reason"], "aborted_streaming")
      endedWith(yield* run(["-p", "continue", "--resume", id, ...flags]), 0)
      const [, resumed] = yield* requests
      assert.isUndefined(resumed?.note.problem)
      assert.match(JSON.stringify(resumed?.body.messages), /speak.*One.*continue/)
    }),
  )

  it.live("SIGINT during the wait for a retry ends it too", () =>
    Effect.gen(function* () {
      const { start } = yield* world({ rules: [{ reply: "never", faults: [{ status: 529, retry_after: 60 }] }] })
      const child = yield* start(["-p", "speak", ...flags])
      yield* child.until((out) => out.includes("api_retry"))
      yield* child.signal("SIGINT")
      const ended = yield* child.ended
      endedWith(ended, 130)
      assert.strictEqual(resultOf(ended)["terminal_reason"], "aborted_streaming")
    }),
  )
})

describe.concurrent("a reader that goes away", () => {
  it.live("ends the session quietly with 141, and nothing it started is left", () =>
    Effect.gen(function* () {
      const { start, directory } = yield* world({
        rules: [
          {
            when: { turn: { max: 30 } },
            reply: [{ text: "line ".repeat(400) }, { tool: "Glob", input: { pattern: "*" } }],
          },
          { reply: "Done." },
        ],
      })
      const child = yield* start(["-p", "talk", ...flags])
      yield* child.until((out) => out.includes("\n"))
      yield* child.leave
      const ended = yield* child.ended
      endedWith(ended, 141)
      assert.strictEqual(ended.err, "")
      if (process.platform === "linux") yield* noOrphans(directory)
    }),
  )

  it.live("does the same to a command that only shows something", () =>
    Effect.gen(function* () {
      const { start } = yield* place()
      const child = yield* start(["config", "list"])
      yield* child.leave
      const ended = yield* child.ended
      endedWith(ended, 141)
      assert.strictEqual(ended.err, "")
    }),
  )

  it.live("just before the answer as text changes nothing about how the turn ended", () =>
    Effect.gen(function* () {
      const { start, atLeast } = yield* world({ rules: [{ reply: "Hello.", pace: { before: "200ms" } }] })
      const child = yield* start(["-p", "talk"])
      yield* atLeast(1)
      yield* child.leave
      const ended = yield* child.ended
      endedWith(ended, 0)
      assert.strictEqual(ended.err, "")
    }),
  )
})
