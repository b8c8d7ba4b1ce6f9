import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { person, question, readAnswer } from "../../src/cli/Ask.ts"
import type { LineReader, Read } from "../../src/cli/LineReader.ts"
import type { Ask } from "../../src/permissions/Permissions.ts"

const bash: Ask = {
  toolUseId: "t1",
  tool: "Bash",
  input: { command: "npm test" },
  summary: "Bash npm test",
  readOnly: false,
  reads: [],
  writes: [],
  executes: "npm test",
  outside: [],
  sensitive: [],
}
const write: Ask = { ...bash, tool: "Write", summary: "Write a.txt", executes: undefined, writes: ["/w/a.txt"] }

const line = (text: string): Read => ({ _tag: "Line", text })

const asking = (answers: ReadonlyArray<Read>) => {
  const left = [...answers]
  const prompts: Array<string> = []
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
    show: () => Effect.void,
    alone: (effect) => effect,
    interrupt: Effect.sync(() => void calls.interrupts++),
  })
  return { ask, prompts, calls }
}

describe("the question at the terminal", () => {
  it("shows the whole command, without its escape sequences", () => {
    const text = question({ ...bash, executes: "echo a\nrm -rf \u001b[8mhidden" })
      .map((view) => view.text)
      .join("\n")
    assert.include(text, "echo a")
    assert.include(text, "rm -rf hidden")
    assert.notInclude(text, "\u001b")
  })

  it("warns of what lies outside or changes how tools behave", () => {
    const text = question({ ...write, outside: ["/etc/hosts"], sensitive: ["/w/.git/config"] })
      .map((view) => view.text)
      .join("\n")
    assert.include(text, "outside the workspace: /etc/hosts")
    assert.include(text, "changes how tools behave: /w/.git/config")
  })

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
      assert.isFalse((yield* ask({ ...bash, executes: "npm publish" })).allow)
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
