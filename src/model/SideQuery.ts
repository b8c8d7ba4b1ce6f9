/**
 * Owns a question to a model beside the conversation: one reply, heard to its end, none of it kept in the history.
 *
 * It is metered like every other request, and booked on the account of whoever asks.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Account } from "../cost/Account.ts"
import { Model, type ModelRequest } from "./Model.ts"
import { type ContentBlock, plainText } from "../protocol/Content.ts"
import * as Usage from "../protocol/Usage.ts"
import type { StopReason } from "../protocol/StreamEvent.ts"

/** The model for small work. */
export const small = "haiku"

export type Question = Pick<ModelRequest, "agent" | "model" | "maxTokens" | "messages" | "serverTools"> & {
  readonly system?: string
}

export interface Answer {
  readonly blocks: ReadonlyArray<ContentBlock>
  readonly text: string
  readonly stopReason: StopReason | null
}

/** Interrupting it closes the connection. */
export const ask = ({ system, ...question }: Question) =>
  hear({
    ...question,
    system: system === undefined ? [] : [{ type: "text", text: system }],
    tools: [],
    thinking: { type: "disabled" },
    restartable: () => true,
  })

/** The same for a request of any form. */
export const hear = Effect.fnUntraced(function* (request: ModelRequest) {
  const model = yield* Model
  const account = yield* Account
  let blocks: Array<ContentBlock> = []
  let stopReason: StopReason | null = null
  yield* Stream.runForEach(model.stream(request), (event) =>
    Effect.sync(() => {
      // What an attempt said before it was given up is void.
      if (event._tag === "Abandoned") blocks = []
      if (event._tag === "Block") blocks.push(event.block)
      if (event._tag === "Reply") stopReason = event.stopReason
      if (event._tag === "Abandoned" || event._tag === "Reply") account(event.usage ?? Usage.none, event.costUsd ?? 0)
    }),
  )
  const answer: Answer = { blocks, text: plainText(blocks), stopReason }
  return answer
})
