import { assert, describe, it } from "@effect/vitest"
import type { Message } from "../../src/protocol/Message.ts"
import type { ApiRequest } from "../../src/testing/ApiRequest.ts"
import * as StrictApi from "../../src/testing/StrictApi.ts"
import { assistant, body, call, result, user } from "./conversation.ts"

const problem = (messages: ReadonlyArray<Message>, more: Partial<ApiRequest> = {}, mayContinue = false) =>
  StrictApi.problem(body(messages, more), { mayContinue })

const mark = { type: "ephemeral" } as const
const cases: ReadonlyArray<readonly [string, string | undefined, RegExp]> = [
  ["no messages", problem([]), /at least one message/],
  [
    "a conversation that begins with the model",
    problem([assistant("hi"), user("x")]),
    /first message must have the role user/,
  ],
  ["one that ends with the model", problem([user("x"), assistant("hi")]), /must end with a user message/],
  ["an empty message", problem([user("")]), /messages\.0: content must not be empty/],
  ["a text of blanks", problem([user([{ type: "text", text: " \n" }])]), /messages\.0\.content\.0: text blocks/],
  [
    "a call without a result",
    problem([user("x"), assistant([call("a", "Read")]), user("next")]),
    /messages\.2: tool_use without a tool_result.*: a/,
  ],
  [
    "one of two calls without a result",
    problem([user("x"), assistant([call("a", "R"), call("b", "R")]), user([result("a", "")])]),
    /: b$/,
  ],
  ["a result without a call", problem([user("x"), assistant("hi"), user([result("z", "")])]), /tool_result for z/],
  [
    "a result given twice",
    problem([user("x"), assistant([call("a", "R")]), user([result("a", ""), result("a", "")])]),
    /tool_result for a/,
  ],
  [
    "a result that comes a message late",
    problem([
      user("x"),
      assistant([call("a", "R")]),
      user([result("a", "")]),
      assistant("ok"),
      user([result("a", "")]),
    ]),
    /tool_result for a/,
  ],
  [
    "an id used twice",
    problem([
      user("x"),
      assistant([call("a", "R")]),
      user([result("a", "")]),
      assistant([call("a", "R")]),
      user([result("a", "")]),
    ]),
    /ids must be unique; a/,
  ],
  [
    "a malformed id",
    problem([user("x"), assistant([call("a b", "R")]), user([result("a b", "")])]),
    /malformed tool_use id/,
  ],
  [
    "words before results",
    problem([user("x"), assistant([call("a", "R")]), user([{ type: "text", text: "w" }, result("a", "")])]),
    /must come before other content/,
  ],
  ["a call by the user", problem([user([call("a", "R")])]), /tool_use blocks do not belong in user messages/],
  [
    "two tools of one name",
    problem([user("x")], {
      tools: [
        { name: "A", input_schema: {} },
        { name: "A", input_schema: {} },
      ],
    }),
    /tool names must be unique; A/,
  ],
  ["a tool without a schema", problem([user("x")], { tools: [{ name: "A" }] }), /A has no input_schema/],
  [
    "a tool with a bad name",
    problem([user("x")], { tools: [{ name: "a b", input_schema: {} }] }),
    /a tool needs a name/,
  ],
  [
    "five breakpoints",
    problem([user(Array.from({ length: 5 }, () => ({ type: "text" as const, text: "x", cache_control: mark })))]),
    /this request has 5/,
  ],
]

describe("StrictApi", () => {
  it.each(cases)("refuses %s", (_, said, expected) => {
    assert.match(said ?? "nothing", expected)
  })

  it("accepts a conversation with calls, results in any order, and words after them", () => {
    const messages = [
      user("x"),
      assistant([{ type: "text", text: "ok" }, call("a", "R"), call("b", "R")]),
      user([result("b", ""), result("a", ""), { type: "text", text: "and hurry" }]),
    ]
    assert.isUndefined(
      problem(messages, {
        tools: [
          { name: "A", input_schema: {} },
          { name: "web", type: "web_1" },
        ],
      }),
    )
  })

  it("combines messages of one role, as the API does", () => {
    assert.isUndefined(
      problem([
        user("x"),
        assistant([call("a", "R")]),
        assistant([call("b", "R")]),
        user([result("a", "")]),
        user([result("b", "")]),
      ]),
    )
  })

  it("lets a paused reply be continued", () => {
    assert.isUndefined(problem([user("x"), assistant("so far")], {}, true))
  })
})
