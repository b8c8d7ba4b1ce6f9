import { assert, describe, it } from "@effect/vitest"
import { plainText, toBlocks } from "../../src/protocol/Content.ts"
import * as History from "../../src/session/History.ts"
import * as Import from "../../src/session/Import.ts"
import * as StrictApi from "../../src/testing/StrictApi.ts"

type Fields = Readonly<Record<string, unknown>>

const common = {
  isSidechain: false,
  userType: "external",
  cwd: "/work",
  sessionId: "s",
  version: "2.1.81",
  gitBranch: "",
}

const user = (uuid: string, parentUuid: string | null, content: unknown, more: Fields = {}): Fields => ({
  parentUuid,
  ...common,
  type: "user",
  message: { role: "user", content },
  uuid,
  timestamp: "2026-01-01T00:00:00.000Z",
  ...more,
})

const assistant = (
  uuid: string,
  parentUuid: string | null,
  messageId: string,
  block: unknown,
  more: Fields = {},
): Fields => ({
  parentUuid,
  ...common,
  type: "assistant",
  message: {
    id: messageId,
    type: "message",
    role: "assistant",
    model: "claude-x",
    content: [block],
    stop_reason: null,
  },
  uuid,
  timestamp: "2026-01-01T00:00:00.000Z",
  ...more,
})

const text = (text: string) => ({ type: "text", text })
const call = (id: string) => ({ type: "tool_use", id, name: "Bash", input: { command: "ls" } })
const result = (id: string) => [{ type: "tool_result", tool_use_id: id, content: `out ${id}` }]

const file = (...lines: ReadonlyArray<Fields>) => lines.map((line) => `${JSON.stringify(line)}\n`).join("")

const conversation = (source: string | Uint8Array) => {
  const imported = Import.events(source)
  const messages = History.from(imported.events).messages()
  if (messages.length > 0)
    assert.strictEqual(StrictApi.problem({ model: "m", max_tokens: 1, messages }, { mayContinue: true }), undefined)
  const said = messages.map(({ role, content }) => {
    const words = toBlocks(content).map((block) => {
      if (block.type === "tool_use") return `call ${block.id}`
      if (block.type === "tool_result") return `${block.is_error ? "error" : "result"} ${block.tool_use_id}`
      return plainText([block])
    })
    return `${role}: ${words.join(", ")}`
  })
  return { ...imported, said }
}

describe("Import", () => {
  it("takes over a conversation whose replies stand in several lines", () => {
    const { said, problems, cwd, sessionId, version, model } = conversation(
      file(
        user("u1", null, "list the files"),
        assistant("a1", "u1", "m1", { type: "thinking", thinking: "hm", signature: "s" }),
        assistant("a2", "a1", "m1", text("looking")),
        assistant("a3", "a2", "m1", call("t1")),
        user("u2", "a3", result("t1"), { toolUseResult: { stdout: "x" } }),
        assistant("a4", "u2", "m2", text("done")),
      ),
    )
    assert.deepStrictEqual(problems, [])
    assert.deepStrictEqual(said, [
      "user: list the files",
      "assistant: looking, call t1",
      "user: result t1",
      "assistant: done",
    ])
    assert.deepStrictEqual(
      { cwd, sessionId, version, model },
      { cwd: "/work", sessionId: "s", version: "2.1.81", model: "claude-x" },
    )
  })

  it("resumes one with a torn last line, a missing parent and an unpaired call", () => {
    const whole = file(
      user("u1", null, "one"),
      assistant("a1", "u1", "m1", text("first")),
      user("u2", "lost", "two"),
      assistant("a2", "u2", "m2", call("t1")),
      user("u3", "a2", "three"),
    )
    const { said, problems } = conversation(whole.slice(0, -1).slice(0, -20))
    assert.deepStrictEqual(said, ["user: one", "assistant: first", "user: two", "assistant: call t1", "user: error t1"])
    assert.deepStrictEqual(problems, [
      "line 5: the last line is cut off; it was left out",
      "line 3: its parent lost is missing; went on with line 2",
      "the call t1 of Bash has no result; it counts as interrupted",
    ])
  })

  it("follows the newest branch and skips side conversations", () => {
    const { said, problems } = conversation(
      file(
        user("u1", null, "one"),
        assistant("a1", "u1", "m1", text("old answer")),
        user("s1", null, "sub", { isSidechain: true }),
        assistant("a2", "u1", "m2", text("new answer")),
        assistant("s2", "s1", "m9", text("sub answer"), { isSidechain: true }),
        user("u2", "a2", "two"),
      ),
    )
    assert.deepStrictEqual(said, ["user: one", "assistant: new answer", "user: two"])
    assert.deepStrictEqual(problems, [])
  })

  it("puts back calls and results that ran side by side", () => {
    const { said, problems } = conversation(
      file(
        user("u1", null, "go"),
        assistant("a1", "u1", "m1", call("t1")),
        assistant("a2", "a1", "m1", call("t2")),
        assistant("a3", "a2", "m1", call("t3")),
        user("r1", "a1", result("t1")),
        user("r3", "a3", result("t3")),
        user("r2", "a2", result("t2")),
        assistant("a4", "r2", "m2", text("done")),
      ),
    )
    assert.deepStrictEqual(said, [
      "user: go",
      "assistant: call t1, call t2, call t3",
      "user: result t1, result t2, result t3",
      "assistant: done",
    ])
    assert.deepStrictEqual(problems, [])
  })

  it("begins at the last compaction, with its summary and what it kept", () => {
    const { said } = conversation(
      file(
        user("u1", null, "long ago"),
        assistant("a1", "u1", "m1", text("forgotten")),
        user("k1", "a1", "kept question"),
        assistant("k2", "k1", "m2", text("kept answer")),
        {
          ...common,
          type: "system",
          subtype: "compact_boundary",
          uuid: "b",
          parentUuid: null,
          logicalParentUuid: "k2",
          compactMetadata: {
            trigger: "auto",
            preTokens: 9,
            preservedSegment: { headUuid: "k1", anchorUuid: "sum", tailUuid: "k2" },
          },
        },
        user("sum", "b", "Summary: much happened", { isCompactSummary: true }),
        user("u2", "sum", "go on"),
        assistant("a2", "u2", "m3", text("going on")),
      ),
    )
    assert.deepStrictEqual(said, [
      "user: Summary: much happened, kept question",
      "assistant: kept answer",
      "user: go on",
      "assistant: going on",
    ])
  })

  it("knows notes beside the conversation, names unknown lines, and passes over what was not the model's", () => {
    const { said, problems, title } = conversation(
      file(
        { type: "summary", summary: "An old name", leafUuid: "x" },
        { type: "file-history-snapshot", messageId: "m", snapshot: {} },
        user("u1", null, "hi"),
        { ...common, type: "attachment", uuid: "x1", parentUuid: "u1", attachment: {} },
        { ...common, type: "system", subtype: "informational", uuid: "x2", parentUuid: "x1", content: "note" },
        assistant("e1", "x2", "m0", text("API Error: 529"), { isApiErrorMessage: true }),
        assistant("a1", "e1", "m1", text("hello")),
        { type: "hologram", uuid: "h" },
        { type: "hologram" },
        { type: "custom-title", customTitle: "My name", sessionId: "s" },
      ),
    )
    assert.deepStrictEqual(said, ["user: hi", "assistant: hello"])
    assert.deepStrictEqual(problems, ['line 8: "hologram" is not a known type of line; 2 of them were left out'])
    assert.strictEqual(title, "My name")
  })

  it("keeps the readable blocks of a message", () => {
    const { said, problems } = conversation(
      file(
        user("u1", null, [text("look"), { type: "text" }, 7]),
        assistant("a1", "u1", "m1", call("t1")),
        user("u2", "a1", undefined),
        user("u3", "u2", "on"),
      ),
    )
    assert.deepStrictEqual(said, ["user: look", "assistant: call t1", "user: error t1, on"])
    assert.include(problems, "line 1: its content block 2 is not readable; it was left out")
    assert.include(problems, "line 3: a message without content; it was left out")
  })

  it("ends where parents run in a circle", () => {
    const { said, problems } = conversation(
      file(user("u1", "a1", "one"), assistant("a1", "u1", "m1", text("two")), user("u2", "a1", "three")),
    )
    assert.deepStrictEqual(said, ["user: one", "assistant: two", "user: three"])
    assert.strictEqual(problems.length, 1)
  })

  it("makes something valid of a file cut anywhere, and of rubbish", () => {
    const whole = file(
      user("u1", null, "go"),
      assistant("a1", "u1", "m1", call("t1")),
      user("r1", "a1", result("t1")),
      assistant("a2", "r1", "m2", text("done")),
    )
    for (let cut = 0; cut <= whole.length; cut++) conversation(whole.slice(0, cut))
    for (let cut = 0; cut <= whole.length; cut++) conversation(whole.slice(cut))
    assert.deepStrictEqual(conversation("null\n[]\n3\n\u0000\n").said, [])
    assert.deepStrictEqual(conversation(new Uint8Array([0xff, 0xfe, 10, 0x7b])).said, [])
    assert.deepStrictEqual(conversation("").problems, [])
  })
})
