/** Owns the lines that come in with `--input-format stream-json`: user messages, control requests and control responses. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Content } from "../protocol/Content.ts"
import type { Incoming } from "./ControlLines.ts"
import { longestLine } from "./ControlLines.ts"
import { Response } from "./ControlWire.ts"

export const UserMessage = Schema.Struct({
  type: Schema.Literal("user"),
  message: Schema.Struct({ role: Schema.Literal("user"), content: Content }),
  uuid: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** While a turn runs: `now` ends the running work, `next` waits for the tools, `later` for the end of the turn. */
  priority: Schema.optionalKey(Schema.NullOr(Schema.Literals(["now", "next", "later"]))),
})
export type UserMessage = typeof UserMessage.Type

/** Any control request; what its `subtype` means is decided where it is answered, so that an unknown one gets an answer. */
export const ControlRequest = Schema.Struct({
  type: Schema.Literal("control_request"),
  request_id: Schema.String,
  request: Schema.StructWithRest(Schema.Struct({ subtype: Schema.String }), [
    Schema.Record(Schema.String, Schema.Unknown),
  ]),
})
export type ControlRequest = typeof ControlRequest.Type

export type UserInput = UserMessage | ControlRequest | Response

/** A line that is no message. What it seems to have been decides who hears of it. */
export class UserInputError extends Schema.TaggedError<UserInputError>()("UserInputError", {
  line: Schema.Int,
  reason: Schema.String,
  start: Schema.String,
  /** Somebody waits for the answer to this request. */
  requestId: Schema.optionalKey(Schema.String),
  /** Somebody here waits for what this was to answer. */
  answersId: Schema.optionalKey(Schema.String),
  /** Somebody waits for the result of this message. */
  isPrompt: Schema.Boolean,
}) {
  override get message(): string {
    return (
      `Line ${this.line} of stdin is no stream-json message: ${this.reason}. It begins: ${this.start} ` +
      `Send one JSON object a line, for instance {"type":"user","message":{"role":"user","content":"hello"}}.`
    )
  }
}

const decodeUser = Schema.decodeUnknownEffect(UserMessage)
const decodeControl = Schema.decodeUnknownEffect(ControlRequest)
const decodeResponse = Schema.decodeUnknownEffect(Response)

/** Reads one line; `undefined` for one that asks for nothing: a blank one, a keep-alive, a kind that is not known here. */
export const decode = Effect.fnUntraced(function* (incoming: Incoming) {
  if (incoming._tag === "TooLong") {
    return yield* problem(incoming.number, incoming.start, `it has more than ${longestLine / 1024 / 1024} MB`)
  }
  const { text, number } = incoming
  if (text.trim() === "") return undefined
  const fail = (reason: string) => problem(number, text, reason)
  const value = yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) => fail(error instanceof Error ? error.message : String(error)),
  })
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined
  switch (type) {
    case "user":
      return yield* Effect.mapError(decodeUser(value), (error) => fail(error.message))
    case "control_request":
      return yield* Effect.mapError(decodeControl(value), (error) => fail(error.message))
    case "control_response":
      return yield* Effect.mapError(decodeResponse(value), (error) => fail(error.message))
    case undefined:
      return yield* fail('it must be an object with a "type"')
    default:
      return undefined
  }
})

/** The line cannot be trusted, so its beginning is only looked at. */
const problem = (line: number, text: string, reason: string): UserInputError => {
  const start = text.slice(0, 1_000)
  const kind = /"type"\s*:\s*"(control_request|control_response)"/.exec(start)?.[1]
  const id = kind === undefined ? undefined : /"request_id"\s*:\s*"([\w.:-]{1,200})"/.exec(start)?.[1]
  return new UserInputError({
    line,
    reason: reason.replace(/\s*\n\s*/g, "; ").slice(0, 500),
    start: JSON.stringify(text.slice(0, 60)),
    isPrompt: kind === undefined && /^\s*\{\s*"type"\s*:\s*"user"/.test(start),
    ...(id !== undefined && (kind === "control_request" ? { requestId: id } : { answersId: id })),
  })
}

/** The answer to a control request. */
export const answer = (requestId: string, response: object = {}) => ({
  type: "control_response" as const,
  response: { subtype: "success" as const, request_id: requestId, response },
})

export const refusal = (requestId: string, error: string) => ({
  type: "control_response" as const,
  response: { subtype: "error" as const, request_id: requestId, error },
})
