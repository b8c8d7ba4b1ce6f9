/** Owns the messages of a conversation as the Messages API takes them. */
import * as Schema from "effect/Schema"
import { Content } from "./Content.ts"

export const Message = Schema.Struct({
  role: Schema.Literals(["user", "assistant", "system"]),
  content: Content,
})
export type Message = typeof Message.Type
