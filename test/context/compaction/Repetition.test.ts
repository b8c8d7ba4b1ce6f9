import { assert, describe, it } from "@effect/vitest"
import * as Repetition from "../../../src/context/compaction/Repetition.ts"
import type { Message } from "../../../src/protocol/Message.ts"

const read = (file: string, content = `what ${file} says`): Repetition.Done => ({
  tool: "Read",
  input: { file_path: file },
  content,
  isError: false,
})
const failing = (command: string, content = "exit code 1"): Repetition.Done => ({
  tool: "Bash",
  input: { command },
  content,
  isError: true,
})

const noticing = (messages: ReadonlyArray<Message> = []) => {
  let shortenings = 0
  const repetition = Repetition.make(messages, () => shortenings)
  return { after: repetition.after, shorten: () => shortenings++ }
}

describe("repetition", () => {
  it("is no matter while the conversation is whole: looking again may be waiting", () => {
    const { after } = noticing()
    for (let time = 0; time < 20; time++) assert.isUndefined(after([read("a.ts")]).hint)
  })

  it("is told, once, when something is read again after the conversation was put shorter", () => {
    const { after, shorten } = noticing()
    after([read("a.ts")])
    shorten()
    assert.include(after([read("a.ts")]).hint, "a.ts")
    assert.isUndefined(after([read("a.ts")]).hint)
  })

  it("is none when the file says something else by now", () => {
    const { after, shorten } = noticing()
    after([read("a.ts")])
    shorten()
    assert.isUndefined(after([read("a.ts", "new text")]).hint)
  })

  it("knows what was done before the session was opened again", () => {
    const { after, shorten } = noticing([
      { role: "user", content: "go" },
      { role: "assistant", content: [{ type: "tool_use", id: "a", name: "Read", input: { file_path: "a.ts" } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: "what a.ts says" }] },
    ])
    shorten()
    assert.include(after([read("a.ts")]).hint, "a.ts")
  })

  it("is told when the same call fails a third time, however long it took", () => {
    const { after } = noticing()
    assert.isUndefined(after([failing("npm test", "failed in 12 ms")]).hint)
    assert.isUndefined(after([failing("npm test", "failed in 15 ms")]).hint)
    assert.include(after([failing("npm test", "failed in 9 ms")]).hint, "fails in the same way")
  })

  it("goes round in circles when nothing but known failures come for many rounds", () => {
    const { after } = noticing()
    const rounds = Array.from({ length: Repetition.mostInARow + 1 }, () => after([failing("npm test")]).circles)
    assert.deepStrictEqual(rounds.indexOf(true), Repetition.mostInARow)
    assert.isFalse(after([failing("npm test"), read("b.ts")]).circles)
    assert.isFalse(after([failing("npm test")]).circles)
  })
})
