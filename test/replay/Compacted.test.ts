/** Sessions whose conversation was put shorter, or went back, are replayed like any other. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Replay from "../../src/replay/Replay.ts"
import * as Journal from "../../src/session/Journal.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import { echo, hurried, note, open } from "../agents/session.ts"

const long = Array.from({ length: 120 }, (_, at) => `nothing of consequence is said in line ${at}`).join("\n")

const book = (more: Playbook["rules"] = []): Playbook => ({
  rules: [
    ...more,
    { when: { user: "goes on from a summary that you write now" }, reply: "<summary>It was echoed.</summary>" },
    {
      when: ({ prompt, turn }) => turn <= Number(/echo (\d+)/.exec(prompt)?.[1] ?? 0),
      reply: ({ turn }) => [{ tool: "Echo", input: { text: `${turn} ${long}` } }],
    },
    { reply: "Done." },
  ],
})

const small = { host: { env: { CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "2" } } }

const replayed = Effect.fnUntraced(function* (
  prompts: ReadonlyArray<string>,
  world: TestRuntime.TestRuntimeOptions = {},
  rules: Playbook["rules"] = [],
) {
  const recording = Effect.gen(function* () {
    const agent = yield* open({ model: "opus", tools: [echo, note] })
    for (const prompt of prompts) {
      if (prompt.startsWith("back to ")) yield* agent.rewind(prompt.slice(8), { what: "conversation" })
      else yield* hurried(Stream.runCollect(agent.prompt(prompt)))
    }
    return yield* Journal.read(agent.sessionId)
  }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book(rules), world)))
  const { records } = yield* recording
  const report = yield* Replay.run(records)
  assert.deepStrictEqual(report.differences, [])
  assert.deepStrictEqual(report.journal, records)
  return records.map(({ event }) => event)
})

describe("a replay of a session", () => {
  it.effect("that was put shorter by itself", () =>
    Effect.gen(function* () {
      const events = yield* replayed(["echo 16", "and now?"], small)
      assert.isTrue(events.some((event) => event._tag === "Compacted" && event.trigger === "auto"))
    }),
  )

  it.effect("that was summed up because a person wanted it", () =>
    Effect.gen(function* () {
      const events = yield* replayed(["echo 3", "/compact", "and now?"])
      assert.isTrue(events.some((event) => event._tag === "Compacted" && event.layer === "summary"))
    }),
  )

  it.effect("that the service found too long", () =>
    Effect.gen(function* () {
      const tooLong = {
        when: ({ turn }: { turn: number }) => turn === 5,
        once: true,
        faults: [{ prompt_too_long: true as const }],
      }
      const events = yield* replayed(["echo 6"], {}, [tooLong])
      assert.isTrue(events.some((event) => event._tag === "Compacted" && event.trigger === "reactive"))
    }),
  )

  it.effect("that only repeated what fails", () =>
    Effect.gen(function* () {
      const failing = { when: { history: "in circles" }, reply: [{ tool: "Nobody", input: {} }] }
      const events = yield* replayed(["go in circles"], {}, [failing])
      const end = events.findLast((event) => event._tag === "TurnEnded")
      assert.strictEqual(end?.terminal.reason, "repetition_stopped")
    }),
  )

  it.effect("that went back", () =>
    Effect.gen(function* () {
      const events = yield* replayed(["echo 2", "something else", "back to 2", "another thing"])
      assert.isTrue(events.some(({ _tag }) => _tag === "Rewound"))
    }),
  )
})
