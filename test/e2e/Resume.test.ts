/** Sessions over several processes: go on, go on in a copy, choose the id, and never two writers at once. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { appeared, endedWith, resultOf, world } from "./world.ts"

const one = "11111111-1111-4111-8111-111111111111"
const two = "22222222-2222-4222-8222-222222222222"

const talk = {
  rules: [{ when: { turn: 1 }, reply: "First." }, { when: { turn: 2 }, reply: "Second." }, { reply: "More." }],
}

const journal = (config: string, id: string) => path.join(config, "troupe/sessions", id, "journal.ndjson")

describe.concurrent("a session", () => {
  it.live("goes on with --continue and with --resume, and the model is told what was said", () =>
    Effect.gen(function* () {
      const { run, requests } = yield* world(talk)
      const first = resultOf(yield* run(["-p", "Remember 42.", "--output-format", "json"]))
      const second = resultOf(yield* run(["-p", "What was it?", "--continue", "--output-format", "json"]))
      assert.strictEqual(second["session_id"], first["session_id"])
      assert.strictEqual(second["result"], "Second.")
      const third = yield* run(["-p", "And again?", "--resume", String(first["session_id"])])
      endedWith(third, 0)
      const said = JSON.stringify((yield* requests)[2]?.body.messages)
      assert.match(said, /Remember 42.*First\..*What was it.*Second\..*And again/)
    }),
  )

  it.live("goes on in a copy with --fork-session; the original stays as it is", () =>
    Effect.gen(function* () {
      const { run, config } = yield* world(talk)
      endedWith(yield* run(["-p", "Remember 42.", "--session-id", one]), 0)
      const before = fs.readFileSync(journal(config, one), "utf8")
      const argv = ["-p", "And?", "--resume", one, "--fork-session", "--session-id", two, "--output-format", "json"]
      const copy = resultOf(yield* run(argv))
      assert.strictEqual(copy["session_id"], two)
      assert.strictEqual(copy["result"], "Second.")
      assert.strictEqual(fs.readFileSync(journal(config, one), "utf8"), before)
      const continued = resultOf(yield* run(["-p", "And?", "--continue", "--fork-session", "--output-format", "json"]))
      assert.notInclude([one, two], String(continued["session_id"]))
    }),
  )

  it.live("has the id that --session-id gives it, once", () =>
    Effect.gen(function* () {
      const { run } = yield* world(talk)
      assert.strictEqual(
        resultOf(yield* run(["-p", "hi", "--session-id", one, "--output-format", "json"]))["session_id"],
        one,
      )
      const taken = yield* run(["-p", "hi", "--session-id", one])
      endedWith(taken, 1)
      assert.match(taken.err, /exists already\. Resume it with --resume/)
    }),
  )

  it.live("that is not there is named, with what to do instead", () =>
    Effect.gen(function* () {
      const { run } = yield* world(talk)
      const unknown = yield* run(["-p", "hi", "--resume", two])
      endedWith(unknown, 1)
      assert.match(unknown.err, new RegExp(`no session ${two} to resume.*--continue`))
      const none = yield* run(["-p", "hi", "--continue"])
      endedWith(none, 1)
      assert.match(none.err, /no session in .* to go on with/)
    }),
  )

  it.live("belongs to one process at a time; another may take a copy meanwhile", () =>
    Effect.gen(function* () {
      const { run, start, work, write } = yield* world({
        rules: [
          { when: { tool: {} }, reply: "Done." },
          {
            when: { prompt: { equals: "wait" } },
            reply: [{ tool: "Bash", input: { command: "touch here; until [ -e go ]; do sleep 0.02; done" } }],
          },
          { reply: "A copy." },
        ],
      })
      const flags = ["--dangerously-skip-permissions"]
      const first = yield* start(["-p", "wait", "--session-id", one, ...flags])
      yield* appeared(path.join(work, "here"))
      const second = yield* run(["-p", "me too", "--resume", one, ...flags])
      endedWith(second, 1)
      assert.include(second.err, `Session ${one} is in use by process ${first.pid}.`)
      assert.match(second.err, /--fork-session/)
      const copy = yield* run(["-p", "me too", "--resume", one, "--fork-session", ...flags])
      endedWith(copy, 0)
      write("go", "")
      const end = yield* first.ended
      endedWith(end, 0)
      assert.strictEqual(end.out, "Done.\n")
    }),
  )

  it.live("of another client is resumed from its transcript, torn and unpaired as it may be", () =>
    Effect.gen(function* () {
      const { run, write, config, work, requests } = yield* world({ rules: [{ reply: "I remember." }] })
      const line = (uuid: string, parentUuid: string | null, type: string, message: unknown) =>
        JSON.stringify({
          type,
          uuid,
          parentUuid,
          sessionId: one,
          cwd: work,
          version: "2.0.0",
          timestamp: "2026-01-01T00:00:00.000Z",
          isSidechain: false,
          userType: "external",
          message,
        })
      const text = [
        line("a1", null, "user", { role: "user", content: "The word is plum." }),
        line("a2", "a1", "assistant", {
          id: "m1",
          type: "message",
          role: "assistant",
          model: "claude-sonnet-5",
          content: [{ type: "text", text: "Noted." }],
          stop_reason: "end_turn",
          usage: { input_tokens: 1, output_tokens: 1 },
        }),
        line("a4", "a3-is-missing", "user", { role: "user", content: "List the files." }),
        line("a5", "a4", "assistant", {
          id: "m2",
          type: "message",
          role: "assistant",
          model: "claude-sonnet-5",
          content: [{ type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls" } }],
          stop_reason: "tool_use",
          usage: { input_tokens: 1, output_tokens: 1 },
        }),
        '{"type":"user","uuid":"a6","parentUu',
      ].join("\n")
      write(path.join(config, "projects", work.replace(/[^a-zA-Z0-9]/g, "-"), `${one}.jsonl`), text)
      const ended = yield* run(["-p", "What was the word?", "--resume", one])
      endedWith(ended, 0)
      assert.strictEqual(ended.out, "I remember.\n")
      const [asked] = yield* requests
      assert.isUndefined(asked?.note.problem)
      assert.match(JSON.stringify(asked?.body.messages), /plum.*toolu_1.*tool_result.*What was the word/)
    }),
  )
})
