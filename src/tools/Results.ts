/**
 * Owns how much of a result the model is told: a cap per tool, and one for the whole conversation. What is more goes to disk, with a
 * preview and the way to the rest.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { Files } from "../platform/Files.ts"
import type { ToolResultContent } from "../protocol/Content.ts"
import type { Message } from "../protocol/Message.ts"
import { Recorder } from "../session/Recorder.ts"
import { Workspace } from "./Workspace.ts"

/** How many characters of results a conversation may hold before every longer one goes to disk. */
export const ConversationChars = Context.Reference<number>("troupe/tools/Results/ConversationChars", {
  defaultValue: () => 2_000_000,
})

const previewChars = 2_000

export const make = Effect.gen(function* () {
  const workspace = yield* Workspace
  const files = yield* Files
  const recorder = yield* Recorder
  const most = yield* ConversationChars
  let held = heldBy(recorder.history.messages())

  const persisted = Effect.fnUntraced(function* (content: string, callId: string, why: string) {
    const path = `${workspace.spillDir}/${callId}.txt`
    const saved = yield* Effect.result(files.writeAtomic(path, content, { mode: 0o600, makeParents: true }))
    const rest =
      saved._tag === "Success" ? `The whole output is in ${path}` : `The rest is lost: ${saved.failure.message}`
    return [
      "<persisted-output>",
      `The output has ${content.length} characters, ${why}. ${rest}`,
      "",
      `Its first ${previewChars} characters:`,
      content.slice(0, previewChars),
      "</persisted-output>",
    ].join("\n")
  })

  /** What of it the model is told. */
  return Effect.fnUntraced(function* (content: ToolResultContent, limit: number, callId: string) {
    const told =
      typeof content !== "string" || content.length <= previewChars
        ? content
        : content.length > limit
          ? yield* persisted(content, callId, "more than fit here")
          : held + content.length > most
            ? yield* persisted(content, callId, "and this conversation holds more results than fit already")
            : content
    held += lengthOf(told)
    return told
  })
})

const heldBy = (messages: ReadonlyArray<Message>): number => {
  let sum = 0
  for (const { content } of messages) {
    if (typeof content === "string") continue
    for (const block of content) if (block.type === "tool_result") sum += lengthOf(block.content ?? "")
  }
  return sum
}

const lengthOf = (content: ToolResultContent): number =>
  typeof content === "string"
    ? content.length
    : content.reduce((sum, block) => sum + (block.type === "text" ? block.text.length : 0), 0)
