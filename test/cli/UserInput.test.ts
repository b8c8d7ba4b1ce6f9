import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { answer, decode, refusal } from "../../src/cli/UserInput.ts"

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
      for (const line of ["", "  ", '{"type":"keep_alive"}', '{"type":"control_response","response":{}}']) {
        assert.isUndefined(yield* decode(line, 1))
      }
    }),
  )

  const bad: ReadonlyArray<[string, string, ReadonlyArray<string>]> = [
    ["is no JSON", "{oops", ["JSON"]],
    ["is cut off", '{"type":"user","mess', ["JSON"]],
    ["is no object", "[1]", ['"type"']],
    ["has an unknown type", '{"type":"usr"}', ['"usr"', '"user"']],
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
