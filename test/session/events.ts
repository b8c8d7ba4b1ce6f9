/** Events and layers that the session tests share. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import { Files } from "../../src/platform/Files.ts"
import { Host } from "../../src/platform/Host.ts"
import { MemoryDisk } from "../../src/platform/MemoryDisk.ts"
import * as MemoryFileSystem from "../../src/platform/MemoryFileSystem.ts"
import * as NodeFiles from "../../src/platform/NodeFiles.ts"
import type { Content, ContentBlock, ToolUseBlock } from "../../src/protocol/Content.ts"
import { text } from "../../src/protocol/Content.ts"
import type { Delivery, DurableEvent, EventOf, Idempotency } from "../../src/protocol/Event.ts"
import * as Usage from "../../src/protocol/Usage.ts"

export const id = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`

let serial = 1000
const fresh = () => id(++serial)

export const started = (sessionId = id(1), cwd = "/work"): DurableEvent => ({
  _tag: "SessionStarted",
  sessionId,
  cwd,
  version: "0.1.0",
  source: "startup",
})

export const prompt = (
  content: Content,
  delivery: Delivery = "prompt",
  harness = false,
): EventOf<"PromptReceived"> => ({
  _tag: "PromptReceived",
  uuid: fresh(),
  promptId: fresh(),
  content,
  delivery,
  ...(harness && { harness }),
})

export const request = (requestId: string, attempt = 1): EventOf<"RequestSent"> => ({
  _tag: "RequestSent",
  requestId,
  attempt,
  ...(attempt > 1 && { repeats: true }),
  model: "claude-test",
  maxTokens: 8192,
  streaming: true,
  messages: 1,
  ledger: [],
})

export const call = (toolUseId: string, input: unknown = { path: "a" }, name = "Read"): ToolUseBlock => ({
  type: "tool_use",
  id: toolUseId,
  name,
  input,
})

export const block = (requestId: string, content: ContentBlock | string): EventOf<"BlockReceived"> => ({
  _tag: "BlockReceived",
  uuid: fresh(),
  messageId: `msg_${requestId}`,
  requestId,
  model: "claude-test",
  index: 0,
  block: typeof content === "string" ? text(content) : content,
})

export const ended = (
  requestId: string,
  stopReason: EventOf<"ReplyEnded">["stopReason"] = "end_turn",
): EventOf<"ReplyEnded"> => ({
  _tag: "ReplyEnded",
  messageId: `msg_${requestId}`,
  requestId,
  model: "claude-test",
  stopReason,
  usage: { ...Usage.none, input_tokens: 10, output_tokens: 5 },
  costUsd: 0.01,
  durationMs: 20,
})

export const abandoned = (requestId: string): EventOf<"ReplyAbandoned"> => ({
  _tag: "ReplyAbandoned",
  requestId,
  reason: "the stream died",
})

export const begun = (toolUseId: string, idempotency: Idempotency = "read_only"): EventOf<"ToolStarted"> => ({
  _tag: "ToolStarted",
  toolUseId,
  tool: "Read",
  input: { path: "a" },
  idempotency,
})

export const done = (
  toolUseId: string,
  content: EventOf<"ToolEnded">["content"] = `result of ${toolUseId}`,
  outcome: EventOf<"ToolEnded">["outcome"] = "completed",
): EventOf<"ToolEnded"> => ({
  _tag: "ToolEnded",
  uuid: fresh(),
  toolUseId,
  tool: "Read",
  outcome,
  content,
  durationMs: 3,
})

export const turnEnded = (): EventOf<"TurnEnded"> => ({
  _tag: "TurnEnded",
  promptId: id(1),
  terminal: { reason: "completed" },
  result: "done",
  turns: 1,
  durationMs: 100,
  apiDurationMs: 50,
  usage: Usage.none,
  costUsd: 0,
})

export const imported = (
  role: "user" | "assistant",
  content: Content,
  messageId?: string,
): EventOf<"MessageImported"> => ({
  _tag: "MessageImported",
  uuid: fresh(),
  role,
  content,
  ...(messageId !== undefined && { messageId }),
})

/** A whole turn with one tool call. */
export const aTurn = (n: number): ReadonlyArray<DurableEvent> => [
  prompt(`question ${n}`),
  request(`r${n}a`),
  block(`r${n}a`, "looking"),
  block(`r${n}a`, call(`t${n}`)),
  ended(`r${n}a`, "tool_use"),
  begun(`t${n}`),
  done(`t${n}`),
  request(`r${n}b`),
  block(`r${n}b`, `answer ${n}`),
  ended(`r${n}b`),
  turnEnded(),
]

export const configDir = "/config"

/** Everything in memory; the disk is there to be tampered with. */
export const memory = Layer.mergeAll(Files.layerMemory, MemoryFileSystem.layer, Host.layerTest({ configDir })).pipe(
  Layer.provideMerge(MemoryDisk.layer()),
)

/** A real directory, removed afterwards. */
export const real = Layer.mergeAll(
  NodeFiles.layer,
  Layer.effect(
    Host,
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* fs.makeTempDirectoryScoped({ prefix: "troupe-session-" })
      return yield* Effect.provide(Host, Host.layerTest({ configDir: `${directory}/config` }))
    }),
  ),
).pipe(Layer.provideMerge(NodeFileSystem.layer))
