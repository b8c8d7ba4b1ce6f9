import { assert, describe, it } from "@effect/vitest"
import type { Message } from "../../src/protocol/Message.ts"
import type { ApiRequest } from "../../src/testing/ApiRequest.ts"
import * as StrictApi from "../../src/testing/StrictApi.ts"
import { encryptedPdf, pdf } from "../tools/builtin/pdf.ts"
import { assistant, body, call, result, user } from "./conversation.ts"

const problem = (messages: ReadonlyArray<Message>, more: Partial<ApiRequest> = {}, mayContinue = false) =>
  StrictApi.problem(body(messages, more), { mayContinue })

const png = Buffer.from("\x89PNG\r\n\x1a\n0", "latin1").toString("base64")
const picture = (media_type: string, data: string) =>
  ({ type: "image", source: { type: "base64", media_type, data } }) as const
const file = (text: string) => {
  const data = Buffer.from(text, "latin1").toString("base64")
  return { type: "document", source: { type: "base64", media_type: "application/pdf", data } } as const
}

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
  ["a picture without a source", problem([user([{ type: "image", source: {} }])]), /content\.0\.image\.source\.type/],
  [
    "a picture of a kind that it is not",
    problem([user([picture("image/jpeg", png)])]),
    /0\.image\.source\.base64\.data: the image does not appear to be image\/jpeg/,
  ],
  ["a kind of picture that nobody takes", problem([user([picture("image/bmp", png)])]), /media_type: must be one of/],
  ["a picture in broken letters", problem([user([picture("image/png", `${png}*`)])]), /invalid base64/],
  [
    "a picture of more than 5 MB",
    problem([user([picture("image/png", png + "A".repeat(6_000_000))])]),
    /image exceeds 5 MB maximum: 60000\d\d bytes/,
  ],
  [
    "a document of another kind",
    problem([user([{ type: "document", source: { type: "base64", media_type: "text/plain", data: "" } }])]),
    /must be application\/pdf/,
  ],
  [
    "a damaged document in a result",
    problem([
      user("x"),
      assistant([call("a", "Read")]),
      user([{ type: "tool_result", tool_use_id: "a", content: [file("%PDF-1.7 and no more")] }]),
    ]),
    /messages\.2\.content\.0\.tool_result\.content\.0\.document\..* PDF specified was not valid/,
  ],
  [
    "a document with a password",
    problem([user([file(encryptedPdf(["secret"]).toString("latin1"))])]),
    /password protected/,
  ],
  [
    "a document of 101 pages",
    problem([user([file(pdf(Array.from({ length: 101 }, () => "page")))])]),
    /a maximum of 100 PDF pages may be provided, not 101/,
  ],
  [
    "five breakpoints",
    problem([user(Array.from({ length: 5 }, () => ({ type: "text" as const, text: "x", cache_control: mark })))]),
    /this request has 5/,
  ],
  [
    "something kept for long behind something kept for short",
    problem([
      user([
        { type: "text", text: "x", cache_control: mark },
        { type: "text", text: "y", cache_control: { type: "ephemeral", ttl: "1h" } },
      ]),
    ]),
    /ttl 1h must not come after one with ttl 5m/,
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

  it("accepts pictures and documents that are what they say, in messages and in results", () => {
    const blocks = [
      picture("image/png", png),
      { type: "image", source: { type: "url", url: "https://example.com/a.png" } } as const,
      file(pdf(["one", "two"])),
      { type: "document", source: { type: "text", media_type: "text/plain", data: "words" } } as const,
    ]
    const answer = { type: "tool_result", tool_use_id: "a", content: blocks } as const
    assert.isUndefined(problem([user(blocks), assistant([call("a", "R")]), user([answer])]))
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
