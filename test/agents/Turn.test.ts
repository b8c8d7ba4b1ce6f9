import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Budget from "../../src/kernel/Budget.ts"
import { plainText } from "../../src/protocol/Content.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import * as Tool from "../../src/tools/Tool.ts"
import { begin, ended, hurried, only, open, play, resultsIn, transitions } from "./session.ts"

const long = "word ".repeat(20_000)

describe("Turn", () => {
  it.effect("ends when the model has answered", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* play({ rules: [{ reply: "Hello." }] }, "Hi")
      assert.deepStrictEqual(ended(events).terminal, { reason: "completed" })
      assert.strictEqual(ended(events).result, "Hello.")
      assert.strictEqual(ended(events).turns, 1)
      assert.strictEqual(requests.length, 1)
    }),
  )

  it.effect("ends with an empty result when the model has nothing to say", () =>
    Effect.gen(function* () {
      const { events } = yield* play({ rules: [{ reply: [] }] }, "Hi")
      assert.deepStrictEqual(ended(events).terminal, { reason: "completed" })
      assert.strictEqual(ended(events).result, "")
    }),
  )

  it.effect("tells the model what came of its calls, in the order of the calls", () =>
    Effect.gen(function* () {
      const calls = [
        { tool: "Note", input: { text: "one" } },
        { tool: "Echo", input: { text: "two" } },
        { tool: "Nothing", input: {} },
        { tool: "Echo", input: { text: 3 } },
      ]
      const { events, requests } = yield* play({ turns: [{ reply: calls }, { reply: "Done." }] }, "Go")
      assert.deepStrictEqual(ended(events).terminal, { reason: "completed" })
      assert.deepStrictEqual(transitions(events), ["next_turn"])
      const [first, second, third, fourth] = resultsIn(requests[1])
      assert.strictEqual(first, "noted one")
      assert.strictEqual(second, "two")
      assert.match(String(third), /no tool named Nothing.*Echo, Note/)
      assert.match(String(fourth), /do not fit Echo/)
    }),
  )

  it.effect("starts a call that only reads while the model still speaks, and no other", () =>
    Effect.gen(function* () {
      const speaking = { text: "And now for something long.", before: "5s" as const }
      const { events } = yield* play(
        {
          turns: [
            {
              reply: [
                { tool: "Echo", input: { text: "a" } },
                { tool: "Note", input: { text: "b" } },
                { tool: "Echo", input: { text: "c" } },
                speaking,
              ],
            },
            { reply: "Done." },
          ],
        },
        "Go",
      )
      const order = events.flatMap((event) =>
        event._tag === "ToolStarted" ? [event.tool] : event._tag === "ReplyEnded" ? ["reply"] : [],
      )
      assert.deepStrictEqual(order, ["Echo", "reply", "Note", "Echo", "reply"])
    }),
  )

  it.effect("runs safe neighbours together and every other call alone", () =>
    Effect.gen(function* () {
      const reply = [
        { tool: "Note", input: { text: "a", ms: 1000 } },
        { tool: "Echo", input: { text: "b", ms: 1000 } },
        { tool: "Echo", input: { text: "c", ms: 1000 } },
        { tool: "Note", input: { text: "d", ms: 1000 } },
      ]
      const { events, requests } = yield* play({ turns: [{ reply }, { reply: "Done." }] }, "Go")
      assert.deepStrictEqual(resultsIn(requests[1]), ["noted a", "b", "c", "noted d"])
      const order = events.flatMap((event) =>
        event._tag === "ToolStarted" ? ["start"] : event._tag === "ToolEnded" ? ["end"] : [],
      )
      assert.deepStrictEqual(order, ["start", "end", "start", "start", "end", "end", "start", "end"])
    }),
  )

  describe("a stream that dies", () => {
    it.effect("is asked for again when nothing of the reply had begun", () =>
      Effect.gen(function* () {
        const { events, requests } = yield* play(
          { rules: [{ reply: "Hello.", faults: [{ reset: 4, times: 1 }] }] },
          "Hi",
        )
        assert.deepStrictEqual(transitions(events), ["stream_retry"])
        assert.strictEqual(ended(events).result, "Hello.")
        assert.strictEqual(requests.length, 2)
      }),
    )

    it.effect("is sealed when a tool of the reply had begun: the call is not run twice", () =>
      Effect.gen(function* () {
        const reply = [
          { tool: "Echo", input: { text: "a" } },
          { text: "Lost words.", before: "5s" as const },
        ]
        const { events, requests } = yield* play(
          {
            rules: [
              { when: { tool: "Echo" }, reply: "Done." },
              { reply, faults: [{ reset: 7, times: 1 }] },
            ],
          },
          "Go",
        )
        assert.deepStrictEqual(transitions(events), ["stream_sealed", "next_turn"])
        assert.deepStrictEqual(ended(events).terminal, { reason: "completed" })
        assert.strictEqual(only(events, "ToolStarted").length, 1)
        assert.deepStrictEqual(resultsIn(requests[1]), ["a"])
      }),
    )
  })

  it.effect("counts sealed streams only in a row", () =>
    Effect.gen(function* () {
      const call = { tool: "Echo", input: { text: "a" } }
      const broken = { reply: [call, { text: "Lost words.", before: "5s" as const }], faults: [{ reset: 7, times: 1 }] }
      const turns = [1, 2, 3, 4].flatMap(() => [broken, { reply: [call] }])
      const { events } = yield* play({ turns: [...turns, { reply: "Done." }] }, "Go")
      assert.strictEqual(transitions(events).filter((one) => one === "stream_sealed").length, 4)
      assert.strictEqual(ended(events).terminal.reason, "completed")
    }),
  )

  describe("a reply that is too long", () => {
    it.effect("is asked for again with the large slot", () =>
      Effect.gen(function* () {
        const { events, requests } = yield* play({ rules: [{ reply: long }] }, "Write")
        assert.deepStrictEqual(transitions(events), ["max_output_tokens_escalate"])
        assert.deepStrictEqual(
          requests.map((request) => request.body.max_tokens),
          [8_192, 64_000],
        )
        assert.deepStrictEqual(ended(events).terminal, { reason: "completed" })
        // The second request does not contain the reply that was cut.
        assert.strictEqual(requests[1]?.body.messages.length, 1)
      }),
    )

    it.effect("does not count as a turn of its own", () =>
      Effect.gen(function* () {
        const { events } = yield* play({ rules: [{ reply: long }] }, "Write", { maxTurns: 1 })
        assert.strictEqual(ended(events).terminal.reason, "completed")
        assert.strictEqual(ended(events).turns, 1)
      }),
    )

    it.effect("is continued at most three times", () =>
      Effect.gen(function* () {
        const { events, requests } = yield* play({ rules: [{ reply: "more", stop_reason: "max_tokens" }] }, "Write")
        assert.deepStrictEqual(transitions(events), [
          "max_output_tokens_escalate",
          "max_output_tokens_recovery",
          "max_output_tokens_recovery",
          "max_output_tokens_recovery",
        ])
        assert.strictEqual(ended(events).terminal.reason, "model_error")
        assert.match(plainText(requests[2]?.body.messages.at(-1)?.content ?? ""), /cut off/)
      }),
    )

    it.effect("never runs a call whose arguments were cut off", () =>
      Effect.gen(function* () {
        const { events, requests } = yield* play(
          {
            turns: [
              {
                reply: [{ tool: "Note", input: { text: "x" } }],
                stop_reason: "max_tokens",
                faults: [{ malformed: true }],
              },
              {
                reply: [{ tool: "Note", input: { text: "x" } }],
                stop_reason: "max_tokens",
                faults: [{ malformed: true }],
              },
              { reply: "Done." },
            ],
          },
          "Go",
        )
        assert.strictEqual(only(events, "ToolStarted").length, 0)
        assert.match(resultsIn(requests.at(-1))[0] ?? "", /not complete, valid JSON/)
        assert.deepStrictEqual(ended(events).terminal, { reason: "completed" })
      }),
    )
  })

  it.effect("gives up after three replies in a row whose calls cannot be read", () =>
    Effect.gen(function* () {
      const { events } = yield* play({ rules: [{ reply: [{ tool: "Note", raw: '{"text": "un' }] }] }, "Go")
      assert.strictEqual(ended(events).terminal.reason, "malformed_tool_use_exhausted")
      assert.strictEqual(only(events, "ToolStarted").length, 0)
      assert.strictEqual(only(events, "ToolEnded").length, 3)
    }),
  )

  it.effect("asks for a summary without tools when the turns are used up", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* play(
        {
          rules: [
            { when: { user: "limit of 2 turns" }, reply: "Half done." },
            { reply: [{ tool: "Echo", input: { text: "again" } }] },
          ],
        },
        "Go",
        { maxTurns: 2 },
      )
      assert.strictEqual(ended(events).terminal.reason, "max_turns")
      assert.strictEqual(ended(events).result, "Half done.")
      assert.strictEqual(requests.length, 3)
      // To forbid them would void the cache of the whole conversation.
      assert.isUndefined(requests[2]?.body.tool_choice)
    }),
  )

  it.effect("forbids a model its tools that calls them all the same when it is asked for a summary", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* play(
        {
          rules: [
            {
              reply: ({ body }) =>
                body.tool_choice === undefined ? [{ tool: "Echo", input: { text: "again" } }] : "Half done.",
            },
          ],
        },
        "Go",
        { maxTurns: 2 },
      )
      assert.strictEqual(ended(events).terminal.reason, "max_turns")
      assert.strictEqual(ended(events).result, "Half done.")
      assert.strictEqual(only(events, "ToolStarted").length, 2)
      assert.deepStrictEqual(
        requests.map(({ body }) => body.tool_choice),
        [undefined, undefined, undefined, { type: "none" }],
      )
    }),
  )

  it.effect("sends a paused reply back unchanged", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* play(
        { turns: [{ reply: "Searching", stop_reason: "pause_turn" }, { reply: "Found." }] },
        "Search",
      )
      assert.deepStrictEqual(transitions(events), ["pause_turn_continue"])
      assert.strictEqual(requests[1]?.body.messages.at(-1)?.role, "assistant")
      assert.strictEqual(ended(events).result, "Found.")
    }),
  )

  it.effect("ends with the reason when the model declines or the window is full", () =>
    Effect.gen(function* () {
      const declined = yield* play({ rules: [{ reply: "No.", stop_reason: "refusal" }] }, "Hack")
      assert.strictEqual(ended(declined.events).terminal.reason, "refusal")
      const full = yield* play({ rules: [{ reply: "…", stop_reason: "model_context_window_exceeded" }] }, "Go")
      assert.strictEqual(ended(full.events).terminal.reason, "prompt_too_long")
    }),
  )

  it.effect("names what the service refused", () =>
    Effect.gen(function* () {
      const tooLong = yield* play({ rules: [{ reply: "x", faults: [{ prompt_too_long: true }] }] }, "Go")
      assert.strictEqual(ended(tooLong.events).terminal.reason, "prompt_too_long")
      const refused = yield* play({ rules: [{ reply: "x", faults: [{ status: 401 }] }] }, "Go")
      assert.strictEqual(ended(refused.events).terminal.reason, "api_error")
    }),
  )

  describe("a message while the turn runs", () => {
    const book = {
      rules: [
        { when: { history: "left instead" }, reply: "Left it is." },
        { when: { user: "Go" }, reply: [{ text: "Working." }, { tool: "Note", input: { text: "right", ms: 60_000 } }] },
        { when: { tool: "Note" }, reply: "Went right." },
      ],
    }

    it.effect("is delivered between two rounds when it can wait", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        const turn = yield* begin(agent, "Go")
        yield* turn.until("ToolStarted")
        yield* agent.steer("left instead")
        yield* TestClock.adjust("1 minute")
        const events = yield* turn.end
        assert.strictEqual(ended(events).result, "Left it is.")
        assert.deepStrictEqual(transitions(events), ["next_turn"])
        assert.strictEqual(only(events, "ToolEnded")[0]?.outcome, "completed")
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("ends a call that had started early, too", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        const turn = yield* begin(agent, "Early")
        yield* turn.until("ToolStarted")
        yield* agent.steer("left instead", { delivery: "submit_interrupt" })
        const events = yield* turn.end
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual(ended(events).result, "Left it is.")
        assert.deepStrictEqual(
          only(events, "ToolEnded").map((event) => event.outcome),
          ["cancelled"],
        )
        const fs = yield* FileSystem.FileSystem
        const journal = yield* fs.readFileString(agent.journalPath)
        assert.strictEqual(journal.split('"kind":"ToolEnded"').length, 2)
      }).pipe(
        Effect.scoped,
        Effect.provide(
          TestRuntime.layer({
            rules: [
              { when: { history: "left instead" }, reply: "Left it is." },
              {
                reply: [
                  { tool: "Echo", input: { text: "a", ms: 60_000 } },
                  { text: "And…", before: "90s" },
                ],
              },
            ],
          }),
        ),
      ),
    )

    it.effect("ends the running work when it cannot wait, and is never mistaken for an abort", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        const turn = yield* begin(agent, "Go")
        yield* turn.until("ToolStarted")
        yield* agent.steer("left instead", { delivery: "submit_interrupt" })
        const events = yield* turn.end
        assert.strictEqual(ended(events).result, "Left it is.")
        assert.deepStrictEqual(transitions(events), ["submit_interrupt"])
        assert.strictEqual(only(events, "ToolEnded")[0]?.outcome, "cancelled")
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("is answered although it came after the last word", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        const turn = yield* begin(agent, "Hi")
        yield* turn.until("StreamChunk")
        yield* agent.steer("left instead")
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(ended(yield* turn.end).result, "Left it is.")
      }).pipe(
        Effect.scoped,
        Effect.provide(
          TestRuntime.layer({
            rules: [
              { when: { user: "left instead" }, reply: "Left it is." },
              { reply: [{ text: "Hello." }, { text: "Bye.", before: "5s" }] },
            ],
          }),
        ),
      ),
    )
  })

  describe("an interrupt", () => {
    const book = {
      rules: [
        { when: { user: "Talk" }, reply: [{ text: "First part." }, { text: "Second part.", before: "10s" as const }] },
        {
          when: { user: "Go" },
          reply: [
            { tool: "Note", input: { text: "a", ms: 60_000 } },
            { tool: "Echo", input: { text: "b" } },
          ],
        },
        { reply: "On we go." },
      ],
    }

    it.effect("ends the reply and keeps what was said", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        const turn = yield* begin(agent, "Talk")
        yield* turn.until("BlockReceived")
        assert.isTrue(yield* agent.interrupt())
        const events = yield* turn.end
        assert.strictEqual(ended(events).terminal.reason, "aborted_streaming")
        assert.strictEqual(ended(events).result, "First part.")
        const again = yield* hurried(Stream.runCollect(agent.prompt("And?")))
        assert.strictEqual(ended(again).result, "On we go.")
        const said = (yield* ScriptedModel.requests).at(-1)?.body.messages ?? []
        assert.deepStrictEqual(
          said.map((message) => plainText(message.content)),
          ["Talk", "First part.", "And?"],
        )
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("stops the running tool and answers every call", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        const turn = yield* begin(agent, "Go")
        yield* turn.until("ToolStarted")
        yield* agent.interrupt()
        const events = yield* turn.end
        assert.strictEqual(ended(events).terminal.reason, "aborted_tools")
        assert.deepStrictEqual(
          only(events, "ToolEnded").map((event) => event.outcome),
          ["cancelled", "cancelled"],
        )
        const again = yield* hurried(Stream.runCollect(agent.prompt("And?")))
        assert.strictEqual(ended(again).terminal.reason, "completed")
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("that asks to stop lets the running tools finish", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        const turn = yield* begin(agent, "Go")
        yield* turn.until("ToolStarted")
        yield* agent.interrupt("stop")
        yield* TestClock.adjust("1 minute")
        const events = yield* turn.end
        assert.deepStrictEqual(
          only(events, "ToolEnded").map((event) => event.outcome),
          ["completed", "completed"],
        )
        assert.strictEqual(ended(events).terminal.reason, "aborted_tools")
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("waits for a tool that must not be cut off", () =>
      Effect.gen(function* () {
        const stubborn = Tool.make({
          name: "Note",
          description: "Takes its time.",
          input: Schema.Struct({ text: Schema.String, ms: Schema.Finite }),
          interruptBehavior: "block",
          run: ({ ms }) => Effect.as(Effect.sleep(ms), { content: "finished" }),
        })
        const agent = yield* open({ tools: [stubborn] })
        const turn = yield* begin(agent, "Go")
        yield* turn.until("ToolStarted")
        yield* agent.interrupt()
        yield* TestClock.adjust("1 minute")
        const events = yield* turn.end
        assert.deepStrictEqual(
          only(events, "ToolEnded").map((event) => event.outcome),
          ["completed", "cancelled"],
        )
        assert.strictEqual(ended(events).terminal.reason, "aborted_tools")
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("is what leaving the stream early means", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        const seen = yield* agent.watch
        yield* Stream.runDrain(Stream.take(agent.prompt("Go"), 3))
        const last = yield* Stream.runLast(Stream.takeUntil(seen, (event) => event._tag === "TurnEnded"))
        assert(last._tag === "Some" && last.value._tag === "TurnEnded")
        assert.match(last.value.terminal.reason, /^aborted_/)
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )
  })

  describe("a budget", () => {
    const book = { rules: [{ reply: [{ tool: "Echo", input: { text: "again", ms: 1000 } }] }] }

    it.effect("ends the turn when the money is spent, and is not exceeded", () =>
      Effect.gen(function* () {
        const agent = yield* open({ model: "sonnet" })
        const events = yield* hurried(Stream.runCollect(agent.prompt("Go")).pipe(Budget.within({ usd: 0.2 })))
        assert.strictEqual(ended(events).terminal.reason, "budget_exhausted")
        assert.isBelow(ended(events).costUsd, 0.2)
        assert.isAbove(ended(events).turns, 0)
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("that a reply overran counts and journals that reply before it ends the turn", () =>
      Effect.gen(function* () {
        const agent = yield* open({ model: "sonnet" })
        const seen = yield* agent.watch
        const caller = Stream.runCollect(agent.prompt("Go")).pipe(Budget.within({ usd: 0.5 }))
        yield* hurried(Effect.exit(caller))
        const events = Array.from(
          yield* Stream.runCollect(Stream.takeUntil(seen, (event) => event._tag === "TurnEnded")),
        )
        const [reply] = only(events, "ReplyEnded")
        assert.strictEqual(reply?.usage.output_tokens, 100_000)
        assert.isAbove(reply?.costUsd ?? 0, 0.5)
        assert.deepInclude(ended(events), { turns: 1, result: "Here you are." })
        assert.strictEqual(ended(events).costUsd, reply?.costUsd)
        assert.strictEqual(ended(events).terminal.reason, "budget_exhausted")
        assert.strictEqual(ended(events).usage.output_tokens, 100_000)
        assert.strictEqual(only(events, "ToolStarted").length, 0)
        assert.strictEqual(only(events, "ToolEnded").length, 1)
      }).pipe(
        Effect.scoped,
        Effect.provide(
          TestRuntime.layer({
            rules: [
              {
                reply: [{ text: "Here you are." }, { tool: "Note", input: { text: "x" } }],
                usage: { output_tokens: 100_000 },
              },
            ],
          }),
        ),
      ),
    )

    it.effect("of money refuses a model whose price nobody knows before the first request", () =>
      Effect.gen(function* () {
        const agent = yield* open({ model: "my-own-model" })
        const events = yield* hurried(Stream.runCollect(agent.prompt("Go")).pipe(Budget.within({ usd: 0.2 })))
        assert.include(ended(events).terminal.detail ?? "", "troupe.models.my-own-model.prices")
        assert.strictEqual((yield* ScriptedModel.requests).length, 0)
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("of tool calls ends the turn with every call answered", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        const events = yield* hurried(Stream.runCollect(agent.prompt("Go")).pipe(Budget.within({ toolCalls: 2 })))
        assert.strictEqual(ended(events).terminal.reason, "budget_exhausted")
        assert.strictEqual(only(events, "ToolStarted").length, 2)
        assert.strictEqual(only(events, "ToolEnded").length, 3)
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("that allows nothing ends the turn before the first request, once", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        const seen = yield* agent.watch
        const events = yield* hurried(Stream.runCollect(agent.prompt("Go")).pipe(Budget.within({ turns: 0 })))
        assert.strictEqual(ended(events).terminal.reason, "max_turns")
        assert.deepStrictEqual(yield* agent.status, { busy: false, queued: 0 })
        assert.strictEqual((yield* ScriptedModel.requests).length, 0)
        const all = yield* Stream.runCollect(Stream.takeUntil(seen, (event) => event._tag === "TurnEnded"))
        assert.strictEqual(all.length, events.length)
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("of time stops whatever runs", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        const seen = yield* agent.watch
        const spent = yield* Effect.forkChild(
          Effect.flip(Stream.runCollect(agent.prompt("Go")).pipe(Budget.within({ wall: "10 seconds" }))),
        )
        yield* TestClock.adjust("11 seconds")
        yield* Fiber.join(spent)
        const last = yield* Stream.runLast(Stream.takeUntil(seen, (event) => event._tag === "TurnEnded"))
        assert(last._tag === "Some" && last.value._tag === "TurnEnded")
        assert.strictEqual(last.value.terminal.reason, "deadline")
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )
  })

  it.effect("asks for the effort that the session has, as the model knows it", () =>
    Effect.gen(function* () {
      const book = { rules: [{ reply: "Done." }] }
      const { requests } = yield* play(book, "Go", { effort: "low" })
      assert.deepStrictEqual(requests[0]?.body.output_config, { effort: "low" })
      const plain = yield* play(book, "Go")
      assert.isUndefined(plain.requests[0]?.body.output_config)
    }),
  )

  describe("structured output", () => {
    const jsonSchema = {
      type: "object",
      properties: { answer: { type: "number" } },
      required: ["answer"],
      additionalProperties: false,
    }

    it.effect("is asked for, checked, and asked for again", () =>
      Effect.gen(function* () {
        const { events, requests } = yield* play(
          { turns: [{ reply: "forty-two" }, { reply: '{"answer":"42"}' }, { reply: '{"answer":42}' }] },
          "What?",
          { jsonSchema },
        )
        assert.deepStrictEqual(ended(events).structuredOutput, { answer: 42 })
        assert.strictEqual(requests.length, 3)
        assert.deepStrictEqual(requests[0]?.body.output_config?.["format"], { type: "json_schema", schema: jsonSchema })
      }),
    )

    it.effect("is given up after three retries", () =>
      Effect.gen(function* () {
        const { events, requests } = yield* play({ rules: [{ reply: "no" }] }, "What?", { jsonSchema })
        assert.strictEqual(ended(events).terminal.reason, "structured_output_retry_exhausted")
        assert.strictEqual(requests.length, 4)
      }),
    )
  })

  describe("a bug", () => {
    const bug = Effect.die(new Error("a bug"))
    const book = { turns: [{ reply: [{ tool: "Note" }] }, { reply: "Done." }] }
    const buggy = (part: Partial<Parameters<typeof Tool.make<object, never>>[0]>) =>
      Tool.make<object>({
        name: "Note",
        description: "Has a bug.",
        input: Schema.Struct({}),
        run: () => Effect.succeed({ content: "fine" }),
        ...part,
      })

    it.effect.each([
      ["run", buggy({ run: () => bug })],
      ["effects", buggy({ effects: () => bug })],
      ["validate", buggy({ validate: () => bug })],
      ["evidence", buggy({ evidence: () => bug })],
    ] as const)("in a tool's %s answers the call, and the turn goes on", ([, tool]) =>
      Effect.gen(function* () {
        const agent = yield* open({ tools: [tool] })
        const events = yield* hurried(Stream.runCollect(agent.prompt("Go")))
        assert.strictEqual(ended(events).terminal.reason, "completed")
        assert.strictEqual(only(events, "ToolEnded")[0]?.outcome, "failed")
        assert.match(only(events, "Diagnosed")[0]?.message ?? "", /Note crashed: a bug/)
      }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
    )

    it.effect("anywhere else ends the turn and leaves the agent alive", () =>
      Effect.gen(function* () {
        const agent = yield* open()
        for (const _ of [1, 2]) {
          const events = yield* hurried(Stream.runCollect(agent.prompt("Go")))
          assert.strictEqual(ended(events).terminal.reason, "session_failed")
          assert.match(ended(events).terminal.detail ?? "", /a bug/)
        }
      }).pipe(
        Effect.scoped,
        Effect.provide(
          TestRuntime.layer({
            rules: [
              {
                reply: () => {
                  throw new Error("a bug")
                },
              },
            ],
          }),
        ),
      ),
    )
  })
})
