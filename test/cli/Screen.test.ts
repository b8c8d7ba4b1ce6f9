import { assert, describe, it } from "@effect/vitest"
import * as Screen from "../../src/cli/Screen.ts"
import { diffLines, truncate } from "../../src/cli/ToolView.ts"
import type { Event } from "../../src/protocol/Event.ts"
import * as Events from "./events.ts"

const ESC = "\u001b"
const wipe = `\r${ESC}[2K`

const screen = (more: Partial<Screen.Look> = {}) =>
  Screen.make({ color: false, live: false, columns: () => 60, cwd: "/w", ...more })

const shown = (events: ReadonlyArray<Event>, more: Partial<Screen.Look> = {}): string => {
  const { show } = screen(more)
  return events.map(show).join("")
}

describe("the screen", () => {
  it("shows a turn: text as it streams, tools with what came of them, the cost", () => {
    const text = shown([
      Events.prompted(),
      Events.started,
      Events.delta("I look at "),
      Events.delta("the file."),
      Events.block({ type: "text", text: "I look at the file." }),
      Events.call("t1", "Read", { file_path: "/w/src/a.ts" }),
      Events.replied({ stopReason: "tool_use" }),
      Events.toolStarted("t1", "Read", { file_path: "/w/src/a.ts" }),
      Events.toolEnded("t1", "Read", { content: "1\n2\n3" }),
      Events.toolStarted("t2", "Bash", { command: "npm test" }),
      Events.toolEnded("t2", "Bash", { content: "a\nb\nc\nd\ne\nf\ng\nh", durationMs: 2340 }),
      Events.ended(),
    ])
    assert.strictEqual(
      text,
      [
        "I look at the file.",
        "● Read src/a.ts",
        "  3 lines",
        "● Bash npm test  2.3 s",
        "  … 2 lines before",
        ...["c", "d", "e", "f", "g", "h"].map((line) => `  ${line}`),
        "2 turns · 550 tokens in (400 cached), 20 out · $0.2500 · 1.5 s",
        "",
      ].join("\n"),
    )
  })

  it("shows a reply that was not streamed, once", () => {
    assert.strictEqual(shown([Events.block({ type: "text", text: "whole" })]), "whole\n")
  })

  it("shows an edit as a diff with line numbers", () => {
    const structured = { structuredPatch: [{ oldStart: 7, newStart: 7, lines: [" same", "-old", "+new"] }] }
    const text = shown([
      Events.toolStarted("t1", "Edit", { file_path: "/w/a" }),
      Events.toolEnded("t1", "Edit", { structured }),
    ])
    assert.strictEqual(text, "● Edit a\n     7   same\n     8 - old\n     8 + new\n")
  })

  it("finds the diff of an edit in its arguments if its output has none", () => {
    const input = { file_path: "/w/a", old_string: "a\nb", new_string: "a\nc" }
    const text = shown([Events.toolStarted("t1", "Edit", input), Events.toolEnded("t1", "Edit")])
    assert.include(text, "2 - b\n")
    assert.include(text, "2 + c\n")
  })

  it("colours a diff only when it may", () => {
    const structured = { structuredPatch: [{ oldStart: 1, newStart: 1, lines: ["-old", "+new"] }] }
    const events = [Events.toolEnded("t1", "Edit", { structured })]
    assert.include(shown(events, { color: true }), `${ESC}[31m   1 - old${ESC}[39m`)
    assert.include(shown(events, { color: true }), `${ESC}[32m   1 + new${ESC}[39m`)
    assert.notInclude(shown(events), ESC)
  })

  it("says how a call failed", () => {
    assert.strictEqual(
      shown([Events.toolEnded("t1", "Read", { outcome: "failed", content: "There is no file a." })]),
      "✗ Read\n  There is no file a.\n",
    )
    assert.include(shown([Events.toolEnded("t1", "Bash", { outcome: "denied", content: "no" })]), "not allowed: no")
    assert.include(shown([Events.toolEnded("t1", "Bash", { outcome: "unknown" })]), "not repeated")
  })

  it("lets nobody else write escape sequences", () => {
    const evil = `${ESC}]0;pwned\u0007${ESC}[2Jtext`
    const text = shown([
      Events.delta(evil.slice(0, 5)),
      Events.delta(evil.slice(5)),
      Events.toolStarted("t1", "Bash", { command: `echo ${evil}` }),
      Events.toolEnded("t1", "Bash", { content: evil }),
      Events.toolEnded("t2", `Evil${evil}`, { outcome: "failed", content: evil }),
      { _tag: "Diagnosed", level: "error", message: evil },
      Events.ended({ terminal: { reason: "api_error", detail: evil } }),
    ])
    assert.notMatch(text, /[^\n\P{C}]/u)
    assert.strictEqual(text.split("pwned").length - 1, 2, "only in the names of the calls, where nothing is left out")
    assert.include(text, "● Bash echo \\x1b]0;pwned\\x07\\x1b[2Jtext")
  })

  it("cleans the lines between the events too", () => {
    const { lines } = screen()
    assert.strictEqual(lines([{ tone: "quiet", text: `model ${ESC}]0;pwned\u0007x` }]), "model x\n")
  })

  it("highlights what was escaped", () => {
    const line = { tone: "normal", text: "ls \\x1b -l", marks: [{ from: 3, to: 7 }] } as const
    assert.strictEqual(screen().lines([line]), "ls \\x1b -l\n")
    assert.strictEqual(screen({ color: true }).lines([line]), `ls ${ESC}[7m\\x1b${ESC}[27m -l\n`)
  })

  it("uses no control codes where it cannot be redrawn", () => {
    const { show, tick, settle } = screen()
    show(Events.toolStarted("t1", "Bash", { command: "sleep 1" }))
    assert.strictEqual(tick() + settle(), "")
  })

  it("spins while it waits, and wipes the status before anything else", () => {
    const { show, tick } = screen({ live: true })
    assert.strictEqual(tick(), "")
    show({
      _tag: "RequestSent",
      requestId: "r1",
      attempt: 1,
      model: "m",
      maxTokens: 1,
      streaming: true,
      messages: 1,
      ledger: [],
    })
    const first = tick()
    assert.match(first, /thinking$/)
    assert.isTrue(first.startsWith(wipe))
    assert.notStrictEqual(tick(), first)
    assert.strictEqual(show(Events.delta("hi")), `${wipe}hi`)
    assert.strictEqual(tick(), "", "not in the middle of a line")
    show(Events.block({ type: "text", text: "hi" }))
    show(Events.toolStarted("t1", "Bash", { command: "a" }))
    show(Events.toolStarted("t2", "Grep", { pattern: "b" }))
    assert.include(tick(), "Bash a · Grep b")
    assert.isTrue(show(Events.toolEnded("t1", "Bash")).startsWith(wipe))
    show(Events.ended())
    assert.strictEqual(tick(), "")
  })

  it("keeps the status on one line", () => {
    const { show, tick } = screen({ live: true, columns: () => 30 })
    show(Events.toolStarted("t1", "Bash", { command: `echo ${"漢".repeat(100)}\nsecond` }))
    const status = tick().slice(wipe.length)
    assert.isAtMost(status.length, 30)
    assert.notInclude(status, "\n")
  })

  it("says why it tries again, in the words of the failure", () => {
    const text = shown([
      { _tag: "ReplyAbandoned", requestId: "r1", reason: "Nothing listens at http://x." },
      { _tag: "RetryWaiting", requestId: "r1", attempt: 1, maxAttempts: 10, delayMs: 500, reason: "connection_failed" },
    ])
    assert.strictEqual(text, "↻ Nothing listens at http://x. Trying again in 0.5 s (attempt 1 of 10).\n")
  })

  it("says so when text that was shown is void", () => {
    const text = shown([Events.delta("half"), { _tag: "ReplyAbandoned", requestId: "r1", reason: "reset" }])
    assert.strictEqual(text, "half\n↻ The reply broke off and starts again: reset\n")
  })

  it("says how a turn ended, and what it cost all the same", () => {
    const text = shown([Events.ended({ terminal: { reason: "max_turns" } })])
    assert.include(text, "✗ the turn limit was reached\n")
    assert.include(text, "$0.2500")
    assert.include(shown([Events.ended({ terminal: { reason: "aborted_tools" } })]), "■ interrupted")
  })

  it("invents no price", () => {
    assert.include(shown([Events.replied({ costUsd: null }), Events.ended({ costUsd: 0 })]), "price unknown")
    assert.include(shown([Events.replied({ costUsd: null }), Events.ended()]), "$0.2500 + an unknown price")
  })

  it("shows requests and transitions only when asked", () => {
    const event: Event = { _tag: "TransitionTaken", transition: "model_fallback", detail: "overloaded" }
    assert.strictEqual(shown([event]), "")
    assert.include(shown([event], { verbose: true }), "model_fallback overloaded")
  })

  it("leaves the answer out where it is printed elsewhere", () => {
    assert.strictEqual(shown([Events.delta("a"), Events.block({ type: "text", text: "a" })], { mute: true }), "")
  })
})

it("cutting counts columns, not characters", () => {
  assert.strictEqual(truncate("abcdef", 4), "abc…")
  assert.strictEqual(truncate("漢字漢字", 5), "漢字…")
  assert.strictEqual(truncate("👩‍👩‍👧x", 3), "👩‍👩‍👧x")
})

it("a diff in text gets its tones", () => {
  const tones = diffLines("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n").map(({ tone }) => tone)
  assert.deepStrictEqual(tones, ["quiet", "quiet", "quiet", "removed", "added", "normal"])
})
