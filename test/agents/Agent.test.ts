import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Budget from "../../src/kernel/Budget.ts"
import { FileError } from "../../src/platform/FileError.ts"
import { Files } from "../../src/platform/Files.ts"
import { HttpFetch } from "../../src/platform/HttpFetch.ts"
import { Process } from "../../src/platform/Process.ts"
import { Ripgrep } from "../../src/platform/Ripgrep.ts"
import { plainText } from "../../src/protocol/Content.ts"
import type { StreamEvent } from "../../src/protocol/StreamEvent.ts"
import * as Runtime from "../../src/Runtime.ts"
import * as MemoryWorkspace from "../../src/testing/MemoryWorkspace.ts"
import { ScriptedModel } from "../../src/testing/ScriptedModel.ts"
import * as TestRuntime from "../../src/testing/TestRuntime.ts"
import * as Tool from "../../src/tools/Tool.ts"
import * as Fake from "../model/ScriptedProvider.ts"
import { begin, ended, hurried, only, open } from "./session.ts"

/** A provider that answers event by event, on a disk that may be slow or become full. */
const world = (fake: Fake.Script, disk: { full?: boolean; slow?: boolean } = {}) => {
  const files = Layer.effect(
    Files,
    Effect.map(Files, (files) => ({
      ...files,
      writeAtomic: (...args: Parameters<typeof files.writeAtomic>) =>
        disk.slow === true ? Effect.delay(files.writeAtomic(...args), "1 second") : files.writeAtomic(...args),
      openAppend: (path: string) =>
        Effect.map(files.openAppend(path), (handle) => ({
          ...handle,
          appendUnsafe: (bytes: Uint8Array | string) => {
            if (disk.full === true) throw new FileError({ path, operation: "append", reason: "NoSpace", detail: "" })
            handle.appendUnsafe(bytes)
          },
        })),
    })),
  )
  return Runtime.layer({ provider: fake.layer }).pipe(
    Layer.provideMerge(Ripgrep.layerAt("rg")),
    Layer.provideMerge(Process.layerScripted(() => Effect.succeed({}))),
    Layer.provideMerge(files),
    Layer.provideMerge(MemoryWorkspace.layer()),
    Layer.provideMerge(Layer.succeed(HttpFetch, () => Promise.reject(new Error("no network")))),
  )
}

const callOf = (id: string): ReadonlyArray<StreamEvent> => [
  Fake.start(),
  { type: "content_block_start", index: 0, content_block: { type: "tool_use", id, name: "Echo", input: {} } },
  { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"text":"hi"}' } },
  { type: "content_block_stop", index: 0 },
  ...Fake.end("tool_use"),
]

const slowNote = { tool: "Note", input: { text: "a", ms: 60_000 } }
const book = {
  rules: [
    { when: { tool: "Note" }, reply: "First done." },
    { when: { user: "First" }, reply: [slowNote] },
    { when: { user: "Second" }, reply: [{ tool: "Echo", input: { text: "again" } }] },
    { reply: "Second done." },
  ],
}

describe("a prompt that waits for another", () => {
  it.effect("can be left without harm to the one that runs", () =>
    Effect.gen(function* () {
      const agent = yield* open()
      const first = yield* begin(agent, "First")
      yield* first.until("ToolStarted")
      const second = yield* Effect.forkChild(Stream.runCollect(agent.prompt("Second")))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* agent.status).queued, 1)
      yield* Fiber.interrupt(second)
      assert.deepStrictEqual(yield* agent.status, { busy: true, queued: 0 })
      assert.strictEqual(ended(yield* hurried(first.end)).result, "First done.")
    }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
  )

  it.effect("runs on the budget of whoever sent it, and no other", () =>
    Effect.gen(function* () {
      const agent = yield* open()
      const seen = yield* agent.watch
      const prompt = (text: string, toolCalls: number) =>
        Effect.forkChild(Stream.runCollect(agent.prompt(text)).pipe(Budget.within({ toolCalls })))
      const first = yield* prompt("First", 1)
      yield* Stream.runHead(Stream.filter(seen, (event) => event._tag === "ToolStarted"))
      const poor = yield* prompt("Second", 0)
      yield* TestClock.adjust("1 second")
      const rich = yield* prompt("Second", 1)
      assert.strictEqual(ended(yield* hurried(Fiber.join(first))).terminal.reason, "completed")
      assert.strictEqual(ended(yield* hurried(Fiber.join(poor))).terminal.reason, "budget_exhausted")
      assert.strictEqual(ended(yield* hurried(Fiber.join(rich))).terminal.reason, "completed")
    }).pipe(Effect.scoped, Effect.provide(TestRuntime.layer(book))),
  )

  it.effect("ends when it cannot be recorded, and so do those behind it", () => {
    const disk = { full: false }
    const hello = [...Fake.textBlock(0, "Hi"), ...Fake.end()]
    const slow = Stream.concat(
      Stream.fromEffect(Effect.as(Effect.sleep("1 minute"), Fake.start())),
      Stream.fromIterable(hello),
    )
    return Effect.gen(function* () {
      const agent = yield* open({ model: "opus" })
      const first = yield* begin(agent, "First")
      yield* first.until("RequestSent")
      const others = yield* Effect.forkChild(
        Effect.forEach(["Second", "Third"], (text) => Stream.runCollect(agent.prompt(text)), { concurrency: 2 }),
      )
      yield* TestClock.adjust("1 second")
      disk.full = true
      for (const events of [yield* hurried(first.end), ...(yield* hurried(Fiber.join(others)))]) {
        assert.strictEqual(ended(events).terminal.reason, "session_failed")
      }
      assert.deepStrictEqual(yield* agent.status, { busy: false, queued: 0 })
    }).pipe(Effect.scoped, Effect.provide(world(Fake.script({ stream: slow }), disk)))
  })
})

describe("an agent", () => {
  it.effect("answers a message that was steered in while the model fell back to another", () =>
    Effect.gen(function* () {
      const agent = yield* open({ model: "opus", fallbackModel: "sonnet" })
      const turn = yield* begin(agent, "Hi")
      yield* turn.until("RetryWaiting")
      yield* agent.steer("And also this")
      yield* hurried(turn.end)
      const last = (yield* ScriptedModel.requests).at(-1)
      assert.deepStrictEqual(
        last?.body.messages.map((message) => plainText(message.content)),
        ["Hi", "Hello.", "And also this"],
      )
    }).pipe(
      Effect.scoped,
      Effect.provide(TestRuntime.layer({ rules: [{ reply: "Hello.", faults: [{ status: 529, times: 3 }] }] })),
    ),
  )

  it.effect.each([
    ["of an odd form", "functions.Echo:0"],
    ["with a path in it", "../../etc/passwd"],
    ["that is empty", ""],
    ["that was used before", "call_0"],
  ] as const)("gives a call id %s one of its own, and the model its result", ([, id]) => {
    const fake = Fake.script(
      { stream: Stream.fromIterable(callOf("call_0")) },
      { stream: Stream.fromIterable(callOf(id)) },
      Fake.says("Done."),
    )
    return Effect.gen(function* () {
      const agent = yield* open({ model: "opus" })
      const events = yield* hurried(Stream.runCollect(agent.prompt("Go")))
      assert.strictEqual(ended(events).result, "Done.")
      assert.strictEqual(only(events, "ToolEnded").length, 2)
      assert.strictEqual(fake.asked.at(-1)?.messages.length, 5)
      assert.notInclude(JSON.stringify(fake.asked.at(-1)?.messages), '"id":""')
    }).pipe(Effect.scoped, Effect.provide(world(fake)))
  })

  it.effect("keeps a complete reply although the connection dies behind it", () => {
    const fake = Fake.script(
      Fake.breaks([Fake.start(), ...Fake.textBlock(0, "Hi there"), ...Fake.end()]),
      Fake.says("Again"),
    )
    return Effect.gen(function* () {
      const agent = yield* open({ model: "opus" })
      const events = yield* hurried(Stream.runCollect(agent.prompt("Go")))
      assert.strictEqual(ended(events).result, "Hi there")
      assert.strictEqual(fake.asked.length, 1)
    }).pipe(Effect.scoped, Effect.provide(world(fake)))
  })

  it.effect("records a block once, also when it is interrupted while recording", () => {
    const long = "word ".repeat(20_000)
    const fake = Fake.script(Fake.stalls([Fake.start(), ...Fake.textBlock(0, long)]))
    return Effect.gen(function* () {
      const agent = yield* open({ model: "opus" })
      const seen = yield* agent.watch
      const turn = yield* begin(agent, "Hi")
      const complete = seen.pipe(
        Stream.filter((event) => event._tag === "StreamChunk" && event.event.type === "content_block_stop"),
      )
      yield* Stream.runHead(complete)
      yield* TestClock.adjust("100 millis")
      yield* agent.interrupt()
      assert.strictEqual(only(yield* hurried(turn.end), "BlockReceived").length, 1)
    }).pipe(Effect.scoped, Effect.provide(world(fake, { slow: true })))
  })

  it.effect("answers a call whose tool interrupts itself", () =>
    Effect.gen(function* () {
      const tool = Tool.make({
        name: "Note",
        description: "Gives up.",
        input: Schema.Struct({}),
        run: () => Effect.interrupt,
      })
      const agent = yield* open({ tools: [tool] })
      const events = yield* hurried(Stream.runCollect(agent.prompt("Go")))
      assert.strictEqual(ended(events).terminal.reason, "completed")
      assert.strictEqual(only(events, "ToolEnded")[0]?.outcome, "failed")
    }).pipe(
      Effect.scoped,
      Effect.provide(TestRuntime.layer({ turns: [{ reply: [{ tool: "Note", input: {} }] }, { reply: "Done." }] })),
    ),
  )
})
