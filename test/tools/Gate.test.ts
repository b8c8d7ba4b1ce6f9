/** The gate seen from a session: who may speak before and after a tool, cascades, questions that outlive a session, deferred tools. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agents } from "../../src/agents/Agents.ts"
import type { Hooks } from "../../src/hooks/Hooks.ts"
import { Person } from "../../src/permissions/Permissions.ts"
import type { Told } from "../../src/testing/Told.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import { DeferAbove } from "../../src/tools/Deferral.ts"
import * as Tool from "../../src/tools/Tool.ts"
import { ToolSearch } from "../../src/tools/builtin/ToolSearch.ts"
import { WebFetch } from "../../src/tools/builtin/WebFetch.ts"
import { echo, ended, hurried, note, only, open, play, resultsIn } from "../agents/session.ts"

const calls = (
  ...reply: ReadonlyArray<{ readonly tool: string; readonly input: Readonly<Record<string, unknown>> }>
) => ({
  rules: [
    { when: { turn: 1 }, reply: [...reply] },
    { when: { turn: 2 }, reply: "Done." },
  ],
})

const said = <Fields extends object>(fields: Fields) => ({
  hookSpecificOutput: { hookEventName: "PreToolUse" as const, ...fields },
})

describe("before and after a tool", () => {
  it.effect("hooks may forbid a call, change its arguments and its result, and tell the model more", () =>
    Effect.gen(function* () {
      const heard: Array<unknown> = []
      const embed = (engine: Hooks["Service"]) =>
        Effect.gen(function* () {
          yield* engine.on("PreToolUse", ({ tool_input, tool_name }) =>
            Effect.sync(() => {
              heard.push(tool_input)
              return tool_name === "Note"
                ? said({ permissionDecision: "deny" as const, permissionDecisionReason: "no notes today" })
                : said({ updatedInput: { text: "other" }, additionalContext: "mind the gap" })
            }),
          )
          yield* engine.on("PostToolUse", ({ tool_response }) =>
            Effect.succeed({
              decision: "block" as const,
              reason: "look twice",
              hookSpecificOutput: {
                hookEventName: "PostToolUse" as const,
                updatedToolOutput: `<${String(tool_response)}>`,
              },
            }),
          )
        })
      const book = calls({ tool: "Echo", input: { text: "hi" } }, { tool: "Note", input: { text: "x" } })
      const { events, requests } = yield* play(book, "go", {}, {}, embed)
      assert.deepStrictEqual(heard, [{ text: "hi" }, { text: "x" }])
      const last = JSON.stringify(requests[1]?.body.messages.at(-1))
      assert.include(last, "<other>")
      assert.include(last, "no notes today")
      assert.include(last, "mind the gap")
      assert.include(last, "PostToolUse:Echo hook says: look twice")
      assert.deepStrictEqual(
        only(events, "ToolEnded").map(({ outcome, tool }) => `${tool} ${outcome}`),
        ["Echo completed", "Note denied"],
      )
      // What the model sent stays what the transcript says.
      assert.deepStrictEqual(
        only(events, "BlockReceived").map(({ block }) => (block.type === "tool_use" ? block.input : 0))[0],
        {
          text: "hi",
        },
      )
    }),
  )

  it.effect("the classifier of auto mode judges while hooks speak, and again where they change the arguments", () =>
    Effect.gen(function* () {
      const began = yield* Deferred.make<void>()
      const judged: Array<string> = []
      const judging = {
        when: ({ system, user }: Told) => {
          if (!system.includes("may make a tool call")) return false
          judged.push(/"text":"(\w+)"/.exec(user.slice(user.indexOf("<call ")))?.[1] ?? user)
          Deferred.doneUnsafe(began, Effect.void)
          return true
        },
        reply: '{"behavior":"allow","reason":"harmless"}',
      }
      const embed = (engine: Hooks["Service"]) =>
        engine.on("PreToolUse", ({ tool_input }) =>
          // A hook that waits for the classifier: one after the other they would wait for ever.
          Effect.as(
            Deferred.await(began),
            JSON.stringify(tool_input).includes("first") ? undefined : said({ updatedInput: { text: "third" } }),
          ),
        )
      const book = calls({ tool: "Note", input: { text: "first" } }, { tool: "Note", input: { text: "second" } })
      const playbook = { rules: [judging, ...book.rules] }
      const { events } = yield* play(playbook, "go", { permissionMode: "auto" }, {}, embed)
      assert.deepStrictEqual(judged, ["first", "second", "third"])
      assert.deepStrictEqual(
        only(events, "ToolEnded").map(({ content }) => content),
        ["noted first", "noted third"],
      )
      assert.deepStrictEqual(
        only(events, "PermissionDecided").map(({ by }) => by),
        ["classifier", "classifier"],
      )
    }),
  )

  it.effect("arguments that hooks put in are decoded and judged like the model's", () =>
    Effect.gen(function* () {
      const embed = (engine: Hooks["Service"]) =>
        engine.on("PreToolUse", () => Effect.succeed(said({ permissionDecision: "allow", updatedInput: { text: 7 } })))
      const { events } = yield* play(calls({ tool: "Echo", input: { text: "hi" } }), "go", {}, {}, embed)
      assert.match(String(only(events, "ToolEnded")[0]?.content), /do not fit Echo/)
    }),
  )

  it.effect("a failure is told to its own hooks, and an output of another shape is left as it is", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      const fails = Tool.make({
        name: "Fails",
        description: "Fails.",
        input: Schema.Struct({}),
        run: () => Effect.fail(new Tool.ToolFailure({ message: "it broke" })),
      })
      const embed = (engine: Hooks["Service"]) =>
        Effect.gen(function* () {
          yield* engine.on("PostToolUseFailure", ({ error, tool_use_id }, id) =>
            Effect.sync(() => {
              heard.push(error)
              assert.strictEqual(tool_use_id, id)
            }),
          )
          yield* engine.on("PostToolUse", () =>
            Effect.succeed({
              hookSpecificOutput: { hookEventName: "PostToolUse" as const, updatedToolOutput: { text: 1 } },
            }),
          )
        })
      const book = calls({ tool: "Echo", input: { text: "hi" } }, { tool: "Fails", input: {} })
      const { requests } = yield* play(book, "go", { tools: [echo, fails] }, {}, embed)
      assert.deepStrictEqual(heard, ["it broke"])
      assert.deepStrictEqual(resultsIn(requests[1]), ["hi", "it broke"])
    }),
  )

  it.effect("a hook that wants a person to be asked is named to them, and one that ends the work ends the turn", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const person: Person = {
        ask: ({ why }) => Effect.sync(() => ({ allow: asked.push(why) > 0 })),
      }
      const embed = (engine: Hooks["Service"]) =>
        engine.on("PreToolUse", () =>
          Effect.succeed({ ...said({ permissionDecision: "ask" as const }), continue: false, stopReason: "enough" }),
        )
      const book = calls({ tool: "Echo", input: { text: "hi" } })
      const { events, requests } = yield* play(book, "go", { permissionMode: "default" }, {}, embed).pipe(
        Effect.provideService(Person, person),
      )
      assert.deepStrictEqual(asked, ["[Session] a hook wants it to be asked"])
      assert.deepStrictEqual(ended(events).terminal, { reason: "hook_stopped", detail: "enough" })
      assert.lengthOf(requests, 1)
    }),
  )
})

const shell = (name: string, cascades: boolean, ends: Effect.Effect<{ readonly content: string }, Tool.ToolFailure>) =>
  Tool.make({
    name,
    description: "Ends as it is told.",
    input: Schema.Struct({}),
    readOnly: true,
    concurrencySafe: true,
    cascades,
    run: () => ends,
  })

describe("calls beside each other", () => {
  const failing = Effect.fail(new Tool.ToolFailure({ message: "broken" }))

  for (const cascades of [true, false]) {
    it.effect(cascades ? "end with one that cascades" : "do not mind one that does not cascade", () =>
      Effect.gen(function* () {
        const waiting = Effect.as(Effect.sleep("1 minute"), { content: "slow" })
        const tools = [
          shell("Fails", cascades, Effect.andThen(Effect.sleep("1 second"), failing)),
          shell("Slow", false, waiting),
        ]
        const book = calls({ tool: "Fails", input: {} }, { tool: "Slow", input: {} })
        const { requests } = yield* play(book, "go", { tools })
        const other = cascades ? "Cancelled: parallel tool call Fails errored." : "slow"
        assert.deepStrictEqual(resultsIn(requests[1]), ["broken", other])
      }),
    )
  }
})

describe("talking to a host", () => {
  const book = calls({ tool: "WebFetch", input: { url: "https://1.1.1.1/x", prompt: "p" } })
  const decided = (allowedTools: ReadonlyArray<string>) =>
    Effect.map(
      play(book, "go", { tools: [WebFetch], permissionMode: "default", allowedTools }),
      ({ events }) => only(events, "PermissionDecided")[0],
    )

  it.effect("is asked about, unless a rule allows that host", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* decided([]), { behavior: "deny", by: "nobody" })
      assert.deepInclude(yield* decided(["WebFetch(domain:1.1.1.2)"]), { behavior: "deny", by: "nobody" })
      assert.deepInclude(yield* decided(["WebFetch(domain:1.1.1.1)"]), { behavior: "allow", by: "rule" })
    }),
  )
})

describe("a question to a person", () => {
  it.effect("is put again when the session ended before the answer", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const asked = yield* Deferred.make<void>()
      const silent = { ask: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never) }
      const sessionId = "6f6a1f0e-0000-4000-8000-000000000001"
      yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* agents.open({ sessionId, tools: [note] })
          yield* Effect.raceFirst(Stream.runDrain(agent.prompt("go")), Deferred.await(asked))
        }),
      ).pipe(Effect.provideService(Person, silent))
      const questions: Array<string> = []
      const person = {
        ask: (one: { readonly tool: string }) => Effect.sync(() => ({ allow: questions.push(one.tool) > 0 })),
      }
      yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* agents.resume(sessionId, { tools: [note] })
          const events = yield* hurried(Stream.runCollect(agent.prompt("go on")))
          assert.deepStrictEqual(
            only(events, "ToolEnded").map(({ content, outcome }) => [outcome, content]),
            [["completed", "noted x"]],
          )
        }),
      ).pipe(Effect.provideService(Person, person))
      assert.deepStrictEqual(questions, ["Note"])
    }).pipe(
      Effect.provide(
        TestRuntime.layer({
          rules: [
            { when: { turn: 1 }, reply: [{ tool: "Note", input: { text: "x" } }] },
            { when: { turn: 2 }, reply: "Done." },
          ],
        }),
      ),
    ),
  )
})

const big = (name: string) =>
  Tool.make({
    name,
    description: `Sends ${name} letters. ${"It has much to say about itself. ".repeat(200)}`,
    input: Schema.Struct({ to: Schema.String }),
    readOnly: true,
    deferred: true,
    run: ({ to }) => Effect.succeed({ content: `sent to ${to}` }),
  })

describe("deferred tools", () => {
  const tools = [echo, ToolSearch, big("mcp__post__red"), big("mcp__post__blue")]
  const seen = (request: { readonly body: { readonly tools?: ReadonlyArray<unknown> } } | undefined) =>
    (request?.body.tools ?? []).map((tool) => {
      const { name, defer_loading } = Schema.decodeUnknownSync(
        Schema.Struct({ name: Schema.String, defer_loading: Schema.optionalKey(Schema.Boolean) }),
      )(tool)
      return defer_loading === true ? `${name} later` : name
    })

  it.effect("are all told where there are few, and then there is nothing to search", () =>
    Effect.gen(function* () {
      const { requests } = yield* play({ rules: [{ when: {}, reply: "Hi." }] }, "go", { tools })
      assert.deepStrictEqual(seen(requests[0]), ["Echo", "mcp__post__blue", "mcp__post__red"])
    }),
  )

  const book = {
    rules: [
      { when: { turn: 1 }, reply: [{ tool: "mcp__post__red", input: { wrong: true } }] },
      { when: { turn: 2 }, reply: [{ tool: "ToolSearch", input: { query: "+red letters" } }] },
      { when: { turn: 3 }, reply: [{ tool: "mcp__post__red", input: { to: "you" } }] },
      { when: { turn: 4 }, reply: "Sent." },
    ],
  }

  it.effect("are left out by the service where the model knows how, and found by reference", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* play(book, "go", { tools, model: "sonnet" })
      const all = ["Echo", "ToolSearch", "mcp__post__blue later", "mcp__post__red later"]
      assert.deepStrictEqual(requests.map(seen), [all, all, all, all])
      assert.include(resultsIn(requests[1])[0], 'call ToolSearch with the query "select:mcp__post__red" first')
      assert.include(JSON.stringify(requests[2]?.body.messages), '"tool_name":"mcp__post__red"')
      assert.deepStrictEqual(resultsIn(requests[3]), ["sent to you"])
      assert.match(
        only(events, "Diagnosed")
          .map(({ message }) => message)
          .join(),
        /^$|2 tools are found by ToolSearch/,
      )
    }).pipe(Effect.provideService(DeferAbove, 0)),
  )

  it.effect("are added by us at the end where the model does not, and stay found after a resume", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const agent = yield* open({ tools, model: "some-local-model" })
      yield* hurried(Stream.runDrain(agent.prompt("go")))
      const requests = yield* ScriptedModel.requests
      assert.deepStrictEqual(requests.map(seen), [
        ["Echo", "ToolSearch"],
        ["Echo", "ToolSearch"],
        ["Echo", "ToolSearch", "mcp__post__red"],
        ["Echo", "ToolSearch", "mcp__post__red"],
      ])
      assert.include(resultsIn(requests[2])[0], '"name":"mcp__post__red"')
      const copy = yield* agents.fork(agent.sessionId, { tools, permissionMode: "bypassPermissions" })
      yield* hurried(Stream.runDrain(copy.prompt("again")))
      assert.deepStrictEqual(seen((yield* ScriptedModel.requests).at(-1)), ["Echo", "ToolSearch", "mcp__post__red"])
    }).pipe(
      Effect.scoped,
      Effect.provide(TestRuntime.layer({ rules: [...book.rules, { when: {}, reply: "Again." }] })),
      Effect.provideService(DeferAbove, 0),
    ),
  )
})
