import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { PassThrough } from "node:stream"
import * as LineReader from "../../src/cli/LineReader.ts"

const terminal = () => {
  const input = new PassThrough()
  const output = new PassThrough()
  output.resume()
  return { input, reader: LineReader.make(input, output) }
}

/** Reads while the person types. */
const reading = Effect.fnUntraced(function* <A>(
  read: Effect.Effect<A>,
  input: PassThrough,
  ...keys: ReadonlyArray<string>
) {
  const fiber = yield* Effect.forkChild(read, { startImmediately: true })
  for (const key of keys) {
    input.write(key)
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  }
  return yield* Fiber.join(fiber)
})

describe("reading at the terminal", () => {
  it.live("gives the line", () =>
    Effect.gen(function* () {
      const { input, reader } = terminal()
      assert.deepStrictEqual(yield* reading(reader.read("> "), input, "hello\r"), { _tag: "Line", text: "hello" })
      assert.deepStrictEqual(yield* reading(reader.read("> "), input, "again\r"), { _tag: "Line", text: "again" })
    }),
  )

  it.live("takes pasted lines together", () =>
    Effect.gen(function* () {
      const { input, reader } = terminal()
      const read = yield* reading(reader.read("> "), input, "one\rtwo\rthree\r")
      assert.deepStrictEqual(read, { _tag: "Line", text: "one\ntwo\nthree" })
    }),
  )

  it.live("hears Ctrl-C and Ctrl-D", () =>
    Effect.gen(function* () {
      const { input, reader } = terminal()
      assert.deepStrictEqual(yield* reading(reader.read("> "), input, "\u0003"), { _tag: "Interrupt", typed: false })
      assert.deepStrictEqual(yield* reading(reader.read("> "), input, "half", "\u0003"), {
        _tag: "Interrupt",
        typed: true,
      })
      assert.deepStrictEqual(yield* reading(reader.read("> "), input, "\u0004"), { _tag: "End" })
    }),
  )

  it.live("remembers earlier lines", () =>
    Effect.gen(function* () {
      const { input, reader } = terminal()
      yield* reading(reader.read("> "), input, "first\r")
      const up = "\u001b[A"
      assert.deepStrictEqual(yield* reading(reader.read("> "), input, up, "\r"), { _tag: "Line", text: "first" })
    }),
  )

  it.live("goes on after a backslash", () =>
    Effect.gen(function* () {
      const { input, reader } = terminal()
      const read = yield* reading(LineReader.readPrompt(reader, "> ", "… "), input, "one\\\r", "two\r")
      assert.deepStrictEqual(read, { _tag: "Line", text: "one\ntwo" })
    }),
  )
})
