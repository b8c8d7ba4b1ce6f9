/** A model for the questions of tools: it answers with blocks, or fails, and remembers what it was asked. */
import * as Stream from "effect/Stream"
import { type Model, ModelError, type ModelRequest } from "../../../src/model/Model.ts"
import type { ContentBlock } from "../../../src/protocol/Content.ts"
import { none } from "../../../src/protocol/Usage.ts"

export interface SideModel {
  readonly service: Model["Service"]
  readonly asked: Array<ModelRequest>
}

export const sideModel = (
  answer: (request: ModelRequest) => ReadonlyArray<ContentBlock> | string,
  provider = "anthropic",
): SideModel => {
  const asked: Array<ModelRequest> = []
  const service: Model["Service"] = {
    provider,
    stream: (request) => {
      asked.push(request)
      const said = answer(request)
      const { model } = request
      if (typeof said === "string") {
        return Stream.fail(new ModelError({ reason: "overloaded", message: said, model, attempts: 1 }))
      }
      return Stream.fromIterable([
        ...said.map((block, index) => ({
          _tag: "Block" as const,
          requestId: "r",
          messageId: "m",
          model,
          index,
          block,
        })),
        {
          _tag: "Reply" as const,
          requestId: "r",
          messageId: "m",
          model,
          stopReason: "end_turn" as const,
          usage: none,
          costUsd: 0,
          durationMs: 1,
        },
      ])
    },
  }
  return { service, asked }
}
