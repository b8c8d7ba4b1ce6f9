/**
 * Owns the way of a foreign transcript into a journal: its lines become events, and what is wrong with them is told.
 *
 * Thinking is left behind: it is signed for the exact conversation it came from, which this one no longer is.
 */
import * as Schema from "effect/Schema"
import type { ContentBlock } from "../protocol/Content.ts"
import { ContentBlock as ContentBlockSchema } from "../protocol/Content.ts"
import type { DurableEvent, EventOf } from "../protocol/Event.ts"
import * as TranscriptChain from "./TranscriptChain.ts"
import { objectIn, parse, stringIn, type TranscriptLine } from "./TranscriptFile.ts"

export interface Imported {
  /** `MessageImported` events in the order of the conversation. */
  readonly events: ReadonlyArray<DurableEvent>
  /** What was left out or guessed, with line numbers. */
  readonly problems: ReadonlyArray<string>
  readonly sessionId: string | undefined
  readonly cwd: string | undefined
  readonly version: string | undefined
  readonly model: string | undefined
  readonly title: string | undefined
}

const isBlock = Schema.is(ContentBlockSchema)

/** Notes beside the conversation that say nothing to a model. */
const notes = new Set([
  "summary",
  "file-history-snapshot",
  "queue-operation",
  "last-prompt",
  "custom-title",
  "ai-title",
  "agent-name",
  "tag",
  "mode",
  "permission-mode",
  "worktree-state",
  "pr-link",
  "content-replacement",
])
const spoken = new Set(["user", "assistant"])
const silent = new Set(["system", "attachment", "progress"])

export const events = (source: Uint8Array | string): Imported => {
  const parsed = parse(source)
  const chain = TranscriptChain.follow(parsed.lines)
  const problems = [...parsed.problems, ...chain.problems, ...unknownTypes(parsed.lines), ...withoutPlace(parsed.lines)]
  const messages = chain.lines.flatMap((line) => messageOf(line, problems))
  problems.push(...unanswered(messages))
  const last = (key: string) =>
    parsed.lines.flatMap((line) => (line.isSidechain ? [] : (stringIn(line.value, key) ?? []))).at(-1)
  return {
    events: messages,
    problems,
    sessionId: last("sessionId"),
    cwd: last("cwd"),
    version: last("version"),
    model: messages.findLast((message) => message.model !== undefined)?.model,
    title: titleOf(parsed.lines),
  }
}

/** What the session is called: a name somebody gave, else one that was generated. */
export const titleOf = (lines: ReadonlyArray<TranscriptLine>): string | undefined => {
  const last = (type: string, key: string) => {
    const line = lines.findLast((line) => line.type === type)
    return line === undefined ? undefined : stringIn(line.value, key)
  }
  return last("custom-title", "customTitle") ?? last("ai-title", "aiTitle") ?? last("summary", "summary")
}

const unknownTypes = (lines: ReadonlyArray<TranscriptLine>): ReadonlyArray<string> => {
  const found = new Map<string, { readonly first: number; count: number }>()
  for (const { type, line } of lines) {
    if (spoken.has(type) || silent.has(type) || notes.has(type)) continue
    const entry = found.get(type)
    if (entry === undefined) found.set(type, { first: line, count: 1 })
    else entry.count++
  }
  return Array.from(
    found,
    ([type, { first, count }]) =>
      `line ${first}: "${type}" is not a known type of line; ${count} of them were left out`,
  )
}

const withoutPlace = (lines: ReadonlyArray<TranscriptLine>): ReadonlyArray<string> =>
  lines
    .filter((line) => spoken.has(line.type) && line.uuid === undefined)
    .map(({ line, type }) => `line ${line}: a message of the ${type} without a uuid; it was left out`)

type Message = EventOf<"MessageImported">

const messageOf = (line: TranscriptLine, problems: Array<string>): ReadonlyArray<Message> => {
  const role = line.type
  if (line.uuid === undefined || (role !== "user" && role !== "assistant")) return []
  const message = objectIn(line.value, "message")
  const model = message === undefined ? undefined : stringIn(message, "model")
  // What the other program said in the model's place, about an error for instance.
  if (line.value["isApiErrorMessage"] === true || model === "<synthetic>") return []
  const content = contentOf(message?.["content"], line.line, problems)
  if (content === undefined) return []
  const messageId = message === undefined ? undefined : stringIn(message, "id")
  return [
    {
      _tag: "MessageImported",
      uuid: line.uuid,
      role,
      content,
      ...(role === "assistant" && messageId !== undefined && { messageId }),
      ...(role === "assistant" && model !== undefined && { model }),
    },
  ]
}

const contentOf = (content: unknown, line: number, problems: Array<string>): Message["content"] | undefined => {
  if (typeof content === "string") return content.trim() === "" ? undefined : content
  if (!Array.isArray(content)) {
    problems.push(`line ${line}: a message without content; it was left out`)
    return undefined
  }
  const blocks = content.filter((block: unknown, at): block is ContentBlock => {
    if (isBlock(block)) return block.type !== "thinking" && block.type !== "redacted_thinking"
    problems.push(`line ${line}: its content block ${at + 1} is not readable; it was left out`)
    return false
  })
  return blocks.length === 0 ? undefined : blocks
}

const unanswered = (messages: ReadonlyArray<Message>): ReadonlyArray<string> => {
  const answered = new Set<string>()
  const calls: Array<{ readonly id: string; readonly name: string }> = []
  for (const { content } of messages) {
    if (typeof content === "string") continue
    for (const block of content) {
      if (block.type === "tool_result") answered.add(block.tool_use_id)
      if (block.type === "tool_use") calls.push(block)
    }
  }
  return calls
    .filter(({ id }) => !answered.has(id))
    .map(({ id, name }) => `the call ${id} of ${name} has no result; it counts as interrupted`)
}
