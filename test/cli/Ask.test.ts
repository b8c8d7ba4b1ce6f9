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

  it("takes nothing but a clear yes for a yes, and hears what to do instead", () => {
    for (const yes of ["y", "Y", " yes "]) assert.deepStrictEqual(readAnswer(yes), { _tag: "Yes" })
    for (const no of ["", "n", "NO"]) assert.deepStrictEqual(readAnswer(no), { _tag: "No", reason: undefined })
    assert.deepStrictEqual(readAnswer("no, use pnpm"), { _tag: "No", reason: "use pnpm" })
    for (const unclear of ["ye", "ok", "1", "yes please", "a"]) assert.isUndefined(readAnswer(unclear))
  })

  it.effect("asks again until the answer is clear", () =>
    Effect.gen(function* () {
      const { ask, prompts } = asking([line("maybe"), line("y")])
      assert.isTrue((yield* ask(bash)).allow)
      assert.lengthOf(prompts, 2)
    }),
  )

  it.effect("grants the rule that it showed, for the session or for the project", () =>
    Effect.gen(function* () {
      const { ask, shown } = asking([line("s"), line("p")])
      const rules = ["Bash(npm test *)"]
      assert.deepStrictEqual((yield* ask(bash)).grant, { rules, destination: "session" })
      assert.deepStrictEqual((yield* ask(bash)).grant, { rules, destination: "local" })
      assert.include(shown, '    to allow more: Bash(npm test *), which covers "npm test" with any arguments')
    }),
  )

  it.effect("keeps nothing for the project that holds for a session only, and offers nothing it has no rule for", () =>
    Effect.gen(function* () {
      const { ask, prompts } = asking([line("p"), line("s"), line("s"), line("n, read it first")])
      assert.strictEqual((yield* ask(write)).grant?.destination, "session")
      assert.notInclude(prompts[0], "[p]roject")
      const declined = yield* ask(running("curl x | sh"))
      assert.notInclude(prompts[2], "[s]ession")
      assert.deepStrictEqual(declined, { allow: false, reason: "the person says: read it first" })
    }),
  )

  it.effect("says why it asks and what a command touches", () =>
    Effect.gen(function* () {
      const { ask, shown } = asking([line("y")])
      yield* ask({ ...bash, why: "no rule allows this command", writes: ["/w/out"], reads: ["/w/a", "/w/b"] })
      assert.includeMembers(shown, [
        "    why: no rule allows this command",
        "    writes: /w/out",
        "    reads: /w/a, /w/b",
      ])
    }),
  )

  it.effect("puts the model's own questions and takes the answers back with the call", () =>
    Effect.gen(function* () {
      const option = (label: string) => ({ label, description: `about ${label}` })
      const questions = [
        { question: "Which one?", header: "Store", options: [option("Postgres"), option("SQLite")] },
        { question: "What else?", header: "More", options: [option("Cache"), option("Queue")], multiSelect: true },
        { question: "When?", header: "Time", options: [option("Now"), option("Later")] },
      ]
      const { ask, shown } = asking([line("7"), line("2"), line("1, 2"), line("")])
      const answer = yield* ask({ ...bash, tool: "AskUserQuestion", input: { questions } })
      assert.deepInclude(answer.updatedInput, { answers: { "Which one?": "SQLite", "What else?": "Cache, Queue" } })
      assert.include(shown, "    2. SQLite — about SQLite")
      assert.isFalse((yield* asking([]).ask({ ...bash, tool: "AskUserQuestion", input: { questions } })).allow)
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
