/**
 * Owns the newest reply of a conversation while it can still change: its blocks, its calls, and what has come of each. Plain data, so that
 * it can be saved.
 */
import type { ContentBlock, ToolUseBlock } from "../protocol/Content.ts"
import type { Idempotency } from "../protocol/Event.ts"
import * as HistoryBlocks from "./HistoryBlocks.ts"

/** A tool call of the newest reply that has no recorded result. */
export interface PendingCall {
  readonly toolUseId: string
  readonly tool: string
  readonly input: unknown
  /** It was begun: what it did is unknown. Absent: it never ran. */
  readonly started?: { readonly idempotency: Idempotency; readonly evidence: Readonly<Record<string, string>> }
  /** A person was asked about it and has not answered. */
  readonly asked?: true
  /** The raw arguments that are not JSON: such a call is answered with an error, never run. */
  readonly malformedInput?: string
}

/** A tool call of the newest reply, and what came of it. */
export interface AnsweredCall {
  readonly toolUseId: string
  readonly tool: string
  readonly input: unknown
  readonly result: HistoryBlocks.Result
}

export interface Call {
  readonly block: ToolUseBlock
  readonly malformedInput?: string
  started?: NonNullable<PendingCall["started"]>
  asked?: boolean
  result?: HistoryBlocks.Result
}

export interface Reply {
  readonly model: string | undefined
  readonly requestId: string | undefined
  readonly messageId: string | undefined
  readonly imported: boolean
  readonly blocks: Array<ContentBlock>
  readonly calls: Map<string, Call>
  ended: boolean
  /** It broke off and was kept on purpose. */
  sealed: boolean
}

/** A reply of which nothing is there yet. */
export const make = (
  from: { readonly requestId?: string; readonly messageId?: string; readonly model?: string },
  imported: boolean,
): Reply => ({
  model: from.model,
  requestId: from.requestId,
  messageId: from.messageId,
  imported,
  blocks: [],
  calls: new Map(),
  ended: imported,
  sealed: false,
})

export const hasStarted = (reply: Reply): boolean => {
  for (const call of reply.calls.values()) if (call.started !== undefined || call.result !== undefined) return true
  return false
}

/** A reply that a crash cut off counts only when something of it was begun. */
export const isKept = (reply: Reply): boolean => reply.ended || hasStarted(reply)

const pendingOf = ({ asked, block, started, malformedInput }: Call): PendingCall => ({
  toolUseId: block.id,
  tool: block.name,
  input: block.input,
  ...(started !== undefined && { started }),
  ...(asked === true && { asked }),
  ...(malformedInput !== undefined && { malformedInput }),
})

const answerOf = (call: Call): ContentBlock =>
  call.result === undefined
    ? HistoryBlocks.noResult(call.block.id, call.started !== undefined)
    : HistoryBlocks.toolResult(call.block.id, call.result)

/** The calls that still need a result, in order. */
export const pending = (reply: Reply): ReadonlyArray<PendingCall> =>
  reply.imported || !isKept(reply)
    ? []
    : [...reply.calls.values()].filter((call) => call.result === undefined).map(pendingOf)

/** The calls that have their results, in order. */
export const answered = (reply: Reply): ReadonlyArray<AnsweredCall> =>
  [...reply.calls.values()].flatMap(({ block, result }) =>
    result === undefined ? [] : [{ toolUseId: block.id, tool: block.name, input: block.input, result }],
  )

/** What the user's message behind it begins with. */
export const answers = (reply: Reply): ReadonlyArray<ContentBlock> => [...reply.calls.values()].map(answerOf)

/** A result, unless there is one already. */
export const answer = (reply: Reply | undefined, toolUseId: string, result: HistoryBlocks.Result): void => {
  const call = reply?.calls.get(toolUseId)
  if (call !== undefined) call.result ??= result
}
