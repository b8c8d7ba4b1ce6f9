import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { Agents } from "../../src/agents/Agents.ts"
import { Host } from "../../src/platform/Host.ts"
import { plainText } from "../../src/protocol/Content.ts"
import * as SessionPaths from "../../src/session/SessionPaths.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import type { Recording } from "../../src/testing/Recorder.ts"
import * as StrictApi from "../../src/testing/StrictApi.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import { coding } from "../../src/tools/builtin/Coding.ts"
import { begin, echo, ended, hurried, note, only, open, resultsIn } from "./session.ts"

const id = "6f1c9c52-6f6c-4f9e-9d9e-0a4b5f3f7e11"
const tools = [echo, note]

const book = {
  rules: [
    {
      when: { user: "Go" },
      reply: [
        { tool: "Note", input: { text: "a", ms: 60_000 } },
        { tool: "Echo", input: { text: "b" } },
      ],
    },
    { when: { user: "Look" }, reply: [{ tool: "Echo", input: { text: "b", ms: 60_000 } }] },
    { reply: "On we go." },
  ],
}

/** The journal as a process that was killed leaves it behind: cut after some record. */
const cutAfter = Effect.fnUntraced(function* (kind: string) {
  const fs = yield* FileSystem.FileSystem
  const path = SessionPaths.journalPath(yield* Host, id)
  const lines = (yield* fs.readFileString(path)).trimEnd().split("\n")
  const at = lines.findIndex((line) => line.includes(`"kind":"${kind}"`))
  yield* fs.writeFileString(path, `${lines.slice(0, at + 1).join("\n")}\n`)
})

const interrupted = (prompt: string) =>
  Effect.gen(function* () {
    const agent = yield* open({ sessionId: id })
    const turn = yield* begin(agent, prompt)
    yield* turn.until("ToolStarted")
    yield* agent.interrupt()
    yield* turn.end
  }).pipe(Effect.scoped)

const resumed = (prompt: string) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const agent = yield* agents.resume(id, { tools, permissionMode: "bypassPermissions" })
    const events = yield* hurried(Stream.runCollect(agent.prompt(prompt)))
    const requests = yield* ScriptedModel.requests
    assert.isUndefined(StrictApi.problem(requests.at(-1)!.body, { mayContinue: false }))
    return { agent, events, requests }
  }).pipe(Effect.scoped)

describe("Agents", () => {
  it.effect("opens a session under an id of one's own, once", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(Effect.flatMap(open({ sessionId: id }), (agent) => Stream.runDrain(agent.prompt("Hi"))))
      const taken = yield* Effect.flip(Effect.scoped(open({ sessionId: id })))
      assert.strictEqual(taken._tag, "BadSessionId")
      const odd = yield* Effect.flip(Effect.scoped(open({ sessionId: "../../etc/passwd" })))
      assert.match(odd.message, /UUID/)
    }).pipe(Effect.provide(TestRuntime.layer(book))),
  )

  it.effect("lets only one writer into a session", () =>
    Effect.gen(function* () {
      yield* open({ sessionId: id })
      const busy = yield* Effect.flip(resumed("Hi"))
      assert.strictEqual(busy._tag, "SessionBusy")
    }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
  )

  it.effect("says which session it cannot find", () =>
    Effect.gen(function* () {
      assert.match((yield* Effect.flip(resumed("Hi"))).message, new RegExp(id))
    }).pipe(Effect.provide(TestRuntime.layer(book))),
  )

  it.effect("goes on with the conversation, its model and what it cost", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(
        Effect.flatMap(open({ sessionId: id, model: "haiku" }), (agent) => Stream.runDrain(agent.prompt("Hi"))),
      )
      const { requests, agent } = yield* resumed("Still there?")
      assert.deepStrictEqual(
        requests.at(-1)?.body.messages.map((message) => plainText(message.content)),
        ["Hi", "On we go.", "Still there?"],
      )
      assert.strictEqual((yield* agent.controls).model, "haiku")
      const agents = yield* Agents
      assert.strictEqual(yield* agents.latest("/work"), id)
    }).pipe(Effect.provide(TestRuntime.layer(book))),
  )

  it.effect("says what has become different once, and once more when it is as it was", () =>
    Effect.gen(function* () {
      const news = (requests: ReadonlyArray<Recording>) =>
        (requests.at(-1)?.body.messages ?? []).flatMap(({ content }) =>
          [...plainText(content).matchAll(/Since this session was last open[^]*?Today: (\S+)/g)].map(([, day]) => day),
        )
      yield* Effect.scoped(Effect.flatMap(open({ sessionId: id }), (agent) => Stream.runDrain(agent.prompt("Hi"))))
      yield* TestClock.setTime(3 * 86_400_000)
      assert.deepStrictEqual(news((yield* resumed("One")).requests), ["1970-01-04"])
      assert.deepStrictEqual(news((yield* resumed("Two")).requests), ["1970-01-04"])
      yield* TestClock.setTime(0)
      assert.deepStrictEqual(news((yield* resumed("Three")).requests), ["1970-01-04", "1970-01-01"])
      assert.deepStrictEqual(news((yield* resumed("Four")).requests), ["1970-01-04", "1970-01-01"])
      yield* TestClock.setTime(3 * 86_400_000)
      const agents = yield* Agents
      const agent = yield* agents.resume(id, { tools, permissionMode: "bypassPermissions" })
      yield* agent.rewind("2", { what: "conversation" })
      yield* hurried(Stream.runCollect(agent.prompt("Five")))
      assert.deepStrictEqual(news(yield* ScriptedModel.requests), ["1970-01-04"])
    }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
  )

  describe("after a crash", () => {
    it.effect("reports a call that may have happened as unknown, and never repeats it", () =>
      Effect.gen(function* () {
        yield* interrupted("Go")
        yield* cutAfter("ToolStarted")
        const { events, requests } = yield* resumed("Well?")
        assert.deepStrictEqual(
          only(events, "ToolEnded").map(({ tool, outcome }) => [tool, outcome]),
          [
            ["Note", "unknown"],
            ["Echo", "cancelled"],
          ],
        )
        assert.strictEqual(only(events, "ToolStarted").length, 0)
        assert.match(resultsIn(requests.at(-1))[0] ?? "", /outcome is unknown/)
        assert.strictEqual(ended(events).terminal.reason, "completed")
      }).pipe(Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("repeats a call that only reads", () =>
      Effect.gen(function* () {
        yield* interrupted("Look")
        yield* cutAfter("ToolStarted")
        const { events, requests } = yield* resumed("Well?")
        assert.deepStrictEqual(
          only(events, "ToolEnded").map(({ outcome }) => outcome),
          ["completed"],
        )
        assert.deepStrictEqual(resultsIn(requests.at(-1)), ["b"])
      }).pipe(Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("can be interrupted while it repeats a call", () =>
      Effect.gen(function* () {
        yield* interrupted("Look")
        yield* cutAfter("ToolStarted")
        const agents = yield* Agents
        const agent = yield* agents.resume(id, { tools, permissionMode: "bypassPermissions" })
        const turn = yield* begin(agent, "Well?")
        yield* turn.until("ToolStarted")
        yield* agent.interrupt()
        const events = yield* turn.end
        assert.strictEqual(ended(events).terminal.reason, "aborted_tools")
        assert.deepStrictEqual(
          only(events, "ToolEnded").map(({ outcome }) => outcome),
          ["cancelled"],
        )
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("reports what may not be repeated any more, with what the file says", () =>
      Effect.gen(function* () {
        const agents = yield* Agents
        const all = { tools: coding }
        yield* Effect.scoped(
          Effect.gen(function* () {
            const agent = yield* agents.open({ ...all, sessionId: id, permissionMode: "acceptEdits" })
            yield* hurried(Stream.runCollect(agent.prompt("Write")))
          }),
        )
        yield* cutAfter("ToolStarted")
        const agent = yield* agents.resume(id, all)
        const [result] = only(yield* hurried(Stream.runCollect(agent.prompt("Well?"))), "ToolEnded")
        assert.strictEqual(result?.outcome, "unknown")
        assert.match(String(result?.content), /it happened/)
      }).pipe(
        Effect.scoped,
        Effect.provide(
          TestRuntime.layer({
            rules: [
              {
                when: { user: "Write" },
                reply: [{ tool: "Write", input: { file_path: "/work/a.txt", content: "x" } }],
              },
              { reply: "On we go." },
            ],
          }),
        ),
      ),
    )

    it.effect("forgets a reply of which nothing had begun", () =>
      Effect.gen(function* () {
        yield* interrupted("Go")
        yield* cutAfter("BlockReceived")
        const { requests } = yield* resumed("Well?")
        assert.deepStrictEqual(
          requests.at(-1)?.body.messages.map((message) => plainText(message.content)),
          ["Go", "Well?"],
        )
      }).pipe(Effect.provide(TestRuntime.layer(book))),
    )
  })

  it.effect("goes on in a copy and leaves the original alone", () =>
    Effect.gen(function* () {
      yield* Effect.scoped(Effect.flatMap(open({ sessionId: id }), (agent) => Stream.runDrain(agent.prompt("Hi"))))
      const fs = yield* FileSystem.FileSystem
      const path = SessionPaths.journalPath(yield* Host, id)
      const before = yield* fs.readFileString(path)
      const agents = yield* Agents
      const copy = yield* agents.fork(id, { tools })
      yield* Stream.runDrain(copy.prompt("And in the copy?"))
      assert.notStrictEqual(copy.sessionId, id)
      assert.strictEqual(yield* fs.readFileString(path), before)
      const requests = yield* ScriptedModel.requests
      assert.deepStrictEqual(
        requests.at(-1)?.body.messages.map((message) => plainText(message.content)),
        ["Hi", "On we go.", "And in the copy?"],
      )
    }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
  )

  it.effect("resumes a transcript of another client, whatever is wrong with it", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = `${(yield* Host).configDir}/projects/-work`
      yield* fs.makeDirectory(directory, { recursive: true })
      const line = (uuid: string, parentUuid: string | null, type: "user" | "assistant", content: unknown) =>
        JSON.stringify({
          type,
          uuid,
          parentUuid,
          sessionId: id,
          cwd: "/work",
          version: "2.1.81",
          isSidechain: false,
          timestamp: "2026-11-01T10:00:00.000Z",
          message: { role: type, content, ...(type === "assistant" && { id: "msg_1", model: "claude-sonnet-5" }) },
        })
      const call = (name: string) => ({ type: "tool_use", id: `toolu_${name}`, name: "Bash", input: { command: name } })
      yield* fs.writeFileString(
        `${directory}/${id}.jsonl`,
        [
          line("u1", null, "user", "Please build it"),
          line("a1", "u1", "assistant", [{ type: "text", text: "I build." }]),
          line("a2", "a1", "assistant", [call("make")]),
          // The line that this one follows is not in the file.
          line("u2", "lost", "user", [{ type: "tool_result", tool_use_id: "toolu_make", content: "built" }]),
          line("a3", "u2", "assistant", [call("test")]),
          `{"type":"user","uuid":"u3","parentUuid":"a3","message":{"role":"us`,
        ].join("\n"),
      )
      const { agent, requests } = yield* resumed("Well?")
      const text = JSON.stringify(requests.at(-1)?.body.messages)
      for (const kept of ["Please build it", "I build.", "toolu_make", "built", "toolu_test", "Well?"]) {
        assert.include(text, kept)
      }
      assert.isAbove(agent.problems.length, 0)
      assert.isTrue(agent.problems.some((problem) => /line 6/.test(problem)))
      // From now on it is one of ours.
      yield* resumed("And now?")
    }).pipe(Effect.provide(TestRuntime.layer(book))),
  )
})
