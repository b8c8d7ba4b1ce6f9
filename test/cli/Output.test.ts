import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Writable } from "node:stream"
import { canvas, encode, printer, sink } from "../../src/cli/Output.ts"
import * as SdkMessages from "../../src/cli/SdkMessages.ts"
import * as Events from "./events.ts"

const collecting = () => {
  const chunks: Array<string> = []
  const write = (text: string) => Effect.sync(() => void chunks.push(text))
  return { sink: { write }, text: () => chunks.join("") }
}

const lines = (terminal: Parameters<typeof Events.ended>[0] = {}) => {
  const messages = SdkMessages.make({ sessionId: "s1", partial: false, limitsOf: () => undefined })
  return [Events.block({ type: "text", text: "a" }), Events.ended(terminal)].flatMap((event) =>
    messages.apply(event, "id"),
  )
}

const printed = Effect.fnUntraced(function* (
  format: "text" | "json" | "stream-json",
  verbose = false,
  terminal: Parameters<typeof Events.ended>[0] = {},
) {
  const out = collecting()
  const err = collecting()
  const { print, end } = printer(format, { verbose }, out.sink, err.sink)
  for (const line of lines(terminal)) yield* print(line)
  yield* end
  return { out: out.text(), err: err.text() }
})

describe("the formats", () => {
  it.effect("text is the answer and nothing else", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* printed("text"), { out: "all done\n", err: "" })
    }),
  )

  it.effect("text keeps the answer apart from what went wrong", () =>
    Effect.gen(function* () {
      const { out, err } = yield* printed("text", false, { terminal: { reason: "max_turns" } })
      assert.strictEqual(out, "all done\n")
      assert.match(err, /^troupe: .*turn limit/)
    }),
  )

  it.effect("text of a structured answer is its JSON", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* printed("text", false, { structuredOutput: { a: 1 } })).out, '{"a":1}\n')
    }),
  )

  it.effect("json is the result, or everything when verbose", () =>
    Effect.gen(function* () {
      assert.deepInclude(JSON.parse((yield* printed("json")).out), { type: "result", result: "all done" })
      const all: unknown = JSON.parse((yield* printed("json", true)).out)
      assert.deepStrictEqual(Array.isArray(all) && all.map(({ type }) => type), ["assistant", "result"])
    }),
  )

  it.effect("stream-json is a line for each message", () =>
    Effect.gen(function* () {
      const { out } = yield* printed("stream-json")
      const types = out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).type)
      assert.deepStrictEqual(types, ["assistant", "result"])
    }),
  )

  it("a line is one line for every reader", () => {
    const line = encode({ text: "a\u2028b\u2029c\n" })
    assert.lengthOf(line.split(/[\n\u2028\u2029]/), 2)
    assert.deepStrictEqual(JSON.parse(line), { text: "a\u2028b\u2029c\n" })
  })
})

it("JSON shows a terminal nothing but text, and is the same value", () => {
  const value = { text: "a\u009d0;x\u202e\u007f é 漢" }
  assert.notMatch(encode(value), /[\u007f-\u009f\u202e]/)
  assert.deepStrictEqual(JSON.parse(encode(value)), value)
})

describe("a sink", () => {
  it.effect("lets a slow reader slow the writer", () =>
    Effect.gen(function* () {
      const waiting: Array<() => void> = []
      const slow = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void waiting.push(done) })
      const fiber = yield* Effect.forkChild(sink(slow).write("text"), { startImmediately: true })
      assert.isUndefined(fiber.pollUnsafe())
      waiting.forEach((done) => done())
      yield* Fiber.join(fiber)
    }),
  )

  const collected = (isTTY: boolean) => {
    const chunks: Array<string> = []
    const stream = {
      isTTY,
      on: () => undefined,
      write: (text: string, done: () => void) => {
        chunks.push(text)
        done()
        return true
      },
    }
    return { stream, text: () => chunks.join("") }
  }
  const evil = "a\u001b]52;c;cHduZWQ=\u0007b\u009b2J\u202ec\n"

  it.effect("lets nobody's escape sequences reach a terminal", () =>
    Effect.gen(function* () {
      const terminal = collected(true)
      yield* sink(terminal.stream).write(evil)
      assert.strictEqual(terminal.text(), "abc\n")
    }),
  )

  it.effect("keeps every byte for a pipe, and for whoever draws", () =>
    Effect.gen(function* () {
      const pipe = collected(false)
      yield* sink(pipe.stream).write(evil)
      assert.strictEqual(pipe.text(), evil)
      const drawn = collected(true)
      yield* canvas(drawn.stream).write(evil)
      assert.strictEqual(drawn.text(), evil)
    }),
  )

  it.effect("says that the reader went away, now and ever after", () =>
    Effect.gen(function* () {
      const error = Object.assign(new Error("write EPIPE"), { code: "EPIPE" })
      const closed = sink(new Writable({ write: (_chunk, _encoding, done) => done(error) }))
      assert.deepInclude(yield* Effect.flip(closed.write("a")), { _tag: "OutputError", reason: "closed" })
      assert.deepInclude(yield* Effect.flip(closed.write("b")), { _tag: "OutputError", reason: "closed" })
    }),
  )

  it.effect("does not take a full disk for a closed pipe", () =>
    Effect.gen(function* () {
      const error = Object.assign(new Error("no space left"), { code: "ENOSPC" })
      const full = sink(new Writable({ write: (_chunk, _encoding, done) => done(error) }))
      const failure = yield* Effect.flip(full.write("a"))
      assert.strictEqual(failure.reason, "failed")
      assert.include(failure.message, "no space left")
    }),
  )
})
