import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as ControlChannel from "../../src/cli/ControlChannel.ts"
import { OutputError } from "../../src/cli/Output.ts"
import { decode } from "../../src/cli/UserInput.ts"

interface Sent {
  readonly type: string
  readonly request_id: string
  readonly request: Readonly<Record<string, unknown>>
}

/** A channel, what it wrote, and a client that answers over the wire. */
const make = () => {
  const sent: Array<Sent> = []
  const channel = ControlChannel.make((line) => Effect.sync(() => void sent.push(JSON.parse(line))))
  const reply = Effect.fnUntraced(function* (response: object) {
    const text = JSON.stringify({ type: "control_response", response })
    const line = yield* decode({ _tag: "Line", number: 1, text })
    assert(line?.type === "control_response")
    yield* channel.receive(line)
  })
  const succeed = (response: unknown, at = 0) =>
    reply({ subtype: "success", request_id: sent[at]?.request_id, response })
  const fail = (error: string, at = 0) => reply({ subtype: "error", request_id: sent[at]?.request_id, error })
  return { channel, sent, succeed, fail }
}

const fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })
const call = {
  tool_name: "Bash",
  input: { command: "ls" },
  tool_use_id: "t1",
  permission_suggestions: [],
  description: "ls",
}

describe("a request to the client", () => {
  it.effect("is answered by the one that carries its id, in any order", () =>
    Effect.gen(function* () {
      const { channel, sent, succeed } = make()
      const first = yield* fork(channel.canUseTool(call))
      const second = yield* fork(channel.canUseTool({ ...call, tool_use_id: "t2" }))
      assert.deepInclude(sent[0], { type: "control_request", request: { subtype: "can_use_tool", ...call } })
      assert.notStrictEqual(sent[0]?.request_id, sent[1]?.request_id)
      yield* succeed({ behavior: "deny", message: "no", toolUseID: "t2" }, 1)
      yield* succeed({ behavior: "allow", updatedInput: { command: "pwd" } }, 0)
      assert.deepStrictEqual(yield* Fiber.join(first), { behavior: "allow", updatedInput: { command: "pwd" } })
      assert.deepStrictEqual(yield* Fiber.join(second), { behavior: "deny", message: "no" })
    }),
  )

  it.effect("can call a hook by its id", () =>
    Effect.gen(function* () {
      const { channel, sent, succeed } = make()
      const input = { hook_event_name: "PreToolUse" }
      const hook = yield* fork(channel.hookCallback({ callbackId: "hook_0", input, toolUseId: "t1" }))
      assert.deepStrictEqual(sent[0]?.request, {
        subtype: "hook_callback",
        callback_id: "hook_0",
        input,
        tool_use_id: "t1",
      })
      yield* succeed({ continue: false })
      assert.deepStrictEqual(yield* Fiber.join(hook), { continue: false })
    }),
  )

  it.effect("can carry a message to an MCP server in the client", () =>
    Effect.gen(function* () {
      const { channel, sent, succeed } = make()
      const message = { jsonrpc: "2.0", id: 1, method: "tools/list" }
      const answer = yield* fork(channel.mcpMessage("mine", message))
      assert.deepStrictEqual(sent[0]?.request, { subtype: "mcp_message", server_name: "mine", message })
      yield* succeed({ mcp_response: { jsonrpc: "2.0", id: 1, result: { tools: [] } } })
      assert.deepStrictEqual(yield* Fiber.join(answer), { jsonrpc: "2.0", id: 1, result: { tools: [] } })
    }),
  )

  it.effect("fails with the client's own words when it refuses", () =>
    Effect.gen(function* () {
      const { channel, fail } = make()
      const asked = yield* fork(channel.canUseTool(call))
      yield* fail("canUseTool callback is not provided.")
      const error = yield* Effect.flip(Fiber.join(asked))
      assert.strictEqual(error.reason, "refused")
      assert.include(error.message, "canUseTool callback is not provided.")
    }),
  )

  it.effect("fails when the answer makes no sense", () =>
    Effect.gen(function* () {
      for (const answer of [undefined, {}, { behavior: "maybe" }, { behavior: "deny" }, "allow"]) {
        const { channel, succeed } = make()
        const asked = yield* fork(channel.canUseTool(call))
        yield* succeed(answer)
        const error = yield* Effect.flip(Fiber.join(asked))
        assert.strictEqual(error.reason, "invalid")
        assert.notInclude(error.message, "\n")
      }
    }),
  )

  it.effect("is withdrawn when nobody waits any more, and a late answer is passed over", () =>
    Effect.gen(function* () {
      const { channel, sent, succeed } = make()
      const asked = yield* fork(channel.canUseTool(call))
      yield* Fiber.interrupt(asked)
      assert.deepStrictEqual<unknown>(sent[1], { type: "control_cancel_request", request_id: sent[0]?.request_id })
      yield* succeed({ behavior: "allow" })
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(asked)))
    }),
  )

  it.effect("that was answered is not withdrawn", () =>
    Effect.gen(function* () {
      const { channel, sent, succeed } = make()
      const asked = yield* fork(Effect.andThen(channel.canUseTool(call), Effect.never))
      yield* succeed({ behavior: "allow" })
      yield* Effect.yieldNow
      yield* Fiber.interrupt(asked)
      assert.strictEqual(sent.length, 1)
    }),
  )

  it.effect("fails when stdin ends, and so does every later one", () =>
    Effect.gen(function* () {
      const { channel, sent } = make()
      const asked = yield* fork(channel.canUseTool(call))
      yield* channel.close("stdin ended")
      assert.strictEqual((yield* Effect.flip(Fiber.join(asked))).reason, "closed")
      const later = yield* Effect.flip(channel.hookCallback({ callbackId: "h", input: {} }))
      assert.include(later.message, "stdin ended")
      assert.strictEqual(sent.length, 1)
    }),
  )

  it.effect("fails when it cannot be written", () =>
    Effect.gen(function* () {
      const channel = ControlChannel.make(() => Effect.fail(new OutputError({ reason: "closed", detail: "EPIPE" })))
      assert.strictEqual((yield* Effect.flip(channel.canUseTool(call))).reason, "closed")
    }),
  )
})
