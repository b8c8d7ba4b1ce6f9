import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as UserInput from "../../src/cli/UserInput.ts"

const { answer, refusal } = UserInput
const decode = (text: string, number = 1) => UserInput.decode({ _tag: "Line", number, text })

const complaint = (line: string) =>
  Effect.map(Effect.flip(decode(line, 7)), (error) => {
    assert.strictEqual(error._tag, "UserInputError")
    return error.message
  })

describe("a line of stream-json input", () => {
  it.effect("is a user message, as the SDK writes it", () =>
    Effect.gen(function* () {
      const line = '{"type":"user","message":{"role":"user","content":"hi"},"parent_tool_use_id":null,"session_id":""}'
      assert.deepStrictEqual(yield* decode(line, 1), { type: "user", message: { role: "user", content: "hi" } })
    }),
  )

  it.effect("may carry blocks, an id and a priority", () =>
    Effect.gen(function* () {
      const value = {
        type: "user",
        message: {
          role: "user",
          content: [
            { type: "text", text: "hi" },
            { type: "image", source: { data: "x" } },
          ],
        },
        uuid: "u1",
        priority: "now",
      }
      assert.deepStrictEqual<unknown>(yield* decode(JSON.stringify(value), 1), value)
    }),
  )

  it.effect("is a control request of any kind, with all its fields", () =>
    Effect.gen(function* () {
      const value = { type: "control_request", request_id: "1", request: { subtype: "set_model", model: "opus" } }
      assert.deepStrictEqual<unknown>(yield* decode(JSON.stringify(value), 1), value)
    }),
  )

  it.effect("may ask for nothing", () =>
    Effect.gen(function* () {
      const cancel = '{"type":"control_cancel_request","request_id":"1"}'
      for (const line of ["", "  ", "\r", '{"type":"keep_alive"}', '{"type":"of_tomorrow"}', cancel]) {
        assert.isUndefined(yield* decode(line, 1))
      }
    }),
  )

  const bad: ReadonlyArray<[string, string, ReadonlyArray<string>]> = [
    ["is no JSON", "{oops", ["JSON"]],
    ["is cut off", '{"type":"user","mess', ["JSON"]],
    ["is no object", "[1]", ['"type"']],
    ["is an answer to nothing", '{"type":"control_response","response":{}}', ["response"]],
    ["has no content", '{"type":"user","message":{"role":"user"}}', ["content"]],
    ["speaks for the assistant", '{"type":"user","message":{"role":"assistant","content":"x"}}', ["role"]],
    ["is a request without an id", '{"type":"control_request","request":{"subtype":"interrupt"}}', ["request_id"]],
  ]
  for (const [name, line, parts] of bad) {
    it.effect(`that ${name} is refused with its number and its beginning`, () =>
      Effect.gen(function* () {
        const message = yield* complaint(line)
        for (const part of ["Line 7", JSON.stringify(line.slice(0, 60)), ...parts]) assert.include(message, part)
        assert.notInclude(message, "\n")
      }),
    )
  }
})

describe("a line that cannot be read", () => {
  const failed = (text: string) => Effect.flip(decode(text))

  it.effect("names the request that waits for an answer, if it can be seen", () =>
    Effect.gen(function* () {
      const broken = '{"type":"control_request","request_id":"r-1","request":{"subtype":"interrupt"'
      assert.strictEqual((yield* failed(broken)).requestId, "r-1")
      assert.isUndefined((yield* failed('{"request_id":"r-1"')).requestId)
      const reply = '{"type":"control_response","response":{"subtype":"?","request_id":"r-2"}}'
      assert.strictEqual((yield* failed(reply)).answersId, "r-2")
    }),
  )

  it.effect("says whether it was a prompt", () =>
    Effect.gen(function* () {
      assert.isTrue((yield* failed('{"type":"user","message":{"role":"user"}}')).isPrompt)
      assert.isFalse((yield* failed('{"type":"control_request","request":{}}')).isPrompt)
      assert.isFalse((yield* failed("user")).isPrompt)
    }),
  )

  it.effect("because it is too long says so", () =>
    Effect.gen(function* () {
      const start = '{"type":"user","message":'
      const error = yield* Effect.flip(UserInput.decode({ _tag: "TooLong", number: 3, start }))
      assert.include(error.message, "Line 3 of stdin is no stream-json message: it has more than 32 MB")
      assert.isTrue(error.isPrompt)
    }),
  )
})

it("answers have the SDK's shape", () => {
  assert.deepStrictEqual(answer("1", { mode: "plan" }), {
    type: "control_response",
    response: { subtype: "success", request_id: "1", response: { mode: "plan" } },
  })
  assert.deepStrictEqual(refusal("1", "no"), {
    type: "control_response",
    response: { subtype: "error", request_id: "1", error: "no" },
  })
})
