import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { person, readAnswer } from "../../src/cli/Ask.ts"
import type { LineReader, Read } from "../../src/cli/LineReader.ts"
import { bash, numbered, running, write } from "./asks.ts"

const line = (text: string): Read => ({ _tag: "Line", text })

const asking = (answers: ReadonlyArray<Read>) => {
  const left = [...answers]
  const prompts: Array<string> = []
  const shown: Array<string> = []
  const calls = { interrupts: 0 }
  const reader: LineReader = {
    read: (prompt) =>
      Effect.sync(() => {
        prompts.push(prompt)
        return left.shift() ?? { _tag: "End" }
      }),
  }
  const { ask } = person({
    reader,
    show: (lines) => Effect.sync(() => void shown.push(...lines.map(({ text }) => text))),
    columns: () => 80,
    alone: (effect) => effect,
    interrupt: Effect.sync(() => void calls.interrupts++),
  })
  return { ask, prompts, shown, calls }
}

describe("the question at the terminal", () => {
  it.effect("shows all of it at v, and asks again", () =>
    Effect.gen(function* () {
      const { ask, prompts, shown } = asking([line("v"), line("y")])
      assert.isTrue((yield* ask(running(numbered(100).join("\n")))).allow)
      assert.lengthOf(prompts, 2)
      assert.include(prompts[0], "[v]iew all")
      assert.include(shown, "      line 50")
    }),
  )

  it.effect("offers no v where everything is shown", () =>
    Effect.gen(function* () {
      const { ask, prompts } = asking([line("v"), line("y")])
      assert.isTrue((yield* ask(bash)).allow)
      assert.notInclude(prompts[0], "[v]")
      assert.lengthOf(prompts, 2)
    }),
  )

  it("takes nothing but a clear yes for a yes", () => {
    for (const yes of ["y", "Y", " yes "]) assert.strictEqual(readAnswer(yes), "yes")
    for (const no of ["", "n", "NO"]) assert.strictEqual(readAnswer(no), "no")
    for (const unclear of ["ye", "ok", "1"]) assert.isUndefined(readAnswer(unclear))
  })

  it.effect("asks again until the answer is clear", () =>
    Effect.gen(function* () {
      const { ask, prompts } = asking([line("maybe"), line("y")])
      assert.isTrue((yield* ask(bash)).allow)
      assert.lengthOf(prompts, 2)
    }),
  )

  it.effect("remembers always for this command, and for no other", () =>
    Effect.gen(function* () {
      const { ask, prompts } = asking([line("a"), line("n")])
      assert.isTrue((yield* ask(bash)).allow)
      assert.isTrue((yield* ask(bash)).allow)
      assert.lengthOf(prompts, 1)
      assert.isFalse((yield* ask(running("npm publish"))).allow)
    }),
  )

  it.effect("offers no always for what lies outside the workspace", () =>
    Effect.gen(function* () {
      const { ask, prompts } = asking([line("a"), line("y"), line("n")])
      const outside = { ...write, outside: ["/etc/hosts"] }
      assert.isTrue((yield* ask(outside)).allow)
      assert.notInclude(prompts[0], "always")
      assert.isFalse((yield* ask(outside)).allow)
    }),
  )

  it.effect("takes Ctrl-C and the end of input for a no that ends the turn", () =>
    Effect.gen(function* () {
      const { ask, calls } = asking([{ _tag: "Interrupt", typed: false }, { _tag: "End" }])
      assert.isFalse((yield* ask(bash)).allow)
      assert.isFalse((yield* ask(bash)).allow)
      assert.strictEqual(calls.interrupts, 2)
    }),
  )
})
