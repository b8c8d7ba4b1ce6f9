/** The whole agent over real HTTP: real sockets and server-sent events, virtual time. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { Agents } from "../../src/agents/Agents.ts"
import { Host } from "../../src/platform/Host.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import * as NodeHttpFetch from "../../src/platform/NodeHttpFetch.ts"
import * as NodeProcess from "../../src/platform/NodeProcess.ts"
import * as NodeRipgrep from "../../src/platform/NodeRipgrep.ts"
import type { Event } from "../../src/protocol/Event.ts"
import * as Runtime from "../../src/Runtime.ts"
import type { Playbook } from "../../src/testing/Playbook.ts"
import { ScriptedServer } from "../../src/testing/ScriptedServer.ts"
import { echo, ended, note, only, resultsIn, transitions } from "./session.ts"

const node = Layer.mergeAll(
  NodeFiles.layer,
  NodeFileSystem.layer,
  NodePath.layer,
  NodeProcess.layer,
  NodeHttpFetch.layer,
)

/** A runtime that knows nothing but a base URL, and a server behind it. */
const world = (book: Playbook) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { url } = yield* ScriptedServer
      const directory = yield* fs.makeTempDirectoryScoped()
      const host = Host.layerTest({
        cwd: directory,
        home: directory,
        env: { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-test" },
      })
      return Runtime.layer().pipe(Layer.provide(NodeRipgrep.layer), Layer.provide(host))
    }),
  ).pipe(Layer.provideMerge(ScriptedServer.layer(book)), Layer.provide(node))

/** What virtual time has to do while nothing real happens: pass for a retry, pass for a stream that went silent. */
type Pass = (event: Event, chunks: number) => Duration.Input | undefined

const play = (book: Playbook, pass: Pass = () => undefined) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const agent = yield* agents.open({ permissionMode: "bypassPermissions", tools: [echo, note] })
    const seen = yield* agent.watch
    const startedAt = yield* Clock.currentTimeMillis
    let chunks = 0
    const driver = yield* seen.pipe(
      Stream.runForEach((event) => {
        if (event._tag === "RetryWaiting") return TestClock.adjust(event.delayMs)
        if (event._tag === "StreamChunk") chunks++
        const time = pass(event, chunks)
        return time === undefined ? Effect.void : TestClock.adjust(time)
      }),
      Effect.forkChild,
    )
    const events = yield* Stream.runCollect(agent.prompt("Go"))
    yield* Fiber.interrupt(driver)
    const { requests } = yield* ScriptedServer
    return { events, requests: yield* requests, elapsedMs: (yield* Clock.currentTimeMillis) - startedAt }
  }).pipe(Effect.scoped, Effect.provide(world(book)))

const waits = (events: ReadonlyArray<Event>) => only(events, "RetryWaiting").map((event) => event.delayMs)

describe("over real HTTP", () => {
  it.effect("529 three times is waited out", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* play({ rules: [{ reply: "Hello.", faults: [{ status: 529, times: 3 }] }] })
      assert.strictEqual(ended(events).result, "Hello.")
      assert.strictEqual(waits(events).length, 3)
      assert.strictEqual(requests.length, 4)
      const ids = requests.map((request) => request.headers?.["x-client-request-id"])
      assert.strictEqual(new Set(ids).size, 4)
    }),
  )

  it.effect("429 with retry-after is waited out as long as asked for", () =>
    Effect.gen(function* () {
      const { events } = yield* play({
        rules: [{ reply: "Hello.", faults: [{ status: 429, retry_after: 7, times: 1 }] }],
      })
      assert.strictEqual(ended(events).result, "Hello.")
      assert.isAtLeast(waits(events)[0] ?? 0, 7_000)
    }),
  )

  it.effect("429 without retry-after from a gateway is retried; a spent limit is not", () =>
    Effect.gen(function* () {
      const busy = yield* play({ rules: [{ reply: "Hello.", faults: [{ status: 429, times: 1 }] }] })
      assert.strictEqual(ended(busy.events).result, "Hello.")
      const spent = yield* play({ rules: [{ reply: "Hello.", faults: [{ spend_cap: true }] }] })
      assert.strictEqual(ended(spent.events).terminal.reason, "api_error")
      assert.strictEqual(spent.requests.length, 1)
    }),
  )

  it.effect("500 is retried", () =>
    Effect.gen(function* () {
      const { events } = yield* play({ rules: [{ reply: "Hello.", faults: [{ status: 500, times: 2 }] }] })
      assert.strictEqual(ended(events).result, "Hello.")
      assert.strictEqual(waits(events).length, 2)
    }),
  )

  it.effect("a reset in the middle of the stream is retried", () =>
    Effect.gen(function* () {
      const { events } = yield* play({ rules: [{ reply: "Hello, you there.", faults: [{ reset: 4, times: 1 }] }] })
      assert.strictEqual(ended(events).result, "Hello, you there.")
      assert.deepStrictEqual(transitions(events), ["stream_retry"])
    }),
  )

  it.effect("a reset before any answer is retried", () =>
    Effect.gen(function* () {
      const { events } = yield* play({ rules: [{ reply: "Hello.", faults: [{ reset: 0, times: 1 }] }] })
      assert.strictEqual(ended(events).result, "Hello.")
    }),
  )

  it.effect("a stream that stalls for ever is given up and retried within 100 seconds", () =>
    Effect.gen(function* () {
      const { events, elapsedMs } = yield* play(
        { rules: [{ reply: "Hello.", faults: [{ stall: 3, times: 1 }] }] },
        (event, chunks) => (event._tag === "StreamChunk" && chunks === 3 ? "90 seconds" : undefined),
      )
      assert.strictEqual(ended(events).result, "Hello.")
      assert.isAtMost(elapsedMs, 100_000)
      assert.isAbove(transitions(events).length, 0)
    }),
  )

  it.effect("a stream that only pings is given up after the idle time", () =>
    Effect.gen(function* () {
      const { events, elapsedMs } = yield* play(
        { rules: [{ reply: "Hello.", faults: [{ pings: "30s", times: 1 }] }] },
        (event) =>
          event._tag === "RequestSent" || (event._tag === "StreamChunk" && event.event.type === "ping")
            ? "30 seconds"
            : undefined,
      )
      assert.strictEqual(ended(events).result, "Hello.")
      assert.isAtLeast(elapsedMs, 300_000)
    }),
  )

  it.effect("a 200 that is no event stream is answered by a request without one", () =>
    Effect.gen(function* () {
      for (const not_a_stream of ["json", "html"] as const) {
        const { events, requests } = yield* play({ rules: [{ reply: "Hello.", faults: [{ not_a_stream }] }] })
        assert.strictEqual(ended(events).result, "Hello.")
        assert.deepStrictEqual(transitions(events), ["non_streaming_fallback"])
        assert.deepStrictEqual(
          requests.map((request) => request.streamed),
          [true, false],
        )
      }
    }),
  )

  it.effect("frames torn at odd bytes and slow ones make no difference", () =>
    Effect.gen(function* () {
      const reply = "Grüße aus Köln — 你好, 👋🏽!"
      const { events } = yield* play({ rules: [{ reply, faults: [{ torn: true }] }] })
      assert.strictEqual(ended(events).result, reply)
      assert.deepStrictEqual(transitions(events), [])
    }),
  )

  it.effect("malformed tool arguments come back to the model as an error, and nothing runs", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* play({
        turns: [{ reply: [{ tool: "Note", raw: '{"text": "half' }] }, { reply: "I see." }],
      })
      assert.strictEqual(ended(events).result, "I see.")
      assert.strictEqual(only(events, "ToolStarted").length, 0)
      assert.match(resultsIn(requests[1])[0] ?? "", /not complete, valid JSON/)
    }),
  )

  it.effect("a reply cut inside a tool's arguments is asked for again with more room", () =>
    Effect.gen(function* () {
      const { events, requests } = yield* play({
        rules: [
          { when: { tool: "Note" }, reply: "Noted." },
          { reply: [{ tool: "Note", input: { text: "many words ".repeat(8_000) } }] },
        ],
      })
      assert.deepStrictEqual(transitions(events), ["max_output_tokens_escalate", "next_turn"])
      assert.strictEqual(only(events, "ToolStarted").length, 1)
      assert.deepStrictEqual(requests.map((request) => request.body.max_tokens).slice(0, 2), [8_192, 64_000])
    }),
  )

  it.effect("an unknown tool is answered with the names of those there are", () =>
    Effect.gen(function* () {
      const { requests } = yield* play({ turns: [{ reply: [{ tool: "Teleport", input: {} }] }, { reply: "Oh." }] })
      assert.match(resultsIn(requests[1])[0] ?? "", /no tool named Teleport.*Echo, Note/)
    }),
  )
})
