/** The long session: everything that can happen in it, two hundred replies, and its replay in two seconds. */
import process from "node:process"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { Agents } from "../../src/agents/Agents.ts"
import * as Toolset from "../../src/agents/Toolset.ts"
import { Hooks } from "../../src/hooks/Hooks.ts"
import * as Replay from "../../src/replay/Replay.ts"
import * as Edits from "../../src/replay/Edits.ts"
import * as Journal from "../../src/session/Journal.ts"
import type { JournalRecord } from "../../src/session/JournalRecord.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import type { Told } from "../../src/testing/index.ts"
import { hurried } from "../agents/session.ts"

const files = Object.fromEntries(
  Array.from({ length: 12 }, (_, n) => [
    `/work/src/part${n}.ts`,
    `export const part = ${n}\nexport const name = "p${n}"\n`,
  ]),
)

const perPrompt = 42

/** What the model does in the reply of this number. */
const act = ({ turn }: Told) => {
  if (turn % perPrompt === 0) return "That part is done."
  const file = `/work/src/part${turn % 12}.ts`
  switch (turn % 5) {
    case 0:
      return [{ text: `Looking at ${file}.` }, { tool: "Read", input: { file_path: file } }]
    case 1:
      return [
        { tool: "Grep", input: { pattern: "export", path: "/work/src" } },
        { tool: "Read", input: { file_path: file } },
        { tool: "Glob", input: { pattern: "src/*.ts" } },
      ]
    case 2:
      return [{ tool: "Bash", input: { command: `echo turn ${turn}` } }]
    case 3:
      return [
        { tool: "Read", input: { file_path: file } },
        { tool: "Edit", input: { file_path: file, old_string: "export const name", new_string: "export const label" } },
      ]
    default:
      return [{ tool: "Write", input: { file_path: `/work/out/${turn}.txt`, content: `turn ${turn}\n` } }]
  }
}

const book = {
  rules: [
    { when: { user: "Report only" }, reply: "Nothing to report." },
    {
      when: { user: "send someone" },
      reply: [{ tool: "Agent", input: { description: "look", prompt: "Report only" } }],
    },
    { when: { user: "wait" }, reply: [{ tool: "Bash", input: { command: "sleep 1000" } }] },
    { when: { turn: 3 }, reply: act, faults: [{ status: 529, times: 1 }] },
    { when: { user: "look once more" }, reply: "I have looked." },
    { when: { prompt: "send someone" }, reply: "They had nothing to say." },
    { when: { turn: 9 }, reply: act, faults: [{ reset: 4, times: 1 }] },
    { reply: act },
  ],
}

const command = ({ args = [] }: { readonly args?: ReadonlyArray<string> }) =>
  args.some((arg) => arg.includes("sleep 1000"))
    ? Effect.never
    : Effect.succeed({ stdout: `${args.at(-1)}\n`, exitCode: 0 })

const recorded = Effect.gen(function* () {
  const agents = yield* Agents
  const hooks = yield* Hooks
  yield* hooks.on(
    "PostToolUse",
    () => Effect.succeed({ hookSpecificOutput: { hookEventName: "PostToolUse", additionalContext: "noted" } }),
    { matcher: "Edit" },
  )
  yield* hooks.on("Stop", ({ stop_hook_active }) =>
    Effect.succeed(stop_hook_active === true ? {} : { decision: "block", reason: "look once more" }),
  )
  const agent = yield* agents.open({ tools: Toolset.all, permissionMode: "bypassPermissions" })
  const ask = (prompt: string) => hurried(Stream.runCollect(agent.prompt(prompt)))
  yield* ask("Work on part one")
  yield* ask("send someone")
  const seen = yield* agent.watch
  const waiting = yield* Effect.forkChild(ask("wait"))
  yield* Stream.runHead(Stream.filter(seen, (event) => event._tag === "ToolStarted"))
  yield* agent.interrupt()
  yield* Fiber.join(waiting)
  for (const part of ["two", "three", "four", "five"]) yield* ask(`Work on part ${part}`)
  return yield* Journal.read(agent.sessionId)
}).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book, { files, command })))

const count = (records: ReadonlyArray<JournalRecord>, tag: JournalRecord["event"]["_tag"]) =>
  records.filter(({ event }) => event._tag === tag).length

describe("the replay of two hundred turns", () => {
  it.effect(
    "is identical, offline, without waiting for anything, and a changed result of a tool shows in the request that tells it",
    () =>
      Effect.gen(function* () {
        const { records } = yield* recorded
        assert.isAtLeast(count(records, "ReplyEnded"), 200)
        for (const tag of ["RetryWaiting", "SubagentEnded", "HookRan", "ToolStarted"] as const)
          assert.isAtLeast(count(records, tag), 1, tag)
        const tools = new Set(records.flatMap(({ event }) => (event._tag === "ToolStarted" ? [event.tool] : [])))
        assert.includeMembers([...tools], ["Read", "Grep", "Bash", "Edit", "Write", "Glob", "Agent"])
        const begun = process.cpuUsage()
        const at = performance.now()
        const report = yield* Replay.run(records)
        const { system, user } = process.cpuUsage(begun)
        // Nothing is waited for, so on a machine of its own that is the time it takes.
        const ms = Math.round((system + user) / 1000)
        const wall = Math.round(performance.now() - at)
        const replies = count(records, "ReplyEnded")
        yield* Effect.logInfo(
          `${records.length} records, ${replies} replies: replayed in ${ms} ms (${wall} ms on the clock)`,
        )
        assert.deepStrictEqual(report.differences, [])
        assert.strictEqual(report.counts.transitions, count(records, "TransitionTaken"))
        assert.deepStrictEqual(report.journal, records)
        // On a machine of its own it takes less than two seconds.
        assert.isAtMost(ms, 10_000)

        const read = records.filter(({ event }) => event._tag === "ToolEnded" && event.tool === "Read")[20]
        assert.isDefined(read)
        const seq = read?.seq ?? 0
        const edits = new Map([[seq, yield* Edits.apply(records, seq, "something else")]])
        const changed = yield* Replay.run(records, { edits })
        const told = records.find((one) => one.seq > seq && one.event._tag === "RequestSent")
        assert.strictEqual(changed.differences[0]?.seq, told?.seq)
        assert.strictEqual(changed.differences[0]?.kind, "RequestSent")
      }),
    120_000,
  )
})
