import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Counterfactual from "../../src/replay/Counterfactual.ts"
import * as Edits from "../../src/replay/Edits.ts"
import * as Fixture from "../../src/replay/Fixture.ts"
import * as Journal from "../../src/session/Journal.ts"
import { type Playbook, Replay, TestRuntime } from "../../src/testing/index.ts"
import { hurried, note, echo, open } from "../agents/session.ts"

const secret = `sk-ant-${"x".repeat(24)}`

const book: Parameters<typeof Playbook.make>[0] = {
  rules: [
    { when: { tool: "Echo", request: 1 }, reply: "Never." },
    { when: { tool: "Echo" }, reply: "It says so." },
    { reply: [{ tool: "Echo", input: { text: `/work/secret holds ${secret}` } }] },
  ],
}

/** What happens in a world in which the session was recorded before. */
const recordedThen = <A, E, R>(then: (records: Journal.JournalContent["records"]) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const agent = yield* open({ tools: [echo, note], model: "sonnet" })
    yield* hurried(Stream.runCollect(agent.prompt("What does /work/secret say?")))
    const { records } = yield* Journal.read(agent.sessionId)
    return yield* then(records)
  }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book)))

describe("a fixture", () => {
  it.effect("has no secrets and no paths of the machine, replays identically, and comes with a playbook", () =>
    recordedThen(
      Effect.fnUntraced(function* (records) {
        const made = yield* Fixture.make(records, { cwd: "/work/secret", home: "/home/somebody" })
        const file = JSON.stringify(made)
        assert.notInclude(file, secret)
        assert.notInclude(file, "/work/secret")
        assert.include(file, "[redacted: a key of Anthropic]")
        const report = yield* Replay.fixture(JSON.parse(file))
        assert.deepStrictEqual(report.differences, [])
        const { turns } = Fixture.playbook(made.records, "bug")
        assert.deepStrictEqual(
          turns.map(({ stop_reason }) => stop_reason),
          ["tool_use", "end_turn"],
        )
      }),
    ),
  )

  it.effect("says what is wrong with a file that is none", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Replay.fixture({ records: [] }))
      assert.include(error.message, "it is no recording")
    }),
  )
})

describe("an edit", () => {
  it.effect("is of what was observed, not of what was decided", () =>
    recordedThen(
      Effect.fnUntraced(function* (records) {
        const seqOf = (tag: string) => records.find(({ event }) => event._tag === tag)?.seq ?? 0
        const error = yield* Effect.flip(Edits.apply(records, seqOf("RequestSent"), "x"))
        assert.include(error.message, "worked out, not observed")
        const edited = yield* Edits.apply(records, seqOf("PermissionDecided"), { behavior: "deny", reason: "no" })
        const report = yield* Replay.records(records, { edits: new Map([[seqOf("PermissionDecided"), edited]]) })
        const [first] = report.differences
        assert.strictEqual(first?.seq, seqOf("ToolStarted"))
        assert.strictEqual(first?.what, "instead")
        assert.strictEqual(first?.actual?._tag, "ToolEnded")
      }),
    ),
  )
})

describe("a counterfactual", () => {
  it.effect("goes on with another model, and runs nothing: a call that was made before has its result", () =>
    recordedThen(
      Effect.fnUntraced(function* (records) {
        const at = records.find(({ event }) => event._tag === "PromptReceived")?.seq ?? 0
        const { counterfactual, recorded } = yield* Counterfactual.run(records, { at, model: "opus" })
        assert.include(counterfactual.model, "opus")
        assert.deepStrictEqual(counterfactual.replies, recorded.replies)
        assert.deepStrictEqual(
          counterfactual.calls.map(({ outcome, tool }) => [tool, outcome]),
          [["Echo", "completed"]],
        )
        assert.strictEqual(counterfactual.terminal?.reason, "completed")
      }),
    ),
  )
})
