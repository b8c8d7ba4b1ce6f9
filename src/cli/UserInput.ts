/** Owns the lines that come in with `--input-format stream-json`: user messages and control requests. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Content } from "../protocol/Content.ts"

export const UserMessage = Schema.Struct({
  type: Schema.Literal("user"),
  message: Schema.Struct({ role: Schema.Literal("user"), content: Content }),
  uuid: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** While a turn runs: `now` ends the running work, `next` waits for the tools, `later` for the end of the turn. */
  priority: Schema.optionalKey(Schema.Literals(["now", "next", "later"])),
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

export type UserInput = UserMessage | ControlRequest

/** A line that is no message. */
export class UserInputError extends Schema.TaggedError<UserInputError>()("UserInputError", {
  line: Schema.Int,
  reason: Schema.String,
  start: Schema.String,
}) {
  override get message(): string {
    return (
      `Line ${this.line} of stdin is no stream-json message: ${this.reason}. It begins: ${this.start} ` +
      `Send one JSON object a line, for instance {"type":"user","message":{"role":"user","content":"hello"}}.`
    )
  }
}

/** Lines a client may send that need no reaction here. */
const silent = new Set(["keep_alive", "control_response", "control_cancel_request"])

const decodeUser = Schema.decodeUnknownEffect(UserMessage)
const decodeControl = Schema.decodeUnknownEffect(ControlRequest)

/** Reads one line; `undefined` for one that asks for nothing (blank, a keep-alive). */
export const decode = Effect.fnUntraced(function* (text: string, line: number) {
  const fail = (reason: string) =>
    new UserInputError({ line, reason: reason.replace(/\s*\n\s*/g, "; "), start: JSON.stringify(text.slice(0, 60)) })
  if (text.trim() === "") return undefined
  const value = yield* Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) => fail(error instanceof Error ? error.message : String(error)),
  })
  const type = typeof value === "object" && value !== null && "type" in value ? value.type : undefined
  if (typeof type === "string" && silent.has(type)) return undefined
  switch (type) {
    case "user":
      return yield* Effect.mapError(decodeUser(value), (error) => fail(error.message))
    case "control_request":
      return yield* Effect.mapError(decodeControl(value), (error) => fail(error.message))
    case undefined:
      return yield* fail('it must be an object with a "type"')
    default:
      return yield* fail(`its type is ${JSON.stringify(type)}; known are "user" and "control_request"`)
  }
})

/** The answer to a control request. */
export const answer = (requestId: string, response: Readonly<Record<string, unknown>> = {}) => ({
  type: "control_response" as const,
  response: { subtype: "success" as const, request_id: requestId, response },
})

export const refusal = (requestId: string, error: string) => ({
  type: "control_response" as const,
  response: { subtype: "error" as const, request_id: requestId, error },
})
