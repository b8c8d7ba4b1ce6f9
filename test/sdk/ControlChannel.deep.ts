/** Our end of the control channel against the real client's: what later parts will ask of it is understood and answered. */
import { assert, beforeAll, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { EventEmitter } from "node:events"
import { PassThrough } from "node:stream"
import * as ControlChannel from "../../src/cli/ControlChannel.ts"
import * as ControlLines from "../../src/cli/ControlLines.ts"
import { encode } from "../../src/cli/Output.ts"
import { answer, decode } from "../../src/cli/UserInput.ts"
import { load, type Options, type Sdk } from "./client.ts"

let sdk: Sdk
beforeAll(async () => {
  sdk = await load()
}, 300_000)

/** A client whose child process is this test. */
const connected = Effect.fnUntraced(function* (options: Options) {
  const [stdin, stdout] = [new PassThrough({ encoding: "utf8" }), new PassThrough()]
  const events = new EventEmitter()
  const child = {
    stdin,
    stdout,
    killed: false,
    exitCode: null,
    kill: () => true,
    on: (name: string, listener: () => void) => events.on(name, listener),
    once: (name: string, listener: () => void) => events.once(name, listener),
    off: (name: string, listener: () => void) => events.off(name, listener),
  }
  const write = (line: string) => Effect.sync(() => void stdout.write(line))
  const channel = ControlChannel.make(write)
  const lines = ControlLines.make()
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const initialized = new Promise<unknown>((resolve) => {
    const receive = Effect.fnUntraced(function* (line: ControlLines.Incoming) {
      const input = yield* decode(line)
      if (input?.type === "control_response") return yield* channel.receive(input)
      if (input?.type !== "control_request") return
      yield* write(encode(answer(input.request_id, { commands: [], models: [], agents: [], account: {} })))
      resolve(input.request)
    })
    stdin.on("data", (piece: string) => void run(Effect.forEach(lines.push(piece), receive)))
  })
  async function* silence() {
    yield* []
    await new Promise<void>(() => {})
  }
  const query = sdk.query({
    prompt: silence(),
    options: { pathToClaudeCodeExecutable: "x.js", spawnClaudeCodeProcess: () => child, ...options },
  })
  yield* Effect.addFinalizer(() => Effect.sync(() => (events.emit("exit", 0, null), query.close(), stdout.end())))
  return { channel, request: yield* Effect.promise(() => initialized) }
})

describe("the control channel", () => {
  it.live("calls the client's hooks by the ids it gave them", () =>
    Effect.gen(function* () {
      const heard: Array<unknown> = []
      const hook = async (input: unknown, toolUseId: unknown) => {
        heard.push([input, toolUseId])
        return { decision: "block", reason: "no" }
      }
      const { channel, request } = yield* connected({ hooks: { PreToolUse: [{ matcher: "Bash", hooks: [hook] }] } })
      assert.deepNestedInclude(request, { "hooks.PreToolUse": [{ matcher: "Bash", hookCallbackIds: ["hook_0"] }] })
      const input = { hook_event_name: "PreToolUse", tool_name: "Bash" }
      const said = yield* channel.hookCallback({ callbackId: "hook_0", input, toolUseId: "t1" })
      assert.deepStrictEqual<unknown>(said, { decision: "block", reason: "no" })
      assert.deepStrictEqual<unknown>(heard, [[input, "t1"]])
      const unknown = yield* Effect.flip(channel.hookCallback({ callbackId: "hook_9", input }))
      assert.strictEqual(unknown.reason, "refused")
      assert.match(unknown.message, /hook_9/)
    }),
  )

  it.live("carries messages to an MCP server in the client's process", () =>
    Effect.gen(function* () {
      const mine = sdk.createSdkMcpServer({ name: "mine" })
      const { channel, request } = yield* connected({ mcpServers: { mine } })
      assert.deepNestedInclude(request, { sdkMcpServers: ["mine"] })
      const pong = yield* channel.mcpMessage("mine", { jsonrpc: "2.0", id: 7, method: "ping" })
      assert.deepStrictEqual<unknown>(pong, { jsonrpc: "2.0", id: 7, result: {} })
      const nobody = yield* Effect.flip(channel.mcpMessage("other", { jsonrpc: "2.0", id: 8, method: "ping" }))
      assert.match(nobody.message, /other/)
    }),
  )

  it.live("asks for a tool and withdraws the question", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      const asked = yield* Deferred.make<AbortSignal>()
      const { channel } = yield* connected({
        canUseTool: (tool, input, { signal }) => {
          heard.push(`${tool} ${JSON.stringify(input)}`)
          Deferred.doneUnsafe(asked, Effect.succeed(signal))
          return new Promise(() => {})
        },
      })
      const call = { tool_name: "Bash", input: { command: "ls" }, tool_use_id: "t1", permission_suggestions: [] }
      const waiting = yield* Effect.forkChild(channel.canUseTool({ ...call, description: "" }), {
        startImmediately: true,
      })
      const signal = yield* Deferred.await(asked)
      assert.deepStrictEqual(heard, ['Bash {"command":"ls"}'])
      const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve))
      waiting.interruptUnsafe()
      yield* Effect.promise(() => aborted)
    }),
  )
})
