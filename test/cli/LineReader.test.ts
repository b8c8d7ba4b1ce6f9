import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { PassThrough } from "node:stream"
import * as LineReader from "../../src/cli/LineReader.ts"
import * as Pastes from "../../src/cli/Pastes.ts"

const terminal = () => {
  const input = new PassThrough()
  const output = new PassThrough()
  output.resume()
  const pastes = Pastes.make()
  return { input, pastes, reader: LineReader.make(input, output, pastes) }
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

  it.live("recalls the lines it is given, and no answer to a question", () =>
    Effect.gen(function* () {
      const { input, reader } = terminal()
      const up = "\u001b[A"
      const recall = ["newest", "two\nlines", "oldest"]
      const recalled = (...keys: ReadonlyArray<string>) => reading(reader.read("> ", { recall }), input, ...keys, "\r")
      assert.deepStrictEqual(yield* recalled(up), { _tag: "Line", text: "newest" })
      assert.deepStrictEqual(yield* recalled(up, up), { _tag: "Line", text: "two\nlines" })
      assert.deepStrictEqual(yield* recalled("ol", up), { _tag: "Line", text: "oldest" })
      yield* reading(reader.read("> "), input, "secret\r")
      assert.deepStrictEqual(yield* reading(reader.read("> "), input, up, "\r"), { _tag: "Line", text: "" })
    }),
  )

  it.live("takes a paste of several lines as one word, wherever the marks are cut", () =>
    Effect.gen(function* () {
      const { input, reader, pastes } = terminal()
      const read = yield* reading(reader.read("> "), input, "see \u001b[20", "0~one\r\ntw", "o\u001b[201", "~!", "\r")
      assert.deepStrictEqual(read, { _tag: "Line", text: "see [Pasted text #1 +1 line]!" })
      assert.strictEqual(
        pastes.expand("see [Pasted text #1 +1 line]! [Pasted text #7 +1 lines]"),
        "see one\ntwo! [Pasted text #7 +1 lines]",
      )
    }),
  )

  it.live("inserts a paste of one line, without its end and without control codes", () =>
    Effect.gen(function* () {
      const { input, reader } = terminal()
      const read = yield* reading(reader.read("> "), input, "\u001b[200~npm \u001b[31mtest\u0003\n\u001b[201~", " -v\r")
      assert.deepStrictEqual(read, { _tag: "Line", text: "npm test -v" })
    }),
  )

  it.live("searches with Ctrl-R: by a part, further back, and away from it again", () =>
    Effect.gen(function* () {
      const { input, reader } = terminal()
      const recall = ["git push", "npm test", "git pull"]
      const search = (...keys: ReadonlyArray<string>) => reading(reader.read("> ", { recall }), input, ...keys)
      assert.deepStrictEqual(yield* search("\u0012GIT", "\r"), { _tag: "Line", text: "git push" })
      assert.deepStrictEqual(yield* search("\u0012git", "\u0012", "\u0012", "\r"), { _tag: "Line", text: "git pull" })
      assert.deepStrictEqual(yield* search("typed", "\u0012tesx", "\u007f", "\u001b[C", "!\r"), {
        _tag: "Line",
        text: "npm test!",
      })
      assert.deepStrictEqual(yield* search("typed", "\u0012npm", "\u0007", "\r"), { _tag: "Line", text: "typed" })
      assert.deepStrictEqual(yield* search("\u0012nothing", "\r", "on\r"), { _tag: "Line", text: "on" })
    }),
  )

  it.live("decodes letters that arrive in halves", () =>
    Effect.gen(function* () {
      const { input, reader } = terminal()
      const [first, second] = [Buffer.from("漢").subarray(0, 2), Buffer.from("漢").subarray(2)]
      const fiber = yield* Effect.forkChild(reader.read("> "), { startImmediately: true })
      for (const bytes of [first, second, Buffer.from("\r")]) {
        input.write(bytes)
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      assert.deepStrictEqual(yield* Fiber.join(fiber), { _tag: "Line", text: "漢" })
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
